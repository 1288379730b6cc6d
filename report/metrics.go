package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/metrics"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/table"
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

// worseMetrics lists the metrics that became significantly worse, those that fail first, then by how much.
func (r *Report) worseMetrics() []*metrics.Row {
	return slices.DeleteFunc(r.significant(), func(row *metrics.Row) bool { return row.Worse() <= 0 })
}

// leading lists the worse metrics with which the headline of a check that passes begins: none if a limit says which metrics
// fail, nor those of a benchmark with an acknowledged change, because who accepts a change accepts what it costs.
func (r *Report) leading() []*metrics.Row {
	if v := r.Verdict; v == nil || v.Failed || !v.Tested || v.NotHead != "" || v.FailOnMetric > 0 {
		return nil
	}
	return slices.DeleteFunc(r.worseMetrics(), func(row *metrics.Row) bool {
		return slices.ContainsFunc(r.Changes, func(c Change) bool { return c.Acknowledged != nil && c.Of() == row.Of() })
	})
}

// metricsSummary counts the metrics that changed, and those that have too few values.
func (r *Report) metricsSummary() string {
	few, needed, side := r.Metrics.Few()
	n, all := len(r.significant()), len(r.Metrics.Rows)
	text := fmt.Sprintf("%d of %d changed significantly", n, all)
	switch {
	case few > 0 && few == all:
		text = "too few values to tell"
	case few > 0:
		text += fmt.Sprintf("; too few values to tell for %d", few)
	}
	if needed > 0 {
		text += fmt.Sprintf(" (%d runs of %s are needed)", needed, side)
	}
	return text + r.levels()
}

// levels names the error probabilities at which metrics are significant, if a row is not
// significant that a level of 0.05 would make so; empty otherwise.
func (r *Report) levels() string {
	for i := range r.Metrics.Rows {
		if row := &r.Metrics.Rows[i]; !row.Significant && row.Reason == "" && row.P <= usual {
			return fmt.Sprintf("; significant is p ≤ %.3g of the metric that judges a benchmark, p ≤ %.3g of others, because %d are compared", r.Metrics.Level, r.Metrics.Others, len(r.Metrics.Rows))
		}
	}
	return ""
}

// geometricMean names a row of means.
const geometricMean = "geometric mean"

// metricColumns are the columns of what metricCells returns.
func metricColumns() []table.Column {
	list := []table.Column{number("base"), number("head"), number("change"), number("p"), number("n")}
	for i := range list {
		list[i].Markup = escaped
	}
	return list
}

// metricCells formats a row.
func metricCells(row *metrics.Row) []any {
	n := fmt.Sprint(row.Base.Values)
	if row.Head.Values != row.Base.Values {
		n += fmt.Sprintf("+%d", row.Head.Values)
	}
	change := table.Tinted{Text: metricChange(row)}
	if row.Significant && row.Fails {
		change = table.Tinted{Text: "FAIL " + change.Text, Tint: table.Red}
	}
	return []any{side(&row.Base, row.Unit), side(&row.Head, row.Unit), change, fmt.Sprintf("%.3f", row.P), n}
}

// nameOf formats a name as Markdown.
func nameOf(v any) string { return code(v.(string)) }

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

// usual is the error probability at which other tools call a single metric changed.
const usual = 0.05

// metricChange formats a change: ~ if it is within noise, and why where other tools would call it a change.
func metricChange(row *metrics.Row) string {
	switch {
	case !row.Significant && row.P <= usual && row.Needed > 0:
		return fmt.Sprintf("~ needs %d runs", row.Needed)
	case !row.Significant && row.P <= usual && row.Level > 0:
		return fmt.Sprintf("~ p > %.2g", row.Level)
	case !row.Significant:
		return "~"
	case row.Base.Median == 0:
		return "from 0"
	}
	return words.SignedPercent(row.Change)
}

