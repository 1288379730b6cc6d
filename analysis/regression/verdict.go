package regression

import (
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/regression/internal/row"
)

// verdict is the result for one choice of tested runs.
type verdict struct {
	*fit
	changes   []*change // regressions, the most significant first
	shown     *change   // a cost that only the metric shows; nil: none
	unstable  []*place  // rises no larger than those within the benchmark's own history
	passing   []*place  // rises that not every tested run shows
	moved     []*place
	given     *given   // falls that no rise has taken
	falls     []*place // not moved
	blocks    int      // blocks of the own history that were tested; 0: not tested
	noisy     int      // of these with findings
	threshold float64  // after testing the own history
}

// judge runs the whole method for the tested runs b against the history a.
func judge(sp *row.Space, o *Options, a, b []int) *verdict {
	f := newFit(sp, o, a, b)
	v := &verdict{fit: f, threshold: f.threshold}
	places := f.places()
	v.given = f.markMoved(places)
	var rises, falls []*place
	for _, p := range places {
		switch {
		case p.moved:
			v.moved = append(v.moved, p)
		case p.d > 0 && !f.lasts(p):
			v.passing = append(v.passing, p)
		case p.d > 0 && !f.carried(p):
			p.unstable = true
			v.unstable = append(v.unstable, p)
		case p.d > 0:
			rises = append(rises, p)
		case p.z <= -f.threshold && f.lasts(p) && f.carried(p):
			falls = append(falls, p)
		}
	}
	fallThreshold := v.fit.threshold
	if len(rises)+len(falls) > 0 && !o.SkipOwnHistory {
		fallThreshold = v.ownHistory()
	}
	for _, p := range falls {
		if -p.z >= fallThreshold {
			v.falls = append(v.falls, p)
		}
	}
	kept := rises[:0:0]
	for _, p := range rises {
		if p.z >= v.threshold {
			kept = append(kept, p)
		} else {
			p.unstable = true
			v.unstable = append(v.unstable, p)
		}
	}
	v.changes = f.merge(kept)
	if v.shown = f.shownByMetric(v.changes, v.moved); v.shown != nil {
		v.moved = slices.DeleteFunc(v.moved, func(p *place) bool { return slices.Contains(v.shown.places, p) })
	}
	return v
}

// ownHistory tests every block of the history, as long as the tested one, against the
// rest of it. If two or more have findings although nothing is known to have changed,
// the second largest score becomes the threshold: the noise of this benchmark has forms
// that the model does not cover. It returns the threshold of falls.
func (v *verdict) ownHistory() float64 {
	if v.options.without("own history") || len(v.base) < leastHistory+blocksLeast {
		return v.threshold
	}
	var peaks, falls []float64
	k := len(v.head)
	for at := 0; at+k <= len(v.base); at += k {
		block := v.base[at : at+k]
		rest := slices.Concat(v.base[:at], v.base[at+k:])
		if len(rest) < leastHistory {
			break
		}
		v.blocks++
		rise, fall := v.within(block, rest).peak()
		if rise > 0 {
			peaks = append(peaks, rise)
		}
		if fall > 0 {
			falls = append(falls, fall)
		}
	}
	v.noisy = len(peaks)
	least := v.fit.threshold
	v.threshold = raised(least, peaks)
	return raised(least, falls)
}

// raised returns the threshold after blocks of the history had findings of these scores.
func raised(threshold float64, peaks []float64) float64 {
	if len(peaks) < blocksLeast {
		return threshold
	}
	slices.Sort(peaks)
	return math.Max(threshold, peaks[len(peaks)-blocksLeast])
}

// peak returns the largest scores of a rise and of a fall, or 0.
func (f *fit) peak() (rise, fall float64) {
	places := f.places()
	if len(places) > 0 {
		f.markMoved(places)
	}
	for _, p := range places {
		switch {
		case p.moved || !f.lasts(p):
		case p.d > 0 && f.carried(p):
			rise = math.Max(rise, p.z)
		case p.z <= -f.threshold && f.carried(p):
			fall = math.Max(fall, -p.z)
		}
	}
	return rise, fall
}

// lastingShare is the part of a rise that the first and the last of several tested runs
// must each show.
const lastingShare = 1.0 / 3

// lasts reports whether a change is present at both ends of the tested runs: a rise in
// only one of two runs is not confirmed, and one missing in the newest is over. From
// four runs on an end is two runs, and at most a quarter of the runs may lack it: two
// outliers of four runs are no change.
func (f *fit) lasts(p *place) bool { return f.lastsAt(p.slot) }
func (f *fit) lastsAt(slot int32) bool {
	k := len(f.head)
	if f.options.without("lasts") || k == 1 {
		return true
	}
	end := 1
	if k > 3 {
		end = max(2, k/3)
	}
	rise := func(runs []int) float64 { return f.mean(slot, runs) - f.level[slot] }
	least := lastingShare * f.diff[slot]
	lacking := 0
	for _, t := range f.head {
		if !(rise([]int{t})/least >= 1) {
			lacking++
		}
	}
	if k > 3 && lacking > k/4 {
		return false
	}
	if least < 0 {
		return rise(f.head[:end]) <= least && rise(f.head[k-end:]) <= least
	}
	return rise(f.head[:end]) >= least && rise(f.head[k-end:]) >= least
}
