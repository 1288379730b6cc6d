package judge

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/evidence"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/calltree/callpath"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// HistoryRequest asks for a metric, or the share of a function, over the runs of each
// selected benchmark.
type HistoryRequest struct {
	query.Selection `group:"Selection"`
	Function        string          `param:"function" group:"View" arg:"name" help:"share of this function (exact name or glob) instead of a metric" json:"function,omitempty"`
	Self            bool            `param:"self" group:"View" help:"share of self instead of total (with --function)" json:"self,omitempty"`
	Metric          string          `param:"metric" group:"View" arg:"name" help:"metric (default: the primary one)" json:"metric,omitempty"`
	Amount          bool            `param:"amount" group:"View" help:"amount of the value type per operation, or per run where operations are unknown, instead of a metric" json:"amount,omitempty"`
	Window          int             `param:"window" group:"View" arg:"n" min:"2" default:"10" help:"number of runs of the moving mean and deviation" json:"window"`
	query.Newest    `group:"Limit"` // of each series
	facts.Facts     `json:"facts,omitzero"`
}

// HistoryResult holds a series per benchmark.
type HistoryResult struct {
	Function string          `json:"function"` // empty: a metric
	Self     bool            `json:"self"`
	Notes    []string        `json:"notes"`
	Omitted  query.Omitted   `json:"omitted,omitzero"` // runs of all series
	Series   []HistorySeries `json:"series"`           // by group and benchmark
}

// HistorySeries is one number over the runs of a benchmark that compare with the newest.
type HistorySeries struct {
	Group     string `json:"group"`
	Benchmark string `json:"benchmark"`
	Type      string `json:"type"` // of the profiles
	// Metric is what is measured: of a function what its cost is in. Empty: the
	// benchmark has none.
	Metric   string `json:"metric"`
	Unit     string `json:"unit"` // of the metric; "share" for functions, or the unit of amounts at one moment
	CostUnit string `json:"costUnit,omitempty"`
	// CostBand: the cost of each run is known and compares between runs, per operation or by the
	// metric. It says whether the function is slower; its share does not.
	CostBand bool           `json:"costBand,omitempty"`
	Better   testrun.Better `json:"better,omitempty"`
	// Outcome is what a report says of the newest runs; nil of a function, or if the
	// selection has nothing to compare.
	Outcome *report.Outcome   `json:"outcome,omitempty"`
	LeftOut []history.LeftOut `json:"leftOut"`
	Runs    []HistoryRun      `json:"runs"` // oldest first
	// Changes are those of the list that the series is about, ended ones too, newest onset first:
	// of the benchmark, or of a function those whose call path it is on.
	Changes []regression.Finding `json:"changes"`

	typ profile.ValueType
}

// HistoryRun is a run with its value, and what the runs before let expect of it.
type HistoryRun struct {
	testrun.Run
	Profiles  []ProfileOfRun `json:"profiles"`
	Value     *float64       `json:"value"` // null if the run has none
	Mean      float64        `json:"mean"`
	Deviation float64        `json:"deviation"` // 0 of fewer than two runs before
	// Cost of a function is its amount per operation where operations are known, else its
	// share of the metric, or its amount in the run if there is none; null with a metric of
	// which more is better.
	Cost *float64 `json:"cost,omitempty"`
	// CostMean and CostDeviation are what the runs before let expect of the cost; of series
	// with CostBand.
	CostMean      float64 `json:"costMean,omitempty"`
	CostDeviation float64 `json:"costDeviation,omitempty"`
	// Share of a function whose value is an amount.
	Share *float64 `json:"share,omitempty"`
}

// ProfileOfRun names a profile of a run.
type ProfileOfRun struct {
	ID   store.ProfileID `json:"id"`
	Type string          `json:"type"`
}

