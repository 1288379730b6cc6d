package regression

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression/internal/row"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Result is the result of a Request.
type Result struct {
	Benchmarks []Benchmark // in order of group, name and value type
	// Findings are those of all benchmarks: costs first, then by share of the program.
	Findings []Finding
}

// Benchmark is the result for one benchmark.
type Benchmark struct {
	Benchmark  testrun.Benchmark
	Type       profile.ValueType
	LeftOut    []history.LeftOut
	Warnings   []string
	FewSamples float64 // samples per run if only large changes show with so few, else 0

	// Profiles are the runs that were compared, oldest first; the last Tested of them were
	// tested. Empty without a verdict.
	Profiles []store.Profile
	Tested   int
	// Base and Head are the runs whose metrics compare, oldest first, with or without a
	// verdict: the history, and the runs that may be tested.
	Base, Head []store.Profile
	// Analyses are the comparisons, the newest run alone first. Empty: no verdict, for
	// Reason.
	Analyses []*Analysis
	Reason   string
	// TooFew: there is no verdict for want of runs. NotAt: because the head, of which this is the newest
	// run, has none of the benchmark.
	TooFew   bool
	NotAt    *testrun.Run
	Findings []Finding
	// Ranked lists functions by score or, without a verdict, by how unlikely the
	// difference of their shares is.
	Ranked []Candidate

	held history.Known // what other benchmarks show and was used
}

// Key returns the key of the series of the benchmark.
func (b *Benchmark) Key() history.Key { return history.Key{Benchmark: b.Benchmark, Type: b.Type.Name} }

// Series returns the runs that were compared.
func (b *Benchmark) Series() *history.Series {
	return &history.Series{Benchmark: b.Benchmark, Type: b.Type, Profiles: b.Profiles}
}

// Most returns the analysis of most tested runs; nil: there is none.
func Most(list []*Analysis) (most *Analysis) {
	for _, a := range list {
		if most == nil || len(a.Tested) > len(most.Tested) {
			most = a
		}
	}
	return most
}

// Detectable returns the smallest change that some analysis would have found, as Detectable.Stated; 0: unknown.
func (b *Benchmark) Detectable() (least float64) {
	for _, a := range b.Analyses {
		if d := a.Detectable.Stated(); least == 0 || d > 0 && d < least {
			least = d
		}
	}
	return least
}

// Find compares, for every benchmark of a selection, its newest selected runs with the
// runs before them. The selection must not be empty; each value type is analysed on its
// own, but for those that repeat another one (history.Distinct). Benchmarks are loaded and
// compared in parallel, with the same result. What other benchmarks of the same version show
// of functions holds too (Request.Wide).
func Find(ctx context.Context, st store.Reader, q store.Query, req Request) (*Result, error) {
	tests := req.Since()
	list, tested, err := tests.Series(ctx, st, q, req.runs(&tests))
	if err != nil {
		return nil, err
	}
	search := newSearch(st, &req, list, tested)
	judged, release, err := search.all(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	res := &Result{Benchmarks: judged}
	proofs, err := search.siblings(ctx, q, res)
	if err == nil {
		proofs = append(proofsOf(res.Benchmarks), proofs...)
		err = res.shareKnown(ctx, proofs, search.judge)
	}
	if err != nil {
		return nil, err
	}
	for i := range res.Benchmarks {
		Acknowledge(res.Benchmarks[i].Findings, req.Acknowledged, req.Now)
		res.Findings = append(res.Findings, res.Benchmarks[i].Findings...)
	}
	sortFindings(res.Findings)
	return res, res.WarnOfEstimates(ctx, st)
}

// WarnOfEstimates adds a warning to benchmarks of which numbers of objects were compared that
// are estimates: that is possible only by naming the value type. The store has the sizes from
// which they are estimated.
func (r *Result) WarnOfEstimates(ctx context.Context, st store.Reader) error {
	q := store.Query{}
	for i := range r.Benchmarks {
		if b := &r.Benchmarks[i]; b.Type.Name == profile.AllocSamples || b.Type.Name == profile.LiveSamples {
			q.Groups, q.Types = append(q.Groups, b.Benchmark.Group), []string{profile.Alloc, profile.AllocSamples, profile.Live, profile.LiveSamples}
		}
	}
	if len(q.Types) == 0 {
		return nil
	}
	all, err := st.Profiles(ctx, q)
	if err != nil {
		return err
	}
	estimated := history.Estimated(all)
	for i := range r.Benchmarks {
		if b := &r.Benchmarks[i]; estimated[b.Key()] {
			b.Warnings = append(b.Warnings, fmt.Sprintf("%s is estimated from sampled sizes: changes look surer than they are; compare --type %s", b.Type.Name, strings.TrimSuffix(b.Type.Name, "-samples")))
		}
	}
	return nil
}

// Parallel calls f for 0 … n-1 on all cores and returns the first error, which ends the context.
func Parallel(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return f(ctx, i)
		})
	}
	return group.Wait()
}

