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
	byName  map[string][]*result // under every name that matches
	parts   map[string][]*result // of benchmarks, by the names of those they are part of

	mu      sync.Mutex
	missing []string // benchmarks without a result, in order of the first question
}

// result holds the metrics of a benchmark.
type result struct {
	name    string
	pkg     string           // package, class or file that the name is in, if it is known
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
	unit := m[2]
	name = strings.TrimSpace(name)
	if unit == "" && (name == "allocs/op" || name == "B/op") { // as Go names what is no time
		unit = name
	}
	metric := testrun.Metric{Name: name, Mean: mean, Unit: unit, Better: testrun.BetterOf(unit)}
	return metric, metric.Check()
}

var metricValue = regexp.MustCompile(`^([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*)$`)

// metricFormats are what ReadMetrics reads, for messages.
const metricFormats = "Go benchmark text, CSV, and the JSON of JMH, pytest-benchmark, Google Benchmark, criterion and BenchmarkDotNet"

// ReadMetrics reads benchmark results: the text that Go's benchmarks print, the JSON of
// JMH, pytest-benchmark, Google Benchmark, criterion or BenchmarkDotNet, or CSV (JMH's own,
// or any with columns benchmark, metric, mean, unit). Repeated lines of one benchmark and
// unit give their mean and number.
func ReadMetrics(name string, r io.Reader) (*Metrics, error) {
	data, err := io.ReadAll(io.LimitReader(r, 256<<20))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	ms := &metricSums{}
	switch text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))); {
	case len(text) > 0 && (text[0] == '[' || text[0] == '{'):
		err = ms.json(name, text)
	case bytes.Contains(firstLine(text), []byte(",")) && !bytes.HasPrefix(text, []byte("Benchmark_")) && !goLine.Match(firstLine(text)):
		err = ms.csv(name, text)
	default:
		err = ms.goText(text)
	}
	if err == nil && len(ms.order) == 0 {
		err = fmt.Errorf("%s: no benchmark results found; --metrics reads %s", name, metricFormats)
	}
	if err != nil {
		return nil, err
	}
	return ms.metrics(), nil
}

// Of returns the metrics of a benchmark of a group, primary first. Names match in full, without
// Go's `Benchmark` prefix and `-8` suffix, or by the last parts of a JMH name, ignoring
// case. A benchmark without a result of its own has those of its parts: sub-benchmarks of
// Go, results of JMH with parameters. If there are several, their geometric means come
// first, and the note says so. Of benchmarks of one name in several packages, the result is
// that of the package that the group names, or none, and the note says so.
func (m *Metrics) Of(group, benchmark string) (list []testrun.Metric, note string) {
	if m == nil {
		return nil, ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := joinKeys(benchmark)
	for _, key := range keys {
		if all := m.byName[key]; all != nil {
			of, note := inPackage(benchmark, group, all)
			if of == nil {
				return nil, note
			}
			of[0].used = true
			return of[0].metrics, ""
		}
	}
	if _, params := (testrun.Benchmark{Name: benchmark}).Params(); params == nil {
		for _, key := range keys {
			if parts := m.parts[key]; parts != nil {
				of, note := inPackage(benchmark, group, parts)
				if of == nil {
					return nil, note
				}
				return together(benchmark, of)
			}
		}
	}
	if !slices.Contains(m.missing, benchmark) {
		m.missing = append(m.missing, benchmark)
	}
	return nil, ""
}

// inPackage returns the results of one package: all if they are of one, otherwise of the
// package that the group names. If none or several are named so, it returns nil and a note.
func inPackage(benchmark, group string, all []*result) (of []*result, note string) {
	packages := map[string]bool{}
	var named []*result
	for _, r := range all {
		packages[r.pkg] = true
		if group != "" && samePackage(r.pkg, group) {
			named = append(named, r)
		}
	}
	if len(packages) == 1 {
		return all, ""
	}
	chosen := map[string]bool{}
	for _, r := range named {
		r.used = true // or another benchmark's of the same name
		chosen[r.pkg] = true
	}
	if len(chosen) == 1 {
		return named, ""
	}
	names := slices.Sorted(maps.Keys(packages))
	return nil, fmt.Sprintf("%s has results in %d packages (%s), of which none was taken: name the package with --group", benchmark, len(names), strings.Join(names[:min(4, len(names))], ", "))
}

// samePackage reports whether a group is a package, or the end of its name.
func samePackage(pkg, group string) bool {
	pkg, group = strings.Trim(pkg, "/"), strings.Trim(group, "/")
	ends := func(long, short string) bool {
		rest, ok := strings.CutSuffix(long, short)
		return ok && (rest == "" || strings.HasSuffix(rest, "/") || strings.HasSuffix(rest, "."))
	}
	return pkg != "" && (ends(pkg, group) || ends(group, pkg))
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
	order      []benchName
	of         map[benchName][]*summed
	iterations map[benchName][]float64 // of Go's benchmarks, per line
	estimates  map[benchName]float64   // of operations
}

// benchName is a benchmark in its package, class or file.
type benchName struct{ pkg, name string }

// summed is a metric of one or more results, and the measurements behind it.
type summed struct {
	testrun.Metric
	values []float64
}

// add adds a result and, if they are known, the measurements behind it.
func (s *metricSums) add(benchmark benchName, m testrun.Metric, samples []float64) {
	if s.of == nil {
		s.of = map[benchName][]*summed{}
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
		r := &result{name: strings.TrimPrefix(procsSuffix.ReplaceAllString(b.name, ""), "Benchmark"), pkg: b.pkg}
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
		out.add(r, b.name)
	}
	return out
}

// add adds the result of a name under all that match. Of several results of one package,
// the first has a name.
func (m *Metrics) add(r *result, name string) {
	if m.byName == nil {
		m.byName, m.parts = map[string][]*result{}, map[string][]*result{}
	}
	m.results = append(m.results, r)
	for _, k := range joinKeys(name) {
		if !slices.ContainsFunc(m.byName[k], func(have *result) bool { return have.pkg == r.pkg }) {
			m.byName[k] = append(m.byName[k], r)
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
	pkg := ""
	for scan.Scan() {
		if name, ok := strings.CutPrefix(scan.Text(), "pkg: "); ok {
			pkg = strings.TrimSpace(name)
		}
		if !goLine.Match(scan.Bytes()) {
			continue
		}
		f := strings.Fields(scan.Text())
		bench := benchName{pkg, f[0]}
		s.iterate(bench, f[1])
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
			s.add(bench, testrun.Metric{Name: name, Mean: v, Unit: unit}, nil)
		}
	}
	return scan.Err()
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
		s.add(inClass(cell(bench), paramText(params)), testrun.Metric{Name: cmp.Or(cell(label), "score"), Mean: v, Unit: cell(unit), N: count,
			Error: max(0, width)}, nil)
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
