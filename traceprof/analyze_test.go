package traceprof_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/traceprof"
)

// drawing prints trees, one element a line: "- name duration/self xcount",
// indented by depth, siblings in their order.
func drawing(a *traceprof.Analysis) string {
	var b strings.Builder
	for _, t := range a.Trees {
		var draw func(id int32, indent string)
		draw = func(id int32, indent string) {
			i := id - 1
			fmt.Fprintf(&b, "%s- %s %d/%d x%d\n", indent, a.Functions[t.Function[i]].Name, t.Duration[i], t.Self[i], t.Count[i])
			for c := range t.Parent {
				if t.Parent[c] == id {
					draw(int32(c)+1, indent+"  ")
				}
			}
		}
		draw(1, "")
	}
	return b.String()
}

func lines(text ...string) string { return strings.Join(text, "\n") + "\n" }

// held returns a store of one task with some segments, drawn in order.
func held(pictures ...string) *tracetest.Held {
	h := &tracetest.Held{}
	for i, p := range pictures {
		h.List = append(h.List, tracetest.Picture("t", fmt.Sprintf("s%d", i+1), p))
	}
	return h
}

func TestAnalyze(t *testing.T) {
	all := []traceprof.Range{tracetest.All("s1")}
	s1 := func(times ...int64) (items []traceprof.Range) {
		for i := 0; i < len(times); i += 2 {
			items = append(items, traceprof.Range{Segment: "s1", Start: times[i], End: times[i+1]})
		}
		return items
	}
	for _, c := range []struct {
		name  string
		store *tracetest.Held
		items []traceprof.Range
		limit int
		tip   string
		want  string
	}{
		{name: "not consecutive", store: held("A-B-C A-B A-B-C-D"), items: all,
			want: lines("- A 20/0 x3", "  - B 20/20 x3", "    - C 0/0 x2", "      - D 0/0 x1")},
		{name: "two roots", store: held("A-B-C B-C-D"), items: all,
			want: lines("- A 0/0 x1", "  - B 0/0 x1", "    - C 0/0 x1", "- B 0/0 x1", "  - C 0/0 x1", "    - D 0/0 x1")},
		{name: "the switch is the caller's own", store: held("A-B A-B A-C A-C"), items: all,
			want: lines("- A 30/10 x4", "  - B 10/10 x2", "  - C 10/10 x2")},
		{name: "by turns", store: held("A-B A-C A-B A-C"), items: all,
			want: lines("- A 30/30 x4", "  - B 0/0 x2", "  - C 0/0 x2")},
		{name: "single", store: held("A-B"), items: all,
			want: lines("- A 0/0 x1", "  - B 0/0 x1")},
		{name: "lost snapshots", store: held("A A @3 A A"), items: all,
			want: lines("- A 20/20 x4")},
		{name: "an empty dump breaks the run", store: held("A . A A"), items: all,
			want: lines("- A 10/10 x3")},
		{name: "recursion", store: held("A-B-A-B A-B-A-B"), items: all,
			want: lines("- A 10/0 x2", "  - B 10/0 x2", "    - A 10/0 x2", "      - B 10/10 x2")},
		{name: "another line is another element", store: held("T:10-m:5 T:10-m:6 T:10-m:6"), items: all,
			want: lines("- T:10 20/10 x3", "  - m:5 0/0 x1", "  - m:6 10/10 x2")},
		{name: "beyond the limit", store: held("A A A A A A A A A A A"), items: all, limit: 10,
			tip:  "Out of snapshot analyze limit, 11 snapshots found, but analysis first 10 snapshots only.",
			want: lines("- A 90/90 x10")},
		{name: "two ranges", store: held("A A A A-C A A A-D"), items: s1(0, 20, 40, 50), limit: 10,
			want: lines("- A 30/30 x5")},
		{name: "overlapping ranges", store: held("A A A A B A A"), items: s1(0, 20, 10, 30, 50, 60), limit: 10,
			want: lines("- A 40/40 x6")},
		{name: "one range twice reaches the limit sooner", store: held("A A A A A A"), items: s1(0, 50, 0, 50), limit: 10,
			tip:  "Out of snapshot analyze limit, 12 snapshots found, but analysis first 10 snapshots only.",
			want: lines("- A 50/50 x6")},
		{name: "the limit is for all ranges", store: held("A A A A A A", "A A A A A A"),
			items: []traceprof.Range{tracetest.All("s2"), tracetest.All("s1")}, limit: 8,
			tip:  "Out of snapshot analyze limit, 12 snapshots found, but analysis first 8 snapshots only.",
			want: lines("- A 60/60 x8")},
		{name: "two segments", store: held("@0:1000 A-B A-B A-B", "@0:5000 A-C A-C A-C A-C A-C"),
			items: []traceprof.Range{tracetest.All("s1"), tracetest.All("s2")},
			want:  lines("- A 60/0 x8", "  - B 20/20 x3", "  - C 40/40 x5")},
		{name: "segments do not touch", store: held("@0:5000 A A", "@2:1000 A A"),
			items: []traceprof.Range{tracetest.All("s1"), tracetest.All("s2")},
			want:  lines("- A 20/20 x4")},
		{name: "first appearance follows the ranges", store: held("A-B", "A-C"),
			items: []traceprof.Range{tracetest.All("s2"), tracetest.All("s1")},
			want:  lines("- A 0/0 x2", "  - C 0/0 x1", "  - B 0/0 x1")},
		{name: "the clock went back", store: held("@0:100 A @1:50 A"), items: all,
			want: lines("- A -50/-50 x2")},
		{name: "by sequence, whatever the clock did between", store: held("@0:10 A @1:500 A @2:20 A"), items: s1(0, 100),
			want: lines("- A 10/10 x3")},
		{name: "bounds are inside", store: held("A A A A A"), items: s1(10, 30),
			want: lines("- A 20/20 x3")},
		{name: "sequences far apart", store: held("A @2147483646 A A"), items: all,
			tip:  "Out of snapshot analyze limit, 2147483648 snapshots found, but analysis first 12000 snapshots only.",
			want: lines("- A 0/0 x1")},
		{name: "nothing there", store: held("A A"), items: s1(900, 1000)},
		{name: "unknown segment", store: held("A A"), items: []traceprof.Range{tracetest.All("s9")}},
		{name: "no range", store: held("A A")},
		{name: "empty dumps only", store: held(". ."), items: all},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := traceprof.Analyze(t.Context(), c.store, c.items, traceprof.AnalyzeOptions{Limit: c.limit})
			if err != nil {
				t.Fatal(err)
			}
			if got := drawing(a); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
			if a.Tip != c.tip {
				t.Errorf("tip %q, want %q", a.Tip, c.tip)
			}
		})
	}
}

