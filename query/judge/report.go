package judge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/analysis/evidence"
	"github.com/dendroprof/dendro/analysis/expansion"
	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/metrics"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/query/listing"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/query/sides"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/table"
	"github.com/dendroprof/dendro/web"
)

// pageDiffs bounds the diffs that a report page has.
const pageDiffs = 10

// attach adds the diffs of the sides of the findings of each benchmark to a report.
func (r *ReportRequest) attach(ctx context.Context, runs store.Reader, doc *report.Report) error {
	for i := range doc.Benchmarks {
		b := &doc.Benchmarks[i]
		if len(b.Findings) == 0 || len(doc.Attached) == pageDiffs {
			continue
		}
		all, err := runs.Profiles(ctx, store.Query{Types: []string{b.Type.Name}})
		if err != nil {
			return err
		}
		id := map[string]store.ProfileID{}
		for k := range all {
			if all[k].Benchmark == b.Benchmark.Benchmark {
				id[all[k].Run.Key] = all[k].ID
			}
		}
		attached := map[string]bool{}
		for k := range b.Findings {
			f := &b.Findings[k]
			if f.Sides == nil {
				continue
			}
			address := url.Values{"benchmark": {b.Benchmark.Benchmark.Name}, "type": {b.Type.Name}}
			if group := b.Benchmark.Benchmark.Group; group != "" {
				address.Set("group", group)
			}
			var ids [2][]store.ProfileID
			for side, keys := range [][]string{f.Sides.Base, f.Sides.Head} {
				for _, key := range keys {
					if at, ok := id[key]; ok {
						ids[side] = append(ids[side], at)
						if side == 1 {
							address.Add("head-run", key)
						}
					}
				}
			}
			at := address.Encode()
			if len(ids[0]) == 0 || len(ids[1]) == 0 || attached[at] || len(doc.Attached) == pageDiffs {
				continue
			}
			title := ""
			if f.Change != nil && len(attached) > 0 { // the first is the only one, mostly
				title = " since " + words.Clean(f.Change.Onset.Run)
			}
			attached[at] = true
			diff, err := trees.DiffOfRuns(ctx, runs, ids, f.Sides.Against != "")
			if err != nil {
				return fmt.Errorf("diff of %s: %w", b.Benchmark.Benchmark, err)
			}
			body, err := document.Bytes(diff, document.Form{Columns: true, Compact: true})
			if err != nil {
				return err
			}
			doc.Attached = append(doc.Attached, report.Attachment{Title: "Diff of " + b.Benchmark.Benchmark.String() + title, Path: "diff",
				Query: at, Body: body})
		}
	}
	return nil
}

// reportPage returns a report as an offline page.
func reportPage(doc *report.Report) (*web.Report, error) {
	made := *doc
	text := time.Now().UTC().Format(time.DateOnly)
	if doc.Version != "" {
		text += ", dendro " + doc.Version
	}
	made.Parameters = append(slices.Clone(doc.Parameters), report.Parameter{Name: "made", Value: text})
	var b bytes.Buffer
	if err := made.JSON(&b); err != nil {
		return nil, err
	}
	page := &web.Report{Title: "Dendro: " + words.Clean(doc.Headline()), Start: "/report",
		Nav:     []web.Link{{Title: "Findings", Address: "/report"}},
		Answers: []web.Answer{{Path: "report", Body: json.RawMessage(bytes.TrimSpace(b.Bytes()))}}}
	for _, a := range doc.Attached {
		page.Nav = append(page.Nav, web.Link{Title: a.Title, Address: "/" + a.Path + "?" + a.Query})
		page.Answers = append(page.Answers, web.Answer{Path: a.Path, Query: a.Query, Body: a.Body})
	}
	return page, nil
}

