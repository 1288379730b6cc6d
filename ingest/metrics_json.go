package ingest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/testrun"
)

// json reads what a benchmark tool writes as JSON: an array is JMH's, an object names its
// tool by its fields.
func (s *metricSums) json(name string, text []byte) error {
	if text[0] == '[' {
		return s.jmhJSON(name, text)
	}
	var head struct {
		Reason     string            `json:"reason"` // criterion, an object a line
		Mean       json.RawMessage   `json:"mean"`   // criterion's estimates of one benchmark
		Benchmarks []json.RawMessage `json:"benchmarks"`
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&head); err != nil {
		return jsonProblem(name, text, err)
	}
	switch {
	case head.Reason != "":
		return s.criterionLines(name, text)
	case head.Mean != nil && head.Benchmarks == nil:
		return s.criterionEstimates(name, text)
	}
	at := 0
	for _, one := range head.Benchmarks {
		at += bytes.Index(text[at:], one)
		var b jsonBenchmark
		if err := decodeQuoted(one, &b); err != nil {
			if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
				e.Offset += int64(at) // in the file
			}
			return jsonProblem(name, text, err)
		}
		at += len(one)
		b.addTo(s)
	}
	return nil
}

// jsonBenchmark is an entry of the list "benchmarks": of pytest-benchmark, which has stats,
// of Google Benchmark, which has a real_time, or of BenchmarkDotNet, which has Statistics.
type jsonBenchmark struct {
	Name     string `json:"name"`
	FullName string `json:"fullname"`

	Stats *struct { // seconds
		Median float64   `json:"median"`
		Rounds int       `json:"rounds"`
		Data   []float64 `json:"data"`
	} `json:"stats"`

	RunName   string   `json:"run_name"`
	RunType   string   `json:"run_type"`
	Aggregate string   `json:"aggregate_name"`
	Real      *float64 `json:"real_time"`
	CPU       *float64 `json:"cpu_time"`
	Unit      string   `json:"time_unit"`
	Failed    bool     `json:"error_occurred"`

	Namespace  string    `json:"Namespace"`
	Type       string    `json:"Type"`
	Method     string    `json:"Method"`
	Parameters string    `json:"Parameters"`
	Statistics *struct { // nanoseconds
		Mean   float64   `json:"Mean"`
		N      int       `json:"N"`
		Values []float64 `json:"OriginalValues"`
	} `json:"Statistics"`
	Memory *struct {
		Bytes float64 `json:"BytesAllocatedPerOperation"`
	} `json:"Memory"`
}

// timePerOp is the metric of a time in nanoseconds.
func timePerOp(name string, mean float64, n int) testrun.Metric {
	return testrun.Metric{Name: name, Mean: mean, Unit: "ns/op", N: n}
}

const timeMetric = "time/op"

func (b *jsonBenchmark) addTo(s *metricSums) {
	switch {
	case b.Stats != nil: // the median, as dendro bench takes it
		file, _, _ := strings.Cut(b.FullName, "::")
		data := column.Of(b.Stats.Data, func(v float64) float64 { return v * 1e9 })
		if len(data) == 0 {
			data = nil
		}
		s.add(benchName{file, b.Name}, timePerOp(timeMetric, b.Stats.Median*1e9, b.Stats.Rounds), data)
	case b.Real != nil:
		if b.Failed || b.RunType == "aggregate" && b.Aggregate != "mean" {
			return
		}
		name := benchName{"", cmp.Or(b.RunName, b.Name)}
		if b.RunType == "aggregate" && s.of[name] != nil {
			return // of the repetitions that are there
		}
		unit := secondsOf(cmp.Or(b.Unit, "ns")) * 1e9
		s.add(name, timePerOp(timeMetric, *b.Real*unit, 1), nil)
		if b.CPU != nil {
			s.add(name, timePerOp(testrun.CPUTimeMetric, *b.CPU*unit, 1), nil)
		}
	case b.Statistics != nil:
		class := strings.TrimPrefix(b.Namespace+"."+b.Type, ".")
		name := benchName{class, class + "." + b.Method}
		if b.Parameters != "" {
			name.name += ":" + strings.ReplaceAll(strings.ReplaceAll(b.Parameters, "&", ","), ", ", ",")
		}
		s.add(name, timePerOp(timeMetric, b.Statistics.Mean, b.Statistics.N), b.Statistics.Values)
		if b.Memory != nil {
			s.add(name, testrun.Metric{Name: "B/op", Mean: b.Memory.Bytes, Unit: "B/op"}, nil)
		}
	}
}

// estimate is one of criterion's estimates. Its tool cargo-criterion spells them otherwise
// than its own files.
type estimate struct {
	Estimate *float64 `json:"estimate"`
	Point    *float64 `json:"point_estimate"`
	Unit     string   `json:"unit"`
}

