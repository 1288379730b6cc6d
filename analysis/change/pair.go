package change

import (
	"fmt"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/store"
)

// IsHead reports whether a run was recorded in turns, as one of the head.
func IsHead(p *store.Profile) bool {
	_, head := history.PairOf(p)
	return head
}

// judgePair returns the verdict of a line of runs that were recorded in turns: one comparison of the
// head's runs with the base's, which is no history. A later pair is a line of its own.
func (w *walker) judgePair() error {
	v, profiles := w.v, w.series.Profiles
	*v = Verdict{Method: v.Method, Key: v.Key, Type: v.Type, Needed: v.Needed, Changes: []Change{}, Runs: len(profiles)}
	v.First, v.Newest = runOf(&profiles[0].Run), runOf(&profiles[len(profiles)-1].Run)
	v.Walk.Judged = len(profiles)
	all := make([]int, len(profiles))
	w.at = map[int]int{}
	for i := range all {
		all[i], w.at[i] = i, i
	}
	w.now = w.rows(all)
	var base, head []int
	for _, run := range w.usable(all) {
		if IsHead(&profiles[run]) {
			head = append(head, run)
		} else {
			base = append(base, run)
		}
	}
	base = base[max(0, len(base)-history.Window):]
	few := fmt.Sprintf("too few runs: %d of the base and %d of the head of %s, at least %d and 1 are needed", len(base), len(head), v.Key.Pair,
		leastLevel)
	if !w.now.Comparable(base, head) {
		v.Status, v.Reason = TooFew, few
		return nil
	}
	if w.series.Type.Momentary() {
		for _, f := range w.amounts(base, head, false) {
			w.pair(&f, base, head)
		}
		v.status()
		return nil
	}
	a, err := w.now.Compare(base, head, w.o)
	if err != nil {
		return err
	}
	v.Detectable, v.Untold = a.Detectable.Stated(), a.Untold
	for i := range a.Findings {
		f := &a.Findings[i]
		if f.Status != regression.Transient && (f.Kind.Costs() || f.Kind == regression.Improvement) {
			w.pair(&stated{Finding: *f, program: ProgramOf(a), weather: isWeather(f, a)}, base, head)
		}
	}
	v.sort()
	if v.status(); len(base) < leastLevel && len(v.Changes) == 0 { // so few show only what leaves no doubt
		v.Status, v.Reason = TooFew, few
	}
	return nil
}

// pair adds what a pair shows to its verdict.
func (w *walker) pair(f *stated, base, head []int) {
	c := Of(f.Finding, runOf(&w.series.Profiles[head[0]].Run), new(runOf(&w.series.Profiles[base[len(base)-1]].Run)), f.program, len(head))
	c.Seen, c.Rows, c.Base, c.Head = w.v.Newest, f.Rows, base, head
	if f.weather {
		c.State = Passing
	}
	w.v.Changes = append(w.v.Changes, c)
}
