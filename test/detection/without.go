package detection

import (
	"fmt"

	"github.com/dendroprof/dendro/analysis/regression"
)

// Count is a number of cases of a suite, and of how many; 0: the name says that.
type Count struct {
	Name  string
	N, Of int
}

// Suites are cases that are judged again and again, each time without another rule: real histories,
// and simulated ones of fixed seeds.
type Suites struct {
	subjects  []*Subject
	simulated []prepared
}

// prepared is a simulated history with its rows.
type prepared struct {
	*Simulated
	rows *regression.Rows
}

// NewSuites adds simulated histories to real ones.
func NewSuites(subjects []*Subject) *Suites {
	s := &Suites{subjects: subjects}
	plans := cross(11e6, plantedKinds, []float64{0.01, 0.05}, []int{5000, 20000}, []int{20}, []int{1, 2}, 3)
	plans = append(plans, cross(12e6, hardKinds, []float64{0.05}, []int{20000}, []int{20}, []int{1, 2}, 4)...)
	plans = append(plans, cross(13e6, []string{"none"}, []float64{0}, []int{20000}, []int{20}, []int{1, 2}, 12)...)
	for _, p := range plans {
		for range 20 { // one that finds no place for its change is tried with other seeds
			if sim, ok := Simulate(p); ok {
				s.simulated = append(s.simulated, prepared{sim, sim.Rows()})
				break
			}
			p.Seed++
		}
	}
	return s
}

// Count counts what the default method says with options.
func (s *Suites) Count(o regression.Options) []Count {
	var list []Count
	for k, runs := range []string{"one run", "two runs"} {
		r := RunReal(s.subjects, Default(o), k+1, nil)
		changed, clean, moved, jit := r.Of(regressionKinds...), r.Of("history", "clean"), r.Of(refactoredKinds...), r.Of("jit")
		for _, c := range []Count{
			{"located", changed.Located, changed.Runs}, {"strict", changed.Strict, changed.Runs}, {"findings", changed.Findings, changed.Runs},
			{"named", changed.Named, changed.Runs}, {"sized", changed.Sized, changed.Runs},
			{"false costs", clean.Findings, clean.Runs}, {"false gains", clean.Gains, clean.Runs},
			{"moved, renamed, inlined: costs", moved.Findings, moved.Runs}, {"moved, renamed, inlined: gains", moved.Gains, moved.Runs},
			{"other compilation: costs", jit.Findings, jit.Runs},
		} {
			c.Name = fmt.Sprintf("real, %s: %s", runs, c.Name)
			list = append(list, c)
		}
	}
	return append(list, s.countSimulated(o)...)
}

// countSimulated counts what is said of simulated histories.
func (s *Suites) countSimulated(o regression.Options) []Count {
	o.Impact = Native.Impact
	var planted, refactored, clean, improved Tally
	first := 0
	for _, c := range s.simulated {
		hist, tested := c.Split(c.Plan.K)
		a, err := c.rows.Compare(hist, tested, o)
		if err != nil {
			panic(err) // plans have enough runs
		}
		to := &refactored
		switch c.Plan.Kind {
		case "self", "context", "calls", "new":
			to = &planted
		case "none":
			to = &clean
		case "improve":
			to = &improved
		}
		list := answers(a.Findings)
		for i, x := range costsOf(list) {
			if hits(&x, c.Truth.Accepted) {
				to.Located++
				if i == 0 {
					first++
				}
				break
			}
		}
		to.Runs++
		to.Findings += len(costsOf(list))
		if len(costsOf(list)) < len(list) {
			to.Gains++
		}
	}
	return []Count{{"simulated: located", planted.Located, planted.Runs}, {"simulated: first", first, planted.Runs},
		{"simulated: findings", planted.Findings, planted.Runs}, {"simulated, no change of cost: costs", refactored.Findings, refactored.Runs},
		{"simulated, no change of cost: gains", refactored.Gains, refactored.Runs}, {"simulated: gains found", improved.Gains, improved.Runs},
		{"simulated, clean: costs", clean.Findings, clean.Runs}, {"simulated, clean: gains", clean.Gains, clean.Runs}}
}
