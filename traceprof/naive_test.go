package traceprof_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/traceprof"
)

// naiveElement is an element of a tree as the definition has it: it knows its
// snapshots.
type naiveElement struct {
	signature string
	children  []*naiveElement
	snapshots []naiveSnapshot
}

type naiveSnapshot struct {
	source   int
	sequence int32
	time     int64
	stack    []string
}

// naive is Analyze written down from its definition, with stacks as texts and
// trees of pointers. It is what the fast one is tested against and measured
// with. It takes one source per segment.
func naive(sources []traceprof.Snapshots, items []traceprof.Range, limit int64) (found int64, text string) {
	chosen := make([][]bool, len(sources))
	var order []int
	left := limit
	for _, item := range items {
		for k, s := range sources {
			if s.Segment != item.Segment {
				continue
			}
			if chosen[k] == nil {
				chosen[k] = make([]bool, s.Len())
				order = append(order, k)
			}
			from, to := int64(0), int64(0)
			for i, t := range s.Time {
				if item.Start <= t && t <= item.End {
					if from == to {
						from = int64(s.Sequence[i])
					}
					to = int64(s.Sequence[i]) + 1
				}
			}
			found += to - from
			to = min(to, from+left)
			left -= to - from
			for i, sequence := range s.Sequence {
				chosen[k][i] = chosen[k][i] || from <= int64(sequence) && int64(sequence) < to
			}
		}
	}
	super := &naiveElement{}
	for _, k := range order {
		s := sources[k]
		for i := range s.Sequence {
			if chosen[k][i] && s.Path[i] != calltree.NoNode {
				super.add(naiveSnapshot{k, s.Sequence[i], s.Time[i], s.Stacks.Names(s.Path[i])})
			}
		}
	}
	for _, root := range super.children {
		text = root.draw(text, "")
	}
	return found, text
}

func (e *naiveElement) add(s naiveSnapshot) {
	for _, signature := range s.stack {
		i := slices.IndexFunc(e.children, func(c *naiveElement) bool { return c.signature == signature })
		if i < 0 {
			i = len(e.children)
			e.children = append(e.children, &naiveElement{signature: signature})
		}
		e = e.children[i]
		e.snapshots = append(e.snapshots, s)
	}
}

// duration sums last minus first over the runs of consecutive sequences.
func (e *naiveElement) duration() (sum int64) {
	for first := 0; first < len(e.snapshots); {
		last := first
		for last+1 < len(e.snapshots) && e.snapshots[last+1].source == e.snapshots[last].source &&
			e.snapshots[last+1].sequence == e.snapshots[last].sequence+1 {
			last++
		}
		sum += e.snapshots[last].time - e.snapshots[first].time
		first = last + 1
	}
	return sum
}

func (e *naiveElement) draw(text, indent string) string {
	self := e.duration()
	for _, c := range e.children {
		self -= c.duration()
	}
	text += fmt.Sprintf("%s- %s %d/%d x%d\n", indent, e.signature, e.duration(), self, len(e.snapshots))
	for _, c := range e.children {
		text = c.draw(text, indent+"  ")
	}
	return text
}

// TestAnalyzeIsNaive compares with the definition on random segments.
func TestAnalyzeIsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shared := new(calltree.Forest)
		one := rapid.Bool().Draw(t, "one dictionary")
		var sources []traceprof.Snapshots
		for k := range rapid.IntRange(1, 3).Draw(t, "segments") {
			s := traceprof.Snapshots{Task: "t", Segment: fmt.Sprint("s", k), Stacks: shared}
			if !one {
				s.Stacks = new(calltree.Forest)
			}
			sequence, time := rapid.Int32Range(-2, 2).Draw(t, "first"), int64(1000*k)
			for range rapid.IntRange(0, 12).Draw(t, "snapshots") {
				path := calltree.NoNode
				for range rapid.IntRange(0, 4).Draw(t, "frames") {
					path = tracetest.Below(s.Stacks, path, rapid.SampledFrom([]string{"A", "B", "C"}).Draw(t, "frame"))
				}
				s.Sequence, s.Time, s.Path = append(s.Sequence, sequence), append(s.Time, time), append(s.Path, path)
				sequence += rapid.SampledFrom([]int32{1, 1, 1, 2, 7}).Draw(t, "step")
				time += rapid.Int64Range(-3, 20).Draw(t, "time")
			}
			sources = append(sources, s)
		}
		var items []traceprof.Range
		for range rapid.IntRange(0, 4).Draw(t, "ranges") {
			k := rapid.IntRange(0, len(sources)-1).Draw(t, "segment")
			start := int64(1000*k) + rapid.Int64Range(-20, 200).Draw(t, "start")
			items = append(items, traceprof.Range{Segment: sources[k].Segment, Start: start,
				End: start + rapid.Int64Range(-1, 250).Draw(t, "length")})
		}
		limit := rapid.IntRange(1, 30).Draw(t, "limit")
		found, want := naive(sources, items, int64(limit))
		a, err := traceprof.Analyze(t.Context(), &tracetest.Held{List: sources}, items, traceprof.AnalyzeOptions{Limit: limit, Dumps: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := drawing(a); got != want || a.Found != found || (a.Tip != "") != (found > int64(limit)) {
			t.Fatalf("found %d, want %d; got\n%swant\n%s", a.Found, found, got, want)
		}
		// Each dump is listed once, with its own time, at the element in which it ends.
		counts := make([][]int32, len(a.Trees))
		for i := range a.Trees {
			counts[i] = make([]int32, a.Trees[i].Len())
		}
		for _, d := range a.Dumps {
			s := sources[slices.IndexFunc(sources, func(s traceprof.Snapshots) bool { return s.Segment == d.Segment })]
			at := slices.Index(s.Sequence, d.Sequence)
			tree := &a.Trees[d.Tree]
			if leaf := s.Stacks.Paths.Item[s.Path[at]]; s.Time[at] != d.Time ||
				s.Stacks.Functions[leaf].Name != a.Functions[tree.Function[d.ID-1]].Name {
				t.Fatalf("%+v", d)
			}
			for id := d.ID; id > 0; id = tree.Parent[id-1] {
				counts[d.Tree][id-1]++
			}
		}
		for i := range counts {
			if !slices.Equal(counts[i], a.Trees[i].Count) {
				t.Fatalf("dumps of tree %d: %v, want %v", i, counts[i], a.Trees[i].Count)
			}
		}
	})
}
