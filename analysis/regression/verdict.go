package regression

import (
	"cmp"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/regression/internal/row"
)

// verdict is the result for one choice of tested runs.
type verdict struct {
	*fit
	rises, falls []*place  // that count
	changes      []*change // of the rises, the most significant first
	shown        *change   // a cost that only the metric shows; nil: none
	unstable     []*place  // rises no larger than those within the benchmark's own history
	passing      []*place  // rises that not every tested run shows
	moved        []*place
	given        *given  // falls that no rise has taken; nil without places
	blocks       int     // blocks of the own history that were tested; 0: not tested
	noisy        int     // of these with findings
	threshold    float64 // after testing the own history
}

// judge runs the whole method for the tested runs b against the history a.
func judge(sp *row.Space, o *Options, a, b []int) *verdict {
	v := newFit(sp, o, a, b).sorted()
	v.ownHistory()
	v.changes = v.merge(v.rises)
	if v.shown = v.shownByMetric(v.changes, v.moved); v.shown != nil {
		v.moved = slices.DeleteFunc(v.moved, func(p *place) bool { return slices.Contains(v.shown.places, p) })
	}
	return v
}

// sorted tells costs and gains from other places.
func (f *fit) sorted() *verdict {
	v := &verdict{fit: f, threshold: f.threshold}
	places := f.places()
	if len(places) > 0 {
		v.given = f.markMoved(places)
	}
	for _, p := range places {
		to := &v.falls
		switch rises := p.d > 0; {
		case p.moved:
			to = &v.moved
		case rises && !f.lasts(p):
			to = &v.passing
		case rises && !f.carried(p):
			to = &v.unstable
		case rises:
			to = &v.rises
		case p.z > -f.threshold || !f.lasts(p) || !f.carried(p):
			continue
		}
		*to = append(*to, p)
	}
	return v
}

// ownHistory tests every block of the history, as long as the tested one, against the
// rest of it. If two or more have findings although nothing is known to have changed,
// the second largest score becomes the threshold, of rises and of falls: the noise of this benchmark has forms
// that the model does not cover.
func (v *verdict) ownHistory() {
	k := len(v.head)
	if v.options.without("own history") || v.options.SkipOwnHistory || len(v.rises)+len(v.falls) == 0 ||
		len(v.base) < leastHistory+max(k, blocksLeast) {
		return
	}
	var rises, falls []float64
	add := func(to *[]float64, list []*place) {
		if len(list) > 0 {
			*to = append(*to, math.Abs(slices.MaxFunc(list, func(p, q *place) int { return cmp.Compare(math.Abs(p.z), math.Abs(q.z)) }).z))
		}
	}
	for at := 0; at+k <= len(v.base); at += k {
		v.blocks++
		block := v.within(v.base[at:at+k], slices.Concat(v.base[:at], v.base[at+k:])).sorted()
		add(&rises, block.rises)
		add(&falls, block.falls)
	}
	v.noisy = len(rises)
	v.threshold = raised(v.threshold, rises)
	least := raised(v.fit.threshold, falls)
	v.falls = slices.DeleteFunc(v.falls, func(p *place) bool { return -p.z < least })
	v.rises = slices.DeleteFunc(v.rises, func(p *place) bool {
		if p.z < v.threshold {
			v.unstable = append(v.unstable, p)
		}
		return p.z < v.threshold
	})
}

// raised returns the threshold after blocks of the history had findings of these scores.
func raised(threshold float64, peaks []float64) float64 {
	if len(peaks) < blocksLeast {
		return threshold
	}
	slices.Sort(peaks)
	return math.Max(threshold, peaks[len(peaks)-blocksLeast])
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