// newBenchmark returns a benchmark with the runs of both sides.
func newBenchmark(s *history.Series, tested map[store.ProfileID]bool, req *Request) *Benchmark {
	b := &Benchmark{Benchmark: s.Benchmark, Type: s.Type, LeftOut: s.LeftOut}
	for _, p := range s.Profiles {
		if tested[p.ID] {
			b.Head = append(b.Head, p)
		} else {
			b.Base = append(b.Base, p)
		}
	}
	b.Base = b.Base[max(0, len(b.Base)-req.window()):]
	return b
}

// one analyses one benchmark, with what others show of its functions; nil: nothing.
func one(ctx context.Context, st store.Reader, s *history.Series, tested map[store.ProfileID]bool, req *Request,
	known *history.Known) (*Benchmark, error) {
	b := newBenchmark(s, tested, req)
	b.Warnings = s.Warnings()
	m, err := history.Load(ctx, st, s)
	if err != nil {
		return nil, err
	}
	if known != nil {
		m, b.held = m.With(known, len(b.Head))
	}
	rows := Prepare(s, m)
	var usable []int
	for t := range m.Runs {
		if rows.Usable(t) {
			usable = append(usable, t)
		}
	}
	if n := len(m.Runs) - len(usable); n > 0 {
		b.Warnings = append(b.Warnings, fmt.Sprintf("%d of %d runs have no samples of the program and are skipped", n, len(m.Runs)))
	}
	if len(m.Runs) > 0 && !rows.Usable(len(m.Runs)-1) {
		b.Reason = fmt.Sprintf("the newest run, %s, has no samples of the program", m.Runs[len(m.Runs)-1].Profile.Run.Key)
		return b, nil
	}
	most := 0 // maximum number of tested runs at the end
	for most < len(usable) && tested[m.Runs[usable[len(usable)-1-most]].Profile.ID] {
		most++
	}
	if err := b.judge(rows, usable, most, req); err != nil {
		return nil, err
	}
	if s.Type.Momentary() && len(b.Analyses) > 0 {
		b.amounts(s, m, usable, most, req)
	}
	sortFindings(b.Findings)
	b.setCompared(s)
	b.warnOfFew(m)
	return b, b.explain(ctx, st, m.Table.Functions)
}

// fewSamples is the number of samples per run below which only large changes show.
const fewSamples = 50

// warnOfFew says what to do if the runs have few samples.
func (b *Benchmark) warnOfFew(m *history.Matrix) {
	sum, n := 0.0, 0.0
	for i := range m.Runs {
		if r := &m.Runs[i]; r.Total > 0 && !m.Weighted {
			sum, n = sum+r.Total, n+1
		}
	}
	if n > 0 && sum/n < fewSamples {
		b.FewSamples = sum / n
		b.Warnings = append(b.Warnings, fmt.Sprintf("%.0f samples per run: only large changes show; record longer (-benchtime) or compare more runs (--count)", sum/n))
	}
}

