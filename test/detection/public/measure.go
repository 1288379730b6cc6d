package public

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/store"
)

// Outcome is how one comparison of a pair was judged.
type Outcome struct {
	Found  bool // a cost, suspect or better
	Failed bool // the gate fails
	Status regression.Status
	Kind   regression.Kind

	Headline, Place string  // of the first finding
	HeadlineOK      bool    // it is the caller's function that calls the module
	PlaceOK         bool    // an accepted function is in its place, its parts or its paths
	Size, Low, High float64 // change of the cost per operation in percent
	Beside          int     // further costs and improvements beside the first
	Result          *gate.Comparison
	Verdict         *gate.Verdict
}

// Measure judges runs of the head against all runs of the base.
func (p *Pair) Measure(ctx context.Context, base, head []store.Profile) (*Outcome, error) {
	s := gate.Sides{Base: history.Distinct(slices.Clone(base)), Head: history.Distinct(slices.Clone(head))}
	c, err := gate.Compare(ctx, p.Store, s, regression.Request{})
	if err != nil {
		return nil, err
	}
	changes := gate.Group(c.Findings)
	o := &Outcome{Result: c, Verdict: gate.Judge(c.Result, changes, gate.Policy{})}
	o.Failed = o.Verdict.Failed
	for i := range changes {
		f := &changes[i].Finding
		if !f.Kind.Costs() && f.Kind != regression.Improvement || f.Status == regression.Transient {
			continue
		}
		if o.Found {
			o.Beside++
			continue
		}
		if !f.Kind.Costs() {
			continue
		}
		o.Found, o.Status, o.Kind = true, f.Status, f.Kind
		p.describe(o, f)
	}
	return o, nil
}

// describe compares a finding with the truth.
func (p *Pair) describe(o *Outcome, f *regression.Finding) {
	names := []string{f.Function}
	if f.Headline != nil {
		o.Headline, o.Place = f.Headline.Function, f.Headline.Calls
		names = append(names, f.Headline.Calls)
	}
	for i := range f.Parts {
		names = append(names, f.Parts[i].Function)
	}
	for i := range f.Paths {
		names = append(names, f.Paths[i].Path...)
	}
	o.HeadlineOK = o.Headline != "" && f.Headline.Own && strings.Contains(o.Headline, p.Headline) && !strings.Contains(o.Headline, "Main.cpu")
	o.PlaceOK = slices.ContainsFunc(names, func(name string) bool {
		return slices.ContainsFunc(p.Place, func(place string) bool { return strings.Contains(name, place) })
	})
	o.Size = 100 * f.Delta.Share
	o.Low, o.High = math.Inf(-1), math.Inf(1)
	if t := f.Delta.Time; t != nil && t.Value != 0 {
		o.Low, o.High = o.Size*t.Low/t.Value, o.Size*t.High/t.Value
	}
}

// tolerance is the part of the truth's range by which a size may be outside of it.
const tolerance = 0.3

// Sized reports whether a size is within 30% of the range of the truth.
func (p *Pair) Sized(o *Outcome) bool {
	low, high := p.Truth.Truth[0], p.Truth.Truth[2]
	return o.Found && o.Size >= low-tolerance*math.Abs(low) && o.Size <= high+tolerance*math.Abs(high)
}

// Holds reports whether the interval of the size has the best estimate of the truth.
func (p *Pair) Holds(o *Outcome) bool {
	return o.Found && o.Low <= p.Truth.Truth[1] && p.Truth.Truth[1] <= o.High
}

// runKeys returns the keys of the runs of profiles, in order.
func runKeys(list []store.Profile) (keys []string) {
	for i := range list {
		if key := list[i].Run.Key; !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// ofRuns returns the profiles of some runs.
func ofRuns(list []store.Profile, keys ...string) (chosen []store.Profile) {
	for i := range list {
		if slices.Contains(keys, list[i].Run.Key) {
			chosen = append(chosen, list[i])
		}
	}
	return chosen
}

// short returns the last part of a function's name.
func short(function string) string {
	return function[strings.LastIndexByte(function, '/')+1:]
}
