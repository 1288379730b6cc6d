// Package judge answers what is slow, what became slower, since when and by how much:
// bottlenecks, regressions, reports, the overview of all benchmarks and the history of one.
//
// Words: sides are the runs that are judged and those they are compared with; an outcome is
// what all answers say of one benchmark. The methods are those of the floor analysis; this
// package computes none.
package judge

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/expansion"
	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/paper"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/query/sides"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Judging says which changes matter; regressions, reports and checks have it.
type Judging struct {
	History   []string    `param:"history" arg:"key=value" help:"condition on the runs of the history (branch, machine, commit, run, attr.KEY, since, until); repeatable (default: the branch and machine of the tested run)" json:"history,omitempty"`
	AnyBranch bool        `param:"any-branch" help:"runs of every branch are history" json:"anyBranch,omitempty"`
	Window    int         `param:"window" arg:"n" min:"0" help:"maximum runs of the history (default 30; --method thesis 10)" json:"window,omitempty"`
	MinShare  query.Share `param:"min-share" arg:"share" help:"minimum change, as a share of the program (default 0.1%; of releases what their noise allows)" json:"minShare,omitempty"`
	Impact    float64     `param:"min-impact" arg:"n" min:"0" help:"minimum change, in standard deviations of the program's sample count (default 0.75; stable native programs 0.25)" json:"minImpact,omitempty"`
	Alpha     float64     `param:"alpha" arg:"probability" min:"0" help:"probability of a false finding per benchmark (default 0.0025 for one run, 0.01 for more)" json:"alpha,omitempty"`
}

// request returns what the analysis is asked.
func (j *Judging) request(ctx context.Context, st store.Reader, k int, f *facts.Facts) (req regression.Request, err error) {
	req = regression.Request{Tests: history.Tests{Window: j.Window, AnyBranch: j.AnyBranch, K: k}, Now: time.Now()}
	req.Options = regression.Options{MinShare: float64(j.MinShare), Impact: j.Impact, Alpha: j.Alpha, Own: f.Own}
	if j.Alpha >= 1 {
		return req, param.Errorf("--alpha is %g; a probability is below 1", j.Alpha)
	}
	if req.Filter, err = sides.Filter("--history", j.History); err != nil {
		return req, err
	}
	if req.Filter != nil {
		if list, err := st.Profiles(ctx, *req.Filter); err != nil || len(list) == 0 {
			return req, cmp.Or(err, fmt.Errorf("--history %s: %w", strings.Join(j.History, ", "), store.ErrNothing))
		}
	}
	req.Acknowledged, err = acknowledged(ctx, st, f)
	return req, err
}

// ofFindings returns a request that accepts findings where it accepts changes: a comparison knows
// no onset.
func ofFindings(req regression.Request) regression.Request {
	req.Acknowledged = slices.Clone(req.Acknowledged)
	for i := range req.Acknowledged {
		a := &req.Acknowledged[i]
		a.ID, _, _ = strings.Cut(a.ID, "-")
		a.Also = slices.Clone(a.Also)
		for k := range a.Also {
			a.Also[k], _, _ = strings.Cut(a.Also[k], "-")
		}
	}
	return req
}

// find compares the newest runs of a selection with those before: chosen ones as the request says, else as the list
// of changes does.
func find(ctx context.Context, st store.Reader, q store.Query, req regression.Request, chosen bool) (*regression.Result, error) {
	req, err := levelled(ctx, st, q, req, nil, max(2, req.K), chosen)
	if err != nil {
		return nil, err
	}
	return regression.Find(ctx, st, q, req)
}

// chosen reports whether runs are compared as the request says, in place of following changes.
func (j *Judging) chosen(q *query.Selection, s *Sides) bool {
	return s.Base != "" || q.Pushed.Chosen() || q.Last > 0 || len(j.History) > 0 || j.AnyBranch || j.Window > 0
}

