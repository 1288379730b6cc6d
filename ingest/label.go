package ingest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"strings"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/testrun"
)

// Label is the benchmark and test run of a source. Every field may be empty; lower
// origins fill in what higher ones leave empty: flags, manifest, sidecar, path layout,
// the file itself.
type Label struct {
	Group     string
	Benchmark string
	Type      string // of a format without value types of its own, or that does not say whether its time is CPU or wall time
	Run       testrun.Run
	Metrics   []testrun.Metric
	WeakDate  bool // Run.Date is a guess: dropped if the run has a date
}

// Or returns l with its empty fields filled in from other.
func (l Label) Or(other Label) Label {
	l.Group = cmp.Or(l.Group, other.Group)
	l.Benchmark = cmp.Or(l.Benchmark, other.Benchmark)
	l.Type = cmp.Or(l.Type, other.Type)
	r, o := &l.Run, &other.Run
	r.Key = cmp.Or(r.Key, o.Key)
	r.Commit = cmp.Or(r.Commit, o.Commit)
	r.Branch = cmp.Or(r.Branch, o.Branch)
	r.Repository = cmp.Or(r.Repository, o.Repository)
	r.Machine = cmp.Or(r.Machine, o.Machine)
	if r.Date.IsZero() {
		r.Date, l.WeakDate = o.Date, other.WeakDate
	}
	if len(o.Attributes) > 0 {
		attributes := maps.Clone(o.Attributes)
		maps.Copy(attributes, r.Attributes)
		r.Attributes = attributes
	}
	l.Metrics = addMetrics(l.Metrics, other.Metrics)
	return l
}

// WithOperations returns l with the number of operations that the profile covers; 0 is
// unknown.
func (l Label) WithOperations(n float64) Label {
	if n > 0 {
		l.Metrics = addMetrics([]testrun.Metric{testrun.NewOperations(n, false)}, l.Metrics)
	}
	return l
}

// addMetrics appends the metrics whose names are not there yet.
func addMetrics(have, more []testrun.Metric) []testrun.Metric {
	out := have[:len(have):len(have)]
next:
	for _, m := range more {
		for _, h := range have {
			if h.Name == m.Name {
				continue next
			}
		}
		out = append(out, m)
	}
	return out
}

// entry is one object of a manifest, or the object of a sidecar.
type entry struct {
	File       string            `json:"file"`
	Run        string            `json:"run"`
	Group      string            `json:"group"`
	Benchmark  string            `json:"benchmark"`
	Date       string            `json:"date"`
	Commit     string            `json:"commit"`
	Branch     string            `json:"branch"`
	Repository string            `json:"repository"`
	Machine    string            `json:"machine"`
	Type       string            `json:"type"`
	Operations float64           `json:"operations"` // that the profile covers
	Metric     *entryMetric      `json:"metric"`
	Metrics    []entryMetric     `json:"metrics"`
	Attributes map[string]string `json:"attributes"`
}

// entryMetric is a metric whose mean may be missing, which is no mean of 0.
type entryMetric struct {
	testrun.Metric
	Mean *float64 `json:"mean"`
}

func (e *entry) label() (Label, error) {
	metrics := e.Metrics
	if e.Metric != nil {
		metrics = append([]entryMetric{*e.Metric}, metrics...)
	}
	l := Label{
		Group: e.Group, Benchmark: e.Benchmark, Type: e.Type,
		Run: testrun.Run{Key: e.Run, Commit: e.Commit, Branch: e.Branch, Repository: e.Repository,
			Machine: e.Machine, Attributes: e.Attributes},
	}
	for i := range metrics {
		m := &metrics[i].Metric
		if metrics[i].Mean == nil {
			return l, fmt.Errorf(`metric %q has no "mean"`, m.Name)
		}
		m.Mean = *metrics[i].Mean
		if m.Better == "" {
			m.Better = testrun.BetterOf(m.Unit)
		}
		if err := m.Check(); err != nil {
			return l, err
		}
		l.Metrics = append(l.Metrics, *m)
	}
	if len(l.Metrics) > 0 {
		l.Metrics[0].Primary = true
	}
	if e.Operations < 0 {
		return l, fmt.Errorf("operations are %v; want a number above 0", e.Operations)
	}
	l = l.WithOperations(e.Operations)
	if e.Date != "" {
		date, err := words.ParseDate(e.Date)
		if err != nil {
			return l, err
		}
		l.Run.Date = date
	}
	return l, nil
}

// decodeJSON decodes one JSON value; errors have line and column.
func decodeJSON(name string, data []byte, into any) error {
	if err := decodeQuoted(data, into); err != nil {
		return jsonProblem(name, data, err)
	}
	return nil
}

// decodeQuoted decodes one JSON value. A number may be in quotes: some tools write each value
// as a text. Each round reads those of one more key.
func decodeQuoted(text []byte, into any) error {
	for {
		err := json.Unmarshal(text, into)
		var e *json.UnmarshalTypeError
		if !errors.As(err, &e) || e.Value != "string" || jsonKind(e.Type.Kind()) != "number" {
			return err
		}
		key := regexp.QuoteMeta(e.Field[strings.LastIndexByte(e.Field, '.')+1:])
		plain := regexp.MustCompile(`("`+key+`"\s*:\s*)"(-?[0-9][0-9.eE+-]*)"`).ReplaceAll(text, []byte("$1 $2 "))
		if bytes.Equal(plain, text) {
			return err
		}
		text = plain
	}
}

// jsonProblem returns an error of package json with line and column, and without the names
// of Go's types.
func jsonProblem(name string, data []byte, err error) error {
	var offset int64 = -1
	switch e := err.(type) {
	case *json.SyntaxError:
		offset = e.Offset
	case *json.UnmarshalTypeError:
		offset = e.Offset
		what := "the value"
		if e.Field != "" {
			what = fmt.Sprintf("%q", e.Field)
		}
		value, _, _ := strings.Cut(e.Value, " ") // of a number its text too
		err = fmt.Errorf("%s is of type %s, want %s", what, value, jsonKind(e.Type.Kind()))
	}
	if offset < 0 {
		return fmt.Errorf("%s: %w", name, err)
	}
	before := string(data[:min(int(offset), len(data))])
	line := 1 + strings.Count(before, "\n")
	return fmt.Errorf("%s:%d:%d: %w", name, line, len(before)-strings.LastIndexByte(before, '\n'), err)
}

// jsonKind returns what JSON calls the values that a type of Go holds.
func jsonKind(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "object"
	}
	return "number"
}

// slashed returns a name as a slash-separated path; the member of an archive ("a.zip:
// x/y.pb") is below the archive.
func slashed(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "\\", "/"), ": ", "/")
}

// ParseLabel parses a label in the form of a sidecar: one JSON object. Name is for
// messages.
func ParseLabel(name string, data []byte) (Label, error) {
	var e entry
	if err := decodeJSON(name, data, &e); err != nil {
		return Label{}, err
	}
	return e.label()
}