// History answers a HistoryRequest.
func History(ctx context.Context, st store.Store, r *HistoryRequest) (_ *HistoryResult, err error) {
	defer func() { err = query.Hinted(ctx, st, &r.Selection, err) }()
	if r.Function != "" && r.Metric != "" {
		return nil, param.Errorf("--function and --metric exclude each other")
	}
	if r.Amount && (r.Function != "" || r.Metric != "") {
		return nil, param.Errorf("--amount is of the whole program: leave out --function and --metric")
	}
	if r.Self && r.Function == "" {
		return nil, param.Errorf("--self is of a function: give --function")
	}
	list, err := query.ProfilesOf(ctx, st, r.Selection)
	if err != nil {
		return nil, err
	}
	out := &HistoryResult{Function: r.Function, Self: r.Self, Notes: []string{}, Series: []HistorySeries{}}
	all := byBenchmark(list, benchmarksOf(list))
	var amounts map[store.ProfileID]int64
	if r.Function != "" {
		named, err := r.resolved(ctx, st)
		if err != nil {
			return nil, err
		}
		r = named
		out.Function = r.Function
		// Each benchmark has its own value type, so that one answer is about Go and Java.
		main := ofMainTypes(all)
		if amounts, err = r.amounts(ctx, st, main); err != nil {
			return nil, err
		}
		out.Notes = append(out.Notes, otherTypes(list, main)...)
	}
	c, err := follow(ctx, st, r.Selection, nil, &r.Facts, false)
	if err != nil {
		return nil, err
	}
	of, changed := c.outcomes(), c.list(func(*regression.Finding) bool { return true })
	if r.Function == "" {
		if err := againstBase(ctx, st, r.Selection, &r.Facts, of); err != nil {
			return nil, err
		}
	}
	for _, s := range history.Choose(list, history.Options{Window: len(list)}) {
		i, _ := slices.BinarySearchFunc(all, s.Benchmark,
			func(b *benchmarkRuns, x testrun.Benchmark) int { return b.Benchmark.Compare(x) })
		if b := all[i]; s.Type.Name == b.mainType {
			if series, ok := r.series(&s, b, amounts); ok {
				if note := omittedRuns(&s, b); note != "" {
					out.Notes = append(out.Notes, note)
				}
				if o, ok := of[s.Benchmark]; ok && r.Function == "" {
					series.Outcome = &o
				}
				for _, f := range changed {
					if f.Of() == b.Benchmark && (r.Function == "" || f.Type == s.Type.Name && onPath(&f, r.Function)) {
						series.Changes = append(series.Changes, f)
					}
				}
				var omitted query.Omitted
				series.Runs, omitted = query.NewestOf(series.Runs, r.Rows)
				out.Omitted.Rows += omitted.Rows
				out.Series = append(out.Series, series)
			}
		}
	}
	switch {
	case len(out.Series) > 0:
	case r.Function != "":
		functions, err := st.FunctionNames(ctx)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(query.NamesOf(functions), r.Function) {
			return nil, query.UnknownFunction(r.Function, functions)
		}
		out.Notes = append(out.Notes, fmt.Sprintf("no function is named %s in %s", r.Function, words.Counted(len(list), "selected profile")))
	case r.Metric != "":
		return nil, fmt.Errorf("%w: no selected profile has a metric %s%s", store.ErrNothing, words.Clean(r.Metric),
			query.ClosestOrAll(r.Metric, metricNames(list)))
	default:
		out.Notes = append(out.Notes, "no selected profile has a metric: import one with --metric, or give --function")
	}
	return out, nil
}

// resolved returns the request with the name of the function that a glob matches. Totals of
// several functions do not add, because one may call the other: then it lists them.
func (r *HistoryRequest) resolved(ctx context.Context, st store.Reader) (*HistoryRequest, error) {
	if !strings.ContainsAny(r.Function, "*?") {
		return r, nil
	}
	functions, err := st.FunctionNames(ctx)
	if err != nil {
		return nil, err
	}
	names := query.NamesOf(functions)
	if slices.Contains(names, r.Function) { // as of (*Cart).Total
		return r, nil
	}
	matches := callpath.Glob(r.Function)
	found := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !matches(name) })
	one := *r
	switch len(found) {
	case 0:
		return nil, query.UnknownFunction(r.Function, functions)
	case 1:
		one.Function = found[0]
		return &one, nil
	}
	slices.Sort(found)
	return nil, param.Errorf("--function %s matches %d functions, name one: %s", r.Function, len(found),
		strings.Join(words.CleanAll(words.First(found, 10)), ", "))
}