// setCompared sets the runs of all analyses. Those count as tested that the analysis with
// findings has tested, else those of the one with most runs.
func (b *Benchmark) setCompared(s *history.Series) {
	if len(b.Analyses) == 0 {
		return
	}
	compared := map[string]bool{}
	tested := b.Analyses[0].Tested
	for _, a := range b.Analyses {
		for _, run := range slices.Concat(a.History, a.Tested) {
			compared[run] = true
		}
		if len(a.Findings) > 0 && len(a.Tested) > len(tested) && slices.Contains(a.Tested, tested[len(tested)-1]) {
			tested = a.Tested
		}
	}
	b.Base = slices.DeleteFunc(b.Base, func(p store.Profile) bool { return !compared[p.Run.Key] }) // an accepted change shortens it
	for i := range s.Profiles {
		if p := &s.Profiles[i]; compared[p.Run.Key] {
			b.Profiles = append(b.Profiles, *p)
		}
	}
	b.Tested = len(b.Profiles) - slices.IndexFunc(b.Profiles, func(p store.Profile) bool { return slices.Contains(tested, p.Run.Key) })
}

// judge makes the requested comparisons; at most the last most runs are tested.
func (b *Benchmark) judge(rows *Rows, runs []int, most int, req *Request) error {
	k := 1
	if req.K > 0 {
		k = most
	}
	before := len(runs) - k // runs before the newest tested ones
	if req.Filter != nil {
		before = len(runs) - most // runs that may be tested are history only if chosen as such
	}
	if before < leastHistory && (before < doubtlessRuns || !doubtless(rows.sp.Matrix, runs[:before], runs[len(runs)-k:])) {
		b.TooFew, b.Reason = true, fmt.Sprintf("too few runs: %d before the tested run, at least %d are needed", before, leastHistory)
		if before > 0 {
			b.Ranked = rows.rankFew(runs[:before], runs[len(runs)-k:])
		}
		return nil
	}
	n := len(runs)
	compare := func(before, from, to int) (*Analysis, error) {
		hist, tested := runs[max(0, before-req.window()):before], runs[from:to]
		a, err := rows.Compare(hist, tested, req.Options)
		if err != nil {
			return nil, err
		}
		sides := sidesOf(rows.sp.Matrix, hist, tested)
		for i := range a.Findings {
			a.Findings[i].Sides = sides
		}
		return a, nil
	}
	newest, err := compare(before, n-k, n)
	if err != nil {
		return err
	}
	b.Analyses = []*Analysis{newest}
	b.Ranked = newest.Ranked
	if k == most || n-most < leastHistory {
		b.Findings = slices.Clone(newest.Findings) // acceptances are marked in the list, per request
		return nil
	}
	two, err := compare(n-2, n-2, n)
	if err != nil {
		return err
	}
	one, err := compare(n-2, n-2, n-1)
	if err != nil {
		return err
	}
	two.Ranked, one.Ranked = nil, nil // the newest run's is shown
	b.Analyses = append(b.Analyses, two, one)
	b.Findings = combine(two.Findings, newest.Findings, one.Findings)
	return nil
}

// sidesOf returns the sides of what runs of a matrix are compared.
func sidesOf(m *history.Matrix, hist, tested []int) *Sides {
	of := func(runs []int) []*store.Profile {
		return column.Of(runs, func(t int) *store.Profile { return m.Runs[t].Profile })
	}
	return NewSides(of(hist), of(tested))
}

// combine merges the findings of the newest two runs together, of the newest alone, and
// of the one before it. The first are confirmed; those only of the newest are suspects;
// a cost only of the run before is transient.
func combine(two, newest, before []Finding) []Finding {
	list := slices.Clone(two)
	for _, f := range newest {
		if slices.ContainsFunc(list, f.SameAs) {
			continue
		}
		for _, g := range two { // the last good run is not one that is called bad
			if g.Kind.Costs() && f.Kind.Costs() {
				f.Since.LastGood = g.Since.LastGood
			}
		}
		list = append(list, f)
	}
	for _, f := range before {
		if f.Kind.Costs() && !slices.ContainsFunc(list, f.SameAs) {
			f.Status = Transient
			list = append(list, f)
		}
	}
	return list
}

