package api

import (
	"bytes"
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/evidence"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
)

// findAnswer is where a call path was found in one profile.
type findAnswer struct {
	Profile   store.ProfileID `json:"profile"`
	Group     string          `json:"group"`
	Benchmark string          `json:"benchmark"`
	Run       string          `json:"run"`
	Date      time.Time       `json:"date,omitzero"`
	Commit    string          `json:"commit"`
	Function  string          `json:"function"`
	Self      int64           `json:"self"`
	Total     int64           `json:"total"`
	Share     float64         `json:"share"` // of the profile: of total, or of self if that is measured
}

// find looks for a call path pattern in every selected profile.
func (a *api) find(w http.ResponseWriter, r *http.Request) error {
	p := paramsOf(r)
	q, pattern := p.selection(), p.text("pattern", "")
	measure, each := p.choice("measure", "total", "self"), p.choice("by", "function", "pattern")
	least, rows := p.number("min-share", 0), p.whole("rows", rowsUnlessAsked, 0)
	if pattern == "" {
		p.fail("pattern is missing: what to look for")
	} else if _, err := calltree.ParsePattern(pattern); err != nil {
		p.fail("pattern: %w", err)
	}
	if err := p.finish(); err != nil {
		return err
	}
	look := store.FindFunctions
	if each == "pattern" {
		look = store.Find
	}
	finds, err := look(r.Context(), a.Store, q, pattern)
	if err != nil {
		return err
	}
	list := []findAnswer{}
	for _, f := range finds.Rows {
		at := &finds.Profiles[f.Profile]
		value := f.Total
		if measure == "self" {
			value = f.Self
		}
		share := float64(value) / float64(max(1, at.Sum))
		if share < least || f.Self == 0 && f.Total == 0 {
			continue
		}
		list = append(list, findAnswer{at.ID, at.Benchmark.Group, at.Benchmark.Name, at.Run.Key, at.Run.Date, at.Run.Commit, f.Function, f.Self, f.Total, share})
	}
	all := len(list)
	list = words.First(list, rows)
	d := newDocument(w)
	d.member("profiles", len(finds.Profiles))
	if len(finds.Profiles) > 0 {
		d.member("type", finds.Profiles[0].Type)
	}
	d.member("finds", all)
	d.list("rows", len(list), func(i int) any { return &list[i] })
	d.close()
	return nil
}

// bottlenecks ranks functions by what could be gained from them.
func (a *api) bottlenecks(w http.ResponseWriter, r *http.Request) error {
	p := paramsOf(r)
	q := p.selection()
	o := bottleneck.Options{
		Rank: bottleneck.Ranking(p.choice("by", "self", "subtree", "correlation")), Weight: store.Weight(p.choice("weight", "share", "samples")),
		Rows: p.whole("rows", 100, 0), Contexts: p.whole("contexts", 0, 0),
		Correlating: bottleneck.Correlating{Samples: p.choice("x", "share", "samples") == "samples", Raw: p.choice("y", "time", "raw") == "raw",
			Ranks: p.choice("method", "pearson", "spearman") == "spearman", Max: p.choice("aggregate", "mean", "max") == "max",
			Least: p.whole("least-occurrences", 2, 2)},
	}
	if degree := p.text("degree", "5"); degree == "all" {
		o.Degree = bottleneck.Everything
	} else if n, err := strconv.Atoi(degree); err != nil || n < 0 || n > bottleneck.MaxDegree {
		p.fail("degree is %.60q; it is 0 to %d, or all", degree, bottleneck.MaxDegree)
	} else {
		o.Degree = n
	}
	if err := p.finish(); err != nil {
		return err
	}
	result, err := bottleneck.Find(r.Context(), a.Store, q, o)
	if err != nil {
		return err
	}
	result.Rows = report.Filled(result.Rows)
	return writeJSON(w, result)
}

// judging reads what regressions and reports are of, and judged by.
func (p *params) judging() (store.Query, regression.Request) {
	q := p.selection()
	req := regression.Request{
		Options: regression.Options{Alpha: p.number("alpha", 0), MinShare: p.number("min-share", 0.001), Impact: p.number("min-impact", 0)},
		Scan:    p.flag("scan"), Window: p.whole("window", 0, 0), Now: time.Now(), K: q.Last,
	}
	if req.Alpha >= 1 {
		p.fail("alpha is %g; a probability of error is below 1", req.Alpha)
	}
	if req.Scan && q.Last > 0 {
		p.fail("scan chooses the tested runs itself: leave out last")
	}
	return q, req
}

