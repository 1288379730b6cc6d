package change

import (
	"cmp"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/regression"
)

// Releases of a service are a line too, of which each is compared with the one before by all its
// windows together: a comparison brings the changes of one release, and says nothing of those of
// releases before. AddRelease keeps the ledger of them.

// AddRelease adds what the comparison of a release with the one before found, and the change of the
// whole, to a verdict on the releases before. An improvement at the place of an open cost that takes back at least half of
// it is the cost's end and no change of its own; a suspect of an older release is withdrawn.
func (v *Verdict) AddRelease(r Run, before *Run, findings []regression.Finding, program *regression.Estimate, runs int) {
	kept := v.Changes[:0]
	for _, c := range v.Changes {
		if !c.State.pending() {
			kept = append(kept, c)
		}
	}
	v.Changes = kept
	if v.Runs == 0 {
		v.First = r
	}
	v.Runs++
	v.Newest = r
	for _, f := range findings {
		if !f.Kind.Costs() && f.Kind != regression.Improvement || f.Status == regression.Transient {
			continue
		}
		if f.Status == regression.Confirmed && v.ends(&f, r) && !f.Kind.Costs() {
			continue
		}
		v.Changes = append([]Change{Of(f, r, before, program, runs)}, v.Changes...)
	}
	rank := func(c Change) int {
		if c.State.Open() {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(v.Changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), b.Onset.Date.Compare(a.Onset.Date))
	})
}

// ends ends the newest open change that a finding takes back, and reports whether there is one.
func (v *Verdict) ends(f *regression.Finding, at Run) bool {
	for i := range v.Changes {
		c := &v.Changes[i]
		g := *f
		g.Kind = c.Finding.Kind
		is := c.Finding.Delta.Share
		if !c.State.Open() || c.Costs() == f.Kind.Costs() || !c.Finding.SameAs(g) || math.Abs(f.Delta.Share)*(1+is) < math.Abs(is)/2 {
			continue
		}
		c.State, c.End = Ended, &at
		return true
	}
	return false
}

// Of returns the change that a finding of a comparison is, if the head brought it: Program is the
// change of the whole (ProgramOf).
func Of(f regression.Finding, onset Run, before *Run, program *regression.Estimate, runs int) Change {
	state := Confirmed
	if f.Status == regression.Suspect {
		state = Suspect
	}
	c := Change{ID: idOf(&f, onset.Run), State: state, Onset: Onset{Run: onset, LastGood: before}, Seen: onset, Finding: f, Program: program,
		Runs: runs, Base: []int{}, Head: []int{}}
	c.explain()
	return c
}