// omittedRuns says which runs of a benchmark are not in a series, and of which branches.
func omittedRuns(s *history.Series, b *benchmarkRuns) string {
	if len(s.LeftOut) == 0 {
		return ""
	}
	in := map[string]bool{}
	for i := range s.Profiles {
		in[s.Profiles[i].Run.Branch] = true
	}
	branches := map[string]bool{}
	for _, run := range b.runs {
		for _, p := range run {
			if p.Type.Name == s.Type.Name && !in[p.Run.Branch] {
				branches[cmp.Or(p.Run.Branch, "(none)")] = true
			}
		}
	}
	var parts []string
	for _, l := range s.LeftOut {
		text := fmt.Sprintf("%d of %s", l.Runs, l.Reason)
		if l.Reason == "another branch" {
			text += " (" + strings.Join(words.CleanAll(words.First(slices.Sorted(maps.Keys(branches)), 5)), ", ") + "; --branch selects one)"
		}
		parts = append(parts, text)
	}
	return fmt.Sprintf("%s: runs omitted: %s", s.Benchmark, strings.Join(parts, ", "))
}

// ofMainTypes returns the profiles that have the main type of their benchmark.
func ofMainTypes(all []*benchmarkRuns) (main []store.Profile) {
	for _, b := range all {
		for _, run := range b.runs {
			for _, p := range run {
				if p.Type.Name == b.mainType {
					main = append(main, *p)
				}
			}
		}
	}
	return main
}

// otherTypes says which value types an answer about some of the profiles does not show.
func otherTypes(list, shown []store.Profile) []string {
	names := query.Distinct(shown, func(p *store.Profile) string { return p.Type.Name })
	if note := query.OtherTypes(list, names); note != "" {
		return []string{note}
	}
	return nil
}

// amounts returns the value of the function in every profile that has it.
func (r *HistoryRequest) amounts(ctx context.Context, st store.Reader, list []store.Profile) (map[store.ProfileID]int64, error) {
	set, err := st.Functions(ctx, store.Query{Profiles: store.IDs(list)}, []string{r.Function})
	if err != nil {
		return nil, err
	}
	amounts := map[store.ProfileID]int64{}
	for rows, err := range set.Rows {
		if err != nil {
			return nil, err
		}
		for i, n := range rows.Profile {
			value := rows.Total[i]
			if r.Self {
				value = rows.Self[i]
			}
			amounts[set.Profiles[n].ID] += value
		}
	}
	return amounts, nil
}

// ofFunction puts the values of the function in the place of the metric's, and sets what it
// costs; false if no run has it.
func (s *HistorySeries) ofFunction(compared map[string]*store.Profile, metric []float64, of map[store.ProfileID]int64) (values []float64,
	has bool) {
	t := s.typ
	values = make([]float64, len(s.Runs))
	perOperation, measured := !t.Momentary(), slices.ContainsFunc(metric, func(v float64) bool { return !math.IsNaN(v) })
	for i := range s.Runs {
		n, _ := compared[s.Runs[i].Key].Operations()
		perOperation = perOperation && n > 0
	}
	for i := range s.Runs {
		x, p := &s.Runs[i], compared[s.Runs[i].Key]
		v, in := of[p.ID]
		has = has || in
		part, amount := query.ShareOf(v, p.Sum), float64(v)/math.Pow10(t.Scale)
		values[i] = part // of a run without the function: 0
		cost := part * metric[i]
		switch {
		case t.Momentary():
			values[i], x.Share = amount, &part
			continue
		case perOperation:
			n, _ := p.Covered()
			cost = amount / n
		case !measured && in:
			cost = amount
		case s.Better == testrun.Higher || math.IsNaN(cost):
			continue
		}
		x.Cost = &cost
	}
	s.CostBand = !t.Momentary() && (perOperation || measured) && !slices.ContainsFunc(s.Runs, func(x HistoryRun) bool { return x.Cost == nil })
	s.CostUnit, s.Unit, s.Better = s.Unit, "share", testrun.Lower
	switch {
	case t.Momentary():
		s.CostUnit, s.Unit = "", t.Unit
	case !perOperation && !measured:
		if s.CostUnit = t.Unit; t.Unit == "count" {
			s.CostUnit = t.Name
		}
	case perOperation:
		s.CostUnit = compared[s.Runs[0].Key].PerOperation()
	}
	return values, has
}