// Listing says which changes are listed; the default is the open ones.
type Listing struct {
	New   string `param:"new" arg:"n|date" help:"only changes first seen in the newest n runs, or since a date, day or age (Monday, 7d)" json:"new,omitempty"`
	Ended bool   `param:"ended" help:"list changes that are over, newest end first" json:"ended,omitempty"`
}

// RegressionsRequest asks what became slower, by one of the methods. MethodView chooses it, or a caller:
// a method reads the parameters that it has.
type RegressionsRequest struct {
	query.Selection `group:"Selection"`
	Sides
	Method      string `param:"method" group:"Method" arg:"name" choices:"default,thesis,correlation,hotelling" help:"default, thesis, correlation or hotelling" json:"method,omitempty"`
	Judging     `group:"Method"`
	Listing     `group:"Selection"`
	Scored      `group:"Method"`
	Correlating `group:"Method"`
	Subtrees    `group:"Method"`
	Rows        int `param:"rows" group:"Limit" arg:"n" min:"0" page:"25" help:"maximum number of findings (0: all)" json:"rows,omitempty"`
	Expand      `group:"Expansion"`
	facts.Facts `json:"facts,omitzero"`
}

// OfPushed leaves pushed profiles to the comparison of releases; of the other methods runs are blocks of time.
func (r *RegressionsRequest) OfPushed(ctx context.Context, st store.Store) (store.Store, error) {
	if r.Method == "" || r.Method == "default" {
		return r.Releases.OfPushed(ctx, st)
	}
	return query.PushedBlocks(ctx, st, &r.Selection)
}

// Scored says which value of a function the score of the paper is of.
type Scored struct {
	Measure string `param:"measure" arg:"what" default:"total" help:"thesis: value to score: total, self, or potential:n" json:"measure,omitempty"`
}

// Correlating says what is correlated.
type Correlating struct {
	X     string `param:"x" arg:"what" choices:"share,samples" help:"correlation: share or samples of a function" json:"x,omitempty"`
	Y     string `param:"y" arg:"what" choices:"time,raw" help:"correlation: the metric as a time, or raw as stored" json:"y,omitempty"`
	Over  string `param:"aggregate" arg:"what" choices:"mean,median,max,min" help:"correlation: mean, median, max or min over the benchmarks (min: all correlate)" json:"aggregate,omitempty"`
	Least int    `param:"least-occurrences" arg:"n" min:"2" default:"8" help:"correlation: minimum runs of a benchmark that have the function and a metric" json:"leastOccurrences,omitempty"`
}

// options are those of the analysis.
func (c *Correlating) options() bottleneck.Correlating {
	return bottleneck.Correlating{Samples: c.X == "samples", Raw: c.Y == "raw", Over: c.Over, Least: c.Least}
}

// Subtrees says which functions a test is of.
type Subtrees struct {
	Functions []string `param:"function" arg:"name" help:"hotelling: test the functions called below this one (exact name); repeatable (default: those of the whole program)" json:"function,omitempty"`
	Variables int      `param:"variables" arg:"n" min:"1" default:"10" help:"hotelling: maximum number of functions of a test; a third of the number of runs at most" json:"variables,omitempty"`
}

// RegressionsResult has the findings of the default method (docs/schema/findings.md): the
// changes, newest onset first, or what differs between two sides.
type RegressionsResult struct {
	Notes      []string             `json:"notes"`    // acknowledgements that accept findings no more
	Followed   bool                 `json:"followed"` // findings are changes
	Weather    []string             `json:"weather"`  // machines on which all code took longer, a line each
	Findings   []regression.Finding `json:"findings"`
	Causes     []Cause              `json:"causes"` // of several findings, which are one row
	Benchmarks []Judged             `json:"benchmarks"`
	Expanded   []*Expanded          `json:"expanded,omitempty"`
}

// Cause is several findings that are one change: of one function in several benchmarks, or of all code
// since one run.
type Cause struct {
	Finding string   `json:"finding"` // id of the one that describes it
	Also    []string `json:"also"`    // ids of the others, also of those that Rows left out
}