// criterionLines reads what cargo criterion --message-format=json prints.
func (s *metricSums) criterionLines(name string, text []byte) error {
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var m struct {
			Reason  string    `json:"reason"`
			ID      string    `json:"id"`
			Typical estimate  `json:"typical"`
			Counts  []float64 `json:"iteration_count"`
			Values  []float64 `json:"measured_values"`
			Unit    string    `json:"unit"`
		}
		switch err := d.Decode(&m); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return jsonProblem(name, text, err)
		case m.Reason != "benchmark-complete" || m.Typical.Estimate == nil:
			continue
		}
		var samples []float64
		if len(m.Counts) == len(m.Values) {
			unit := secondsOf(cmp.Or(m.Unit, "ns")) * 1e9
			for i, v := range m.Values {
				if m.Counts[i] > 0 {
					samples = append(samples, v/m.Counts[i]*unit)
				}
			}
		}
		mean := *m.Typical.Estimate * secondsOf(cmp.Or(m.Typical.Unit, "ns")) * 1e9
		s.add(benchName{"", m.ID}, timePerOp(timeMetric, mean, len(samples)), samples)
	}
}

// criterionEstimates reads target/criterion/NAME/new/estimates.json, which has its name in
// its path only.
func (s *metricSums) criterionEstimates(name string, text []byte) error {
	var e struct{ Slope, Mean *estimate }
	if err := decodeJSON(name, text, &e); err != nil {
		return err
	}
	best := e.Slope // as criterion prints it
	if best == nil {
		best = e.Mean
	}
	if best == nil || best.Point == nil {
		return nil
	}
	parts := strings.Split(path.Dir(path.Dir(strings.ReplaceAll(name, `\`, "/"))), "/")
	if i := slices.Index(parts, "criterion"); i >= 0 && i+1 < len(parts) {
		parts = parts[i+1:]
	}
	bench := strings.Join(parts, "/")
	if bench == "." || bench == "" {
		return fmt.Errorf("%s: estimates of criterion have their name in their path: give target/criterion/NAME/new/estimates.json", name)
	}
	s.add(benchName{"", bench}, timePerOp(timeMetric, *best.Point, 1), nil)
	return nil
}

// inClass returns the name of a benchmark that begins with its class, and its parameters.
func inClass(name, params string) benchName {
	return benchName{name[:max(0, strings.LastIndexByte(name, '.'))], name + params}
}

// jmhJSON reads the output of `-rf json`.
func (s *metricSums) jmhJSON(name string, text []byte) error {
	type metric struct {
		Score     any     `json:"score"`
		Error     any     `json:"scoreError"`
		ScoreUnit string  `json:"scoreUnit"`
		Raw       [][]any `json:"rawData"` // of each fork, its iterations
	}
	var results []struct {
		Benchmark string            `json:"benchmark"`
		Mode      string            `json:"mode"`
		Params    map[string]string `json:"params"`
		Primary   metric            `json:"primaryMetric"`
		Secondary map[string]metric `json:"secondaryMetrics"`
		jmhTime
	}
	if err := decodeJSON(name, text, &results); err != nil {
		return err
	}
	for _, r := range results {
		benchmark := inClass(r.Benchmark, paramText(r.Params))
		add := func(label string, m metric) {
			if v, ok := jmhNumber(m.Score); ok && r.Benchmark != "" {
				half, _ := jmhNumber(m.Error)
				samples, n := jmhSamples(m.Raw)
				s.add(benchmark, testrun.Metric{Name: label, Mean: v, Unit: m.ScoreUnit, N: n, Error: max(0, half)}, samples)
			}
		}
		add(cmp.Or(r.Mode, "score"), r.Primary)
		if score, ok := jmhNumber(r.Primary.Score); ok {
			s.estimate(benchmark, r.jmhTime.operations(r.Mode, score, r.Primary.ScoreUnit))
		}
		for _, k := range slices.Sorted(maps.Keys(r.Secondary)) {
			add(k, r.Secondary[k])
		}
	}
	return nil
}

// jmhNumber returns a number, which may be in quotes, or 0: JMH writes "NaN" where there is none.
func jmhNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		if f, err := strconv.ParseFloat(v, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f, true
		}
	}
	return 0, false
}

// enoughForks is the number of forks from which on their means are the measurements.
const enoughForks = 4

// jmhSamples returns the measurements of a result of JMH, and the number of its
// iterations. The measurements are the means of the forks, because the iterations of one
// process resemble each other; if there are only few forks, all iterations.
func jmhSamples(forks [][]any) (samples []float64, iterations int) {
	var all, means []float64
	for _, f := range forks {
		sum, n := 0.0, 0
		for _, x := range f {
			if v, ok := jmhNumber(x); ok {
				all, sum, n = append(all, v), sum+v, n+1
			}
		}
		if n > 0 {
			means = append(means, sum/float64(n))
		}
	}
	if len(means) < enoughForks {
		return all, len(all)
	}
	return means, len(all)
}

func paramText(params map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(params)) {
		parts = append(parts, k+"="+params[k])
	}
	if parts == nil {
		return ""
	}
	return ":" + strings.Join(parts, ",")
}
