package report

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/metrics"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/testrun"
)

// fewMetrics is the maximum number of metrics that are listed in brief.
const fewMetrics = 10

// significant returns the metrics that changed significantly: those that fail, then the
// largest changes.
func (r *Report) significant() (list []*metrics.Row) {
	for i := range r.Metrics.Rows {
		if row := &r.Metrics.Rows[i]; row.Significant {
			list = append(list, row)
		}
	}
	fails := func(row *metrics.Row) int {
		if row.Fails {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b *metrics.Row) int {
		return cmp.Or(cmp.Compare(fails(a), fails(b)), -cmp.Compare(math.Abs(a.Worse()), math.Abs(b.Worse())))
	})
	return list
}

// worseMetrics counts the metrics that became significantly worse.
func (r *Report) worseMetrics() (n int) {
	for _, row := range r.significant() {
		if row.Worse() > 0 {
			n++
		}
	}
	return n
}

// metricsSummary counts the metrics that changed, and those that have too few values.
func (r *Report) metricsSummary() string {
	few, needed := 0, 0
	for i := range r.Metrics.Rows {
		if row := &r.Metrics.Rows[i]; row.Reason == metrics.TooFew {
			few++
			needed = max(needed, row.Needed)
		}
	}
	n, all := len(r.significant()), len(r.Metrics.Rows)
	text := fmt.Sprintf("%d of %d changed significantly", n, all)
	switch {
	case few > 0 && few == all:
		text = "too few values to tell"
	case few > 0:
		text += fmt.Sprintf("; too few values to tell for %d", few)
	}
	if needed > 0 {
		text += fmt.Sprintf(" (%d runs of the head are needed)", needed)
	}
	return text + r.levels()
}

// levels names the error probabilities at which metrics are significant, if a row is not
// significant that a level of 0.05 would make so; empty otherwise.
func (r *Report) levels() string {
	const usual = 0.05
	for i := range r.Metrics.Rows {
		if row := &r.Metrics.Rows[i]; !row.Significant && row.Reason == "" && row.P <= usual {
			return fmt.Sprintf("; significant is p ≤ %.3g of the metric that judges a benchmark, p ≤ %.3g of others, because %d are compared", r.Metrics.Level, r.Metrics.Others, len(r.Metrics.Rows))
		}
	}
	return ""
}

// geometricMean names a row of means.
const geometricMean = "geometric mean"

// metricHeads are the columns of metrics; all but the first are numbers.
func metricHeads(name string) []string { return []string{name, "base", "head", "change", "p", "n"} }

// metricCells formats a row; name is its first cell.
func metricCells(row *metrics.Row, name string) []string {
	n := fmt.Sprint(row.Base.Values)
	if row.Head.Values != row.Base.Values {
		n += fmt.Sprintf("+%d", row.Head.Values)
	}
	return []string{name, side(&row.Base, row.Unit), side(&row.Head, row.Unit), metricChange(row), fmt.Sprintf("%.3f", row.P), n}
}

// side formats a median with the larger half of its interval.
func side(s *metrics.Side, unit string) string {
	text := words.Metric(s.Median, unit)
	switch {
	case s.Low == nil:
		return text
	case s.Median == 0:
		return text + " ± 0%"
	}
	half := math.Max(s.Median-*s.Low, *s.High-s.Median) / math.Abs(s.Median)
	return fmt.Sprintf("%s ± %.0f%%", text, 100*half)
}

// metricChange formats a change: ~ if it is within noise.
func metricChange(row *metrics.Row) string {
	if !row.Significant {
		return "~"
	}
	text := words.SignedPercent(row.Change)
	if row.Base.Median == 0 {
		text = "from 0"
	}
	if row.Fails {
		text = "FAIL " + text
	}
	return text
}

// metricGrids are the metrics as tables, one per metric.
func (r *Report) metricGrids() (list []*grid) {
	rows := r.Metrics.Rows
	for from := 0; from < len(rows); {
		first := &rows[from]
		g := &grid{heads: metricHeads("metric " + shorten(words.Clean(first.Metric))), right: -1}
		for ; from < len(rows) && rows[from].Metric == first.Metric && rows[from].Unit == first.Unit; from++ {
			g.add(metricCells(&rows[from], shorten(metricBenchmark(&rows[from])))...)
		}
		for _, m := range r.Metrics.Means {
			if m.Metric == first.Metric && m.Unit == first.Unit {
				g.add(meanCells(&m)...)
			}
		}
		list = append(list, g)
	}
	return list
}

