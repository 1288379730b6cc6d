package change

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/column"
)

// The numbers of runs.
const (
	leastLevel = 3   // runs of a level that is compared with
	leastNew   = 5   // runs since an onset; before, runs are compared with the level before it
	mostLevel  = 30  // runs before the tested ones
	oldestAge  = 16  // newest runs that are tested together
	mostAfter  = 30  // runs since an onset that its size is measured on
	mostBack   = 8   // newest runs among which the end of a change is searched
	mostOthers = 100 // changes that a verdict keeps beside the open ones
	mostRuns   = mostLevel + oldestAge
)

// Walk is what a verdict remembers of the runs it has judged, as indexes of the line's runs.
type Walk struct {
	Level []int `json:"level"` // the newest runs of the current level
	// Old is the runs of the level before, which runs are compared with as long as the current
	// level has too few.
	Old    []int `json:"old,omitempty"`
	Judged int   `json:"judged"` // runs with samples since the first
}

// walker continues a verdict.
type walker struct {
	v      *Verdict
	o      regression.Options
	series *history.Series
	rows   func(runs []int) *regression.Rows // of some runs, ascending

	at   map[int]int // column of a run in now
	now  *regression.Rows
	over map[string]int // the first run back of changes that this step ends, by id
}

// horizon lists the runs that the next step may read: those of the level, and of all open
// changes.
func (v *Verdict) horizon() []int {
	runs := slices.Concat(v.Walk.Level, v.Walk.Old)
	for _, c := range v.Open() {
		runs = slices.Concat(runs, c.Base, c.Head)
	}
	slices.Sort(runs)
	return slices.Compact(runs)
}

// step judges run t, the next of the line.
func (w *walker) step(t int) error {
	runs := append(w.v.horizon(), t)
	w.now, w.at, w.over = w.rows(runs), map[int]int{}, map[string]int{}
	for i, run := range runs {
		w.at[run] = i
	}
	v := w.v
	v.Runs, v.Newest, v.Weather = t+1, runOf(&w.series.Profiles[t].Run), nil
	if t == 0 {
		v.First = v.Newest
	}
	if !w.now.Usable(w.at[t]) {
		v.Status, v.Reason = Unknown, "the newest run, "+v.Newest.Run+", has no samples of the program"
		return nil
	}
	found, err := w.compare(t)
	if err != nil {
		return err
	}
	v.Untold, v.Before = w.untold(t), w.before(t)
	v.Walk.Judged++
	v.Walk.Level = append(v.Walk.Level, t)
	for i := range v.Changes {
		if c := &v.Changes[i]; c.State == Confirmed && len(c.Head) < mostAfter && w.isNewest(c) {
			c.Head = append(c.Head, t)
		}
	}
	w.end()
	w.take(found)
	if err := w.measure(); err != nil {
		return err
	}
	v.Walk.Level = v.Walk.Level[max(0, len(v.Walk.Level)-mostRuns):]
	if len(v.Walk.Level) >= leastNew+oldestAge { // every comparison has enough runs of the level
		v.Walk.Old = nil
	}
	v.sort()
	v.Reason, v.Status = "", ""
	v.status()
	return nil
}

// cols returns the columns of runs.
func (w *walker) cols(runs []int) []int {
	return column.Of(runs, func(run int) int { return w.at[run] })
}

// usable returns the runs with samples of the program: what the program is depends on all runs
// of a step.
func (w *walker) usable(runs []int) []int {
	return slices.DeleteFunc(slices.Clone(runs), func(run int) bool { return !w.now.Usable(w.at[run]) })
}

// base returns the newest runs of the current level before a run; or those of the level before it,
// which is old, as long as there are too few.
func (w *walker) base(before int) (runs []int, old bool) {
	walk := &w.v.Walk
	for _, run := range walk.Level {
		if run < before {
			runs = append(runs, run)
		}
	}
	if old = len(walk.Old) > 0 && len(runs) < leastNew; old {
		runs = slices.Clone(walk.Old)
	}
	return runs[max(0, len(runs)-mostLevel):], old
}

// isNewest reports whether no other change has begun since.
func (w *walker) isNewest(c *Change) bool {
	for i := range w.v.Changes {
		if o := &w.v.Changes[i]; o.State == Confirmed && o.Head[0] > c.Head[0] {
			return false
		}
	}
	return true
}

