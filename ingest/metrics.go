package ingest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/dendroprof/dendro/testrun"
)

// Metrics holds results of benchmarks by name, to be joined to profiles. It is safe for
// concurrent use.
type Metrics struct {
	results []*result
	byName  map[string]*result   // under every name that matches
	parts   map[string][]*result // of benchmarks, by the names of those they are part of

	mu      sync.Mutex
	missing []string // benchmarks without a result, in order of the first question
}

// result holds the metrics of a benchmark.
type result struct {
	name    string
	metrics []testrun.Metric // primary first
	used    bool
}

// ParseMetric parses `NAME=NUMBER UNIT`, as in `time=12.3ms` or `rate=5000 ops/s`.
func ParseMetric(text string) (testrun.Metric, error) {
	name, value, ok := strings.Cut(text, "=")
	m := metricValue.FindStringSubmatch(strings.TrimSpace(value))
	if !ok || name == "" || m == nil {
		return testrun.Metric{}, fmt.Errorf("metric %q is not NAME=NUMBER[UNIT], like time=12.3ms", text)
	}
	mean, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return testrun.Metric{}, fmt.Errorf("metric %q: %w", text, err)
	}
	metric := testrun.Metric{Name: strings.TrimSpace(name), Mean: mean, Unit: m[2], Better: testrun.BetterOf(m[2])}
	return metric, metric.Check()
}

var metricValue = regexp.MustCompile(`^([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*)$`)

// ReadMetrics reads benchmark results: the text that Go's benchmarks print,
// JMH's JSON, or CSV (JMH's own, or any with columns benchmark, metric, mean,
// unit). Repeated lines of one benchmark and unit give their mean and number.
func ReadMetrics(name string, r io.Reader) (*Metrics, error) {
	data, err := io.ReadAll(io.LimitReader(r, 256<<20))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	ms := &metricSums{}
	switch text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))); {
	case len(text) > 0 && (text[0] == '[' || text[0] == '{'):
		err = ms.jmhJSON(name, text)
	case bytes.Contains(firstLine(text), []byte(",")) && !bytes.HasPrefix(text, []byte("Benchmark_")) && !goLine.Match(firstLine(text)):
		err = ms.csv(name, text)
	default:
		err = ms.goText(text)
	}
	if err == nil && len(ms.order) == 0 {
		err = fmt.Errorf("%s: no benchmark results found; want the text of Go benchmarks, JMH JSON or CSV", name)
	}
	if err != nil {
		return nil, err
	}
	return ms.metrics(), nil
}

