package storetest

import (
	"errors"
	"fmt"
	"math"

	"github.com/dendroprof/dendro/store"
)

func isNoSource(err error) bool { return errors.Is(err, store.ErrNoSource) }

// checkAnswers compares the answers that engines may compute themselves with
// those of package store, and sums with the model. The values of a selection of
// several types do not add: then only the error is compared.
func (l *lab) checkAnswers(q store.Query, want []store.Profile) {
	l.t.Helper()
	l.checkMerge(q, want)
	if store.OneType(want, q) != nil {
		return
	}
	if store.CheckSum(want) == nil {
		l.checkSums(q, want)
	}
	for _, m := range []store.Measure{{}, {Self: true}, {Share: true}, {Self: true, Share: true}} {
		l.checkMoments(q, m)
	}
}

func (l *lab) checkMerge(q store.Query, want []store.Profile) {
	l.t.Helper()
	for _, s := range []store.Store{l.s, plain{l.s}} {
		t, list, err := store.MergeTrees(l.ctx, s, q)
		expected := store.OneType(want, q)
		if expected == nil {
			expected = store.CheckSum(want)
		}
		if expected != nil || err != nil {
			if fmt.Sprint(err) != fmt.Sprint(expected) {
				l.t.Errorf("MergeTrees(%s): error %v, want %v", q.String(), err, expected)
			}
			continue
		}
		l.same("MergeTrees: profiles of "+q.String(), list, want)
		if err := t.Check(); err != nil {
			l.t.Fatalf("MergeTrees(%s): %v", q.String(), err)
		}
		if t.Type.Key() != store.SumType(want).Key() {
			l.t.Errorf("MergeTrees(%s) is of type %s", q.String(), t.Type.Key())
		}
		sum := map[string]int64{}
		for _, p := range want {
			if m := l.m.profiles[p.ID]; m != nil {
				addTo(sum, m.self)
			}
		}
		total := totals(sum)
		got, gotTotal := map[string]int64{}, map[string]int64{}
		for n, path := range tablePaths(t.Table) {
			if t.Self[n] != 0 {
				got[path] = t.Self[n]
			}
			if _, ok := total[path]; ok || t.Total[n] != 0 {
				gotTotal[path] = t.Total[n]
			}
		}
		l.same("MergeTrees of "+q.String()+": self", got, sum)
		l.same("MergeTrees of "+q.String()+": total", gotTotal, total)
	}
}

// functionSum is a row of FunctionSums without its index.
type functionSum struct {
	Profiles, Self, Total int64
}

func (l *lab) checkSums(q store.Query, want []store.Profile) {
	l.t.Helper()
	expected := map[string]functionSum{}
	shares := map[string][2]float64{}
	for _, p := range want {
		m := l.m.profiles[p.ID]
		if m == nil {
			continue
		}
		for name, n := range m.functions() {
			e, s := expected[name], shares[name]
			e.Profiles, e.Self, e.Total = e.Profiles+1, e.Self+n.Self, e.Total+n.Total
			expected[name] = e
			whole := float64(m.description.Sum)
			shares[name] = [2]float64{s[0] + float64(n.Self)/whole, s[1] + float64(n.Total)/whole}
		}
	}
	for _, s := range []store.Reader{l.s, l.s, plain{l.s}} {
		sums, err := store.SumFunctions(l.ctx, s, q)
		if err != nil {
			l.t.Fatalf("SumFunctions(%s): %v", q.String(), err)
		}
		l.same("SumFunctions: profiles of "+q.String(), sums.Profiles, want)
		l.checkOrder("SumFunctions", sums.Functions)
		if len(sums.Rows) != len(sums.Functions) {
			l.t.Fatalf("SumFunctions: %d rows for %d functions", len(sums.Rows), len(sums.Functions))
		}
		got := map[string]functionSum{}
		for i, r := range sums.Rows {
			name := sums.Functions[i].Name
			if int(r.Function) != i {
				l.t.Errorf("SumFunctions: row %d is of function %d", i, r.Function)
			}
			if r.Profiles == 0 {
				continue
			}
			got[name] = functionSum{r.Profiles, r.Self, r.Total}
			if e := shares[name]; !near(r.SelfShare, e[0], 1) || !near(r.TotalShare, e[1], 1) {
				l.t.Errorf("SumFunctions: %q has shares %v and %v, want %v", name, r.SelfShare, r.TotalShare, e)
			}
		}
		l.same("SumFunctions of "+q.String(), got, expected)
	}
}

// near reports whether two numbers are equal within 1e-9 of the larger one, or
// of scale, the size of the numbers that they were computed from.
func near(a, b, scale float64) bool {
	return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b), scale)
}

func (l *lab) checkMoments(q store.Query, m store.Measure) {
	l.t.Helper()
	if a, ok := l.s.(store.Aggregator); !ok || a.Aggregates().FunctionMoments == nil {
		return
	}
	got, want := l.moments(l.s, q, m), l.moments(plain{l.s}, q, m)
	for key, w := range want {
		g, ok := got[key]
		if !ok {
			l.t.Errorf("FunctionMoments(%s) lacks %q", q.String(), key)
			continue
		}
		n := float64(w.N)
		x2, y2 := n*w.Mean*w.Mean+w.M2, n*w.MeanY*w.MeanY+w.M2Y
		if g.N != w.N || g.NY != w.NY || !near(g.Mean, w.Mean, 0) || !near(g.M2, w.M2, x2) ||
			!near(g.MeanX, w.MeanX, 0) || !near(g.MeanY, w.MeanY, 0) ||
			!near(g.M2X, w.M2X, x2) || !near(g.M2Y, w.M2Y, y2) || !near(g.CovC, w.CovC, math.Sqrt(x2*y2)) {
			l.t.Errorf("FunctionMoments(%s) of %q, measure %+v:\n%+v, want\n%+v", q.String(), key, m, g, w)
		}
	}
	if len(got) != len(want) {
		l.t.Errorf("FunctionMoments(%s) has %d rows, want %d", q.String(), len(got), len(want))
	}
}

// moments returns the rows by benchmark and function, without indexes.
func (l *lab) moments(s store.Store, q store.Query, m store.Measure) map[[2]string]store.Moments {
	l.t.Helper()
	set, err := store.FunctionMoments(l.ctx, s, q, m)
	if err != nil {
		l.t.Fatalf("FunctionMoments(%s): %v", q.String(), err)
	}
	l.checkOrder("FunctionMoments", set.Functions)
	rows := map[[2]string]store.Moments{}
	for i, r := range set.Rows {
		if i > 0 {
			before := set.Rows[i-1]
			if before.Benchmark > r.Benchmark || before.Benchmark == r.Benchmark && before.Function >= r.Function {
				l.t.Errorf("FunctionMoments: row %d is out of order", i)
			}
		}
		key := [2]string{set.Benchmarks[r.Benchmark], set.Functions[r.Function].Name}
		r.Benchmark, r.Function = 0, 0
		rows[key] = r
	}
	return rows
}
