package bench_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	grafana "github.com/grafana/jfr-parser/pprof"

	"github.com/dendroprof/dendro/format/jfr"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/bench"
	"github.com/dendroprof/dendro/test/readtest"
)

// recordingSize is the least size of the recordings that are read.
const recordingSize = 50 << 20

// longRecording returns a real recording repeated until it is long enough.
// Chunks stand alone, so this is a recording again; its samples come from as many
// processes, each with constants of its own.
func longRecording(b *testing.B, name string) []byte {
	b.Helper()
	one := readtest.File(b, "../../../format/jfr/testdata/"+name+".jfr.gz")
	return bytes.Repeat(one, recordingSize/len(one)+1)
}

// BenchmarkReaders/jfr compares reading a long recording with grafana/jfr-parser's
// way to pprof and, if JFRCONV names the jar of async-profiler's converter, with
// that, the start of its virtual machine included.
func BenchmarkReaders(b *testing.B) {
	for _, name := range []string{"ap46-multi", "ap29-multi", "jdk25-profile"} {
		b.Run("jfr/"+name, func(b *testing.B) {
			content := longRecording(b, name)
			b.Run("reader=dendro", func(b *testing.B) {
				b.SetBytes(int64(len(content)))
				b.ReportAllocs()
				defer reportCPU(b, bench.CPUTime())
				for b.Loop() {
					p, err := jfr.NewDecoder().Decode(bytes.NewReader(content), nil, profile.Limits{})
					if err != nil || len(p.Tables) == 0 {
						b.Fatal(err)
					}
				}
			})
			b.Run("reader=jfr-parser", func(b *testing.B) {
				b.SetBytes(int64(len(content)))
				b.ReportAllocs()
				defer reportCPU(b, bench.CPUTime())
				for b.Loop() {
					input := &grafana.ParseInput{StartTime: time.Unix(1, 0), EndTime: time.Unix(2, 0), SampleRate: 100}
					p, err := grafana.ParseJFR(content, input, nil)
					if err != nil || len(p.Profiles) == 0 {
						b.Fatal(err)
					}
				}
			})
			if jar := os.Getenv("JFRCONV"); jar != "" {
				b.Run("reader=jfrconv", func(b *testing.B) { benchmarkConverter(b, jar, content) })
			}
		})
	}
}

// benchmarkConverter runs async-profiler's converter for CPU samples alone.
func benchmarkConverter(b *testing.B, jar string, content []byte) {
	file := filepath.Join(b.TempDir(), "long.jfr")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(content)))
	var cpu time.Duration
	for b.Loop() {
		command := exec.Command("java", "-jar", jar, "--cpu", "-o", "pprof", file, file+".pprof")
		out, err := command.CombinedOutput()
		if err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		cpu += command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	}
	b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N), cpuUnit)
}

// cpuUnit is processor time, which says more than the clock on a machine that
// others use.
const cpuUnit = "cpu-ms/op"

func reportCPU(b *testing.B, start time.Duration) {
	b.ReportMetric(float64((bench.CPUTime()-start).Milliseconds())/float64(b.N), cpuUnit)
}
