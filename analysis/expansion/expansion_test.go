package expansion_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/expansion"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/runtest"
)

// load loads everything in a store; the newest run of each benchmark is tested.
func load(t testing.TB, st store.Reader) *expansion.Data {
	t.Helper()
	list, err := store.Select(context.Background(), st, store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := expansion.Load(context.Background(), st,
		history.Choose(list, history.Options{AnyMachine: true, AnyProfiler: true, AnyBranch: true, Window: 1000}), 1, true)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// draw prints an expansion: "v u <- caller <- caller", "^ u -> callee", with the
// candidate's score at each step.
func draw(list []expansion.Expansion) []string {
	out := []string{}
	for _, e := range list {
		out = append(out, fmt.Sprintf("%s %.2f", e.Function, e.Prospect))
		for _, part := range []struct {
			arrow  string
			traces []expansion.Trace
		}{{" -> ", e.Children}, {" <- ", e.Parents}} {
			for _, trace := range part.traces {
				var steps []string
				for _, s := range trace {
					steps = append(steps, fmt.Sprintf("%s%s(%+.6g %+.6g %.2f)", s.Function, s.Status, s.Diff, s.CandidateDiff, s.CandidateScore))
				}
				out = append(out, strings.Join(steps, part.arrow))
			}
		}
	}
	return out
}

func expand(t *testing.T, d *expansion.Data, function string, sel expansion.Selection, o expansion.Options,
	want ...string) []expansion.Expansion {
	t.Helper()
	list := expansion.Expand(d, []expansion.Candidate{{Function: function}}, sel, o)
	if diff := cmp.Diff(want, draw(list)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", function, diff)
	}
	return list
}

// history of u: called by P and Q; only the calls from P;main grow.
var fromP = []runtest.Run{
	{Benchmark: "a", Stacks: "main;P;u;v 10, main;Q;u;v 10, main;Q;x 5"},
	{Benchmark: "a", Stacks: "main;P;u;v 12, main;Q;u;v 11, main;Q;x 5"},
	{Benchmark: "a", Stacks: "main;P;u;v 11, main;Q;u;v 9, main;Q;x 5"},
	{Benchmark: "a", Stacks: "main;P;u;v 31, main;P;u;w 4, main;Q;u;v 9, main;Q;x 5"},
}

func TestGreedyParents(t *testing.T) {
	d := load(t, runtest.Store(t, fromP...))
	// u: 20, 23, 20 and now 44. Under P: 10, 12, 11 and 35. Under Q: 10, 11, 9 and 9.
	expand(t, d, "u", expansion.Greedy(expansion.Deviation), expansion.Options{NoChildren: true},
		"u 13.28",
		"u(+23 +23 13.28) <- P(+24 +24 24.00) <- main(+23 +24 24.00)")
	// Q's score is negative, so a second extension is not taken even if there is room.
	expand(t, d, "u", expansion.Greedy(expansion.Deviation), expansion.Options{NoChildren: true, MaxBreadth: 9, MaxDepth: 2},
		"u 13.28",
		"u(+23 +23 13.28) <- P(+24 +24 24.00)")
	expand(t, d, "u", expansion.Greedy(expansion.Deviation), expansion.Options{NoChildren: true, Threshold: 20}, "u 13.28")
	expand(t, d, "nowhere", expansion.Greedy(expansion.Deviation), expansion.Options{}, "nowhere 0.00")
}

func TestGreedyChildren(t *testing.T) {
	d := load(t, runtest.Store(t, fromP...))
	// All nodes of u call v in all runs; w is called for the first time, and what never
	// was has no deviation.
	expand(t, d, "u", expansion.Greedy(expansion.Deviation), expansion.Options{NoParents: true},
		"u 13.28",
		"u(+23 +23 13.28) -> v(+19 +23 13.28)")
	// Counted, the new call is the more surprising one: u where it calls w.
	expand(t, d, "u", expansion.Greedy(expansion.Counting(1)), expansion.Options{NoParents: true},
		"u 5.02",
		"u(+23 +23 5.02) -> w+(+4 +35 35.00)",
		"u(+23 +23 5.02) -> v(+19 +23 5.02)")
}

// TestChildrenByNode: "u where it calls v" is whole nodes of u, and a node without
// samples below v in a run does not count in that run.
func TestChildrenByNode(t *testing.T) {
	d := load(t, runtest.Store(t,
		runtest.Run{Benchmark: "a", Stacks: "P;u;v 1, P;u;w 9, Q;u;w 5"},
		runtest.Run{Benchmark: "a", Stacks: "P;u;w 11, Q;u;w 5"},
		runtest.Run{Benchmark: "a", Stacks: "P;u;v 2, P;u;w 19, Q;u;w 5"}))
	// u given v: 10, 0 (no v below), 21; std √50.
	expand(t, d, "u", expansion.Greedy(expansion.Deviation), expansion.Options{NoParents: true},
		"u 14.85",
		"u(+10.5 +10.5 14.85) -> w(+9 +10.5 14.85)",
		"u(+10.5 +10.5 14.85) -> v(+1.5 +16 2.26)")
}

// TestRecursion: nested nodes of u count once, in the candidate and in the path.
func TestRecursion(t *testing.T) {
	d := load(t, runtest.Store(t,
		runtest.Run{Benchmark: "a", Stacks: "main;u;u 4, main;u;u;u 2"},
		runtest.Run{Benchmark: "a", Stacks: "main;u;u 5, main;u;u;u 3"},
		runtest.Run{Benchmark: "a", Stacks: "main;u;u 9, main;u;u;u 7"}))
	// u: 6, 8, 16. u below u: the outer of the two nodes that have u above them.
	expand(t, d, "u", expansion.Greedy(expansion.Deviation), expansion.Options{NoChildren: true, MaxDepth: 3},
		"u 6.36",
		"u(+9 +9 6.36) <- main(+9 +9 6.36)",
		"u(+9 +9 6.36) <- u(+9 +9 6.36) <- main(+9 +9 6.36)",
		"u(+9 +9 6.36) <- u(+9 +9 6.36) <- u(+9 +4.5 6.36)")
	expand(t, d, "u", expansion.Greedy(expansion.Deviation), expansion.Options{NoParents: true, MaxDepth: 2},
		"u 6.36",
		"u(+9 +9 6.36) -> u(+9 +9 6.36)")
}

func TestInformed(t *testing.T) {
	runs := []runtest.Run{
		{Benchmark: "a", Stacks: "P;u 10, Q;u 10, R;u 10, S;x;u 10"},
		{Benchmark: "a", Stacks: "P;u 12, Q;u 12, R;u 12, S;x;u 12"},
		{Benchmark: "a", Stacks: "P;u 20, Q;u 19, R;u 17, S;x;u 21"},
	}
	d := load(t, runtest.Store(t, runs...))
	order := func(sel expansion.Selection) string {
		list := expansion.Expand(d, []expansion.Candidate{{Function: "u"}}, sel, expansion.Options{NoChildren: true, MaxBreadth: 9, MaxDepth: 2})
		names := ""
		for _, trace := range list[0].Parents {
			names += trace[len(trace)-1].Function
		}
		return names
	}
	if got := order(expansion.Greedy(expansion.Deviation)); got != "xPQR" {
		t.Errorf("greedy: %s", got)
	}
	// R changed today, Q long ago.
	recency := func(f *profile.Function) (time.Duration, bool) {
		return map[string]time.Duration{"R": 0, "Q": 1000 * expansion.HalfLife}[f.Name], f.Name == "R" || f.Name == "Q"
	}
	if got := order(expansion.Informed(expansion.Deviation, recency, expansion.HalfLife)); got != "RxPQ" {
		t.Errorf("with recency: %s", got)
	}
}

// TestReasons: a step says why it was taken: the age of the code, of which the weight is that
// of the half-life, the compile mode, the depth.
func TestReasons(t *testing.T) {
	d := load(t, runtest.Store(t,
		runtest.Run{Benchmark: "a", Stacks: "main;P;u;v 10, main;Q;u;v 10, x 1", Interpreted: "x 1"},
		runtest.Run{Benchmark: "a", Stacks: "main;P;u;v 12, main;Q;u;v 12, x 1", Interpreted: "x 1"},
		runtest.Run{Benchmark: "a", Stacks: "main;P;u;v 13, main;main;P;u;v 12, main;Q;u;v 11",
			Interpreted: "main;P;u;v 13, main;main;P;u;v 11"}))
	day := 24 * time.Hour
	recency := func(f *profile.Function) (time.Duration, bool) {
		age, known := map[string]time.Duration{"P": 30 * day, "v": time.Hour, "main": -day}[f.Name]
		return age, known
	}
	why := func(trace expansion.Trace) string {
		text := ""
		for _, s := range trace {
			text += fmt.Sprintf("%s ×%.2f:", s.Function, s.Weight)
			for _, r := range s.Why {
				text += fmt.Sprintf(" %s %.2f %s;", r.Measure, r.Weight, r.Distance)
			}
		}
		return text
	}
	of := func(halfLife time.Duration) [2]string {
		e := expansion.Expand(d, []expansion.Candidate{{Function: "u"}}, expansion.Informed(expansion.Deviation, recency, halfLife),
			expansion.Options{MaxBreadth: 1})[0]
		return [2]string{why(e.Parents[0]), why(e.Children[0])}
	}
	want := [2]string{
		"u ×0.00:P ×2.50: recency 0.25 changed 30 days ago; depth 1.00 new depth 4;main ×4.00: recency 1.00 changed 0 hours ago; depth 1.00 new depth 4;",
		"u ×0.00:v ×6.66: recency 1.00 changed 1 hour ago; mode 0.67 mode became interpreted: 67%, before 0%; depth 1.00 new depth 4;",
	}
	if got := of(15 * day); got != want {
		t.Errorf("\n%q, want\n%q", got, want)
	}
	if got := of(30 * day); !strings.Contains(got[0], "recency 0.50 changed 30 days ago") {
		t.Errorf("with twice the half-life: %q", got[0])
	}
}

// ownFirst is a selection of one's own: what changed most in samples, in one package before
// others.
type ownFirst struct{ prefix string }

func (ownFirst) Prospect(c *expansion.Context) float64 {
	sum := 0.0
	for now, history := range c.Benchmarks() {
		sum += slices.Max(now) - slices.Max(history)
	}
	return sum
}

func (s ownFirst) Weigh(c *expansion.Context) []expansion.Reason {
	if !strings.HasPrefix(c.Function(), s.prefix) {
		return nil
	}
	return []expansion.Reason{{Measure: "owner", Weight: 9, Distance: "of " + s.prefix}}
}

// TestOwnSelection: the candidate grew more below lib.read, but shop.cart is the own code.
func TestOwnSelection(t *testing.T) {
	d := load(t, runtest.Store(t,
		runtest.Run{Benchmark: "a", Stacks: "lib.read;u 10, shop.cart;u 10"},
		runtest.Run{Benchmark: "a", Stacks: "lib.read;u 11, shop.cart;u 12"},
		runtest.Run{Benchmark: "a", Stacks: "lib.read;u 31, shop.cart;u 18"}))
	e := expansion.Expand(d, []expansion.Candidate{{Function: "u"}}, ownFirst{"shop."}, expansion.Options{MaxBreadth: 1})[0]
	step := e.Parents[0][1]
	if want := (expansion.Step{Function: "shop.cart", Diff: 7, CandidateDiff: 7, CandidateScore: 6, Weight: 10,
		Why: []expansion.Reason{{Measure: "owner", Weight: 9, Distance: "of shop."}}}); !cmp.Equal(step, want) {
		t.Errorf("%+v, want %+v", step, want)
	}
}

// TestInformedDepth: u one call deeper than it ever was below P, a recursion more.
func TestInformedDepth(t *testing.T) {
	d := load(t, runtest.Store(t,
		runtest.Run{Benchmark: "a", Stacks: "main;P;u 10, main;Q;u 10"},
		runtest.Run{Benchmark: "a", Stacks: "main;P;u 12, main;Q;u 12"},
		runtest.Run{Benchmark: "a", Stacks: "main;P;u 10, main;main;P;u 6, main;Q;u 17"}))
	first := func(sel expansion.Selection) string {
		return expansion.Expand(d, []expansion.Candidate{{Function: "u"}}, sel,
			expansion.Options{NoChildren: true, MaxBreadth: 1})[0].Parents[0][1].Function
	}
	if got := first(expansion.Greedy(expansion.Deviation)); got != "Q" {
		t.Errorf("greedy: %s", got)
	}
	if got := first(expansion.Informed(expansion.Deviation, nil, expansion.HalfLife)); got != "P" {
		t.Errorf("informed: %s", got)
	}
}

// TestInformedModes: what v does below u is interpreted now and never was.
func TestInformedModes(t *testing.T) {
	d := load(t, runtest.Store(t,
		runtest.Run{Benchmark: "a", Stacks: "u;v 10, u;w 10", Interpreted: "u;w 5"},
		runtest.Run{Benchmark: "a", Stacks: "u;v 12, u;w 12", Interpreted: "u;w 6"},
		runtest.Run{Benchmark: "a", Stacks: "u;v 14, u;w 20", Interpreted: "u;v 7, u;w 10"}))
	first := func(sel expansion.Selection) string {
		return expansion.Expand(d, []expansion.Candidate{{Function: "u"}}, sel,
			expansion.Options{NoParents: true, MaxBreadth: 1})[0].Children[0][1].Function
	}
	if got := first(expansion.Greedy(expansion.Deviation)); got != "w" {
		t.Errorf("greedy: %s", got)
	}
	if got := first(expansion.Informed(expansion.Deviation, nil, expansion.HalfLife)); got != "v" {
		t.Errorf("informed: %s", got)
	}
}

// TestBenchmarks: scores are means over the benchmarks that have the context.
func TestBenchmarks(t *testing.T) {
	var runs []runtest.Run
	for i, v := range []int{10, 12, 14, 30} {
		runs = append(runs, runtest.Run{Benchmark: "a", Stacks: fmt.Sprintf("P;u %d", v)},
			runtest.Run{Benchmark: "b", Stacks: fmt.Sprintf("Q;u %d", 10+i%2)}, runtest.Run{Benchmark: "c", Stacks: "x 1"})
	}
	// a: (30-12)/2 = 9; b: (11-10.33)/.577 = 1.15.
	expand(t, load(t, runtest.Store(t, runs...)), "u", expansion.Greedy(expansion.Deviation), expansion.Options{NoChildren: true},
		"u 5.08",
		"u(+18.6667 +18.6667 5.08) <- P(+18 +18 9.00)",
		"u(+18.6667 +18.6667 5.08) <- Q(+0.666667 +0.666667 1.15)")
}

func TestCorrelated(t *testing.T) {
	var runs []runtest.Run
	for i := range 6 {
		metric := float64(10 + i)
		runs = append(runs, runtest.Run{Benchmark: "a", Metric: metric, Stacks: fmt.Sprintf("P;u %d, Q;u %d, z %d", 10+5*i, 40-5*i+i%2, 50)})
	}
	d := load(t, runtest.Store(t, runs...))
	sel := expansion.Correlated(d, bottleneck.Correlating{Samples: true}, false)
	list := expansion.Expand(d, []expansion.Candidate{{Function: "u"}}, sel, expansion.Options{NoChildren: true})
	if p := list[0].Parents; len(p) != 1 || p[0][1].Function != "P" || p[0][1].CandidateScore != 1 {
		t.Errorf("parents: %v", draw(list))
	}
	// Turned round, u as a whole goes with time, so there is nothing to follow.
	sel = expansion.Correlated(d, bottleneck.Correlating{Samples: true}, true)
	if list = expansion.Expand(d, []expansion.Candidate{{Function: "u"}}, sel,
		expansion.Options{NoChildren: true}); len(list[0].Parents) != 0 {
		t.Errorf("reverse: %v", draw(list))
	}
	list = expansion.Expand(d, []expansion.Candidate{{Function: "u"}}, sel, expansion.Options{NoChildren: true, Threshold: -1})
	if p := list[0].Parents; len(p) == 0 || p[0][1].Function != "Q" || p[0][1].CandidateScore < .9 {
		t.Errorf("reverse with a threshold: %v", draw(list))
	}
}

// TestCorrelatedPresence: runs without the context are no points of its series.
func TestCorrelatedPresence(t *testing.T) {
	var runs []runtest.Run
	for i := range 6 {
		stacks := fmt.Sprintf("P;u %d, z 50", 10+5*i)
		if i == 4 {
			stacks = "R;u 30, z 50" // where 0 for P would spoil the line
		}
		runs = append(runs, runtest.Run{Benchmark: "a", Metric: float64(10 + i), Stacks: stacks})
	}
	d := load(t, runtest.Store(t, runs...))
	sel := expansion.Correlated(d, bottleneck.Correlating{Samples: true}, false)
	list := expansion.Expand(d, []expansion.Candidate{{Function: "u"}}, sel, expansion.Options{NoChildren: true})
	if p := list[0].Parents; len(p) != 1 || p[0][1].Function != "P" || p[0][1].CandidateScore != 1 {
		t.Errorf("parents: %v", draw(list))
	}
}

// TestBounds: breadth to the power of depth is cut, and that is said.
func TestBounds(t *testing.T) {
	path := func(seed int) string {
		names := []string{}
		for i := range 12 {
			names = append(names, fmt.Sprintf("f%d_%d", i, seed>>i&1))
		}
		return strings.Join(names, ";")
	}
	stacks := func(value int) string {
		var list []string
		for seed := range 1 << 10 {
			list = append(list, fmt.Sprintf("%s;u %d", path(seed), value+seed%2))
		}
		return strings.Join(list, ",")
	}
	d := load(t, runtest.Store(t, runtest.Run{Benchmark: "a", Stacks: stacks(1)}, runtest.Run{Benchmark: "a", Stacks: stacks(2)},
		runtest.Run{Benchmark: "a", Stacks: stacks(9)}))
	e := expansion.Expand(d, []expansion.Candidate{{Function: "u"}}, expansion.Greedy(expansion.Deviation),
		expansion.Options{MaxDepth: 100})[0]
	if len(e.Parents) != expansion.DefaultMaxTraces || !e.Truncated {
		t.Errorf("%d traces, truncated %v", len(e.Parents), e.Truncated)
	}
}

func TestLittleHistory(t *testing.T) {
	d := load(t, runtest.Store(t, runtest.Run{Benchmark: "a", Stacks: "P;u 1"}, runtest.Run{Benchmark: "a", Stacks: "P;u 5"}))
	if w := d.Warnings(); len(w) != 1 || !strings.Contains(w[0], "1 of 1 benchmarks have fewer than 2 runs before") {
		t.Errorf("warnings: %q", w)
	}
	expand(t, d, "u", expansion.Greedy(expansion.Deviation), expansion.Options{}, "u 0.00")
	// All equal: nothing deviates.
	d = load(t, runtest.Store(t, runtest.Run{Benchmark: "a", Stacks: "P;u 5"}, runtest.Run{Benchmark: "a", Stacks: "P;u 5"},
		runtest.Run{Benchmark: "a", Stacks: "P;u 5, P 1"}))
	expand(t, d, "u", expansion.Greedy(expansion.Deviation), expansion.Options{}, "u 0.00")
}

// TestMinDiff: contexts of the program's own stacks, without tails that hardly changed, and
// the largest difference first, whatever the order of their prospects.
func TestMinDiff(t *testing.T) {
	st := runtest.Store(t,
		runtest.Run{Benchmark: "a", Stacks: "main;u;a;x 10, main;u;b 10, main;u;c 10"},
		runtest.Run{Benchmark: "a", Stacks: "main;u;a;x 10, main;u;b 10, main;u;c 10"},
		runtest.Run{Benchmark: "a", Stacks: "main;u;a;x 11, main;u;a 14, main;u;b 60, main;u;c 4"})
	list, err := store.Select(t.Context(), st, store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := history.Load(t.Context(), st, &history.Choose(list, history.Options{Window: 10})[0])
	if err != nil {
		t.Fatal(err)
	}
	found := expansion.Expand(expansion.Of(m, 1), []expansion.Candidate{{Function: "u"}}, expansion.Greedy(expansion.Counting(1)),
		expansion.Options{MaxBreadth: 5, MinDiff: 2})
	var got []string
	for _, trace := range found[0].Children {
		last := trace[len(trace)-1]
		got = append(got, fmt.Sprintf("%d %s %+.0f", len(trace), last.Function, last.Diff))
	}
	if want := []string{"2 b +50", "2 a +15", "2 c -6"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
