package bottleneck_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/runtest"
)

// slow is a store without fast paths.
type slow struct{ store.Reader }

// find asks a store twice, with its fast paths and without, and demands the same
// answer.
func find(t *testing.T, st store.Reader, o bottleneck.Options) *bottleneck.Result {
	t.Helper()
	r, err := bottleneck.Find(context.Background(), st, store.Query{}, o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := bottleneck.Find(context.Background(), slow{st}, store.Query{}, o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, again); diff != "" {
		t.Errorf("the fast paths answer differently (-fast +slow):\n%s", diff)
	}
	return r
}

// lines prints rows as "A 0.5000 [0.1 0.5] self 1 total 2, 1 profiles of 1".
func lines(rows []bottleneck.Row) []string {
	list := []string{}
	for _, r := range rows {
		s := fmt.Sprintf("%s %.4f", r.Function, r.Score)
		if r.Potential != nil {
			s += fmt.Sprintf(" %.3v", r.Potential)
		}
		s += fmt.Sprintf(" self %d total %d, %d of %d", r.Self, r.Total, r.Profiles, r.Benchmarks)
		for _, c := range r.Contexts {
			s += fmt.Sprintf(" | %s %.3f", strings.Join(c.Path, ";"), c.Share)
		}
		list = append(list, s)
	}
	return list
}

func same(t *testing.T, got, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSelfPotential(t *testing.T) {
	st := runtest.Store(t,
		runtest.Run{Benchmark: "a", Stacks: "A;B 6, A;C 2, A;B;A;C 2"},
		runtest.Run{Benchmark: "b", Stacks: "A;C 90, D;C 10"})
	r := find(t, st, bottleneck.Options{Contexts: 2})
	same(t, lines(r.Rows), []string{
		"C 0.7000 self 104 total 104, 2 of 2 | A;C 0.550 | A;B;A;C 0.100",
		"B 0.3000 self 6 total 8, 1 of 1 | A;B 0.300",
	})
	r = find(t, st, bottleneck.Options{Weight: store.BySamples, Rows: 1, Contexts: 1})
	same(t, lines(r.Rows), []string{"C 0.9455 self 104 total 104, 2 of 2 | A;C 0.836"})
	if r.Functions != 2 || r.Value != 110 || r.Profiles != 2 || r.Benchmarks != 2 {
		t.Errorf("%d functions, value %d of %d profiles of %d benchmarks", r.Functions, r.Value, r.Profiles, r.Benchmarks)
	}
}

// sectionsOf gives functions sections by the beginnings of their names.
func sectionsOf(t *calltree.Table, _ []float64) []string {
	list := make([]string, len(t.Functions))
	for i, f := range t.Functions {
		switch {
		case strings.HasPrefix(f.Name, "mine"):
			list[i] = bottleneck.OwnCode
		case strings.HasPrefix(f.Name, "jit"):
			list[i] = bottleneck.Runtime
		default:
			list[i] = bottleneck.Library
		}
	}
	return list
}

// TestOwn: a sample counts for the innermost function of the user's, or else for the outermost one.
func TestOwn(t *testing.T) {
	st := runtest.Store(t,
		runtest.Run{Benchmark: "a", Stacks: "lib;mine;mine2;lib;lib2 4, lib;mine;lib2 3, lib;mine 1, jit;lib 2"},
		runtest.Run{Benchmark: "b", Stacks: "mine;lib2 1, mine;mine2;mine 3"})
	r := find(t, st, bottleneck.Options{Rank: bottleneck.Own, Contexts: 2, Plots: 1, SectionsOf: sectionsOf})
	same(t, lines(r.Rows), []string{
		"mine 0.7000 self 4 total 12, 2 of 2 | mine;mine2;mine 0.375 | lib;mine 0.200",
		"mine2 0.2000 self 0 total 7, 2 of 2 | lib;mine;mine2 0.200",
		"jit 0.1000 self 0 total 2, 1 of 1 | jit 0.100",
	})
	if p := r.Rows[0].Plots; len(p) != 1 || p[0].Benchmark != "b" || len(p[0].Points) != 1 || p[0].Points[0].Y != 1 || p[0].CostUnit != "" {
		t.Errorf("%+v", p)
	}
	if r.Rows[0].Section != bottleneck.OwnCode || r.Rows[2].Section != bottleneck.Runtime {
		t.Errorf("%+v", r.Rows)
	}
	r = find(t, st, bottleneck.Options{Rank: bottleneck.Own, Weight: store.BySamples, Rows: 1, SectionsOf: sectionsOf})
	same(t, lines(r.Rows), []string{"mine 0.5714 self 4 total 12, 2 of 2"})
}

// TestSections: sections come in their order, each with its best rows, whatever their scores.
func TestSections(t *testing.T) {
	st := runtest.Store(t, runtest.Run{Benchmark: "a", Stacks: "jit 50, jit2 10, mine 5, mine2 3, lib 20"})
	r := find(t, st, bottleneck.Options{Rows: 1, Sections: true, SectionsOf: sectionsOf})
	var got []string
	for _, row := range r.Rows {
		got = append(got, row.Section+" "+row.Function)
	}
	same(t, got, []string{"own mine", "library lib", "runtime jit"})
}

// TestSubtreePaper is the paper's example of a recursion: 150% if A2 counted twice.
func TestSubtreePaper(t *testing.T) {
	st := runtest.Store(t, runtest.Run{Benchmark: "a", Stacks: "root;A;A 1, root;A;B 1"})
	r := find(t, st, bottleneck.Options{Rank: bottleneck.Subtree, Degree: 1, Contexts: 3})
	same(t, lines(r.Rows), []string{
		"A 1.0000 [0.5 1] self 1 total 2, 1 of 1 | root;A 1.000",
		"B 0.5000 [0.5 0.5] self 1 total 1, 1 of 1 | root;A;B 0.500",
	})
	r = find(t, st, bottleneck.Options{Rank: bottleneck.Subtree, Degree: bottleneck.Everything, Contexts: 3})
	same(t, lines(r.Rows), []string{
		"A 1.0000 self 1 total 2, 1 of 1 | root;A 1.000",
		"root 1.0000 self 0 total 2, 1 of 1 | root 1.000",
		"B 0.5000 self 1 total 1, 1 of 1 | root;A;B 0.500",
	})
}

// recursive is the paper's definition, word for word: p over nodes, less c over
// recursion edges.
func recursive(t *calltree.Table, self []float64, n int) []float64 {
	var p func(u int32, n int) float64
	p = func(u int32, n int) float64 {
		sum := self[u]
		if n == 0 {
			return sum
		}
		for v := u + 1; v < t.End[u]; v = t.End[v] {
			sum += p(v, n-1)
		}
		return sum
	}
	out := make([]float64, len(t.Functions))
	for u := range int32(t.Len()) {
		out[t.Func[u]] += p(u, n)
		// The recursion edge that enters u, from its nearest ancestor of the function.
		for a, d := t.Parent[u], 1; a != calltree.NoNode; a, d = t.Parent[a], d+1 {
			if t.Func[a] == t.Func[u] {
				if d <= n {
					out[t.Func[u]] -= p(u, n-d)
				}
				break
			}
		}
	}
	return out
}

func TestPotentialsProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var f calltree.Forest
		paths := []int32{calltree.NoNode}
		functions := rapid.IntRange(1, 5).Draw(rt, "functions")
		for range rapid.IntRange(1, 60).Draw(rt, "nodes") {
			up := paths[rapid.IntRange(0, len(paths)-1).Draw(rt, "parent")]
			fn := f.Function(profile.Function{Name: string(rune('A' + rapid.IntRange(0, functions-1).Draw(rt, "function")))})
			paths = append(paths, f.Path(up, fn))
		}
		self := make([]int64, f.Paths.Len())
		for i := range self {
			self[i] = rapid.Int64Range(0, 9).Draw(rt, "self")
		}
		tree := f.Tree(profile.NamedType(profile.CPUSamples), self)
		values := make([]float64, tree.Len())
		for i, v := range tree.Self {
			values[i] = float64(v)
		}
		const degree = 6
		got := bottleneck.Potentials(tree.Table, values, degree)
		for n := range degree + 1 {
			for fn, want := range recursive(tree.Table, values, n) {
				if v := got[fn*(degree+1)+n]; math.Abs(v-want) > 1e-9 {
					rt.Fatalf("P%d(%s) is %g, by recursion %g", n, tree.Functions[fn].Name, v, want)
				}
			}
		}
		// Far enough down, it is the total of the function list.
		deep := bottleneck.Potentials(tree.Table, values, 64)
		for _, row := range tree.FunctionRows() {
			if v := deep[int(row.Func)*65+64]; v != float64(row.Total) {
				rt.Fatalf("P64(%s) is %g, total %d", tree.Functions[row.Func].Name, v, row.Total)
			}
		}
	})
}

