package average_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/analysis/average"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/format/folded"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/runtest"
)

// draw prints a tree in table order, values with their decimals.
func draw(t *calltree.Tree) string {
	var b strings.Builder
	by := math.Pow10(t.Type.Scale)
	for n := range int32(t.Len()) {
		fmt.Fprintf(&b, "%s%s %g %g\n", strings.Repeat("  ", int(t.Depth[n])), t.Name(n), float64(t.Total[n])/by, float64(t.Self[n])/by)
	}
	return b.String()
}

func of(t *testing.T, weight store.Weight, runs ...runtest.Run) *average.Band {
	t.Helper()
	b, err := average.Of(context.Background(), runtest.Store(t, runs...), store.Query{}, weight)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTrees(t *testing.T) {
	runs := []runtest.Run{
		{Benchmark: "a", Stacks: "A 1, A;B 10, A;C 1"},
		{Benchmark: "a", Stacks: "A 2, A;B 20"},
		{Benchmark: "a", Stacks: "A 3, A;B 60"},
	}
	b := of(t, store.BySamples, runs...)
	if len(b.Warnings) != 0 {
		t.Errorf("warnings: %v", b.Warnings)
	}
	for what, want := range map[average.Statistic]string{
		average.Mean:   "A 32.333333 2\n  B 30 30\n  C 0.333333 0.333333\n",
		average.Median: "A 22 2\n  B 20 20\n  C 0 0\n",
		average.P10:    "A 14 2\n  B 12 12\n  C 0 0\n",
		average.P90:    "A 54.8 2\n  B 52 52\n  C 0.8 0.8\n",
	} {
		if diff := cmp.Diff(want, draw(b.Tree(what))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	if s := b.Total[0]; s.Runs != 3 || s.Median != 22 || math.Abs(s.Deviation-27.025) > .001 {
		t.Errorf("A: %+v", s)
	}
	// By share all runs are as long as their mean, 97/3.
	if diff := cmp.Diff("A 32.333333 2.3911", draw(of(t, store.ByShare, runs...).Tree(average.Mean))[:18]); diff != "" {
		t.Errorf("by share (-want +got):\n%s", diff)
	}
}

// TestQuantilesAddUp: callees that take turns have more at the 90% quantile than
// their caller ever had; they share what it has.
func TestQuantilesAddUp(t *testing.T) {
	b := of(t, store.BySamples,
		runtest.Run{Benchmark: "a", Stacks: "A;B 100"}, runtest.Run{Benchmark: "a", Stacks: "A;C 100"},
		runtest.Run{Benchmark: "a", Stacks: "A;D 100"})
	if got := draw(b.Tree(average.P90)); got != "A 100 0\n  B 33.333333 33.333333\n  C 33.333334 33.333334\n  D 33.333333 33.333333\n" {
		t.Errorf("p90:\n%s", got)
	}
	if got := draw(b.Tree(average.Median)); !strings.HasPrefix(got, "A 100 100\n") {
		t.Errorf("median:\n%s", got)
	}
}

func TestFewRuns(t *testing.T) {
	b := of(t, "", runtest.Run{Benchmark: "a", Stacks: "A 3"})
	if len(b.Warnings) != 1 || !strings.Contains(b.Warnings[0], "1 of 3 runs needed") {
		t.Errorf("warnings: %q", b.Warnings)
	}
	for _, what := range []average.Statistic{average.Mean, average.Median, average.P10, average.P90} {
		if got := draw(b.Tree(what)); got != "A 3 3\n" {
			t.Errorf("%s: %s", what, got)
		}
	}
	b = of(t, store.ByShare, runtest.Run{Benchmark: "a"}, runtest.Run{Benchmark: "a"}, runtest.Run{Benchmark: "a"})
	if len(b.Warnings) != 1 || b.Tree(average.Median).Len() != 0 {
		t.Errorf("without samples: %q", b.Warnings)
	}
}

// noisy returns runs of some functions with Poisson noise and jitter; the last one
// has f times of function 7.
func noisy(seed uint64, n int, f float64) []runtest.Run {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var runs []runtest.Run
	for i := range n {
		var b strings.Builder
		for fn := range 40 {
			mean := 400.0 / float64(fn+1)
			if i == n-1 && fn == 7 {
				mean *= f
			}
			mean *= 1 + .03*rnd.NormFloat64()
			if v := math.Round(mean + math.Sqrt(mean)*rnd.NormFloat64()); v > 0 {
				fmt.Fprintf(&b, "main;p%d;f%d %g,", fn%5, fn, v)
			}
		}
		runs = append(runs, runtest.Run{Benchmark: "a", Stacks: b.String()})
	}
	return runs
}

func compareLast(t *testing.T, runs []runtest.Run) *average.Comparison {
	t.Helper()
	st := runtest.Store(t, runs...)
	c, err := average.Compare(context.Background(), st, store.Query{Runs: []string{fmt.Sprintf("%02d", len(runs))}}, store.Query{}, "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCompareNoise(t *testing.T) {
	wrong := 0
	for seed := range uint64(60) {
		if compareLast(t, noisy(seed, 12, 1)).Significant > 0 {
			wrong++
		}
	}
	// 5% is asked for: 3 of 60, and with 8 or more by chance in 1 of 200.
	if wrong >= 8 {
		t.Errorf("%d of 60 clean runs have significant changes", wrong)
	}
	t.Logf("%d of 60 clean runs have significant changes", wrong)
}

// TestCompareSmallCounts: counts of a few samples are skewed, and rises of chance
// would pass a test that takes them for normal.
func TestCompareSmallCounts(t *testing.T) {
	wrong := 0
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		var runs []runtest.Run
		for range 20 {
			var b strings.Builder
			for fn := range 400 {
				v := 0 // Poisson with mean 5, by the waits between events
				for t := rnd.ExpFloat64(); t < 5; t += rnd.ExpFloat64() {
					v++
				}
				if v > 0 {
					fmt.Fprintf(&b, "f%d %d,", fn, v)
				}
			}
			runs = append(runs, runtest.Run{Benchmark: "a", Stacks: b.String()})
		}
		if compareLast(t, runs).Significant > 0 {
			wrong++
		}
	}
	if wrong > 4 { // 2 are asked for; without the test of counts it is 6
		t.Errorf("%d of 40 clean runs have significant changes", wrong)
	}
	t.Logf("%d of 40 clean runs have significant changes", wrong)
}

func TestCompareChange(t *testing.T) {
	found := 0
	for seed := range uint64(30) {
		c := compareLast(t, noisy(seed, 12, 2.5))
		for n := range int32(c.Band.Len()) {
			if c.Band.Name(n) == "f7" && c.Changes[n].Significant && c.Changes[n].Score > 0 {
				found++
			}
		}
	}
	if found < 27 {
		t.Errorf("a function that takes 2.5 times as much was found in %d of 30 runs", found)
	}
	t.Logf("found in %d of 30", found)
}

// TestLongerRun: by share, twice the samples of everything is no change.
func TestLongerRun(t *testing.T) {
	runs := noisy(3, 10, 1)
	last := &runs[len(runs)-1]
	last.Stacks += last.Stacks
	if c := compareLast(t, runs); c.Significant != 0 {
		t.Errorf("%d significant changes", c.Significant)
	}
}

// TestAlign: where one function takes twice the program, the others are as they were.
func TestAlign(t *testing.T) {
	runs := noisy(6, 14, 1)
	runs[len(runs)-1].Stacks += "main;new 2500"
	st := runtest.Store(t, runs...)
	for weight, wrong := range map[store.Weight]bool{"": false, store.ByShare: true} {
		c, err := average.Compare(context.Background(), st, store.Query{Runs: []string{"14"}}, store.Query{}, weight)
		if err != nil {
			t.Fatal(err)
		}
		falls := 0
		for n := range c.Changes {
			if c.Changes[n].Significant && c.Changes[n].Score < 0 {
				falls++
			}
		}
		if falls > 0 != wrong {
			t.Errorf("weight %q: %d falls", weight, falls)
		}
	}
}

// TestTwoRuns: a change that was there once before hides in the band, and shows when
// both runs are taken as one.
func TestTwoRuns(t *testing.T) {
	runs := noisy(5, 14, 1)
	for i := range 2 {
		runs[len(runs)-1-i].Stacks += "main;new 60"
	}
	st := runtest.Store(t, runs...)
	for _, c := range []struct {
		runs []string
		want bool
	}{{[]string{"14"}, false}, {[]string{"13", "14"}, true}} {
		cmp, err := average.Compare(context.Background(), st, store.Query{Runs: c.runs}, store.Query{}, "")
		if err != nil {
			t.Fatal(err)
		}
		if len(cmp.Runs) != len(c.runs) || len(cmp.Band.Profiles) != 14-len(c.runs) {
			t.Errorf("%v: %d runs against %d", c.runs, len(cmp.Runs), len(cmp.Band.Profiles))
		}
		for n := range int32(cmp.Band.Len()) {
			if cmp.Band.Name(n) == "new" && cmp.Changes[n].Significant != c.want {
				t.Errorf("%v: %+v", c.runs, cmp.Changes[n])
			}
		}
	}
}

func TestNewFunction(t *testing.T) {
	runs := noisy(4, 10, 1)
	runs[len(runs)-1].Stacks += "main;new 60"
	c := compareLast(t, runs)
	for n := range int32(c.Band.Len()) {
		if c.Band.Name(n) == "new" && (!c.Changes[n].Significant || c.Changes[n].Score < 5) {
			t.Errorf("new: %+v", c.Changes[n])
		}
	}
}

func TestCompareLittle(t *testing.T) {
	c := compareLast(t, []runtest.Run{{Benchmark: "a", Stacks: "A 5"}, {Benchmark: "a", Stacks: "A 50, B 50"}})
	if len(c.Warnings) != 1 || c.Significant != 0 || !strings.Contains(c.Warnings[0], "has 1 of 3 runs needed") {
		t.Errorf("%d significant, warnings %q", c.Significant, c.Warnings)
	}
	same := runtest.Run{Benchmark: "a", Stacks: "A;B 50, A;C 7"}
	c = compareLast(t, []runtest.Run{same, same, same, same})
	if c.Significant != 0 {
		t.Errorf("equal runs: %d significant", c.Significant)
	}
	for n, ch := range c.Changes {
		if ch.Score != 0 || math.IsNaN(ch.Total) {
			t.Errorf("equal runs: %s %+v", c.Band.Name(int32(n)), ch)
		}
	}
	c = compareLast(t, []runtest.Run{same, same, same, {Benchmark: "a"}})
	if len(c.Warnings) != 1 || c.Warnings[0] != "the run has no samples" {
		t.Errorf("without samples: %q", c.Warnings)
	}
	st := runtest.Store(t, same)
	if _, err := average.Compare(context.Background(), st, store.Query{}, store.Query{}, ""); err == nil ||
		!strings.Contains(err.Error(), "history") {
		t.Errorf("a run against itself: %v", err)
	}
}

// TestDifferential: both sides go through the writer of differential text.
func TestDifferential(t *testing.T) {
	c := compareLast(t, []runtest.Run{{Benchmark: "a", Stacks: "A 10"}, {Benchmark: "a", Stacks: "A 9, A;B 1"},
		{Benchmark: "a", Stacks: "A 10"}, {Benchmark: "a", Stacks: "A 6, A;B 4"}})
	var b bytes.Buffer
	if err := folded.EncodeDifferential(&b, c.Profile(average.Mean), -1); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != "A 9.666667 6\nA;B 0.333333 4\n" {
		t.Errorf("%q", got)
	}
}

// TestMeanOfRareFunctions: callees that few runs have do not add up to another total than
// the mean of their caller.
func TestMeanOfRareFunctions(t *testing.T) {
	stacks := make([]string, 700)
	for i := range stacks {
		stacks[i] = fmt.Sprintf("A;B%03d 1", i)
	}
	b := of(t, store.BySamples, runtest.Run{Benchmark: "a", Stacks: strings.Join(stacks, ", ")}, runtest.Run{Benchmark: "a", Stacks: "A 0"},
		runtest.Run{Benchmark: "a", Stacks: "A;B000 1"})
	tree := b.Tree(average.Mean)
	by := math.Pow10(tree.Type.Scale)
	if got, want := float64(tree.Total[0])/by, 701.0/3; math.Abs(got-want) > 1/by {
		t.Errorf("mean of A: %v, want %v", got, want)
	}
	for n := 1; n < tree.Len(); n++ {
		if got, want := float64(tree.Self[n])/by, b.Self[n].Mean; math.Abs(got-want) > 1/by {
			t.Errorf("mean of %s: %v, want %v", tree.Name(int32(n)), got, want)
		}
	}
}
