package readtest

import (
	"io"
	"testing"
	"time"
)

// Measure runs a benchmark of read, which reads size bytes. Beside the throughput by
// the clock it reports, where the system tells it, that per second of processor time
// of the best round: of a short one without, of a long one with collecting garbage.
func Measure(b *testing.B, name string, size int, read func() error) {
	b.Run(name, func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		var best time.Duration
		for b.Loop() {
			start := CPUTime()
			if err := read(); err != nil {
				b.Fatal(err)
			}
			if cpu := CPUTime() - start; best == 0 || cpu < best {
				best = cpu
			}
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