// TestPotentialsOfLargeTree compares the potentials of a tree that is processed in parts
// with those by definition.
func TestPotentialsOfLargeTree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var f calltree.Forest
	paths := []int32{calltree.NoNode}
	for f.Paths.Len() < 4<<16 {
		fn := f.Function(profile.Function{Name: fmt.Sprint("f", r.IntN(500))})
		paths = append(paths, f.Path(paths[max(0, len(paths)-1-r.IntN(1000))], fn))
	}
	self := make([]int64, f.Paths.Len())
	for i := range self {
		self[i] = max(0, r.Int64N(9)-4)
	}
	tree := f.Tree(profile.NamedType(profile.CPUSamples), self)
	const degree = 5
	want := make([]int64, len(tree.Functions)*(degree+1))
	for x, v := range tree.Self {
		for fn, steps := range stepsUp(tree.Table, int32(x), degree) {
			for n := steps; n <= degree; n++ {
				want[int(fn)*(degree+1)+n] += v
			}
		}
	}
	if got := bottleneck.Potentials(tree.Table, tree.Self, degree); !slices.Equal(got, want) {
		t.Error("potentials of a large tree differ from their definition")
	}
}

// stepsUp returns how far up each function is among a node and its nearest ancestors.
func stepsUp(t *calltree.Table, at int32, degree int) map[int32]int {
	steps := map[int32]int{}
	for n := 0; n <= degree && at != calltree.NoNode; n++ {
		if _, ok := steps[t.Func[at]]; !ok {
			steps[t.Func[at]] = n
		}
		at = t.Parent[at]
	}
	return steps
}