// setFindings sets the findings of a list, at most so many rows of them (0: all), and their causes. A row is a
// cause; its other findings stand where there is room.
func (r *RegressionsResult) setFindings(list []regression.Finding, rows int) {
	r.Causes = []Cause{}
	member := map[string]bool{}
	for _, c := range gate.Group(list) {
		if len(c.Also) == 0 {
			continue
		}
		cause := Cause{Finding: c.ID}
		for i := range c.Also {
			cause.Also = append(cause.Also, c.Also[i].ID)
			member[c.Also[i].ID] = true
		}
		r.Causes = append(r.Causes, cause)
	}
	r.Findings = slices.Clone(words.Filled(list))
	if rows == 0 {
		return
	}
	room := max(0, rows-(len(list)-len(member)))
	r.Findings = slices.DeleteFunc(r.Findings, func(f regression.Finding) bool {
		left := &rows
		if member[f.ID] {
			left = &room
		}
		*left--
		return *left < 0
	})
}

// Rows returns the findings as rows: of each cause one, with the others.
func (r *RegressionsResult) Rows() []gate.Change {
	at, member, also := map[string]*regression.Finding{}, map[string]bool{}, map[string][]string{}
	for i := range r.Findings {
		at[r.Findings[i].ID] = &r.Findings[i]
	}
	for _, c := range r.Causes {
		also[c.Finding] = c.Also
		for _, id := range c.Also {
			member[id] = true
		}
	}
	var list []gate.Change
	for _, f := range r.Findings {
		if member[f.ID] {
			continue
		}
		c := gate.Change{Finding: f}
		for _, id := range also[f.ID] {
			if g := at[id]; g != nil {
				c.Also = append(c.Also, *g)
			}
		}
		list = append(list, c)
	}
	return list
}

// Judged is what was compared of a benchmark.
type Judged struct {
	Group     string         `json:"group,omitempty"`
	Benchmark string         `json:"benchmark"`
	Type      string         `json:"type"`
	Verdict   bool           `json:"verdict"`
	Reason    string         `json:"reason,omitempty"` // why there is no verdict
	Outcome   report.Outcome `json:"outcome"`          // of all value types of the benchmark
	report.Compared
	Candidates []regression.Candidate `json:"candidates"`
}

// RankingHead begins the documents of the other methods.
type RankingHead struct {
	Omitted query.Omitted `json:"omitted"`
	Zero    int           `json:"zero,omitempty"` // functions with a correlation of 0, in rows or omitted
	Notes   []string      `json:"notes"`
}

// ScoresResult ranks functions by the score of the paper.
type ScoresResult struct {
	RankingHead
	Unit     string      `json:"unit"`            // of expected, actual and diff
	Scale    int         `json:"scale,omitempty"` // they have values in 10^-scale units
	Rows     []ScoreRow  `json:"rows"`
	Expanded []*Expanded `json:"expanded,omitempty"`
}

// CorrelationsResult ranks functions by correlation.
type CorrelationsResult struct {
	RankingHead
	Rows     []CorrelationRow `json:"rows"`
	Expanded []*Expanded      `json:"expanded,omitempty"`
}

// HotellingResult ranks subtrees by Hotelling's test.
type HotellingResult struct {
	RankingHead
	Rows []HotellingRow `json:"rows"`
}

// ScoreRow is a function in one benchmark.
type ScoreRow = paper.ScoreRow

// CorrelationRow is a function over all benchmarks.
type CorrelationRow struct {
	Score      float64 `json:"score"`
	Benchmarks int     `json:"benchmarks"`
	Profiles   int     `json:"profiles"`
	Function   string  `json:"function"`
}

// HotellingRow is a test of the functions of a subtree in one benchmark.
type HotellingRow = paper.HotellingRow

