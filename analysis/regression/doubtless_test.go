package regression

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// TestDoubtless: two runs of each side are a verdict if the ratio leaves no doubt, whether
// operations or a time say so; else they are too few.
func TestDoubtless(t *testing.T) {
	timed := func(b *bench, levels []float64) *bench {
		b.edit, b.metrics = nil, levels
		return b
	}
	for _, c := range []struct {
		levels []float64
		sure   bool
	}{
		{[]float64{1, 1.05, 150, 155}, true},
		{[]float64{1, 1.05, 3, 2.5}, true},
		{[]float64{1, 1.05, 1.9, 2}, false},
		{[]float64{1, 2, 5, 8}, false}, // runs of the base differ
		{[]float64{1, 2, 8.5, 9}, true},
		{[]float64{1, 1.05, 150, 1}, false},
	} {
		r := rand.New(rand.NewPCG(1, 1))
		for name, b := range map[string]*bench{"operations": atLevels(r, c.levels), "time": timed(atLevels(r, c.levels), c.levels)} {
			res := find(t, put(t, b), newest(2))
			list := costs(res.Findings)
			if !c.sure {
				if res.Benchmarks[0].Reason == "" || len(list) > 0 {
					t.Errorf("%s, %v: %q, %+v", name, c.levels, res.Benchmarks[0].Reason, list)
				}
				continue
			}
			if len(list) == 0 || list[0].Status != Confirmed || !list[0].Doubtless {
				t.Errorf("%s, %v: %q, %+v", name, c.levels, res.Benchmarks[0].Reason, list)
			}
		}
	}
	if res := find(t, put(t, atLevels(rand.New(rand.NewPCG(1, 1)), []float64{1, 1, 150})), newest(1)); res.Benchmarks[0].Reason == "" {
		t.Error("one run of the head has a verdict")
	}
}

// TestOutliers: two outliers of four runs are no confirmed slowdown, in whatever order they were
// recorded, with operations or with a time.
func TestOutliers(t *testing.T) {
	base := []float64{20, 22, 29, 49}
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		head := []float64{9, 14, 226, 523}
		r.Shuffle(len(head), func(i, k int) { head[i], head[k] = head[k], head[i] })
		levels := slices.Concat(base, head)
		b := atLevels(r, levels)
		timed := atLevels(r, []float64{1, 1, 1, 1, 1, 1, 1, 1})
		timed.edit, timed.metrics = nil, levels
		for _, b := range []*bench{b, timed} {
			for _, f := range costs(find(t, put(t, b), newest(4)).Findings) {
				if f.Status == Confirmed {
					t.Errorf("%v: %s %s %s", head, f.Status, f.Kind, f.Function)
				}
			}
		}
	}
}

// TestUncounted: if all samples double and nothing says how much work they were for, the result
// says that shares were compared.
func TestUncounted(t *testing.T) {
	levels := []float64{1, 1.02, 0.98, 1.01, 2, 2.05}
	uncounted := func(metrics ...testrun.Metric) *Analysis {
		b := atLevels(rand.New(rand.NewPCG(1, 1)), levels)
		b.metrics = nil
		b.edit = func(_ int, f *store.File) { f.Metrics = metrics }
		return find(t, put(t, b), newest(2)).Benchmarks[0].Analyses[0]
	}
	if a := uncounted(); math.Abs(a.Uncounted-1) > 0.1 {
		t.Error(a.Uncounted)
	}
	if a := uncounted(testrun.Metric{Name: "allocs/op", Mean: 2, Unit: "allocs/op"}); math.Abs(a.Uncounted-1) > 0.1 {
		t.Error("a number of allocations is no measure of time: ", a.Uncounted)
	}
	for _, m := range []testrun.Metric{{Name: "time/op", Mean: 2, Unit: "ns/op"}, testrun.NewOperations(1000, false)} {
		if a := uncounted(m); a.Uncounted != 0 {
			t.Errorf("%s: %g", m.Name, a.Uncounted)
		}
	}
	levels[5] = 0.8 // a run like those before
	if a := uncounted(); a.Uncounted != 0 {
		t.Error(a.Uncounted)
	}
}

// TestNoTime: a metric that is no time is no slowdown, however much it changed.
func TestNoTime(t *testing.T) {
	b := atLevels(rand.New(rand.NewPCG(1, 1)), []float64{1, 1.02, 0.98, 1.01, 1, 1.01})
	b.metrics = nil
	b.edit = func(i int, f *store.File) {
		m := testrun.Metric{Name: "allocs/op", Mean: 2, Unit: "allocs/op", Primary: true}
		if i > 3 {
			m.Mean = 5
		}
		f.Metrics = []testrun.Metric{m}
	}
	if list := costs(find(t, put(t, b), newest(2)).Findings); len(list) > 0 {
		t.Errorf("%s %s: %s", list[0].Status, list[0].Kind, strings.Join(list[0].Path, ";"))
	}
}

// TestDiffer: runs of the history that differ by more than a factor of 2 are noted, and the
// smallest change that is surely found is larger for it.
func TestDiffer(t *testing.T) {
	of := func(levels ...float64) *Analysis {
		return find(t, put(t, atLevels(rand.New(rand.NewPCG(1, 1)), levels)), newest(2)).Benchmarks[0].Analyses[0]
	}
	quiet, noisy := of(1, 1, 1, 1, 1, 1), of(1, 0.5, 2.8, 1.1, 1, 1)
	if quiet.Differ != 0 || math.Abs(noisy.Differ-5.6) > 0.7 {
		t.Errorf("factors %.2f and %.2f", quiet.Differ, noisy.Differ)
	}
	for i := range quiet.Detectable.Changes[1:] {
		if a, b := quiet.Detectable.Changes[1+i], noisy.Detectable.Changes[1+i]; b.Change <= a.Change {
			t.Errorf("%.2f: a noisy history would show %.3f, a quiet one %.3f", a.Share, b.Change, a.Change)
		}
	}
	if a, b := quiet.Detectable.Whole, noisy.Detectable.Whole; a < littleOf || b <= a {
		t.Errorf("of the whole a noisy history would show %.3f, a quiet one %.3f", b, a)
	}
}

// TestGainHasABound: the interval of an improvement ends at what there was.
func TestGainHasABound(t *testing.T) {
	b := atLevels(rand.New(rand.NewPCG(1, 1)), []float64{1, 0.6, 1.9, 1.1, 0.12, 0.12})
	a := find(t, put(t, b), newest(2)).Benchmarks[0].Analyses[0]
	if a.Program == nil || a.Program.Low < -1 || a.Program.Low > a.Program.Value {
		t.Errorf("%+v", a.Program)
	}
}