// Of returns the metrics of a benchmark, primary first. Names match in full, without
// Go's `Benchmark` prefix and `-8` suffix, or by the last parts of a JMH name, ignoring
// case. A benchmark without a result of its own has those of its parts: sub-benchmarks of
// Go, results of JMH with parameters. If there are several, their geometric means come
// first, and the note says so.
func (m *Metrics) Of(benchmark string) (list []testrun.Metric, note string) {
	if m == nil {
		return nil, ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := joinKeys(benchmark)
	for _, key := range keys {
		if r, ok := m.byName[key]; ok {
			r.used = true
			return r.metrics, ""
		}
	}
	if _, params := (testrun.Benchmark{Name: benchmark}).Params(); params == nil {
		for _, key := range keys {
			if parts := m.parts[key]; parts != nil {
				return together(benchmark, parts)
			}
		}
	}
	if !slices.Contains(m.missing, benchmark) {
		m.missing = append(m.missing, benchmark)
	}
	return nil, ""
}

// together returns the metrics of a benchmark that has only results of its parts.
func together(benchmark string, parts []*result) (list []testrun.Metric, note string) {
	var names []string
	for _, r := range parts {
		r.used = true
		names = append(names, r.name)
	}
	if len(parts) == 1 {
		return parts[0].metrics, ""
	}
	for _, m := range parts[0].metrics { // those that all have
		if m.Name == testrun.OperationsMetric {
			continue // a profile of all parts covers neither
		}
		logs, least, n := 0.0, math.Inf(1), 0
		for _, r := range parts {
			for _, x := range r.metrics {
				if x.Name == m.Name && x.Unit == m.Unit {
					logs, least, n = logs+math.Log(x.Mean), min(least, x.Mean), n+1
				}
			}
		}
		if n < len(parts) {
			continue
		}
		m.Samples, m.Error = "", 0
		if m.Mean = 0; least > 0 {
			m.Mean = math.Exp(logs / float64(n))
		}
		list = append(list, m)
	}
	for _, r := range parts {
		for _, m := range r.metrics {
			if m.Name != testrun.OperationsMetric {
				m.Name, m.Primary = m.Name+" "+r.name, false
				list = append(list, m)
			}
		}
	}
	return list, fmt.Sprintf("%s has %d results (%s): its metrics are their geometric means", benchmark, len(parts), strings.Join(names[:min(4, len(names))], ", "))
}

// Unmatched returns the benchmarks of results that no profile was asked for, and the
// benchmarks of profiles that have no result.
func (m *Metrics) Unmatched() (results, benchmarks []string) {
	if m == nil {
		return nil, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.results {
		if !r.used {
			results = append(results, r.name)
		}
	}
	return results, slices.Clone(m.missing)
}

var procsSuffix = regexp.MustCompile(`-\d+$`)

// joinKeys returns the names by which a benchmark is matched, best first. Parameters are
// part of all of them.
func joinKeys(name string) []string {
	head, params, _ := strings.Cut(name, ":")
	if strings.Contains(params, "=") {
		list := strings.Split(params, ",")
		slices.Sort(list)
		name = head + ":" + strings.Join(list, ",")
	}
	keys := []string{name}
	add := func(k string) {
		if k != "" && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	bare := strings.TrimPrefix(procsSuffix.ReplaceAllString(name, ""), "Benchmark")
	add(procsSuffix.ReplaceAllString(name, ""))
	add(bare)
	parts := strings.Split(head, ".")
	for _, n := range []int{2, 1} {
		if len(parts) > n {
			add(strings.Join(parts[len(parts)-n:], ".") + strings.TrimPrefix(name, head))
		}
	}
	for _, k := range slices.Clone(keys) {
		add(strings.ToLower(k))
	}
	return keys
}

// wholes returns the names of the benchmarks that one is part of: without its parameters,
// and each of Go's benchmarks around it.
func wholes(name string) (keys []string) {
	head, _, _ := strings.Cut(name, ":")
	if head != name {
		keys = joinKeys(head)
	}
	name = procsSuffix.ReplaceAllString(head, "")
	for at := strings.LastIndexByte(name, '/'); at > 0; at = strings.LastIndexByte(name[:at], '/') {
		keys = append(keys, joinKeys(name[:at])...)
	}
	return keys
}

// metricSums collects repeated results.
type metricSums struct {
	order      []string // benchmarks
	of         map[string][]*summed
	iterations map[string][]float64 // of Go's benchmarks, per line
	estimates  map[string]float64   // of operations, by benchmark
}

// summed is a metric of one or more results, and the measurements behind it.
type summed struct {
	testrun.Metric
	values []float64
}

// add adds a result and, if they are known, the measurements behind it.
func (s *metricSums) add(benchmark string, m testrun.Metric, samples []float64) {
	if s.of == nil {
		s.of = map[string][]*summed{}
	}
	if _, ok := s.of[benchmark]; !ok {
		s.order = append(s.order, benchmark)
	}
	n := max(m.N, 1)
	values := samples
	if values == nil {
		values = []float64{m.Mean}
	}
	for _, have := range s.of[benchmark] {
		if have.Name == m.Name && have.Unit == m.Unit {
			have.Mean += (m.Mean - have.Mean) * float64(n) / float64(have.N+n)
			have.N += n
			have.Error = 0 // of one result
			have.values = append(have.values, values...)
			return
		}
	}
	m.N = n
	s.of[benchmark] = append(s.of[benchmark], &summed{m, values})
}

func (s *metricSums) metrics() *Metrics {
	out := &Metrics{}
	for _, b := range s.order {
		r := &result{name: strings.TrimPrefix(procsSuffix.ReplaceAllString(b, ""), "Benchmark")}
		for i, m := range s.of[b] {
			m.Primary = i == 0
			if m.Better == "" {
				m.Better = testrun.BetterOf(m.Unit)
			}
			m.Samples = testrun.NewSamples(m.values)
			r.metrics = append(r.metrics, m.Metric)
		}
		if n, estimated := s.operations(b); n > 0 {
			r.metrics = append(r.metrics, testrun.NewOperations(n, estimated))
		}
		out.add(r, b)
	}
	return out
}

// add adds the result of a name under all that match, unless another one has them.
func (m *Metrics) add(r *result, name string) {
	if m.byName == nil {
		m.byName, m.parts = map[string]*result{}, map[string][]*result{}
	}
	m.results = append(m.results, r)
	for _, k := range joinKeys(name) {
		if m.byName[k] == nil {
			m.byName[k] = r
		}
	}
	for _, k := range wholes(name) {
		if !slices.Contains(m.parts[k], r) {
			m.parts[k] = append(m.parts[k], r)
		}
	}
}

var goLine = regexp.MustCompile(`^Benchmark\S*\s+\d+\s`)

// goText reads `BenchmarkName-8  1000  123 ns/op  45 B/op`.
func (s *metricSums) goText(text []byte) error {
	scan := bufio.NewScanner(bytes.NewReader(text))
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		if !goLine.Match(scan.Bytes()) {
			continue
		}
		f := strings.Fields(scan.Text())
		s.iterate(f[0], f[1])
		for i := 2; i+1 < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				break
			}
			name, unit := f[i+1], f[i+1]
			switch name {
			case "ns/op":
				name = "time/op"
			case "cpu-ns/op":
				name, unit = testrun.CPUTimeMetric, "ns/op"
			}
			s.add(f[0], testrun.Metric{Name: name, Mean: v, Unit: unit}, nil)
		}
	}
	return scan.Err()
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
		return fmt.Errorf("%w (JMH's JSON is a list of results)", err)
	}
	for _, r := range results {
		benchmark := r.Benchmark + paramText(r.Params)
		add := func(label string, m metric) {
			// JMH writes "NaN" as a string when a score or an error does not exist.
			if v, ok := m.Score.(float64); ok && benchmark != "" {
				half, _ := m.Error.(float64)
				samples, n := jmhSamples(m.Raw)
				s.add(benchmark, testrun.Metric{Name: label, Mean: v, Unit: m.ScoreUnit, N: n, Error: max(0, half)}, samples)
			}
		}
		add(cmp.Or(r.Mode, "score"), r.Primary)
		if score, ok := r.Primary.Score.(float64); ok {
			s.estimate(benchmark, r.jmhTime.operations(r.Mode, score, r.Primary.ScoreUnit))
		}
		for _, k := range slices.Sorted(maps.Keys(r.Secondary)) {
			add(k, r.Secondary[k])
		}
	}
	return nil
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
			if v, ok := x.(float64); ok {
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

// csv reads JMH's CSV (Benchmark, Mode, Score, Unit, "Param: x") or a table
// with the columns benchmark, mean (or score, value), unit, and metric.
func (s *metricSums) csv(name string, text []byte) error {
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = -1
	r.TrimLeadingSpace = true
	head, err := r.Read()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	column := func(names ...string) int {
		return slices.IndexFunc(head, func(h string) bool { return slices.Contains(names, strings.ToLower(strings.TrimSpace(h))) })
	}
	bench, score := column("benchmark", "name"), column("score", "mean", "value")
	unit, label := column("unit"), column("metric", "mode")
	n, half := column("samples", "n"), column("score error (99.9%)", "score error")
	if bench < 0 || score < 0 {
		return fmt.Errorf("%s:1: a CSV of metrics needs the columns benchmark and mean (or score)", name)
	}
	for {
		row, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		cell := func(i int) string {
			if i < 0 || i >= len(row) {
				return ""
			}
			return strings.TrimSpace(row[i])
		}
		v, err := strconv.ParseFloat(cell(score), 64)
		if err != nil {
			line, _ := r.FieldPos(0)
			return fmt.Errorf("%s:%d: score %q is not a number", name, line, cell(score))
		}
		count, _ := strconv.Atoi(cell(n))
		width, err := strconv.ParseFloat(cell(half), 64)
		if err != nil || math.IsNaN(width) {
			width = 0 // JMH writes NaN for a single iteration
		}
		params := map[string]string{}
		for i, h := range head {
			if k, ok := strings.CutPrefix(h, "Param: "); ok && cell(i) != "" {
				params[k] = cell(i)
			}
		}
		s.add(cell(bench)+paramText(params), testrun.Metric{Name: cmp.Or(cell(label), "score"), Mean: v, Unit: cell(unit), N: count, Error: max(0, width)}, nil)
	}
}

func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return line
}

// Join returns the metrics of both; of equal names, those of m.
func (m *Metrics) Join(more *Metrics) *Metrics {
	if m == nil {
		return more
	}
	if more != nil {
		for _, r := range more.results {
			m.add(r, r.name)
		}
	}
	return m
}