// TestContextsAddUp: the contexts of a function carry all of its potential, each
// sample once.
func TestContextsAddUp(t *testing.T) {
	st := runtest.Store(t, runtest.Run{Benchmark: "a", Stacks: "A;B;A;B;C 3, A;C 2, B;A 4, C;A;A;A;B 5, A;B;B;C 1"})
	for degree := bottleneck.Everything; degree < 5; degree++ {
		r := find(t, st, bottleneck.Options{Rank: bottleneck.Subtree, Degree: degree, Contexts: 100})
		for _, row := range r.Rows {
			sum := 0.0
			for _, c := range row.Contexts {
				sum += c.Share
			}
			if math.Abs(sum-row.Score) > 1e-9 {
				t.Errorf("degree %d: contexts of %s add up to %g of %g", degree, row.Function, sum, row.Score)
			}
		}
	}
}

func TestCorrelation(t *testing.T) {
	st := runtest.Store(t,
		runtest.Run{Benchmark: "a", Metric: 10, Stacks: "A 10, B 80, C 10"},
		runtest.Run{Benchmark: "a", Metric: 20, Stacks: "A 20, B 70, C 10"},
		runtest.Run{Benchmark: "a", Metric: 30, Stacks: "A 30, B 60, C 10"},
		runtest.Run{Benchmark: "b", Metric: 5, Stacks: "A 50, C 50"},
		runtest.Run{Benchmark: "b", Metric: 4, Stacks: "A 60, C 40"},
		runtest.Run{Benchmark: "b", Metric: 9, Stacks: "A 10, C 90"},
		runtest.Run{Benchmark: "b", Stacks: "A 1, C 1"})
	r := find(t, st, bottleneck.Options{Rank: bottleneck.Correlation})
	// A goes with time in a and as much against it in b; C does not vary in a.
	same(t, lines(r.Rows), []string{"C 0.5000 self 210 total 210, 6 of 2", "A 0.0000 self 180 total 180, 6 of 2"})
	if r.Zero != 1 || r.Functions != 3 {
		t.Errorf("%d of %d functions without correlation, want 1 of 3", r.Zero, r.Functions)
	}
	if len(r.Negative) != 1 || r.Negative[0].Function != "B" || r.Negative[0].Score != -1 {
		t.Errorf("negative: %v", lines(r.Negative))
	}
	want := []string{"1 of 7 profiles have no metric to use as a time and are ignored", "1 of 5 series of a function in a benchmark are constant and correlate with nothing"}
	same(t, r.Warnings, want)
	r = find(t, st, bottleneck.Options{Rank: bottleneck.Correlation, Correlating: bottleneck.Correlating{Over: "max", Ranks: true}})
	same(t, lines(r.Rows), []string{"A 1.0000 self 180 total 180, 6 of 2", "C 1.0000 self 210 total 210, 6 of 2"})
	same(t, lines(r.Negative), []string{"A -1.0000 self 180 total 180, 6 of 2", "B -1.0000 self 210 total 210, 3 of 1"})
}