// ReportRequest asks for a document about what changed.
type ReportRequest struct {
	query.Selection `group:"Selection"`
	Sides
	Judging       `group:"Method"`
	Method        string `param:"method" group:"Method" arg:"name" choices:"default,thesis,correlation,hotelling" help:"method that ranks candidates, as in regressions: default, thesis, correlation, hotelling (of the functions below --function)" json:"method,omitempty"`
	Correlating   `group:"Method"`
	Functions     []string `param:"function" group:"View" arg:"name" help:"also plot this function (exact name) over the runs of each benchmark; repeatable" json:"function,omitempty"`
	Band          float64  `param:"band" group:"View" arg:"n" min:"0" help:"width of the bands in plots: standard deviations on each side of the mean (default 2)" json:"band,omitempty"`
	Candidates    int      `param:"candidates" group:"Limit" arg:"n" min:"0" max:"1000" default:"5" help:"maximum candidates per benchmark (0: none)" json:"candidates"`
	MaxDepth      int      `param:"max-depth" group:"Limit" arg:"n" min:"0" default:"10" help:"maximum functions per context (0: no contexts)" json:"maxDepth"`
	MaxBreadth    int      `param:"max-breadth" group:"Limit" arg:"n" min:"1" default:"2" help:"maximum callers or callees to follow at each step" json:"maxBreadth"`
	report.Detail `group:"Limit"`
	Changed       bool `param:"changed" group:"Limit" help:"leave out benchmarks without a change, and metrics without a significant one" json:"changed,omitempty"`
	facts.Facts   `json:"facts,omitzero"`

	Version string `json:"-"` // of the program
	Page    bool   `json:"-"` // attach diffs: the report is written as a page
	// Files are the sides of a comparison of files, which are in the store as the
	// branches "base" and "head".
	Files bool `json:"-"`
}

// CheckRequest asks for a report with a verdict.
type CheckRequest struct {
	ReportRequest
	FailOn   string      `param:"fail-on" group:"Method" arg:"what" default:"regression:0" help:"fail on regressions of at least this share, and on suspects or slowdowns if listed: regression[:share][,suspect][,slowdown]" json:"failOn,omitempty"`
	OnMetric query.Share `param:"fail-on-metric" group:"Method" arg:"share" help:"also fail on metrics that are significantly worse by at least this share, like 5% (default: metrics do not fail)" json:"failOnMetric,omitempty"`
}

// Report answers a ReportRequest.
func Report(ctx context.Context, st store.Store, r *ReportRequest) (*report.Report, error) {
	return r.report(ctx, st, nil, 0)
}

// Check answers a CheckRequest: the report has a Verdict.
func Check(ctx context.Context, st store.Store, r *CheckRequest) (*report.Report, error) {
	p, err := gate.ParsePolicy(r.FailOn)
	if err != nil {
		return nil, param.Errorf("--fail-on: %w", err)
	}
	if r.Alpha > 0 {
		return nil, param.Errorf("--fail-on has an error probability of its own: leave out --alpha")
	}
	p.Service = r.Pushed.Chosen()
	return r.report(ctx, st, &p, float64(r.OnMetric))
}

// Validate refuses a request that makes no sense, whatever the store holds.
func (r *ReportRequest) Validate() error { return r.Sides.check(&r.Selection, &r.Judging, r.Method) }

