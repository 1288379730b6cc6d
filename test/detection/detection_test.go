package detection

import (
	"bytes"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
)

// TestReal is the short version of the real part of the bench: three of the seven
// benchmarks. The limits leave room for one run in each direction.
func TestReal(t *testing.T) {
	subjects, all, err := LoadReal(t.Context(), os.DirFS("testdata/real"))
	if err != nil {
		t.Fatal(err)
	}
	if len(subjects) != 6 {
		t.Fatalf("%d benchmarks and states, want 6", len(subjects))
	}
	one := RunReal(subjects, Default(regression.Options{}), 1, nil)
	two := RunReal(subjects, Default(regression.Options{}), 2, nil)
	reversed, of := Reversed(all, Default(regression.Options{}))
	reg, reg2 := one.Of(regressionKinds...), two.Of(regressionKinds...)
	clean, clean2 := one.Of("history", "clean"), two.Of("history", "clean")
	for _, c := range []Check{
		AtMost("findings per clean run", ratio(clean.Findings, clean.Runs), 0.09),
		AtLeast("located", ratio(reg.Located, reg.Runs), 0.88),
		AtLeast("strict", ratio(reg.Strict, reg.Runs), 0.85),
		AtLeast("first item right when located", ratio(reg.First, reg.Located), 0.97),
		AtMost("findings per regression run", ratio(reg.Findings, reg.Runs), 1.25),
		AtLeast("located by two runs", ratio(reg2.Located, reg2.Runs), 0.95),
		AtLeast("improvements located", ratio(reversed, of), 0.4),
		AtMost("findings per clean pair", ratio(clean2.Findings, clean2.Runs), 0.05),
	} {
		t.Logf("%s: %.3f, %s", c.Name, c.Value, c.Required)
		if !c.OK {
			t.Errorf("%s: %.3f, required %s", c.Name, c.Value, c.Required)
		}
	}
}

// TestSimulated is the short version of the simulated part.
func TestSimulated(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates some dozens of histories")
	}
	clean := observeAll(cross(1, []string{"none"}, []float64{0}, []int{10000}, []int{20}, []int{1}, 20), 1, Native, false)
	large := observeAll(cross(2, plantedKinds, []float64{0.05}, []int{20000}, []int{20}, []int{2}, 4), 2, Native, false)
	moved := observeAll(cross(3, []string{"rename", "extract", "inline"}, []float64{0.02}, []int{20000}, []int{20}, []int{1}, 4), 1, Native,
		false)
	for _, c := range []Check{
		AtMost("findings per clean run", findingsPerRun(clean), 0.1),
		AtLeast("found, two runs of 5%", share(large, (*Outcome).Hit), 0.75),
		AtMost("findings per run with moved work", placed(moved), 0.2),
	} {
		t.Logf("%s: %.3f, %s", c.Name, c.Value, c.Required)
		if !c.OK {
			t.Errorf("%s: %.3f, required %s", c.Name, c.Value, c.Required)
		}
	}
}

var plan = Plan{Seed: 42, Nodes: 2000, Runs: 12, K: 2, Samples: 5000, Kind: "new", Impact: 0.05}

func TestSimulationIsDeterministic(t *testing.T) {
	a, ok := Simulate(plan)
	b, ok2 := Simulate(plan)
	if !ok || !ok2 || !reflect.DeepEqual(a.Truth, b.Truth) || !reflect.DeepEqual(a.Table, b.Table) {
		t.Fatal("equal plans give different histories")
	}
	for i := range a.Vectors {
		if a.Vectors[i].Sum() != b.Vectors[i].Sum() || a.Profiles[i].Metrics[0] != b.Profiles[i].Metrics[0] {
			t.Fatalf("run %d differs", i)
		}
	}
}