// onset dates the step of a finding: the first run at the new level.
func (w *walker) onset(f *stated) int {
	level := w.v.Walk.Level
	at := slices.Index(level, f.first)
	if f.runs == 1 || f.drifts || at < 0 {
		return f.first
	}
	low := max(0, at-f.runs)
	if !f.old && len(w.v.Walk.Old) > 0 { // it is no change from the level before
		low = max(low, min(leastNew, at))
	}
	base, _ := w.base(level[low])
	if len(base) < leastLevel {
		return f.first
	}
	runs := level[low:]
	scores := w.now.Trace(w.cols(base), w.cols(runs), &f.Finding, w.o)
	if scores == nil {
		return f.first
	}
	return runs[split(scores[len(base):])]
}

// split returns the index of the first value of the second of two levels, the first of which
// is 0: the sum of squares around both is smallest. At least one value is of the second.
func split(values []float64) int {
	best, at := 0.0, len(values)-1
	sum := 0.0
	for i := len(values) - 1; i >= 0; i-- {
		sum += values[i]
		n := float64(len(values) - i)
		if gain := sum * sum / n; gain > best {
			best, at = gain, i
		}
	}
	return at
}

// end finds the open changes that are over.
func (w *walker) end() {
	v := w.v
	for i := range v.Changes {
		c := &v.Changes[i]
		if c.State != Confirmed {
			continue
		}
		first := w.back(c)
		if c.Drifts {
			first = w.fallen(c)
		}
		if first < 0 {
			continue
		}
		run := runOf(&w.series.Profiles[first].Run)
		c.State, c.End = Ended, &run
		w.over[c.ID] = first
		c.Head = slices.DeleteFunc(c.Head, func(run int) bool { return run >= first })
		walk := &v.Walk
		top := true
		if c.Drifts {
			continue // it began no level
		}
		for j := range v.Changes {
			if o := &v.Changes[j]; o.State == Confirmed && o.Head[0] >= c.Head[0] {
				top = false
			}
		}
		since := slices.DeleteFunc(slices.Clone(walk.Level), func(run int) bool { return run < first })
		if top {
			walk.Level, walk.Old = append(slices.Clone(c.Base), since...), nil
		} else {
			walk.Old = slices.DeleteFunc(walk.Level, func(run int) bool { return run >= first })
			walk.Level = since
		}
	}
}

// back returns the first run back at the level before a change, or -1.
func (w *walker) back(c *Change) int {
	if len(c.Base) < leastLevel {
		return -1
	}
	recent := slices.DeleteFunc(slices.Clone(w.v.Walk.Level), func(run int) bool { return run <= c.Head[0] })
	recent = recent[max(0, len(recent)-mostBack):]
	runs := slices.Concat(c.Head, recent)
	slices.Sort(runs)
	runs = slices.Compact(runs)
	scores := w.now.Trace(w.cols(c.Base), w.cols(runs), &regression.Finding{Rows: c.Rows}, w.o)
	if scores == nil {
		return -1
	}
	scores = scores[len(c.Base):]
	for i := len(runs) - 2; i > 0 && runs[i] >= recent[0]; i-- { // runs[i:] may be back
		level, n := 0.0, 0.0
		for _, s := range scores[:i] {
			level, n = level+s, n+1
		}
		level /= n
		ratio := 0.0
		for _, s := range scores[i:] {
			d := ((s-level)*(s-level) - s*s) / 2
			ratio += max(-mostRatio, min(mostRatio, d))
		}
		if ratio >= leastRatio {
			return runs[i]
		}
	}
	return -1
}

// Bounds of the log likelihood ratio of being back at the level before: the minimum of all runs
// together, and the maximum that one run may contribute.
const (
	leastRatio = 4.0
	mostRatio  = 4.0
)

