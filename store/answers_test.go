package store_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/proftest"
	"github.com/dendroprof/dendro/test/storetest"
)

var ctx = context.Background()

// stocked returns a store of a few profiles of two benchmarks, most of them with
// a metric:
//
//	g/a  r1  10 ms    g/b  r1  1 ms
//	g/a  r2  30 ms    g/b  r2  no metric
//	g/a  r3  20 ms
func stocked(t *testing.T) store.Store {
	t.Helper()
	s := mem.New()
	file := func(benchmark, run, drawing string, metric float64) *store.File {
		f := storetest.File("g", benchmark, run, profile.CPUSamples, proftest.Trim(drawing))
		if metric != 0 {
			f.Metrics = append(f.Metrics, storetest.Metric("time", metric))
		}
		return f
	}
	put(t, s,
		file("a", "r1", `
			×1    ×3
			main  main
			A     B`, 10),
		file("a", "r2", `
			×6    ×1    ×1
			main  main  main
			A     B     A
			·     ·     A`, 30),
		file("a", "r3", `
			×2    ×8
			main  main
			A     C`, 20),
		file("b", "r1", `
			×5
			A`, 1),
		file("b", "r2", `
			×7    ×1
			A     B`, 0),
	)
	return s
}

func put(t *testing.T, s store.Store, files ...*store.File) {
	t.Helper()
	out, err := s.Put(ctx, files, store.PutOptions{Rules: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range out {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
}

func TestSumFunctions(t *testing.T) {
	sums, err := store.SumFunctions(ctx, stocked(t), store.Query{Benchmarks: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]store.FunctionSum{
		"main": {Profiles: 3, Self: 0, Total: 22, SelfShare: 0, TotalShare: 3},
		"A":    {Profiles: 3, Self: 10, Total: 10, SelfShare: 1./4 + 7./8 + 2./10, TotalShare: 1./4 + 7./8 + 2./10},
		"B":    {Profiles: 2, Self: 4, Total: 4, SelfShare: 3./4 + 1./8, TotalShare: 3./4 + 1./8},
		"C":    {Profiles: 1, Self: 8, Total: 8, SelfShare: 8. / 10, TotalShare: 8. / 10},
	}
	if len(sums.Profiles) != 3 || len(sums.Functions) != len(want) {
		t.Fatalf("%d profiles, %d functions", len(sums.Profiles), len(sums.Functions))
	}
	for i, r := range sums.Rows {
		w := want[sums.Functions[i].Name]
		w.Function = int32(i)
		if !near(r.SelfShare, w.SelfShare) || !near(r.TotalShare, w.TotalShare) {
			t.Errorf("%s has the shares %v and %v, want %v and %v", sums.Functions[i].Name, r.SelfShare, r.TotalShare, w.SelfShare, w.TotalShare)
		}
		r.SelfShare, r.TotalShare = w.SelfShare, w.TotalShare
		if r != w {
			t.Errorf("%s: %+v, want %+v", sums.Functions[i].Name, r, w)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(1, math.Abs(a), math.Abs(b)) }

// TestFunctionMoments compares with the textbook's formulas, written out.
func TestFunctionMoments(t *testing.T) {
	s := stocked(t)
	for _, test := range []struct {
		m    store.Measure
		a, b []float64 // x of function A in benchmarks a and b, by run
	}{
		{store.Measure{}, []float64{1, 7, 2}, []float64{5, 7}},
		{store.Measure{Self: true}, []float64{1, 7, 2}, []float64{5, 7}},
		{store.Measure{Share: true}, []float64{1. / 4, 7. / 8, 2. / 10}, []float64{1, 7. / 8}},
		{store.Measure{Self: true, Share: true}, []float64{1. / 4, 7. / 8, 2. / 10}, []float64{1, 7. / 8}},
	} {
		set, err := store.FunctionMoments(ctx, s, store.Query{}, test.m)
		if err != nil {
			t.Fatal(err)
		}
		checkMoments(t, set, "g/a", "A", test.a, test.a, []float64{10, 30, 20})
		checkMoments(t, set, "g/b", "A", test.b, test.b[:1], []float64{1})
		if n := len(set.Rows); n != 4+2 {
			t.Errorf("%d rows, want 6: main, A, B and C in a, A and B in b", n)
		}
	}
	set, err := store.FunctionMoments(ctx, s, store.Query{}, store.Measure{})
	if err != nil {
		t.Fatal(err)
	}
	checkMoments(t, set, "g/a", "main", []float64{4, 8, 10}, []float64{4, 8, 10}, []float64{10, 30, 20})
	checkMoments(t, set, "g/a", "B", []float64{3, 1}, []float64{3, 1}, []float64{10, 30}) // of the profiles that have it
	checkMoments(t, set, "g/b", "B", []float64{1}, nil, nil)
}

// checkMoments compares a row with the series x, and xy against y.
func checkMoments(t *testing.T, set *store.MomentSet, benchmark, function string, x, xy, y []float64) {
	t.Helper()
	for _, r := range set.Rows {
		if set.Benchmarks[r.Benchmark] != benchmark || set.Functions[r.Function].Name != function {
			continue
		}
		want := store.Moments{
			Benchmark: r.Benchmark, Function: r.Function,
			N: int64(len(x)), Mean: mean(x), M2: products(x, x),
			NY: int64(len(y)), MeanX: mean(xy), MeanY: mean(y), M2X: products(xy, xy), M2Y: products(y, y), CovC: products(xy, y),
		}
		same := r.N == want.N && r.NY == want.NY
		for _, pair := range [][2]float64{{r.Mean, want.Mean}, {r.M2, want.M2}, {r.MeanX, want.MeanX}, {r.MeanY, want.MeanY},
			{r.M2X, want.M2X}, {r.M2Y, want.M2Y}, {r.CovC, want.CovC}} {
			same = same && near(pair[0], pair[1])
		}
		if !same {
			t.Errorf("%s of %s:\n%+v, want\n%+v", function, benchmark, r, want)
		}
		return
	}
	t.Errorf("no row for %s of %s", function, benchmark)
}

func mean(v []float64) float64 {
	sum := 0.
	for _, x := range v {
		sum += x
	}
	return sum / max(1, float64(len(v)))
}

// products returns Σ (a−ā)(b−b̄).
func products(a, b []float64) float64 {
	sum := 0.
	for i := range a {
		sum += (a[i] - mean(a)) * (b[i] - mean(b))
	}
	return sum
}

// TestFunctionMomentsStayAccurate takes values that differ little: the naive
// Σx² − n·x̄² has no digit right here.
func TestFunctionMomentsStayAccurate(t *testing.T) {
	s := mem.New()
	im := storetest.NewImporter()
	const base = 1 << 50
	for i, run := range []string{"r1", "r2", "r3"} {
		f := storetest.MetricsFile("g", "a", run, storetest.Metric("time", 1e9+float64(i)))
		im.AddSamples(f, profile.CPUSamples, storetest.Sample{Stack: []string{"A"}, Value: base + int64(i)})
		put(t, s, f)
	}
	set, err := store.FunctionMoments(ctx, s, store.Query{}, store.Measure{})
	if err != nil {
		t.Fatal(err)
	}
	if r := set.Rows[0]; r.M2 != 2 || r.M2X != 2 || r.M2Y != 2 || r.CovC != 2 || r.Mean != base+1 {
		t.Errorf("%+v, want deviations of −1, 0 and 1", r)
	}
}

func TestMergeTrees(t *testing.T) {
	tree, profiles, err := store.MergeTrees(ctx, stocked(t), store.Query{Benchmarks: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Check(); err != nil {
		t.Fatal(err)
	}
	want := proftest.Trim(`
		- main (total: 22, self: —)
		  - A (total: 10, self: 9)
		    - A (total: 1, self: 1)
		  - C (total: 8, self: 8)
		  - B (total: 4, self: 4)`)
	if got := proftest.Draw(tree); got != want || len(profiles) != 3 {
		t.Errorf("%d profiles:\n%swant:\n%s", len(profiles), got, want)
	}
}

// TestSelectionErrors asks for what cannot be answered.
func TestSelectionErrors(t *testing.T) {
	s := stocked(t)
	nothing := store.Query{Groups: []string{"none"}}
	if _, _, err := store.MergeTrees(ctx, s, nothing); !errors.Is(err, store.ErrNothing) || !strings.Contains(err.Error(), "group none") {
		t.Errorf("MergeTrees of nothing: %v", err)
	}
	if _, err := store.Select(ctx, s, nothing); !errors.Is(err, store.ErrNothing) {
		t.Errorf("Select of nothing: %v", err)
	}
	put(t, s, storetest.File("g", "a", "r1", profile.Alloc, "A"), storetest.File("g", "c", "r1", profile.CPU, "A"))
	var several *store.SeveralTypesError
	if _, _, err := store.MergeTrees(ctx, s, store.Query{}); !errors.As(err, &several) {
		t.Fatalf("MergeTrees of several types: %v", err)
	}
	if got := strings.Join(several.Keys, " "); got != "alloc/bytes cpu-samples/count cpu/nanoseconds" {
		t.Errorf("the types are %s", got)
	}
	if list, err := store.Select(ctx, s, store.Query{Types: []string{profile.Alloc}}); err != nil || len(list) != 1 {
		t.Errorf("Select of one type: %v, %v", list, err)
	}
}

// TestPeriodsDoNotAdd expects types of one name and several periods told apart.
func TestPeriodsDoNotAdd(t *testing.T) {
	s := mem.New()
	other := storetest.File("g", "b", "r1", profile.CPUSamples, "A")
	other.Records[0].Type.Period, other.Records[0].Type.PeriodUnit = 10, "ms"
	put(t, s, storetest.File("g", "a", "r1", profile.CPUSamples, "A"), other)
	var several *store.SeveralTypesError
	if _, err := store.Select(ctx, s, store.Query{}); !errors.As(err, &several) || len(several.Keys) != 2 {
		t.Errorf("Select: %v", err)
	}
}

func TestCheckSum(t *testing.T) {
	for _, test := range []struct {
		sums []int64
		ok   bool
	}{
		{nil, true}, {[]int64{math.MaxInt64}, true}, {[]int64{math.MaxInt64, 0}, true}, {[]int64{math.MaxInt64, 1}, false},
		{[]int64{1 << 62, 1<<62 - 1}, true}, {[]int64{1 << 62, 1 << 62}, false}, {[]int64{1 << 62, 1 << 62, 1 << 62, 1 << 62, 1 << 62}, false},
	} {
		var list []store.Profile
		for _, v := range test.sums {
			list = append(list, store.Profile{Sum: v})
		}
		if err := store.CheckSum(list); (err == nil) != test.ok {
			t.Errorf("CheckSum(%d): %v", test.sums, err)
		}
	}
}

func TestBenchmarkIndex(t *testing.T) {
	var names []string
	list := []store.Profile{shelf[4], shelf[0], shelf[1], shelf[2], shelf[4], shelf[7]}
	index := store.BenchmarkIndex(list, &names)
	if got := strings.Join(names, " "); got != "json.io/write json/parse/size=10-8 json/parse/size=100-8 alone" {
		t.Errorf("the names are %s", got)
	}
	for i, want := range []int32{0, 1, 2, 1, 0, 3} {
		if index[i] != want {
			t.Errorf("profile %d is of benchmark %d, want %d", i, index[i], want)
		}
	}
}