func metricBenchmark(row *metrics.Row) string {
	return words.Clean(testrun.Benchmark{Group: row.Group, Name: row.Benchmark}.String())
}

func meanCells(m *metrics.Mean) []string {
	cells := []string{geometricMean, "", "", words.SignedPercent(m.Change), "", ""}
	if m.Base > 0 {
		cells[1], cells[2] = words.Metric(m.Base, m.Unit), words.Metric(m.Head, m.Unit)
	}
	return cells
}

// metricsBrief sets the metrics of b: those that changed significantly, and of benchmarks
// with changes the one that judges them.
func (r *Report) metricsBrief(b *Brief) {
	if len(r.Metrics.Rows) == 0 {
		return
	}
	list := r.significant()
	b.Metrics, b.MoreMetrics = r.metricsSummary(), max(0, len(list)-fewMetrics)
	list = append(list, r.judging(list)...)
	for _, row := range words.First(list, fewMetrics) {
		b.MetricRows = append(b.MetricRows, significantCells(row))
	}
}

// judging returns the first metrics of benchmarks with changes, other than those listed.
func (r *Report) judging(listed []*metrics.Row) (rows []*metrics.Row) {
	done := map[testrun.Benchmark]bool{}
	for i := range r.Metrics.Rows {
		row := &r.Metrics.Rows[i]
		of := testrun.Benchmark{Group: row.Group, Name: row.Benchmark}
		changed := slices.ContainsFunc(r.Changes, func(c Change) bool {
			return c.shown() && slices.ContainsFunc(c.All(),
				func(f regression.Finding) bool { return f.Group == of.Group && f.Benchmark == of.Name })
		})
		if changed && !done[of] {
			done[of] = true
			if !slices.Contains(listed, row) {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// MetricHeads are the columns of metrics that changed significantly; the first five are
// numbers.
var MetricHeads = []string{"base", "head", "change", "p", "n", "metric", "benchmark"}

func significantCells(row *metrics.Row) []string {
	return append(metricCells(row, "")[1:], shorten(words.Clean(row.Metric)), shorten(metricBenchmark(row)))
}

// worstMetrics lists the metrics that changed significantly as Markdown.
func (r *Report) worstMetrics() string {
	list := r.significant()
	if len(list) == 0 {
		return ""
	}
	var rows [][]string
	for _, row := range words.First(list, fewMetrics) {
		cells := significantCells(row)
		escapeCells(cells, 5, 6)
		rows = append(rows, cells)
	}
	text := markdownTable(MetricHeads, []bool{true, true, true, true, true, false, false}, rows)
	if n := len(list) - fewMetrics; n > 0 {
		text += fmt.Sprintf("\n%d more significant %s.\n", n, words.Plural(n, "metric"))
	}
	return text
}

// escapeCells escapes cells of Markdown, and formats some, which are names, as code.
func escapeCells(cells []string, names ...int) {
	for i := range cells {
		if slices.Contains(names, i) {
			cells[i] = code(cells[i])
		} else {
			cells[i] = escapeText(cells[i])
		}
	}
}

// metricsMarkdown is the table of all metrics, folded.
func (r *Report) metricsMarkdown() string {
	if len(r.Metrics.Rows) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<details><summary>Metrics: %s</summary>\n", html.EscapeString(r.metricsSummary()))
	for _, g := range r.metricGrids() {
		left := len(g.rows) - mostRows
		g.rows = words.First(g.rows, mostRows)
		escapeCells(g.heads)
		for _, row := range g.rows {
			if row[0] == geometricMean {
				escapeCells(row)
			} else {
				escapeCells(row, 0)
			}
		}
		b.WriteString("\n" + markdownTable(g.heads, []bool{false, true, true, true, true, true}, g.rows))
		if left > 0 {
			fmt.Fprintf(&b, "\n%d more benchmarks.\n", left)
		}
	}
	b.WriteString("\n</details>\n")
	return b.String()
}

// FailingMetrics describes the metrics that fail the gate, one line each, for annotations
// and logs.
func (r *Report) FailingMetrics() (lines []string) {
	for i := range r.Metrics.Rows {
		if row := &r.Metrics.Rows[i]; row.Fails {
			lines = append(lines, metricSentence(row))
		}
	}
	return lines
}

func metricSentence(row *metrics.Row) string {
	cells := metricCells(row, "")
	return fmt.Sprintf("%s of %s is worse: %s → %s (%s, p=%s, n=%s)", words.Clean(row.Metric), metricBenchmark(row), cells[1], cells[2],
		strings.TrimPrefix(cells[3], "FAIL "), cells[4], cells[5])
}