// TestSpearman: a curve is a straight line of ranks.
func TestSpearman(t *testing.T) {
	st := runtest.Store(t,
		runtest.Run{Benchmark: "a", Metric: 1, Stacks: "A 1, B 99"}, runtest.Run{Benchmark: "a", Metric: 2, Stacks: "A 4, B 96"},
		runtest.Run{Benchmark: "a", Metric: 3, Stacks: "A 9, B 91"}, runtest.Run{Benchmark: "a", Metric: 4, Stacks: "A 80, B 20"})
	pearson := find(t, st, bottleneck.Options{Rank: bottleneck.Correlation}).Rows[0].Score
	spearman := find(t, st, bottleneck.Options{Rank: bottleneck.Correlation, Correlating: bottleneck.Correlating{Ranks: true}}).Rows[0].Score
	// Python: statistics.correlation([1, 4, 9, 80], [1, 2, 3, 4])
	if math.Abs(pearson-0.8263) > 5e-4 || spearman != 1 {
		t.Errorf("Pearson %.4f, Spearman %g", pearson, spearman)
	}
}

// TestThroughput: a rate is turned into a time, or taken as it is.
func TestThroughput(t *testing.T) {
	var runs []runtest.Run
	for i, rate := range []float64{100, 50, 20, 10} {
		runs = append(runs, runtest.Run{Benchmark: "a", Metric: rate, Unit: "ops/s", Stacks: fmt.Sprintf("A %d, B %d", 10+i*7, 90-i*7)})
	}
	st := runtest.Store(t, runs...)
	if r := find(t, st, bottleneck.Options{Rank: bottleneck.Correlation}); len(r.Rows) != 1 || r.Rows[0].Function != "A" {
		t.Errorf("as a time: %v", lines(r.Rows))
	}
	o := bottleneck.Options{Rank: bottleneck.Correlation, Correlating: bottleneck.Correlating{Raw: true, Samples: true}}
	if r := find(t, st, o); len(r.Rows) != 1 || r.Rows[0].Function != "B" {
		t.Errorf("raw: %v", lines(r.Rows))
	}
}

// TestUnitDoesNotCount: seconds and nanoseconds correlate alike.
func TestUnitDoesNotCount(t *testing.T) {
	for _, scale := range []float64{1e-12, 1, 1e9} {
		st := runtest.Store(t,
			runtest.Run{Benchmark: "a", Metric: 1 * scale, Stacks: "A 10, B 90"},
			runtest.Run{Benchmark: "a", Metric: 1.1 * scale, Stacks: "A 12, B 88"},
			runtest.Run{Benchmark: "a", Metric: 1.2 * scale, Stacks: "A 14, B 86"})
		if r := find(t, st, bottleneck.Options{Rank: bottleneck.Correlation}); len(r.Rows) != 1 || r.Rows[0].Score != 1 {
			t.Errorf("scale %g: %v", scale, lines(r.Rows))
		}
		// A rate goes another way, over its inverse.
		st = runtest.Store(t,
			runtest.Run{Benchmark: "a", Metric: scale, Unit: "ops/s", Stacks: "A 10, B 90"},
			runtest.Run{Benchmark: "a", Metric: scale / 1.1, Unit: "ops/s", Stacks: "A 12, B 88"},
			runtest.Run{Benchmark: "a", Metric: scale / 1.2, Unit: "ops/s", Stacks: "A 14, B 86"})
		if r := find(t, st, bottleneck.Options{Rank: bottleneck.Correlation}); len(r.Rows) != 1 || r.Rows[0].Score != 1 {
			t.Errorf("rate, scale %g: %v", scale, lines(r.Rows))
		}
	}
}