// ofProgram puts the amounts of whole profiles in the place of the metric's values: per
// operation, if the operations of all runs are known.
func (s *HistorySeries) ofProgram(compared map[string]*store.Profile) []float64 {
	t := s.typ
	values, perOperation := make([]float64, len(s.Runs)), !t.Momentary()
	for i := range s.Runs {
		n, _ := compared[s.Runs[i].Key].Operations()
		perOperation = perOperation && n > 0
	}
	for i := range s.Runs {
		p := compared[s.Runs[i].Key]
		values[i] = float64(p.Sum) / math.Pow10(t.Scale)
		if perOperation {
			n, _ := p.Covered()
			values[i] /= n
		}
	}
	s.Metric, s.Unit, s.Better = t.Name, t.Unit, testrun.Lower
	if t.Unit == "count" {
		s.Unit = t.Name
	}
	if perOperation {
		p := compared[s.Runs[0].Key]
		s.Metric, s.Unit = t.Name+"/"+testrun.Operation(p.Metrics), p.PerOperation()
	}
	return values
}

// series returns the series of one benchmark; false if it has no value.
func (r *HistoryRequest) series(s *history.Series, b *benchmarkRuns, of map[store.ProfileID]int64) (HistorySeries, bool) {
	compared := map[string]*store.Profile{} // by run
	for i := range s.Profiles {
		compared[s.Profiles[i].Run.Key] = &s.Profiles[i]
	}
	kept := &benchmarkRuns{Benchmark: b.Benchmark}
	for _, run := range b.runs {
		if _, ok := compared[run[0].Run.Key]; ok {
			kept.runs = append(kept.runs, run)
		}
	}
	m, values, has := kept.values(r.Metric)
	out := HistorySeries{Group: b.Group, Benchmark: b.Name, Type: s.Type.Name, Metric: m.Name, Unit: m.Unit, Better: m.Better,
		LeftOut: words.Filled(s.LeftOut),
		Runs:    make([]HistoryRun, len(kept.runs)), Changes: []regression.Finding{}, typ: s.Type}
	for i, run := range kept.runs {
		out.Runs[i].Run = run[0].Run
	}
	switch {
	case r.Function != "":
		values, has = out.ofFunction(compared, values, of)
	case r.Amount:
		values, has = out.ofProgram(compared), true
	}
	if !has {
		return out, false
	}
	valid := func(v float64) bool { return !math.IsNaN(v) }
	band := evidence.Band(values, r.Window, valid)
	for i, run := range kept.runs {
		x := &out.Runs[i]
		x.Mean, x.Deviation = band[i].Mean, band[i].Deviation
		for _, p := range run {
			x.Profiles = append(x.Profiles, ProfileOfRun{p.ID, p.Type.Name})
		}
	}
	for i, v := range optional(values) {
		out.Runs[i].Value = v
	}
	if out.CostBand {
		costs := make([]float64, len(values))
		for i := range costs {
			costs[i] = *out.Runs[i].Cost
		}
		for i, at := range evidence.Band(costs, r.Window, valid) {
			out.Runs[i].CostMean, out.Runs[i].CostDeviation = at.Mean, at.Deviation
		}
	}
	return out, true
}

// onPath reports whether a change is on a call path with a function: it is of that function, or
// of a caller or callee of it.
func onPath(f *regression.Finding, function string) bool {
	if f.Function == function || f.Headline != nil && f.Headline.Function == function || slices.Contains(f.Path, function) {
		return true
	}
	return slices.ContainsFunc(f.Parts, func(p regression.Part) bool { return slices.Contains(p.Path, function) })
}

// metricNames lists the metrics of profiles.
func metricNames(list []store.Profile) []string {
	var names []string
	for i := range list {
		for _, m := range list[i].Metrics {
			if !slices.Contains(names, m.Name) {
				names = append(names, m.Name)
			}
		}
	}
	return names
}
