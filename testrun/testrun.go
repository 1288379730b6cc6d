// Package testrun models what was measured: benchmarks, the test runs in which
// they were executed, and the metrics that a run reports for a benchmark.
//
//   - A Benchmark is one workload: a group and a full raw name. Base name and
//     parameters are derived from the name; they are not identity.
//   - A Run is one execution of a suite: a key, and what was under test (date,
//     commit, branch, repository, machine, free attributes).
//   - A Metric is a number that a run reports for a benchmark: a mean with its
//     unit and the direction that is better.
//
// The package does not know profiles. It reads no files.
package testrun

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Benchmark identifies one workload.
type Benchmark struct {
	Group string `json:"group"`
	Name  string `json:"name"` // full and raw, parameters included
}

// String returns "group/name", or the name alone without a group.
func (b Benchmark) String() string {
	if b.Group == "" {
		return b.Name
	}
	return b.Group + "/" + b.Name
}

// Compare orders benchmarks by group and name.
func (b Benchmark) Compare(other Benchmark) int {
	return cmp.Or(cmp.Compare(b.Group, other.Group), cmp.Compare(b.Name, other.Name))
}

// Run is one execution of a suite. Key is its identity.
type Run struct {
	Key        string            `json:"run"`
	Date       time.Time         `json:"date,omitzero"` // UTC
	Commit     string            `json:"commit,omitempty"`
	Branch     string            `json:"branch,omitempty"`
	Repository string            `json:"repository,omitempty"`
	Machine    string            `json:"machine,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
}

// Merge returns r with the fields that it lacks filled in from other, or an
// error that names a field on which the two disagree and both values.
func (r Run) Merge(other Run) (Run, error) {
	if r.Key != other.Key {
		return r, fmt.Errorf("runs %q and %q are not the same", r.Key, other.Key)
	}
	switch {
	case r.Date.IsZero():
		r.Date = other.Date
	case !other.Date.IsZero() && !r.Date.Equal(other.Date):
		return r, disagree(r.Key, "date", r.Date.Format(time.RFC3339Nano), other.Date.Format(time.RFC3339Nano))
	}
	for _, f := range []struct {
		name       string
		have, want *string
	}{
		{"commit", &r.Commit, &other.Commit}, {"branch", &r.Branch, &other.Branch},
		{"repository", &r.Repository, &other.Repository}, {"machine", &r.Machine, &other.Machine},
	} {
		if *f.have == "" {
			*f.have = *f.want
		} else if *f.want != "" && *f.want != *f.have {
			return r, disagree(r.Key, f.name, *f.have, *f.want)
		}
	}
	if len(other.Attributes) > 0 {
		attributes := maps.Clone(r.Attributes)
		if attributes == nil {
			attributes = map[string]string{}
		}
		for _, k := range slices.Sorted(maps.Keys(other.Attributes)) {
			v := other.Attributes[k]
			if old, ok := attributes[k]; ok && old != v {
				return r, disagree(r.Key, "attribute "+k, old, v)
			}
			attributes[k] = v
		}
		r.Attributes = attributes
	}
	return r, nil
}

func disagree(run, field, have, want string) error {
	return fmt.Errorf("run %q: conflicting values of %s: %q and %q", run, field, have, want)
}

// Same reports whether two runs have the same facts. It is not called Equal so that tests
// compare runs field by field, where an empty list of attributes is not none.
func (r Run) Same(other Run) bool {
	return r.Key == other.Key && r.Date.Equal(other.Date) && r.Commit == other.Commit && r.Branch == other.Branch &&
		r.Repository == other.Repository && r.Machine == other.Machine && maps.Equal(r.Attributes, other.Attributes)
}

// Before orders runs: by date, then by key. Runs without a date come first.
func (r Run) Before(other Run) bool {
	if !r.Date.Equal(other.Date) {
		return r.Date.Before(other.Date)
	}
	return r.Key < other.Key
}

// Better is the direction in which a metric improves.
type Better string

// The directions.
const (
	Lower  Better = "lower"
	Higher Better = "higher"
)

// Metric is a number that a run reports for a benchmark.
type Metric struct {
	Name    string  `json:"name"`
	Mean    float64 `json:"mean"`
	Unit    string  `json:"unit"`
	Better  Better  `json:"better,omitempty"`
	N       int     `json:"n,omitempty"`       // measurements behind the mean; 0 when unknown
	Primary bool    `json:"primary,omitempty"` // the one that analyses take
	Samples Samples `json:"samples,omitempty"` // the measurements behind the mean, if known
	// Error is half of the 99.9% confidence interval of the mean, as JMH reports it; 0:
	// unknown.
	Error float64 `json:"error,omitempty"`
}

// Samples are numbers, separated by spaces: metrics stay comparable. In JSON they are a
// list.
type Samples string

// mostSamples is the maximum number of measurements of a metric; others are dropped.
const mostSamples = 1000

// NewSamples returns the first 1,000 values, or none if there is only one.
func NewSamples(values []float64) Samples {
	if len(values) < 2 {
		return ""
	}
	var text []byte
	for _, v := range values[:min(len(values), mostSamples)] {
		text = append(strconv.AppendFloat(text, v, 'g', -1, 64), ' ')
	}
	return Samples(text[:len(text)-1])
}

// Values returns the numbers, without what is none.
func (s Samples) Values() []float64 {
	var list []float64
	for text := range strings.FieldsSeq(string(s)) {
		if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) {
			list = append(list, v)
		}
	}
	return list
}

// MarshalJSON writes a list of numbers.
func (s Samples) MarshalJSON() ([]byte, error) { return json.Marshal(s.Values()) }

// UnmarshalJSON reads a list of numbers.
func (s *Samples) UnmarshalJSON(text []byte) error {
	var values []float64
	err := json.Unmarshal(text, &values)
	*s = NewSamples(values)
	return err
}

// Check reports what is wrong with a metric: no name, a mean that is not a
// finite number, an unknown direction.
func (m Metric) Check() error {
	switch {
	case m.Name == "":
		return fmt.Errorf("a metric without a name")
	case math.IsNaN(m.Mean) || math.IsInf(m.Mean, 0):
		return fmt.Errorf("metric %q: mean %v is not a number", m.Name, m.Mean)
	case !(m.Error >= 0) || math.IsInf(m.Error, 0):
		return fmt.Errorf("metric %q: error %v is not a number from 0 on", m.Name, m.Error)
	case m.Better != "" && m.Better != Lower && m.Better != Higher:
		return fmt.Errorf("metric %q: better is %q; want lower or higher", m.Name, m.Better)
	}
	return nil
}

// timeUnits are units of time, as benchmarks write them.
var timeUnits = []string{"s", "sec", "second", "seconds", "ms", "us", "µs", "μs", "ns", "min", "h",
	"nanoseconds", "microseconds", "milliseconds", "minutes", "hours"}

// IsTime reports whether a metric of a unit says how long operations take: a time, also of a kind
// ("cpu ns/op", "user-ns"), a rate per time, or cycles of the processor. Without a unit it may be
// one.
func IsTime(unit string) bool {
	u := strings.ToLower(strings.TrimSpace(unit))
	what, _, _ := strings.Cut(u, "/")
	kind := strings.FieldsFunc(what, func(r rune) bool { return !unicode.IsLetter(r) })
	return u == "" || len(kind) > 0 && slices.Contains(timeUnits, kind[len(kind)-1]) || strings.HasPrefix(what, "cycle") ||
		BetterOf(unit) == Higher
}

// BetterOf returns the usual direction of a unit: rates (`…/s`, `ops/…`) are
// better higher, everything else (times, bytes, counts) lower.
func BetterOf(unit string) Better {
	u := strings.ToLower(strings.TrimSpace(unit))
	if strings.HasPrefix(u, "ops/") {
		return Higher
	}
	if per := strings.LastIndexByte(u, '/'); per >= 0 && slices.Contains(timeUnits, u[per+1:]) {
		return Higher
	}
	if strings.HasSuffix(u, "ps") && (strings.HasPrefix(u, "op") || strings.HasPrefix(u, "req")) || u == "qps" || u == "tps" || u == "rps" {
		return Higher
	}
	return Lower
}
