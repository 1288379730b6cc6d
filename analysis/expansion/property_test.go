package expansion_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/analysis/expansion"
	"github.com/dendroprof/dendro/test/runtest"
)

// stack is one folded line.
type stack struct {
	names []string
	value int
}

// restricted is the definition, from stacks: the samples of the outermost nodes of
// u = path[0] that have the path above (or below) them. A node of u is a prefix of a
// stack that ends in u; it has the path below if some stack goes on like that.
func restricted(stacks []stack, path []string, above bool) float64 {
	matching := map[string]bool{}
	for _, s := range stacks {
		for i, name := range s.names {
			if name != path[0] {
				continue
			}
			rest := s.names[i:]
			if above {
				rest = slices.Clone(s.names[:i+1])
				slices.Reverse(rest)
			}
			if len(rest) >= len(path) && slices.Equal(rest[:len(path)], path) {
				matching[strings.Join(s.names[:i+1], ";")] = true
			}
		}
	}
	sum := 0
	for _, s := range stacks {
		for i := range s.names {
			if matching[strings.Join(s.names[:i+1], ";")] {
				sum += s.value // once, at the outermost
				break
			}
		}
	}
	return float64(sum)
}

func TestContextsProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const columns = 3
		var runs []runtest.Run
		var all [columns][]stack
		for i := range columns {
			var text []string
			seen := map[string]bool{}
			for range rapid.IntRange(1, 8).Draw(rt, "stacks") {
				s := stack{value: rapid.IntRange(1, 9).Draw(rt, "value")}
				for range rapid.IntRange(1, 5).Draw(rt, "depth") {
					s.names = append(s.names, rapid.SampledFrom([]string{"u", "v", "w"}).Draw(rt, "name"))
				}
				name := strings.Join(s.names, ";")
				if seen[name] {
					continue
				}
				seen[name] = true
				all[i] = append(all[i], s)
				text = append(text, fmt.Sprintf("%s %d", name, s.value))
			}
			runs = append(runs, runtest.Run{Benchmark: "a", Stacks: strings.Join(text, ",")})
		}
		d := load(t, runtest.Store(t, runs...))
		e := expansion.Expand(d, []expansion.Candidate{{Function: "u"}}, expansion.Greedy(expansion.Counting(1)),
			expansion.Options{MaxBreadth: 99, MaxDepth: 99, MaxTraces: 9999, Threshold: -1e9})[0]
		for above, traces := range map[bool][]expansion.Trace{false: e.Children, true: e.Parents} {
			for _, trace := range traces {
				var path []string
				for _, step := range trace {
					path = append(path, step.Function)
					x := [columns]float64{}
					for i := range columns {
						x[i] = restricted(all[i], path, above)
					}
					want := x[2] - (x[0]+x[1])/2
					if math.Abs(step.CandidateDiff-want) > 1e-6 {
						rt.Fatalf("above %v, path %v: diff %g, want %g (%v)", above, path, step.CandidateDiff, want, x)
					}
				}
			}
		}
	})
}