// SameAs reports whether two findings are one change: the same kind, and the same
// function, headline, a caller and its callee, or places close to each other on one path. A
// change without a place is the change of any place.
func (f Finding) SameAs(g Finding) bool {
	switch {
	case f.Kind != g.Kind && !(f.Kind.Costs() && g.Kind.Costs()):
		return false
	case f.ID == g.ID, f.Function == g.Function, f.Kind == Slowdown && g.Kind == Slowdown:
		return true
	case f.Function == "" || g.Function == "":
		return true
	case f.Headline != nil && g.Headline != nil && f.Headline.Own && g.Headline.Own && f.Headline.Function == g.Headline.Function &&
		f.Headline.Calls == g.Headline.Calls:
		return true
	case f.Caller != "" && f.Caller == g.Function, g.Caller != "" && g.Caller == f.Function:
		return true
	}
	short, long := f.Path, g.Path
	if len(short) > len(long) {
		short, long = long, short
	}
	return len(short) > 1 && len(long)-len(short) <= nearFrames && slices.Equal(short, long[:len(short)])
}

var kindOrder = []Kind{Regression, Leak, Widespread, Slowdown, Improvement, Moved, Environment}

// sortFindings orders findings: costs, the other kinds, and last the transient ones; each
// by share of the program, then by score.
func sortFindings(list []Finding) {
	rank := func(f *Finding) int {
		switch {
		case f.Status == Transient:
			return 100
		case f.Kind.Costs():
			return 0
		}
		return 1 + slices.Index(kindOrder, f.Kind)
	}
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), -cmp.Compare(math.Abs(a.Delta.Share), math.Abs(b.Delta.Share)),
			-cmp.Compare(math.Abs(a.Score), math.Abs(b.Score)),
			-cmp.Compare(math.Abs(a.Delta.Samples), math.Abs(b.Delta.Samples)), a.Of().Compare(b.Of()), cmp.Compare(a.Function, b.Function))
	})
}

// rankFew lists functions by how unlikely the difference of their shares of self
// samples is under counting noise alone: a hint when there are too few runs for a
// verdict.
func (r *Rows) rankFew(hist, tested []int) []Candidate {
	var na, nb float64
	for _, t := range hist {
		na += r.sp.Matrix.Runs[t].Total
	}
	for _, t := range tested {
		nb += r.sp.Matrix.Runs[t].Total
	}
	if na == 0 || nb == 0 {
		return nil
	}
	var list []Candidate
	for slot := range r.sp.FunctionSelfs() {
		x := r.sp.Values(slot)
		xa, xb := row.SumOver(x, hist), row.SumOver(x, tested)
		share := xb/nb - xa/na
		if share <= 0 {
			continue
		}
		p := (xa + xb + 1) / (na + nb)
		name := r.sp.Table.Functions[r.sp.Item[slot]].Name
		list = append(list, Candidate{name, share * nb / float64(len(tested)), share, share / math.Sqrt(p*(1/na+1/nb))})
	}
	slices.SortStableFunc(list, func(a, b Candidate) int {
		return cmp.Or(-cmp.Compare(a.Score, b.Score), cmp.Compare(a.Function, b.Function))
	})
	return list[:min(len(list), mostRanked)]
}

// amounts compares the program's amounts of runs, of which the last most may be tested, and
// replaces the findings of the comparison of shares.
func (b *Benchmark) amounts(s *history.Series, m *history.Matrix, runs []int, most int, req *Request) {
	b.Findings = nil
	k := min(most, 2)
	if req.K > 0 {
		k = most
	}
	window := runs[max(0, len(runs)-k-req.window()):]
	if f := grown(s, m, k, &req.Options, leak(m, window), step(m, window, k), trend(m, window, false), step(m, window, 1)); f != nil {
		f.Sides = sidesOf(m, window[:len(window)-k], window[len(window)-k:])
		b.Findings = append(b.Findings, *f)
	}
}