// Regressions answers a RegressionsRequest with the findings of the default method.
func Regressions(ctx context.Context, st store.Store, r *RegressionsRequest) (_ *RegressionsResult, err error) {
	defer func() { err = query.Hinted(ctx, st, &r.Selection, err) }()
	q := r.Selection
	req, err := r.Judging.request(ctx, st, q.Last, &r.Facts)
	if err != nil {
		return nil, err
	}
	if err := r.Sides.check(&r.Selection, &r.Judging, ""); err != nil {
		return nil, err
	}
	if !r.Judging.chosen(&q, &r.Sides) {
		return r.changes(ctx, st, &req)
	}
	if r.New != "" || r.Ended {
		return nil, param.Errorf("--new and --ended list changes: leave out --base, --service, --last, --history, --any-branch and --window")
	}
	st, named, about, err := r.Sides.open(ctx, st, &q, &req)
	if err != nil {
		return nil, err
	}
	q.Last = 0 // of the head
	list, err := query.ProfilesOf(ctx, st, q)
	if err != nil {
		return nil, err
	}
	if len(q.Types) == 0 {
		list = history.Distinct(list)
	}
	req = ofFindings(req)
	c, err := named.judge(ctx, st, q, list, r.Last, req, &r.Facts, false)
	if err != nil {
		return nil, err
	}
	lapsed := facts.Acknowledgements(req.Acknowledged).Lapsed(c.Findings, req.Now)
	out := &RegressionsResult{Weather: []string{}, Notes: slices.Concat([]string{}, about, c.Notes, lapsed), Benchmarks: []Judged{}}
	out.setFindings(c.Findings, r.Rows)
	return r.fill(ctx, st, out, c.Result, report.Outcomes(c.Result), func(i int) (compared, bool) {
		b := &c.Benchmarks[i]
		return compared{*b.Series(), b.Tested}, len(b.Analyses) > 0
	})
}

// fill completes a result whose findings are set: where they are called, the benchmarks with their outcomes, and contexts.
// Runs returns those that judged a benchmark, and whether they gave a verdict.
func (r *RegressionsRequest) fill(ctx context.Context, st store.Store, out *RegressionsResult, res *regression.Result,
	of map[testrun.Benchmark]report.Outcome, runs func(i int) (compared, bool)) (*RegressionsResult, error) {
	err := addCalls(ctx, st, pointers(out.Findings))
	if err != nil {
		return nil, err
	}
	var ranking []ranked
	for _, f := range out.Findings {
		ranking = append(ranking, ranked{f.Key(), expansion.Candidate{Function: f.Function, Score: f.Score}})
	}
	histories := map[history.Key]compared{}
	for i := range res.Benchmarks {
		b := &res.Benchmarks[i]
		by, verdict := runs(i)
		histories[b.Key()] = by
		out.Benchmarks = append(out.Benchmarks, Judged{Group: b.Benchmark.Group, Benchmark: b.Benchmark.Name, Type: b.Type.Name,
			Verdict: verdict, Reason: b.Reason, Outcome: of[b.Benchmark], Compared: report.NewCompared(b), Candidates: words.Filled(b.Ranked)})
	}
	out.Expanded, err = r.expandRanked(ctx, st, &r.Facts, ranking, histories, r.Correlating.options())
	return out, r.Unmet(err)
}

// changes lists the changes of the selection.
func (r *RegressionsRequest) changes(ctx context.Context, st store.Store, req *regression.Request) (*RegressionsResult, error) {
	c, err := openChanges(ctx, st, r.Selection, nil, req, true)
	if err != nil {
		return nil, err
	}
	if len(c.lines) == 0 {
		return nil, store.OneType(nil, r.Selection)
	}
	list := c.list(func(f *regression.Finding) bool { return (f.Status == regression.Ended) == r.Ended })
	if r.New != "" {
		if list, err = c.since(list, r.New); err != nil {
			return nil, err
		}
	}
	out := &RegressionsResult{Followed: true, Weather: words.Filled(c.weather()), Benchmarks: []Judged{},
		Notes: words.Filled(facts.Acknowledgements(req.Acknowledged).Lapsed(list, req.Now))}
	out.setFindings(list, r.Rows)
	of, res := c.outcomes(), c.result(list)
	explainUnjudged(res, c.profiles)
	return r.fill(ctx, st, out, res, of, func(i int) (compared, bool) { return compared{c.lines[i], 1}, res.Benchmarks[i].Reason == "" })
}