// TestAnalyzeTwoTasks takes what two tasks sampled of one segment as two threads
// of numbers, although both begin at 0 and have dictionaries of their own.
func TestAnalyzeTwoTasks(t *testing.T) {
	st := &tracetest.Held{List: []traceprof.Snapshots{
		tracetest.Picture("t1", "s", "A-B A-B"), tracetest.Picture("t2", "s", "@0:5000 C A-B A-B A-B"),
	}}
	a, err := traceprof.Analyze(t.Context(), st, []traceprof.Range{tracetest.All("s")}, traceprof.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := drawing(a), lines("- A 30/0 x5", "  - B 30/30 x5", "- C 0/0 x1"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestAnalyzeNumbersElements(t *testing.T) {
	a, err := traceprof.Analyze(t.Context(), held("A-B-X A-C-Y A-B-Z R"), []traceprof.Range{tracetest.All("s1")}, traceprof.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tree := range a.Trees {
		for i := range tree.Len() {
			got = append(got, fmt.Sprintf("%d<%d:%s", i+1, tree.Parent[i], a.Functions[tree.Function[i]].Name))
		}
	}
	if got, want := strings.Join(got, " "), "1<0:A 2<1:B 3<1:C 4<2:X 5<2:Z 6<3:Y 1<0:R"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAnalyzeOverflow(t *testing.T) {
	for _, c := range []struct {
		name  string
		times []int64
		ok    bool
	}{
		{"the longest", []int64{0, math.MaxInt32}, true},
		{"one more", []int64{0, math.MaxInt32 + 1}, false},
		{"in sum", []int64{0, math.MaxInt32, math.MaxInt32 + 1}, false},
		{"back again", []int64{0, 1 << 40, 1}, true},
		{"of 64 bits", []int64{math.MinInt64, math.MaxInt64}, false},
	} {
		s := tracetest.Picture("t", "s", strings.Repeat("A ", len(c.times)))
		s.Time = c.times
		all := []traceprof.Range{{Segment: "s", Start: math.MinInt64, End: math.MaxInt64}}
		_, err := traceprof.Analyze(t.Context(), &tracetest.Held{List: []traceprof.Snapshots{s}}, all, traceprof.AnalyzeOptions{})
		if (err == nil) != c.ok || err != nil && !errors.Is(err, traceprof.ErrDuration) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// goSamples returns samples of a Go profile: 10 ms each but the counts.
func goSamples(segment string, stacks *calltree.Forest, time int64, samples map[string]int64) traceprof.Snapshots {
	s := traceprof.Snapshots{Task: "t", Segment: segment, Language: traceprof.GoProfiles, Stacks: stacks}
	for i, stack := range []string{"main-work-sort", "main-work", "main-io"} {
		if n := samples[stack]; n > 0 {
			s.Sequence, s.Time = append(s.Sequence, int32(i)), append(s.Time, time)
			s.Path = append(s.Path, tracetest.Path(stacks, strings.Split(stack, "-")...))
			s.Count, s.Nanos = append(s.Count, n), append(s.Nanos, n*10_000_000)
			time += 10
		}
	}
	return s
}

func TestAnalyzeGoProfiles(t *testing.T) {
	stacks := new(calltree.Forest)
	timed := goSamples("timed", stacks, 100, map[string]int64{"main-work-sort": 3, "main-work": 1, "main-io": 2})
	whole := goSamples("whole", stacks, 100, map[string]int64{"main-work-sort": 3, "main-work": 1, "main-io": 2})
	whole.Time = []int64{100, 100, 100}
	st := &tracetest.Held{List: []traceprof.Snapshots{timed, whole, tracetest.Picture("t", "dumps", "A A")}}
	all := lines("- main 60/0 x6", "  - work 40/10 x4", "    - sort 30/30 x3", "  - io 20/20 x2")
	part := lines("- main 40/0 x4", "  - work 40/10 x4", "    - sort 30/30 x3")
	r := func(segment string, start, end int64) traceprof.Range {
		return traceprof.Range{Segment: segment, Start: start, End: end}
	}
	for _, c := range []struct {
		name  string
		items []traceprof.Range
		want  string
	}{
		{"all", []traceprof.Range{tracetest.All("timed")}, all},
		{"in the range", []traceprof.Range{r("timed", 100, 110)}, part},
		{"several ranges of one segment", []traceprof.Range{r("timed", 100, 105), r("timed", 95, 115)}, part},
		{"without times of their own", []traceprof.Range{r("whole", 5000, 6000)}, all},
		{"dumps come first", []traceprof.Range{tracetest.All("timed"), tracetest.All("dumps")}, lines("- A 10/10 x2")},
	} {
		a, err := traceprof.Analyze(t.Context(), st, c.items, traceprof.AnalyzeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := drawing(a); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", c.name, got, c.want)
		}
	}
	// The number of snapshots is that of Cover, not of the rows.
	a, err := traceprof.Analyze(t.Context(), st, []traceprof.Range{tracetest.All("timed")}, traceprof.AnalyzeOptions{})
	cover := traceprof.Cover(new(traceprof.Task), nil, &timed)
	if err != nil || !a.CPU || a.Snapshots != 6 || a.Found != 6 || cover.Received != 6 || int64(a.Trees[0].Duration[0]) != 6*cover.Period {
		t.Errorf("%d snapshots, %d found, CPU %v, %v; the coverage %+v", a.Snapshots, a.Found, a.CPU, err, cover)
	}
}

// TestAnalyzeShortSamples: samples that are shorter than a ms add up.
func TestAnalyzeShortSamples(t *testing.T) {
	s := goSamples("s", new(calltree.Forest), 0, map[string]int64{"main-work-sort": 3, "main-work": 1, "main-io": 2})
	for i := range s.Nanos {
		s.Nanos[i] = s.Count[i] * 400_000
	}
	st := &tracetest.Held{List: []traceprof.Snapshots{s}}
	a, err := traceprof.Analyze(t.Context(), st, []traceprof.Range{tracetest.All("s")}, traceprof.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := drawing(a), lines("- main 2/1 x6", "  - work 1/0 x4", "    - sort 1/1 x3", "  - io 0/0 x2"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestAnalyzeRefusesWildSamples(t *testing.T) {
	for _, c := range []struct{ count, nanos int64 }{{-1, 1}, {1 << 40, 1}, {1, -1}, {1, math.MaxInt64}} {
		s := goSamples("s", new(calltree.Forest), 0, map[string]int64{"main-io": 1})
		s.Count[0], s.Nanos[0] = c.count, c.nanos
		st := &tracetest.Held{List: []traceprof.Snapshots{s}}
		if _, err := traceprof.Analyze(t.Context(), st, []traceprof.Range{tracetest.All("s")}, traceprof.AnalyzeOptions{}); !errors.Is(err,
			traceprof.ErrDuration) {
			t.Errorf("count %d, %d ns: %v", c.count, c.nanos, err)
		}
	}
}