// TestThroughAStore puts a simulated history into a store and asks Find, as a user
// does: the answer is that of the matrix made directly.
func TestThroughAStore(t *testing.T) {
	s, ok := Simulate(plan)
	if !ok {
		t.Fatal("no place for the change")
	}
	st := mem.New()
	if err := s.put(t, st); err != nil {
		t.Fatal(err)
	}
	res, err := regression.Find(t.Context(), st, store.Query{}, regression.Request{Tests: history.Tests{K: 2}})
	if err != nil {
		t.Fatal(err)
	}
	hist, tested := s.Split(2)
	direct, err := s.Rows().Compare(hist, tested, regression.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range res.Findings {
		if res.Findings[i].Sides == nil {
			t.Errorf("a finding of a store has no sides: %+v", res.Findings[i])
		}
		res.Findings[i].Sides = nil // a matrix has no profiles
	}
	if len(direct.Findings) == 0 || !reflect.DeepEqual(res.Findings, direct.Findings) {
		t.Errorf("by the store %+v\ndirectly %+v", res.Findings, direct.Findings)
	}
	if f := direct.Findings[0]; f.Function != "shop.added.Feature.run" || f.Presence != regression.New {
		t.Errorf("first finding %+v", f)
	}
}

// put stores a simulated history.
func (s *Simulated) put(t testing.TB, st store.Writer) error {
	forest := &calltree.Forest{}
	paths := make([]int32, s.Table.Len())
	for n := range paths {
		parent := calltree.NoNode
		if p := s.Table.Parent[n]; p != calltree.NoNode {
			parent = paths[p]
		}
		paths[n] = forest.Path(parent, forest.Function(s.Table.Functions[s.Table.Func[n]]))
	}
	var files []*store.File
	for i, v := range s.Vectors {
		order := make([]int, v.Len())
		for j := range order {
			order[j] = j
		}
		slices.SortFunc(order, func(a, b int) int { return int(paths[v.Nodes[a]] - paths[v.Nodes[b]]) })
		var w calltree.Vector
		for _, j := range order {
			w.Nodes, w.Self = append(w.Nodes, paths[v.Nodes[j]]), append(w.Self, v.Self[j])
		}
		p := s.Profiles[i]
		files = append(files, &store.File{Name: p.Run.Key, Benchmark: p.Benchmark, Run: p.Run, Metrics: p.Metrics,
			Records: []*store.Record{{Type: p.Type, Forest: forest, Self: w, Samples: w.Sum(),
				Hash: profile.Hash{byte(i), byte(s.Plan.Seed), byte(s.Plan.Seed >> 8)}}}})
	}
	outcomes, err := st.Put(t.Context(), files, store.PutOptions{Rules: "1"})
	for _, o := range outcomes {
		if err == nil {
			err = o.Err
		}
	}
	return err
}

// BenchmarkCompare is one analysis without scan and own history, of 60 runs of a
// program of some 40,000 call nodes after folding: rows and all.
func BenchmarkCompare(b *testing.B) {
	s, ok := Simulate(Plan{Seed: 5, Nodes: 54000, Runs: 59, K: 1, Samples: 100000, Kind: "none"})
	if !ok {
		b.Fatal("no history")
	}
	series := &history.Series{Benchmark: s.Profiles[0].Benchmark, Type: s.Profiles[0].Type, Profiles: s.Profiles}
	m := history.NewMatrix(s.Table, s.Profiles, s.Vectors)
	hist, tested := s.Split(1)
	b.ReportMetric(float64(m.Table.Len()), "nodes")
	b.ResetTimer()
	for b.Loop() {
		if _, err := regression.Prepare(series, m).Compare(hist, tested, regression.Options{SkipOwnHistory: true}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSuite asks for the regressions of 100 benchmarks of 30 runs and 10,000
// call nodes each: from a store, own history, confirmation and all.
func BenchmarkSuite(b *testing.B) {
	st := mem.New()
	for i := range 100 {
		s, ok := Simulate(Plan{Seed: uint64(1000 + i), Nodes: 10000, Runs: 29, K: 1, Samples: 20000, Kind: "none"})
		if !ok {
			b.Fatal("no history")
		}
		if err := s.put(b, st); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	for b.Loop() {
		res, err := regression.Find(b.Context(), st, store.Query{}, regression.Request{})
		if err != nil {
			b.Fatal(err)
		}
		if len(res.Benchmarks) != 100 {
			b.Fatalf("%d benchmarks", len(res.Benchmarks))
		}
	}
}

// TestMeasureGate: of clean benchmarks few fail, and none of those that a suite of more
// benchmarks lets fail is missing in a smaller one.
func TestMeasureGate(t *testing.T) {
	var b bytes.Buffer
	MeasureGate(&b, 12, 1)
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 1+len(gates) || !strings.HasPrefix(lines[0], "of 12 clean benchmarks fail") {
		t.Fatal(b.String())
	}
	for _, l := range lines[1:] {
		f := strings.Fields(l)
		var of [3]int
		for i := range of {
			n, err := strconv.Atoi(f[len(f)-len(of)+i])
			if err != nil {
				t.Fatal(l)
			}
			of[i] = n
		}
		if of[0] > 3 || of[1] > of[0] || of[2] > of[1] {
			t.Error(l)
		}
	}
	var again bytes.Buffer
	if MeasureGate(&again, 12, 1); again.String() != b.String() {
		t.Errorf("the same seed gives\n%s", again.String())
	}
}

// The sleep data of R's documentation, groups as independent: t = 1.8608,
// df = 17.776, one-sided p = 0.0397.
func TestWelchScore(t *testing.T) {
	a := []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2}
	b := []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	if got, want := welchScore(a, b), stat.ScoreOfTail(0.07939/2); math.Abs(got-want) > 0.01 {
		t.Errorf("score %g, want %g", got, want)
	}
	if welchScore([]float64{1}, b) != 0 || welchScore([]float64{1, 1}, []float64{2}) != 0 {
		t.Error("no variation has no score")
	}
}