// Scores answers a RegressionsRequest with functions ranked by the score of the paper.
func Scores(ctx context.Context, st store.Store, r *RegressionsRequest) (_ *ScoresResult, err error) {
	defer func() { err = query.Hinted(ctx, st, &r.Selection, err) }()
	x := r.Expand
	x.Score = cmp.Or(x.Score, "thesis")
	q, req, notes, err := r.Judging.ranking(ctx, st, &r.Selection, &r.Facts)
	if err != nil {
		return nil, err
	}
	m, err := paper.ParseMeasure(r.Measure)
	if err != nil {
		return nil, param.Errorf("--measure: %w", err)
	}
	res, err := paper.Scores(ctx, st, q, paper.ScoreRequest{Tests: req.Since(), Measure: m})
	if err != nil {
		return nil, err
	}
	out := &ScoresResult{RankingHead: RankingHead{Notes: append(notes, res.Warnings...)}, Rows: words.Filled(words.First(res.Rows, r.Rows))}
	var ranking []ranked
	for _, x := range out.Rows {
		ranking = append(ranking, ranked{x.Of, expansion.Candidate{Function: x.Function, Score: x.Score}})
	}
	out.Omitted.Rows = len(res.Rows) - len(out.Rows)
	out.Notes = append(out.Notes, windows(res)...)
	if len(res.Series) > 0 {
		out.Unit, out.Scale = res.Series[0].Type.Unit, res.Series[0].Type.Scale
	}
	histories := map[history.Key]compared{}
	for i := range res.Series {
		s := res.Series[i].Newest(res.Window + 1)
		histories[s.Key()] = compared{*s, 1}
	}
	if x.Expand != "" && m != paper.Total {
		out.Notes = append(out.Notes, "contexts are scored by total, whatever --measure ranks by")
	}
	out.Expanded, err = x.expandRanked(ctx, st, &r.Facts, ranking, histories, r.Correlating.options())
	return out, r.Unmet(err)
}

// windows names the runs of which the scores are.
func windows(res *paper.ScoreResult) []string {
	if len(res.Series) != 1 {
		return []string{fmt.Sprintf("each newest run is scored against at most %d runs before it (--window)", res.Window)}
	}
	list := res.Series[0].Profiles
	before := len(list) - 1
	window := list[max(0, before-res.Window):before]
	return []string{fmt.Sprintf("%s is scored against %d of %s before it, %s … %s (--window)", list[before].Run.Key, len(window),
		words.Counted(before, "run"), window[0].Run.Key, window[len(window)-1].Run.Key)}
}

// Hotelling answers a RegressionsRequest with tests of the functions of subtrees together.
func Hotelling(ctx context.Context, st store.Store, r *RegressionsRequest) (_ *HotellingResult, err error) {
	defer func() { err = query.Hinted(ctx, st, &r.Selection, err) }()
	if r.Expand.Expand != "" {
		return nil, param.Errorf("--expand needs a method that ranks functions, not --method hotelling")
	}
	q, req, notes, err := r.Judging.ranking(ctx, st, &r.Selection, &r.Facts)
	if err != nil {
		return nil, err
	}
	res, err := paper.Hotelling(ctx, st, q, paper.HotellingRequest{Tests: req.Since(), Subtrees: r.Functions, Variables: r.Variables})
	if err != nil {
		return nil, err
	}
	rows := words.Filled(words.First(res.Rows, r.Rows))
	return &HotellingResult{RankingHead{Notes: append(notes, res.Warnings...), Omitted: query.Omitted{Rows: len(res.Rows) - len(rows)}},
		rows}, nil
}