// report compares and, with a policy, judges: by metrics too if they may be worse by less than a share.
func (r *ReportRequest) report(ctx context.Context, st store.Store, policy *gate.Policy, onMetric float64) (_ *report.Report, err error) {
	defer func() { err = query.Hinted(ctx, st, &r.Selection, err) }()
	if err := r.Validate(); err != nil {
		return nil, err
	}
	q := r.Selection
	k := q.Last
	q.Last = 0
	req, err := r.Judging.request(ctx, st, k, &r.Facts)
	if err != nil {
		return nil, err
	}
	st, named, about, err := r.Sides.open(ctx, st, &q, &req)
	if err != nil {
		return nil, err
	}
	list, err := st.Profiles(ctx, q)
	if err != nil {
		return nil, err
	}
	var followed *changes // nil: runs are compared as the request says
	if !r.Judging.chosen(&r.Selection, &r.Sides) {
		if followed, err = openChanges(ctx, st, q, list, &req, policy == nil); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 && (followed == nil || len(followed.lines) == 0) {
		return nil, store.OneType(nil, q)
	}
	if len(q.Types) == 0 {
		list = history.Distinct(list)
	}
	params := r.parameters(q, list, followed)
	c, notes := &comparison{Chosen: &sides.Chosen{}, runs: st}, about
	if followed != nil {
		notes = followed.weather()
		if c.Result, err = r.follow(ctx, st, q, req, followed, policy); err == nil {
			explainUnjudged(c.Result, list)
		}
	} else {
		req = ofFindings(req)
		c, err = named.judge(ctx, st, q, list, k, req, &r.Facts, r.Files)
	}
	if err != nil {
		return nil, err
	}
	res := c.Result
	if named.Base != "" {
		params = append(params, report.Parameter{Name: "base", Value: c.BaseText}, report.Parameter{Name: "head", Value: c.HeadText})
	}
	said, err := r.rank(ctx, st, q, res, req)
	if err != nil {
		return nil, err
	}
	notes = slices.Concat(notes, c.Notes, said)
	doc, err := r.document(ctx, c.runs, res, policy)
	if err != nil {
		return nil, err
	}
	if policy != nil {
		doc.Verdict.NotHead = c.NotHead
		if doc.Verdict.NewHistory {
			elsewhere, err := r.measuredElsewhere(ctx, st, q)
			if err != nil {
				return nil, err
			}
			if elsewhere {
				doc.Verdict.NewHistory = false
				notes = append(notes, fmt.Sprintf("%s has runs of other machines than %s", r.Base, strings.Join(q.Machines, ", ")))
			}
		}
	}
	if followed != nil && policy == nil {
		doc.Metrics = followed.metrics()
	} else {
		doc.Metrics = metrics.Compare(metricRuns(res))
	}
	if followed != nil {
		of := followed.outcomes()
		for i := range doc.Benchmarks {
			if o, ok := of[doc.Benchmarks[i].Benchmark.Benchmark]; ok {
				doc.Benchmarks[i].Outcome = o
			}
		}
		for i := range doc.Changes {
			x := &doc.Changes[i]
			asListed(&x.Finding)
			for k := range x.Also {
				asListed(&x.Also[k])
			}
		}
		if older := followed.older(); policy != nil && older != "" {
			notes = append(notes, older)
		}
	}
	notes = append(notes, facts.Acknowledgements(req.Acknowledged).Lapsed(res.Findings, req.Now)...)
	doc.Notes, doc.Parameters = notes, append(params, r.methodParameters(req, res, policy)...)
	doc.Tally()
	if onMetric > 0 {
		doc.Verdict.JudgeMetrics(doc.Metrics, onMetric)
	}
	if r.Changed {
		doc.OnlyChanged()
	}
	if (policy != nil || r.Candidates > 0) && !r.Files {
		findings := make([]*regression.Finding, len(doc.Changes))
		for i := range doc.Changes {
			findings[i] = &doc.Changes[i].Finding
		}
		if err := addCalls(ctx, st, findings); err != nil {
			return nil, err
		}
	}
	if r.Page {
		if err := r.attach(ctx, c.runs, doc); err != nil {
			return nil, err
		}
	}
	return doc, locate(ctx, c.runs, doc)
}

// measuredElsewhere reports whether the base has runs of machines that are not selected: then its history is not new.
func (r *ReportRequest) measuredElsewhere(ctx context.Context, st store.Reader, q store.Query) (bool, error) {
	if r.Base == "" || len(q.Machines) == 0 {
		return false, nil
	}
	q.Machines, q.Branches = nil, []string{r.Base}
	list, err := st.Profiles(ctx, q)
	return len(list) > 0, err
}

// follow returns the open changes with the evidence that the report shows; with a policy, what
// the newest runs brought.
func (r *ReportRequest) follow(ctx context.Context, st store.Store, q store.Query, req regression.Request, c *changes,
	policy *gate.Policy) (*regression.Result, error) {
	light := policy == nil && r.Candidates == 0 && r.MaxDepth == 0 && len(r.Functions) == 0 && !r.Page && r.ranking() == ""
	if light || len(c.profiles) == 0 {
		return c.result(c.open()), nil // no evidence is shown, so that none is computed
	}
	res, some := &regression.Result{}, true
	if q.Profiles, some = c.inHistories(q); some {
		var err error
		if res, err = find(ctx, st, q, ofFindings(req), policy == nil); err != nil { // evidence of a change is of its own sides
			return nil, err
		}
	}
	c.relabel(res, policy)
	if policy == nil {
		c.appendReleases(res)
	}
	return res, nil
}

// onBase lists changes that the base already has.
func onBase(list []regression.Finding) []string {
	const most = 5
	var notes []string
	for i := range words.First(list, most) {
		f := &list[i]
		notes = append(notes, fmt.Sprintf("not the head's: %s in %s (%s) is in the newest runs of the base too", report.Title(f),
			f.Of(), words.SignedPercent(f.Delta.Share)))
	}
	if n := len(list) - most; n > 0 {
		notes = append(notes, fmt.Sprintf("%d more changes that the base already has", n))
	}
	return notes
}

// document gathers the evidence and, with a policy, judges.
func (r *ReportRequest) document(ctx context.Context, runs store.Reader, res *regression.Result, policy *gate.Policy) (*report.Report,
	error) {
	o := evidence.Options{Functions: r.Functions, BandWidth: r.Band, Candidates: cmp.Or(r.Candidates, -1),
		Contexts: expansion.Options{MaxDepth: cmp.Or(r.MaxDepth, -1), MaxBreadth: r.MaxBreadth}}
	o.Ranking, o.Correlating = r.ranking(), r.Correlating.options()
	if o.Ranking == evidence.Thesis {
		o.Window = r.Window
	}
	ev, err := evidence.Gather(ctx, runs, res, o)
	if err != nil {
		return nil, err
	}
	changes := gate.Group(res.Findings)
	var v *gate.Verdict
	if policy != nil {
		v = gate.Judge(res, changes, *policy)
	}
	doc := report.New(res, ev, changes, v)
	doc.Version = r.Version
	return doc, nil
}

// metricRuns returns the runs whose metrics compare, of each benchmark once: its value
// types share them. A result has the value types of a benchmark one after another.
func metricRuns(res *regression.Result) (list []metrics.Runs) {
	for i := range res.Benchmarks {
		b := &res.Benchmarks[i]
		runs := metrics.Runs{Benchmark: b.Benchmark, Base: b.Base, Head: b.Head}
		switch last := len(list) - 1; {
		case last < 0 || list[last].Benchmark != b.Benchmark:
			list = append(list, runs)
		case len(list[last].Base)+len(list[last].Head) < len(runs.Base)+len(runs.Head):
			list[last] = runs
		}
	}
	return list
}

// parameters say what was selected.
func (r *ReportRequest) parameters(q store.Query, list []store.Profile, c *changes) []report.Parameter {
	commits := query.Distinct(list, func(p *store.Profile) string { return p.Run.Commit })
	shown := func(values []string) string {
		const most = 6
		if n := len(values); n > most {
			return fmt.Sprintf("%s, … (%d)", strings.Join(values[:most], ", "), n)
		}
		return strings.Join(values, ", ")
	}
	runs := query.Distinct(list, func(p *store.Profile) string { return p.Run.Key })
	selected := fmt.Sprintf("%s of %s in %s", words.Counted(len(list), "profile"),
		words.Counted(len(query.Distinct(list, func(p *store.Profile) string { return p.Benchmark.String() })), "benchmark"),
		words.Counted(len(runs), "run"))
	if n := len(runs); n > 1 && !r.Files {
		selected += fmt.Sprintf(" (%s … %s)", runs[0], runs[n-1])
	}
	if c != nil {
		services := map[string]bool{}
		for i := range c.lines {
			if c.lines[i].Service {
				services[c.lines[i].Benchmark.Group] = true
			}
		}
		of := "releases of " + words.Counted(len(services), "service")
		switch {
		case len(services) > 0 && len(list) == 0:
			selected = of
		case len(services) > 0:
			selected += "; " + of
		}
	}
	params := []report.Parameter{
		{Name: "selected", Value: selected},
		{Name: "selection", Value: q.String()},
		{Name: "group", Value: shown(query.Distinct(list, func(p *store.Profile) string { return p.Benchmark.Group }))},
		{Name: "benchmark", Value: shown(query.Distinct(list, func(p *store.Profile) string { return p.Benchmark.Name }))},
		{Name: "branch", Value: shown(query.Distinct(list, func(p *store.Profile) string { return p.Run.Branch }))},
		{Name: "type", Value: shown(query.Distinct(list, func(p *store.Profile) string { return p.Type.Name }))},
	}
	if n := len(commits); n > 0 {
		value := words.Commit(commits[0])
		if n > 1 {
			value += " … " + words.Commit(commits[n-1])
		}
		params = append(params, report.Parameter{Name: "commits", Value: value})
	}
	return slices.DeleteFunc(params, func(p report.Parameter) bool {
		return p.Value == "" || r.Files && (p.Name == "group" || p.Name == "branch") // labels of files are Dendro's own
	})
}

// methodParameters say how it was compared.
func (r *ReportRequest) methodParameters(req regression.Request, res *regression.Result, policy *gate.Policy) []report.Parameter {
	method := "default"
	switch r.ranking() {
	case evidence.Thesis:
		method = "findings by the default method, candidates by the score of the paper"
	case evidence.Correlation:
		method = "findings by the default method, candidates by their correlation with the time"
	case evidence.Hotelling:
		method = "findings by the default method, candidates those of Hotelling's T² test"
	}
	longest, judged, counted := 0, 0, 0
	for i := range res.Benchmarks {
		if len(res.Benchmarks[i].Analyses) > 0 {
			judged++
		}
		for k, a := range res.Benchmarks[i].Analyses {
			longest = max(longest, len(a.History))
			if k == 0 && a.Program != nil {
				counted++
			}
		}
	}
	params := []report.Parameter{{Name: "method", Value: method}}
	if longest > 0 { // of runs that were compared for this report
		params = append(params, report.Parameter{Name: "history", Value: fmt.Sprintf("at most %d runs", longest)})
	}
	params = append(params, report.Parameter{Name: "candidates", Value: fmt.Sprintf("%d per benchmark", r.Candidates)})
	if r.Band > 0 {
		params = append(params, report.Parameter{Name: "band", Value: fmt.Sprintf("%g standard deviations", r.Band)})
	}
	if judged > 0 {
		params = append(params, report.Parameter{Name: "compared by", Value: comparedBy(counted, judged)})
	}
	if req.Alpha > 0 {
		params = append(params, report.Parameter{Name: "alpha", Value: fmt.Sprintf("%.2g per benchmark", req.Alpha)})
	}
	if policy != nil {
		params = append(params, report.Parameter{Name: "fail on", Value: policy.String()},
			report.Parameter{Name: "sure", Value: fmt.Sprintf("chance makes a change that fails with at most %.2g, because the suite has %d", policy.Alpha(judged), judged)})
	}
	return params
}

// comparedBy says what the samples of benchmarks are compared by, and what it costs where the
// number of operations is not known.
func comparedBy(counted, judged int) string {
	const missing = "sizes and single runs are less certain than per operation (dendro bench, import --operations)"
	switch counted {
	case judged:
		return "samples per operation"
	case 0:
		return "shares of samples and the metric, because operations are unknown: " + missing
	}
	return fmt.Sprintf("samples per operation; %d of %d benchmarks by shares and the metric, because operations are unknown: %s", judged-counted, judged, missing)
}

// mostCalls is the number of changes whose calls are looked up: each reads an original file.
const mostCalls = 10

// addCalls adds the lines of the calls that changed, from the original file of the newest run with a
// change. What it cannot read stays unknown.
func addCalls(ctx context.Context, st store.Store, findings []*regression.Finding) error {
	profiles, err := st.Profiles(ctx, store.Query{})
	if err != nil {
		return err
	}
	for _, f := range words.First(findings, mostCalls) {
		if f.Headline == nil || f.Sides == nil || f.Sides.Service != "" || !report.Shown(f) {
			continue
		}
		for k := len(profiles) - 1; k >= 0; k-- { // the newest first
			p := &profiles[k]
			if p.HasSource && history.KeyOf(p) == f.Key() && slices.Contains(f.Sides.Head, p.Run.Key) {
				h := *f.Headline
				if h.Call, err = listing.OfCall(ctx, st, p, h.Function, h.Calls); err != nil && ctx.Err() != nil {
					return ctx.Err()
				}
				f.Headline = &h
				break
			}
		}
	}
	return nil
}

func pointers(list []regression.Finding) []*regression.Finding {
	to := make([]*regression.Finding, len(list))
	for i := range list {
		to[i] = &list[i]
	}
	return to
}

// locate adds what is known of the functions of changes, and of the commits of the runs: with
// them the code is found in a repository. Without one, their files are those of the profiles.
func locate(ctx context.Context, runs store.Reader, doc *report.Report) (err error) {
	if doc.Definitions, err = evidence.Definitions(ctx, runs, doc.Functions()); err != nil || len(doc.Definitions) == 0 {
		return err
	}
	doc.Commits = map[string]string{}
	for i := range doc.Benchmarks {
		for _, list := range [][]store.Profile{doc.Benchmarks[i].Profiles, doc.Benchmarks[i].Base, doc.Benchmarks[i].Head} {
			for k := range list {
				doc.Commits[list[k].Run.Key] = list[k].Run.Commit
			}
		}
	}
	doc.Locate(func(c *report.Change, path []string) report.Place {
		fn := doc.Definitions[path[0]]
		return report.Place{At: path[0], File: fn.File, Line: c.LineOf(&fn)}
	})
	return nil
}

// WriteReport writes a report as text, md, json, sarif, junit or html (made with Page).
func WriteReport(w io.Writer, doc *report.Report, format string, detail report.Detail) error {
	switch format {
	case "html":
		page, err := reportPage(doc)
		if err != nil {
			return err
		}
		return page.Write(w)
	case "md":
		return doc.Markdown(w, detail, report.DocumentLimit)
	case "comment":
		return doc.Markdown(w, detail, report.CommentLimit)
	case "json":
		return doc.JSON(w)
	case "sarif":
		return doc.SARIF(w)
	case "junit":
		return doc.JUnit(w)
	}
	return doc.Text(detail).Print(&table.Output{W: w})
}