// metricTables are the metrics as tables, one per metric.
func (r *Report) metricTables() (list []*table.Table) {
	rows := r.Metrics.Rows
	for from := 0; from < len(rows); {
		first := &rows[from]
		t := &table.Table{Indent: "    ", Columns: append([]table.Column{{Name: "metric " + shorten(words.Clean(first.Metric)),
			Markup: func(v any) string {
				if v == geometricMean {
					return geometricMean
				}
				return nameOf(v)
			}}}, metricColumns()...)}
		for ; from < len(rows) && rows[from].Metric == first.Metric && rows[from].Unit == first.Unit; from++ {
			t.Add(append([]any{shorten(metricBenchmark(&rows[from]))}, metricCells(&rows[from])...)...)
		}
		for _, m := range r.Metrics.Means {
			if m.Metric == first.Metric && m.Unit == first.Unit {
				base, head := "", ""
				if m.Base > 0 {
					base, head = words.Metric(m.Base, m.Unit), words.Metric(m.Head, m.Unit)
				}
				t.Add(geometricMean, base, head, words.SignedPercent(m.Change), "", "")
			}
		}
		list = append(list, t)
	}
	return list
}

func metricBenchmark(row *metrics.Row) string {
	return words.Clean(row.Of().String())
}

// metrics adds those that changed significantly, and of benchmarks with changes the one that
// judges them.
func (t *text) metrics(r *Report) {
	if len(r.Metrics.Rows) == 0 {
		return
	}
	t.Line("metrics: %s", r.metricsSummary())
	list := r.significant()
	left := len(list) - fewMetrics
	if list = append(list, r.judging(list)...); len(list) > 0 {
		t.Table(significantTable(list))
	}
	if left > 0 {
		t.Line("%s (--full)", words.Counted(left, "more significant metric"))
	}
}

// judging returns the first metrics of benchmarks with changes, other than those listed.
func (r *Report) judging(listed []*metrics.Row) (rows []*metrics.Row) {
	done := map[testrun.Benchmark]bool{}
	for i := range r.Metrics.Rows {
		row := &r.Metrics.Rows[i]
		of := row.Of()
		changed := slices.ContainsFunc(r.Changes, func(c Change) bool {
			return c.shown() && slices.ContainsFunc(c.All(), func(f regression.Finding) bool { return f.Of() == of })
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

// significantTable lists the first metrics that changed significantly.
func significantTable(list []*metrics.Row) *table.Table {
	t := &table.Table{Columns: append(metricColumns(), table.Column{Name: "metric", Markup: nameOf},
		table.Column{Name: "benchmark", Markup: nameOf})}
	for _, row := range words.First(list, fewMetrics) {
		t.Add(append(metricCells(row), shorten(words.Clean(row.Metric)), shorten(metricBenchmark(row)))...)
	}
	return t
}

// worstMetrics lists the metrics that changed significantly as Markdown.
func (r *Report) worstMetrics() string {
	list := r.significant()
	if len(list) == 0 {
		return ""
	}
	text := inMarkdown(significantTable(list))
	if n := len(list) - fewMetrics; n > 0 {
		text += fmt.Sprintf("\n%s.\n", words.Counted(n, "more significant metric"))
	}
	return text
}

// metricsMarkdown is the table of all metrics, folded.
func (r *Report) metricsMarkdown() string {
	if len(r.Metrics.Rows) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<details><summary>Metrics: %s</summary>\n", inElement(r.metricsSummary()))
	for _, t := range r.metricTables() {
		t.Limit(mostRows)
		t.Columns[0].Name = escapeText(t.Columns[0].Name)
		b.WriteString("\n" + inMarkdown(t))
		if t.Omitted > 0 {
			fmt.Fprintf(&b, "\n%s.\n", words.Counted(t.Omitted, "more benchmark"))
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
	cells := metricCells(row)
	return fmt.Sprintf("%s of %s is worse: %s → %s (%s, p=%s, n=%s)", words.Clean(row.Metric), metricBenchmark(row), cells[0], cells[1],
		metricChange(row), cells[3], cells[4])
}
