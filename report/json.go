package report

import (
	"encoding/json"
	"io"

	"github.com/dendroprof/dendro/analysis/evidence"
	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
)

// Schema is the version of the JSON document; it changes when a field changes its
// meaning or goes away.
const Schema = 1

// document is docs/schema/report.md.
type document struct {
	Schema     int                 `json:"schema"`
	Headline   string              `json:"headline"`
	Parameters []Parameter         `json:"parameters"`
	Verdict    *gate.Verdict       `json:"verdict,omitempty"`
	Notes      []string            `json:"notes"`
	Changes    []changeDocument    `json:"changes"`
	Benchmarks []benchmarkDocument `json:"benchmarks"`
}

type changeDocument struct {
	regression.Finding
	Place
	Fails bool                 `json:"fails"`
	Also  []regression.Finding `json:"also"`
}

type benchmarkDocument struct {
	Group    string                 `json:"group,omitempty"`
	Name     string                 `json:"benchmark"`
	Type     string                 `json:"type"`
	Verdict  bool                   `json:"verdict"`
	Reason   string                 `json:"reason,omitempty"`
	Findings int                    `json:"findings"`
	LeftOut  []history.LeftOut      `json:"leftOut"`
	Warnings []string               `json:"warnings"`
	Analyses []*regression.Analysis `json:"analyses"`
	Ranked   []regression.Candidate `json:"ranked"`
	evidence.Benchmark
}

// JSON writes the report as one document.
func (r *Report) JSON(w io.Writer) error {
	d := document{Schema: Schema, Headline: r.Headline(), Parameters: filled(r.Parameters), Verdict: r.Verdict, Notes: filled(r.Notes),
		Changes: []changeDocument{}, Benchmarks: []benchmarkDocument{}}
	for i := range r.Changes {
		c := &r.Changes[i]
		d.Changes = append(d.Changes, changeDocument{c.Finding, c.Place, c.Fails, filled(c.Also)})
	}
	for i := range r.Benchmarks {
		b := &r.Benchmarks[i]
		e := b.Evidence
		e.Runs, e.Candidates = filled(e.Runs), filled(e.Candidates)
		d.Benchmarks = append(d.Benchmarks, benchmarkDocument{Group: b.Benchmark.Benchmark.Group, Name: b.Benchmark.Benchmark.Name, Type: b.Type.Name,
			Verdict: b.Reason == "", Reason: b.Reason, Findings: len(b.Findings), LeftOut: filled(b.LeftOut), Warnings: filled(b.Warnings),
			Analyses: filled(b.Analyses), Ranked: filled(b.Ranked), Benchmark: e})
	}
	return encode(w, d)
}

// filled makes a nil list an empty one, which is what readers of JSON expect.
func filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func encode(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