func TestLittleData(t *testing.T) {
	for _, c := range []struct {
		name string
		runs []runtest.Run
		o    bottleneck.Options
		want string // a warning
		rows int
	}{
		{"no metric", []runtest.Run{{Benchmark: "a", Stacks: "A 1"}, {Benchmark: "a", Stacks: "A 2"}},
			bottleneck.Options{Rank: bottleneck.Correlation},
			"2 of 2 profiles have no metric", 0},
		{"one run", []runtest.Run{{Benchmark: "a", Metric: 1, Stacks: "A 1"}}, bottleneck.Options{Rank: bottleneck.Correlation},
			"fewer than 2 runs with a metric", 0},
		{"same metric", []runtest.Run{{Benchmark: "a", Metric: 3, Stacks: "A 1, B 1"}, {Benchmark: "a", Metric: 3, Stacks: "A 2, B 1"}},
			bottleneck.Options{Rank: bottleneck.Correlation}, "the same metric in every run", 0},
		{"two runs", []runtest.Run{{Benchmark: "a", Metric: 3, Stacks: "A 1, B 1"}, {Benchmark: "a", Metric: 4, Stacks: "A 2, B 1"}},
			bottleneck.Options{Rank: bottleneck.Correlation}, "2 of 2 functions have series of only 2 runs", 1},
		{"one giant function", []runtest.Run{{Benchmark: "a", Metric: 3, Stacks: "A 1"}, {Benchmark: "a", Metric: 4, Stacks: "A 2"},
			{Benchmark: "a", Metric: 5, Stacks: "A 9"}},
			bottleneck.Options{Rank: bottleneck.Correlation}, "1 of 1 series of a function in a benchmark are constant", 1},
		{"no samples", []runtest.Run{{Benchmark: "a"}}, bottleneck.Options{Contexts: 3}, "1 of 1 profiles have no samples", 0},
		{"no samples below", []runtest.Run{{Benchmark: "a"}}, bottleneck.Options{Rank: bottleneck.Subtree, Degree: 3, Contexts: 3},
			"1 of 1 profiles have no samples", 0},
		{"no samples, by samples", []runtest.Run{{Benchmark: "a"}},
			bottleneck.Options{Rank: bottleneck.Subtree, Weight: store.BySamples, Contexts: 3}, "no samples", 0},
		{"some without samples", []runtest.Run{{Benchmark: "a"}, {Benchmark: "a", Stacks: "A 3, B 1"}}, bottleneck.Options{},
			"1 of 2 profiles have no samples", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := find(t, runtest.Store(t, c.runs...), c.o)
			if !strings.Contains(strings.Join(r.Warnings, "\n"), c.want) {
				t.Errorf("warnings %q say nothing of %q", r.Warnings, c.want)
			}
			if len(r.Rows) != c.rows {
				t.Errorf("rows: %v", lines(r.Rows))
			}
			for _, row := range append(r.Rows, r.Negative...) {
				if math.IsNaN(row.Score) || math.IsInf(row.Score, 0) {
					t.Errorf("%s: score %g", row.Function, row.Score)
				}
			}
		})
	}
	if r := find(t, runtest.Store(t, runtest.Run{Benchmark: "a"}, runtest.Run{Benchmark: "a", Stacks: "A 3, B 1"}),
		bottleneck.Options{}); r.Rows[0].Score != .75 {
		t.Errorf("an empty profile has weight: %v", lines(r.Rows))
	}
}

