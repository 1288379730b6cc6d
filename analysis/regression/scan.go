package regression

import (
	"cmp"
	"slices"
)

// scanAges are the numbers of newest runs that a scan tests together.
var scanAges = []int{1, 2, 3, 5, 8, oldestAge}

const oldestAge = 13

// leastBefore is the minimum number of runs before the tested ones in a scan.
const leastBefore = 4

// scan searches for a change of unknown age. The error probability is divided by the
// number of ages; of several findings of one change the most significant stays, and its
// age dates the change.
func (b *Benchmark) scan(rows *Rows, runs []int, req *Request) error {
	var ages []int
	for _, k := range scanAges {
		if k == 1 && len(runs) > leastHistory || k <= len(runs)/2 && len(runs)-k >= max(leastBefore, k) {
			ages = append(ages, k)
		}
	}
	var all []Finding
	moved := map[string]bool{}
	for _, k := range ages {
		o := req.Options
		o.Alpha = o.alpha(k) / float64(len(ages))
		a, err := rows.Compare(runs[:len(runs)-k], runs[len(runs)-k:], o)
		if err != nil {
			return err
		}
		b.Analyses = append(b.Analyses, a)
		for _, f := range a.Findings {
			if f.Kind == Moved {
				moved[f.Function] = true
			}
		}
		all = append(all, a.Findings...)
	}
	if len(b.Analyses) > 0 {
		b.Ranked = b.Analyses[0].Ranked
	}
	slices.SortStableFunc(all, func(f, g Finding) int { return -cmp.Compare(max(f.Score, -f.Score), max(g.Score, -g.Score)) })
	for _, f := range all {
		if f.Kind == Regression && (moved[f.Function] || f.Caller != "" && moved[f.Caller]) || b.reported(&f) {
			continue
		}
		b.Findings = append(b.Findings, f)
	}
	return nil
}

// reported reports whether a more significant finding has the same change: its
// function, caller or a part of it.
func (b *Benchmark) reported(f *Finding) bool {
	return slices.ContainsFunc(b.Findings, func(g Finding) bool {
		if f.SameAs(g) {
			return true
		}
		return f.Kind == g.Kind && slices.ContainsFunc(g.Parts, func(p Part) bool { return p.Function == f.Function || f.Caller != "" && p.Function == f.Caller })
	})
}