// judge compares the newest selected runs with those before them; a policy says how
// often it may be wrong about all the benchmarks together.
func (a *api) judge(r *http.Request, q store.Query, req regression.Request, policy *gate.Policy) (*regression.Result, error) {
	q.Last = 0
	list, err := a.Store.Profiles(r.Context(), q)
	if err != nil {
		return nil, err
	}
	if err := history.OneName(list, q); err != nil {
		return nil, err
	}
	if policy != nil {
		req.Alpha = policy.AlphaOf(list)
	}
	return regression.Find(r.Context(), a.Store, q, req)
}

// judgedAnswer is what was compared of one benchmark.
type judgedAnswer struct {
	Group     string `json:"group"`
	Benchmark string `json:"benchmark"`
	Type      string `json:"type"`
	Verdict   bool   `json:"verdict"`
	Reason    string `json:"reason"` // why there is none
	report.Compared
	Candidates []regression.Candidate `json:"candidates"`
}

// regressions finds what got slower.
func (a *api) regressions(w http.ResponseWriter, r *http.Request) error {
	p := paramsOf(r)
	q, req := p.judging()
	if err := p.finish(); err != nil {
		return err
	}
	result, err := a.judge(r, q, req, nil)
	if err != nil {
		return err
	}
	d := newDocument(w)
	d.list("findings", len(result.Findings), func(i int) any { return &result.Findings[i] })
	d.list("benchmarks", len(result.Benchmarks), func(i int) any {
		b := &result.Benchmarks[i]
		return judgedAnswer{b.Benchmark.Group, b.Benchmark.Name, b.Type.Name, len(b.Analyses) > 0, b.Reason, report.NewCompared(b), report.Filled(b.Ranked)}
	})
	d.close()
	return nil
}

// report writes what changed, and the evidence for it, as a document; with
// fail-on it has the verdict of a gate.
func (a *api) report(w http.ResponseWriter, r *http.Request) error {
	p := paramsOf(r)
	q, req := p.judging()
	format, candidates := p.choice("format", "json", "md", "text", "sarif", "junit"), p.whole("candidates", 5, 0)
	var policy *gate.Policy
	if failOn := p.text("fail-on", ""); failOn != "" {
		parsed, err := gate.ParsePolicy(failOn)
		if err != nil {
			p.fail("%w", err)
		}
		if req.Alpha > 0 {
			p.fail("fail-on has an error probability of its own: leave out alpha")
		}
		policy = &parsed
	}
	if err := p.finish(); err != nil {
		return err
	}
	result, err := a.judge(r, q, req, policy)
	if err != nil {
		return err
	}
	ev, err := evidence.Gather(r.Context(), a.Store, result, evidence.Options{Candidates: cmp.Or(candidates, -1)})
	if err != nil {
		return err
	}
	changes := gate.Group(result.Findings)
	var verdict *gate.Verdict
	if policy != nil {
		verdict = gate.Judge(result, changes, *policy)
	}
	doc := report.New(result, ev, changes, verdict)
	doc.Version = a.Version
	doc.Parameters = []report.Parameter{{Name: "selection", Value: q.String()}}
	return writeReport(w, doc, format)
}

// writeReport writes a report in a format. It is made whole first: it is small,
// and may fail.
func writeReport(w http.ResponseWriter, doc *report.Report, format string) error {
	var b bytes.Buffer
	var err error
	mediaType := "application/json"
	detail := report.Detail{Changes: 25, Traces: 3}
	switch format {
	case "md":
		mediaType, err = "text/markdown; charset=utf-8", doc.Markdown(&b, detail, report.CommentLimit)
	case "text":
		mediaType, err = "text/plain; charset=utf-8", doc.Text(&b, detail)
	case "sarif":
		mediaType, err = "application/sarif+json", doc.SARIF(&b)
	case "junit":
		mediaType, err = "application/xml", doc.JUnit(&b)
	default:
		err = doc.JSON(&b)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", mediaType)
	_, _ = w.Write(b.Bytes())
	return nil
}
