package public

import (
	"cmp"
	"context"
	"maps"
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
	Found  bool // the change in its direction: a cost, suspect or better, or an improvement
	Failed bool // the gate fails
	Status regression.Status
	Kind   regression.Kind

	Headline, Place string  // of the first finding
	HeadlineOK      bool    // it is the caller's function that calls the module
	PlaceOK         bool    // an accepted function is in its place, its parts or its paths
	Size, Low, High float64 // change of the cost per operation in percent
	Beside          int     // costs and improvements beside the true one
	Costs           bool    // there is any cost
	// Rank is the place of the first right answer among the findings, 1 the first; 0: none.
	Rank    int
	Result  *gate.Comparison
	Verdict *gate.Verdict
}

// Measure judges runs of the head against all runs of the base.
func (p *Pair) Measure(ctx context.Context, base, head []store.Profile) (*Outcome, error) {
	s := gate.Sides{Base: history.Distinct(slices.Clone(base)), Head: history.Distinct(slices.Clone(head))}
	c, err := gate.Compare(ctx, p.Store, s, regression.Request{Options: p.Options})
	if err != nil {
		return nil, err
	}
	changes := gate.Group(c.Findings)
	o := &Outcome{Result: c, Verdict: gate.Judge(c.Result, changes, gate.Policy{})}
	o.Failed = o.Verdict.Failed
	rank := 0
	for i := range changes {
		f := &changes[i].Finding
		if !f.Kind.Costs() && f.Kind != regression.Improvement || f.Status == regression.Transient {
			continue
		}
		rank++
		o.Costs = o.Costs || f.Kind.Costs()
		if f.Headline != nil && slices.Contains(p.Also, f.Headline.Calls) {
			continue
		}
		if o.Found || f.Kind.Costs() == p.Faster() {
			o.Beside++
			continue
		}
		o.Found, o.Status, o.Kind = true, f.Status, f.Kind
		p.describe(o, f)
		if o.HeadlineOK || o.PlaceOK {
			o.Rank = rank
		}
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
	o.PlaceOK = slices.ContainsFunc(names, p.accepts)
	o.Size = 100 * f.Delta.Share
	o.Low, o.High = math.Inf(-1), math.Inf(1)
	if t := f.Delta.Time; t != nil && t.Value != 0 {
		o.Low, o.High = o.Size*t.Low/t.Value, o.Size*t.High/t.Value
	}
}

// Faster reports whether the head is faster than the base.
func (p *Pair) Faster() bool { return !p.None && p.Truth.Truth[1] < 0 }

// tolerance is the part of the truth's range by which a size may be outside of it.
const tolerance = 0.3

// Sized reports whether a size is within 30% of the range of the truth.
func (p *Pair) Sized(o *Outcome) bool {
	low, high := p.Truth.Truth[0], p.Truth.Truth[2]
	least, most := low-tolerance*math.Abs(low), high+tolerance*math.Abs(high)
	return o.Found && o.Size >= least && o.Size <= most
}

// Holds reports whether the interval of the size has the best estimate of the truth.
func (p *Pair) Holds(o *Outcome) bool {
	return o.Found && o.Low <= p.Truth.Truth[1] && p.Truth.Truth[1] <= o.High
}

// Naive returns the place of the culprit, 1 the first, in what people look at without a
// statistic: functions by the difference of their own samples, the base scaled to the
// head's total, as `go tool pprof -diff_base -normalize -top` lists them. The culprit is the
// caller's function or an accepted one; 0 if none is in the list.
func (p *Pair) Naive(ctx context.Context, base, head []store.Profile) (int, error) {
	sum := map[string]float64{}
	for _, side := range []struct {
		list []store.Profile
		sign float64
	}{{history.Distinct(slices.Clone(base)), -1}, {history.Distinct(slices.Clone(head)), 1}} {
		tree, _, err := store.MergeTrees(ctx, p.Store, store.Query{Profiles: store.IDs(side.list)})
		if err != nil {
			return 0, err
		}
		total := 0.0
		for _, v := range tree.Self {
			total += float64(v)
		}
		for n, v := range tree.Self {
			sum[tree.Functions[tree.Func[n]].Name] += side.sign * float64(v) / max(1, total)
		}
	}
	names := slices.SortedFunc(maps.Keys(sum), func(a, b string) int {
		return cmp.Or(cmp.Compare(math.Abs(sum[b]), math.Abs(sum[a])), cmp.Compare(a, b))
	})
	for i, name := range names {
		if p.Headline != "" && strings.Contains(name, "."+p.Headline) || p.accepts(name) {
			return i + 1, nil
		}
	}
	return 0, nil
}

// accepts reports whether a change may be attributed to a function.
func (p *Pair) accepts(name string) bool {
	return slices.ContainsFunc(p.Place, func(place string) bool { return strings.Contains(name, place) })
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
