package storetest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dendroprof/dendro/continuous"
)

// WindowHistory does the same random calls with several engines and requires the same
// outcomes and answers: windows of any time and repeats, roll-ups at any time with any
// retention. One of the engines should be one that is simple enough to be believed.
func WindowHistory(t testing.TB, seed uint64, engines ...WindowEngine) {
	t.Helper()
	r, make := rand.New(rand.NewPCG(seed, 23)), NewWindowMaker()
	var labs []*windowLab
	for _, e := range engines {
		labs = append(labs, newWindowLab(t, e))
	}
	var before []*continuous.Window
	for step := range 40 {
		var ask func(l *windowLab) any
		what := ""
		switch k := r.IntN(10); {
		case k < 4:
			var list []*continuous.Window
			for range 1 + r.IntN(15) {
				w := randomWindow(r, make, 24*5)
				w.Series.Facts = continuous.Labels{{Name: "step", Value: fmt.Sprint(step)}}
				if len(before) > 0 && r.IntN(6) == 0 {
					w = before[r.IntN(len(before))]
				}
				list, before = append(list, w), append(before, w)
			}
			what = fmt.Sprint("put ", len(list))
			ask = func(l *windowLab) any {
				got, err := l.s.PutWindows(l.ctx, list)
				return fmt.Sprint(got, err)
			}
		case k < 6:
			now, policy := at(r.IntN(150), r.IntN(60), 0), randomPolicy(r)
			if seed%2 == 0 {
				policy.Instance = []string{"instance", "pod"}
			}
			what = fmt.Sprint("roll up at ", now, " ", policy)
			ask = func(l *windowLab) any {
				rolled := l.rollUp(now, policy)
				rolled.Swept = 0 // engines may keep paths for longer
				return rolled
			}
		case k < 7:
			what = "compact and reopen"
			ask = func(l *windowLab) any { l.compact(); l.reopen(); return nil }
		default:
			q, step := randomSelection(r, 130), []time.Duration{0, time.Hour, 24 * time.Hour}[r.IntN(3)]
			if r.IntN(3) == 0 {
				q.By = []string{"pod"}
			}
			what = fmt.Sprint("query ", q, " by ", step)
			ask = func(l *windowLab) any {
				stats := l.stats()
				stats.Bytes = [3]int64{}
				if _, err := l.s.Series(l.ctx, q); err != nil {
					return err.Error()
				}
				merged := l.tree(q)
				return []any{l.series(q), l.totals(q, step), l.function(q, "a", step), valuesOf(merged.Tree), merged.Tree.Type, merged.Windows,
					merged.Parts, merged.Instances, stats}
			}
		}
		want := ask(labs[0])
		for i, l := range labs[1:] {
			if d := cmp.Diff(want, ask(l), cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("seed %d, step %d, %s (-engine 0 +engine %d):\n%s", seed, step, what, i+1, d)
			}
		}
	}
}

// randomPolicy returns no limits or some by age: bytes differ between engines.
func randomPolicy(r *rand.Rand) (p continuous.Policy) {
	for l := range p.Keep {
		if r.IntN(3) == 0 {
			p.Keep[l] = time.Duration(20+r.IntN(100)) * time.Hour
		}
	}
	return p
}