func TestErrors(t *testing.T) {
	st := runtest.Store(t, runtest.Run{Benchmark: "a", Stacks: "A 1"})
	ctx := context.Background()
	if _, err := bottleneck.Find(ctx, st, store.Query{Groups: []string{"no"}}, bottleneck.Options{}); !errors.Is(err, store.ErrNothing) {
		t.Errorf("of nothing: %v", err)
	}
	for _, o := range []bottleneck.Options{{Rank: "size"}, {Rank: bottleneck.Subtree, Degree: 65}, {Rank: bottleneck.Subtree, Degree: -2}} {
		if _, err := bottleneck.Find(ctx, st, store.Query{}, o); err == nil {
			t.Errorf("no error for %+v", o)
		}
	}
}

// plotted prints plots as "a r +0.50 share→ms: 001 0.1 5, 002 …; y = 2x + 1".
func plotted(list []bottleneck.Plot) []string {
	lines := []string{}
	for _, p := range list {
		s := fmt.Sprintf("%s %.3g %s→%s:", p.Benchmark, p.Score, p.X, p.Y)
		for _, point := range p.Points {
			s += fmt.Sprintf(" (%.3g %.3g)", point.X, point.Y)
		}
		if p.Slope != 0 {
			s += fmt.Sprintf("; %.3gx%+.3g", p.Slope, p.Intercept)
		}
		lines = append(lines, s)
	}
	return lines
}

// TestPlots: the numbers behind a correlation and behind a potential.
func TestPlots(t *testing.T) {
	st := runtest.Store(t,
		runtest.Run{Benchmark: "7", Metric: 10, Stacks: "A 10, B 90"}, runtest.Run{Benchmark: "7", Metric: 12, Stacks: "A 20, B 80"},
		runtest.Run{Benchmark: "7", Metric: 14, Stacks: "A 30, B;A 30, B 40"}, runtest.Run{Benchmark: "7", Stacks: "A 99, B 1"},
		runtest.Run{Benchmark: "7", Metric: 9, Stacks: "B 1"}, runtest.Run{Benchmark: "7"},
		runtest.Run{Benchmark: "3", Metric: 10, Stacks: "A 10, B 90"}, runtest.Run{Benchmark: "3", Metric: 10, Stacks: "A 30, B 70"},
		runtest.Run{Benchmark: "3", Metric: 11, Stacks: "A 20, B 80"})
	r := find(t, st, bottleneck.Options{Rank: bottleneck.Correlation, Plots: 1})
	same(t, plotted(r.Rows[0].Plots), []string{"7 0.945 share→ms: (0.1 10) (0.2 12) (0.6 14); 7.14x+9.86"})
	same(t, plotted(r.Negative[0].Plots), []string{"7 -0.957 share→ms: (0.9 10) (0.8 12) (0.4 14) (1 9); -8.07x+17.5"})
	r = find(t, st, bottleneck.Options{Rank: bottleneck.Correlation, Plots: 9,
		Correlating: bottleneck.Correlating{Samples: true, Raw: true, Least: 3}})
	same(t, plotted(r.Rows[0].Plots), []string{"7 0.945 count→ms: (10 10) (20 12) (60 14); 0.0714x+9.86",
		"3 0 count→ms: (10 10) (30 10) (20 11)"})
	r = find(t, st, bottleneck.Options{Rows: 1, Plots: 9})
	same(t, plotted(r.Rows[0].Plots), []string{"3 0.8 →share: (0 0.9) (0 0.7) (0 0.8)",
		"7 0.622 →share: (0 0.9) (0 0.8) (0 0.4) (0 0.01) (0 1)"})
	r = find(t, st, bottleneck.Options{Rank: bottleneck.Subtree, Degree: 1, Plots: 2})
	same(t, plotted(r.Rows[0].Plots), []string{"3 0.8 →share: (0 0.9) (0 0.7) (0 0.8)",
		"7 0.682 →share: (0 0.9) (0 0.8) (0 0.7) (0 0.01) (0 1)"})
	if r = find(t, st, bottleneck.Options{Rank: bottleneck.Correlation}); r.Rows[0].Plots != nil {
		t.Errorf("plots without being asked: %v", plotted(r.Rows[0].Plots))
	}
}
