package readtest

import (
	"io"
	"testing"
	"time"
)

// Measure runs a benchmark of read, which reads size bytes. Beside the throughput by
// the clock it reports, where the system tells it, that per second of processor time:
// of all rounds, with the share of the garbage collector that falls into them, and of the
// best one, which is without it if it is short.
func Measure(b *testing.B, name string, size int, read func() error) {
	b.Run(name, func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		var best, all time.Duration
		rounds := 0
		for b.Loop() {
			start := CPUTime()
			if err := read(); err != nil {
				b.Fatal(err)
			}
			cpu := CPUTime() - start
			if best == 0 || cpu < best {
				best = cpu
			}
			all += cpu
			rounds++
		}
		if all > 0 {
			b.ReportMetric(float64(rounds)*float64(size)/1e6/all.Seconds(), "MB/cpu-s")
		}
		ReportBest(b, size, best)
	})
}

// ReportBest reports the throughput of size bytes in a processor time; 0 is no time.
func ReportBest(b *testing.B, size int, cpu time.Duration) {
	if cpu > 0 {
		b.ReportMetric(float64(size)/1e6/cpu.Seconds(), "best-MB/cpu-s")
	}
}

// Repeat returns a reader of the texts, one after the other and from the first one
// again, until they are at least size bytes. It ends with a whole text.
func Repeat(size int, texts ...[]byte) io.Reader {
	return &repeater{texts: texts, left: size}
}

type repeater struct {
	texts [][]byte
	next  int
	rest  []byte
	left  int
}

func (r *repeater) Read(b []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.left <= 0 {
			return 0, io.EOF
		}
		r.rest = r.texts[r.next%len(r.texts)]
		r.left -= len(r.rest)
		r.next++
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