// measure updates the sizes of the open changes by the runs since their onsets.
func (w *walker) measure() error {
	done := map[[2]int]*regression.Analysis{}
	for i := range w.v.Changes {
		c := &w.v.Changes[i]
		if c.State != Confirmed || c.Runs == len(c.Head) || len(c.Base) < leastLevel {
			continue
		}
		if w.series.Type.Momentary() {
			if f := w.now.Grown(w.cols(c.Base), w.cols(c.Head), w.o); f != nil && !c.Drifts {
				c.Finding.Delta, c.Finding.Score, c.Finding.Chance, c.Program, c.Runs = f.Delta, f.Score, f.Chance, shareOf(f), len(c.Head)
			}
			continue
		}
		at := [2]int{c.Head[0], c.Base[len(c.Base)-1]}
		a := done[at]
		if a == nil {
			o := w.o
			o.SkipOwnHistory = true
			before, after := w.usable(c.Base), w.usable(c.Head)
			if len(before) < leastLevel || len(after) == 0 {
				continue
			}
			var err error
			if a, err = w.now.Compare(w.cols(before), w.cols(after), o); err != nil {
				return err
			}
			done[at] = a
		}
		if f := c.of(a.Findings); f != nil {
			if c.Finding.Function == "" && f.Function != "" && math.Abs(f.Delta.Share) < mainPlace*math.Abs(c.Finding.Delta.Share) {
				continue // a place that shows a part of it
			}
			// Another place is the change's only if it has more in it.
			if f.Function != c.Finding.Function &&
				(c.Finding.Function == "" || math.Abs(f.Delta.Share) > otherPlace*math.Abs(c.Finding.Delta.Share)) {
				f.ID = c.Finding.ID
				c.Finding, c.Rows = *f, f.Rows
			}
			c.Finding.Delta, c.Finding.Score, c.Finding.Chance = f.Delta, f.Score, f.Chance
			c.Finding.RuledOut, c.Finding.Note = f.RuledOut, f.Note
			c.Program, c.Runs = ProgramOf(a), len(c.Head)
			c.explain()
		}
	}
	return nil
}

// otherPlace is the factor by which a change at a place close to its own is larger if another change has
// joined it. Smaller differences are those of a place that one night more shows.
const otherPlace = 1.5

// mainPlace is the part of a change without a place from which on a place names it.
const mainPlace = 0.5

// of returns the finding that is the change: that of its place, else the first that is one with it;
// nil: none, or only one without a place.
func (c *Change) of(list []regression.Finding) *regression.Finding {
	at := slices.IndexFunc(list, func(f regression.Finding) bool {
		return f.SameAs(c.Finding) && f.Function == c.Finding.Function && f.Caller == c.Finding.Caller
	})
	if at < 0 {
		at = slices.IndexFunc(list, func(f regression.Finding) bool { return f.SameAs(c.Finding) && f.Function != "" })
	}
	if at < 0 {
		return nil
	}
	return &list[at]
}

// sort orders the changes.
func (v *Verdict) sort() {
	slices.SortStableFunc(v.Changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.State.rank(), b.State.rank()), -cmp.Compare(a.Head[0], b.Head[0]),
			-cmp.Compare(btoi(a.Costs()), btoi(b.Costs())),
			-cmp.Compare(a.Finding.Delta.Share, b.Finding.Delta.Share), cmp.Compare(a.ID, b.ID))
	})
	v.Changes = v.Changes[:min(len(v.Changes), len(v.Open())+mostOthers)]
}

// rank is the place of a state in the order of changes.
func (s State) rank() int {
	switch {
	case s.Open():
		return 0
	case s == Passing:
		return 1
	}
	return 2
}

// status sets what the newest run says.
func (v *Verdict) status() {
	costs, gains := 0, 0
	for _, c := range v.Open() {
		switch {
		case c.State == Accepted:
		case c.Costs():
			costs++
		default:
			gains++
		}
	}
	switch {
	case (v.Status == Unknown || v.Status == TooFew && v.Key.Pair != "") && v.Reason != "":
	case v.Walk.Judged < v.Needed:
		v.Status, v.Reason = TooFew, fmt.Sprintf("too few runs: %d of %d", v.Walk.Judged, v.Needed)
	case costs > 0:
		v.Status = Slower
	case gains > 0:
		v.Status = Faster
	case v.Weather != nil || slices.ContainsFunc(v.Changes, func(c Change) bool { return c.State == Passing }):
		v.Status = Machine
	default:
		v.Status = Unchanged
	}
}