// Correlations answers a RegressionsRequest with functions ranked by how closely they follow the time.
func Correlations(ctx context.Context, st store.Store, r *RegressionsRequest) (_ *CorrelationsResult, err error) {
	defer func() { err = query.Hinted(ctx, st, &r.Selection, err) }()
	if _, err := query.ProfilesOf(ctx, st, r.Selection); err != nil {
		return nil, err
	}
	q, notes, err := query.OneType(ctx, st, &r.Selection)
	if err != nil {
		return nil, err
	}
	res, err := bottleneck.Find(ctx, st, q, bottleneck.Options{Rank: bottleneck.Correlation, Correlating: r.Correlating.options()})
	if err != nil {
		return nil, err
	}
	all := slices.Clone(res.Rows)
	for _, x := range slices.Backward(res.Negative) {
		all = append(all, x)
	}
	rows := words.First(all, r.Rows)
	out := &CorrelationsResult{RankingHead: RankingHead{Notes: append(notes, res.Warnings...),
		Omitted: query.Omitted{Rows: len(all) - len(rows)}, Zero: res.Zero}, Rows: []CorrelationRow{}}
	for _, x := range rows {
		out.Rows = append(out.Rows, CorrelationRow{x.Score, x.Benchmarks, x.Profiles, x.Function})
	}
	if r.Expand.Expand != "" {
		profiles, err := store.Select(ctx, st, q)
		if err != nil {
			return nil, err
		}
		x, err := r.contextsIn(ctx, st, &r.Facts, profiles, candidatesOf(rows), r.Correlating.options())
		if err != nil {
			return nil, err
		}
		out.Expanded = []*Expanded{x}
	}
	return out, r.Unmet(nil)
}

// ranking returns what a method that ranks the functions of one value type is asked.
func (j *Judging) ranking(ctx context.Context, st store.Reader, s *query.Selection, f *facts.Facts) (q store.Query, req regression.Request,
	notes []string, err error) {
	q = *s
	if req, err = j.request(ctx, st, q.Last, f); err != nil {
		return q, req, nil, err
	}
	if _, err = query.ProfilesOf(ctx, st, q); err != nil {
		return q, req, nil, err
	}
	q, notes, err = query.OneType(ctx, st, s)
	return q, req, notes, err
}

// ranked is a function that a method names, in one benchmark and value type.
type ranked struct {
	history.Key
	expansion.Candidate
}

// compared is the runs that ranked the functions of a benchmark: the last ones were tested.
type compared struct {
	history.Series
	tested int
}

// expandRanked searches the contexts of the first functions of a ranking, benchmark by
// benchmark, in the runs that ranked them; nil without --expand.
func (x *Expand) expandRanked(ctx context.Context, st store.Store, f *facts.Facts, list []ranked, histories map[history.Key]compared,
	c bottleneck.Correlating) ([]*Expanded, error) {
	if x.Expand == "" {
		return nil, nil
	}
	var keys []history.Key
	candidates := map[history.Key][]expansion.Candidate{}
	seen := map[ranked]bool{}
	for _, f := range list {
		key := ranked{f.Key, expansion.Candidate{Function: f.Function}}
		if x.Top > 0 && len(seen) == x.Top || f.Function == "" || seen[key] {
			continue
		}
		seen[key] = true
		if candidates[f.Key] == nil {
			keys = append(keys, f.Key)
		}
		candidates[f.Key] = append(candidates[f.Key], f.Candidate)
	}
	out := []*Expanded{}
	for _, key := range keys {
		h := histories[key]
		if len(h.Profiles) == 0 {
			continue // a finding in several benchmarks has none of its own
		}
		found, err := x.contexts(ctx, st, f, []history.Series{h.Series}, h.tested, candidates[key], c)
		if err != nil {
			return nil, err
		}
		found.Benchmark = key.Benchmark.String()
		out = append(out, found)
	}
	return out, nil
}
