package intake_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
)

// accepting is a store that keeps nothing.
type accepting struct{ continuous.Store }

func (accepting) PutWindows(_ context.Context, list []*continuous.Window) ([]continuous.Outcome, error) {
	return make([]continuous.Outcome, len(list)), nil
}

// BenchmarkPush pushes windows of 200 stacks, ten frames deep, of 16 programs at the same
// time, to a store that costs nothing: what the intake itself takes for a window. The decoder
// is that of the tests.
func BenchmarkPush(b *testing.B) {
	in := open(b, accepting{}, intake.Options{MaxRate: 1 << 40})
	var text strings.Builder
	for i := range 200 {
		for depth := range 10 {
			fmt.Fprintf(&text, "f%d_%d;", depth, i%(10*(depth+1)))
		}
		fmt.Fprintf(&text, "leaf%d %d\n", i, i+1)
	}
	content := text.String()
	var next atomic.Int64
	b.SetParallelism(8)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n := int(next.Add(1))
			if err := push(in, fmt.Sprint("service", n%16), content, n); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "windows/s")
}
