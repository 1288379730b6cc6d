package report

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"

	"github.com/dendroprof/dendro/analysis/evidence"
	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/metrics"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/testrun"
)

// Schema is the version of the JSON document; it changes if a field changes its meaning
// or is removed.
const Schema = 1

// Document is a report as JSON: docs/schema/findings.md.
type Document struct {
	Schema     int                 `json:"schema"`
	Headline   string              `json:"headline"`
	Parameters []Parameter         `json:"parameters"`
	Verdict    *gate.Verdict       `json:"verdict,omitempty"`
	Notes      []string            `json:"notes"`
	Changes    []DocumentChange    `json:"changes"`
	Metrics    metrics.Table       `json:"metrics"`
	Benchmarks []DocumentBenchmark `json:"benchmarks"`
	Counts     []Count             `json:"counts,omitempty"` // of all benchmarks
	Steady     int                 `json:"steady,omitempty"` // benchmarks that were left out
	Client     *DocumentClient     `json:"client,omitempty"`
}

// Values are those of the types of a Document that have few.
var Values = map[reflect.Type]any{
	reflect.TypeFor[Status](): statuses,
	reflect.TypeFor[regression.Kind](): []regression.Kind{regression.Regression, regression.Leak, regression.Widespread,
		regression.Slowdown, regression.Improvement, regression.Moved, regression.Environment},
	reflect.TypeFor[regression.Status](): []regression.Status{regression.Confirmed, regression.Suspect,
		regression.Transient, regression.Ended},
	reflect.TypeFor[regression.Presence](): []regression.Presence{regression.New, regression.Vanished},
}

// DocumentClient is what only a program needs that writes the report in other formats.
type DocumentClient struct {
	Module      string                      `json:"module,omitempty"`
	Attached    []Attachment                `json:"attached,omitempty"`
	Definitions map[string]profile.Function `json:"definitions,omitempty"`
	Commits     map[string]string           `json:"commits,omitempty"`
	Types       []profile.ValueType         `json:"types"`    // of the benchmarks
	Findings    [][]regression.Finding      `json:"findings"` // of the benchmarks
}

// DocumentChange is a change in a Document.
type DocumentChange struct {
	regression.Finding
	Place
	Fails bool                 `json:"fails"`
	Also  []regression.Finding `json:"also"`
}

// DocumentBenchmark is a benchmark in a Document.
type DocumentBenchmark struct {
	Group   string  `json:"group,omitempty"`
	Name    string  `json:"benchmark"`
	Type    string  `json:"type"`
	Unit    string  `json:"unit"`            // of the value type
	Scale   int     `json:"scale,omitempty"` // contexts have values in 10^-scale units
	Verdict bool    `json:"verdict"`
	Reason  string  `json:"reason,omitempty"`
	Outcome Outcome `json:"outcome"` // of all value types of the benchmark
	Compared
	Ranked []regression.Candidate `json:"ranked"`
	evidence.Evidence
}

// Compared is the part of a benchmark's result that all JSON documents share. No list
// is nil.
type Compared struct {
	Findings   int                    `json:"findings"`
	FewSamples float64                `json:"fewSamples,omitempty"` // samples per run, if few
	LeftOut    []history.LeftOut      `json:"leftOut"`
	Warnings   []string               `json:"warnings"`
	Analyses   []*regression.Analysis `json:"analyses"`
}

// NewCompared returns the shared part of b.
func NewCompared(b *regression.Benchmark) Compared {
	return Compared{len(b.Findings), b.FewSamples, words.Filled(b.LeftOut), words.Filled(b.Warnings), words.Filled(b.Analyses)}
}

// JSON writes the report as one document.
func (r *Report) JSON(w io.Writer) error { return encode(w, r.document()) }

// MarshalJSON returns the document with what UnmarshalJSON needs to make the same report of
// it.
func (r *Report) MarshalJSON() ([]byte, error) {
	d := r.document()
	d.Client = &DocumentClient{Module: r.Module, Attached: r.Attached, Definitions: r.Definitions, Commits: r.Commits}
	for i := range r.Benchmarks {
		d.Client.Types = append(d.Client.Types, r.Benchmarks[i].Type)
		d.Client.Findings = append(d.Client.Findings, r.Benchmarks[i].Findings)
	}
	return json.Marshal(d)
}

// UnmarshalJSON reads what MarshalJSON returned. The profiles of the compared runs are not
// part of it.
func (r *Report) UnmarshalJSON(data []byte) error {
	var d Document
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	c := d.Client
	if c == nil || len(c.Types) != len(d.Benchmarks) || len(c.Findings) != len(d.Benchmarks) {
		return errors.New("the report lacks what other formats need: ask for it with client=true")
	}
	*r = Report{Counts: d.Counts, Steady: d.Steady, Parameters: d.Parameters, Verdict: d.Verdict, Notes: d.Notes, Metrics: &d.Metrics,
		Module: c.Module, Attached: c.Attached, Definitions: c.Definitions, Commits: c.Commits}
	for _, x := range d.Changes {
		r.Changes = append(r.Changes, Change{gate.Change{Finding: x.Finding, Fails: x.Fails, Also: x.Also}, x.Place})
	}
	for i := range d.Benchmarks {
		b := &d.Benchmarks[i]
		r.Benchmarks = append(r.Benchmarks, Benchmark{Evidence: b.Evidence, Outcome: b.Outcome, Benchmark: &regression.Benchmark{
			Benchmark: testrun.Benchmark{Group: b.Group, Name: b.Name}, Type: c.Types[i], Reason: b.Reason, Findings: c.Findings[i],
			FewSamples: b.FewSamples, LeftOut: b.LeftOut, Warnings: b.Warnings, Analyses: b.Analyses, Ranked: b.Ranked}})
	}
	return nil
}

func (r *Report) document() *Document {
	d := &Document{Schema: Schema, Headline: r.Headline(), Parameters: words.Filled(r.Parameters), Verdict: r.Verdict,
		Notes: words.Filled(r.Notes), Changes: []DocumentChange{}, Metrics: *r.Metrics, Benchmarks: []DocumentBenchmark{}, Counts: r.Counts,
		Steady: r.Steady}
	for i := range r.Changes {
		c := &r.Changes[i]
		d.Changes = append(d.Changes, DocumentChange{c.Finding, c.Place, c.Fails, words.Filled(c.Also)})
	}
	for i := range r.Benchmarks {
		b := &r.Benchmarks[i]
		e := b.Evidence
		e.Runs, e.Candidates = words.Filled(e.Runs), words.Filled(e.Candidates)
		d.Benchmarks = append(d.Benchmarks, DocumentBenchmark{Group: b.Benchmark.Benchmark.Group, Name: b.Benchmark.Benchmark.Name,
			Type: b.Type.Name, Unit: b.Type.Unit, Scale: b.Type.Scale,
			Verdict: b.Reason == "", Reason: b.Reason, Outcome: b.Outcome, Compared: NewCompared(b.Benchmark), Ranked: words.Filled(b.Ranked),
			Evidence: e})
	}
	return d
}

func encode(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
