package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/expansion"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/testrun"
)

// Findings writes what became slower: for people by benchmark, with what could have been
// found; as a table with a row per finding. At most rows findings; 0: all. With all,
// moved and transient changes and every benchmark are written too.
func Findings(o *Output, r *query.RegressionsResult, rows int, all bool) error {
	if o.Format != "text" {
		t := &Table{Columns: []Column{{Name: "status"}, {Name: "kind"}, {Name: "share", Right: true, Text: signedPercent}, {Name: "cost", Right: true}, {Name: "score", Right: true},
			{Name: "function"}, {Name: "caller"}, {Name: "benchmark"}, {Name: "since"}, {Name: "headline"}}}
		for i := range words.First(r.Findings, rows) {
			f := &r.Findings[i]
			if all || report.Shown(f) {
				status := string(f.Status)
				if f.Acknowledged != nil {
					status = "acknowledged"
				}
				t.Add(status, string(f.Kind), f.Delta.Share, report.Cost(f), fmt.Sprintf("%.1f", f.Score), f.Function, f.Caller, testrun.Benchmark{Group: f.Group, Name: f.Benchmark}.String(), f.Since.Run, report.Label(f))
			}
		}
		return t.Write(o)
	}
	printed, hidden, omitted := 0, 0, 0
	for i := range r.Findings {
		f := &r.Findings[i]
		switch {
		case !all && !report.Shown(f):
			hidden++
		case rows > 0 && printed == rows:
			omitted++
		default:
			var text strings.Builder
			if err := report.Finding(&text, f); err != nil {
				return err
			}
			head, rest, _ := strings.Cut(text.String(), "\n")
			if o.Colour {
				head = tintOf(f).paint(head)
			}
			if _, err := fmt.Fprintf(o.W, "%s\n%s", head, rest); err != nil {
				return err
			}
			printed++
		}
	}
	if printed == 0 {
		fmt.Fprintln(o.W, "no findings")
	}
	quiet := 0
	var list []*query.Judged
	for i := range r.Benchmarks {
		b := &r.Benchmarks[i]
		if b.Findings == 0 && b.Reason == "" && len(b.Warnings) == 0 && len(r.Benchmarks) > 8 && !all {
			quiet++
			continue
		}
		list = append(list, b)
	}
	if err := compared(o, list); err != nil {
		return err
	}
	if quiet > 0 {
		fmt.Fprintf(o.W, "%d more %s without findings (--all)\n", quiet, words.Plural(quiet, "benchmark"))
	}
	if hidden > 0 {
		fmt.Fprintf(o.Err, "%d moved or transient not shown (--all)\n", hidden)
	}
	o.Omitted(omitted, "finding")
	return contexts(o.W, r.Expanded)
}

// Brief writes a report in a few lines: the headline, a row for each change, and the
// benchmarks without a verdict.
func Brief(o *Output, b *report.Brief) error {
	paint := func(c Tint, s string) string {
		if !o.Colour {
			return s
		}
		return c.paint(s)
	}
	switch {
	case b.Failed:
		fmt.Fprintln(o.W, paint(red, b.Headline))
	case b.Passed:
		fmt.Fprintln(o.W, paint(green, b.Headline))
	default:
		fmt.Fprintln(o.W, b.Headline)
	}
	if b.Selected != "" {
		fmt.Fprintln(o.W, "selected", b.Selected)
	}
	for _, n := range b.Notes {
		fmt.Fprintln(o.W, "note:", n)
	}
	if len(b.Changes) > 0 {
		t := &Table{Columns: []Column{{Name: "share", Right: true, Text: signedPercent, Tint: worse}, {Name: "cost", Right: true},
			{Name: "change", Whole: true, Tint: failing}, {Name: "benchmark"}, {Name: "since"}, {Name: "function"}}}
		for _, c := range b.Changes {
			t.Add(c.Share, c.Cost, c.Change, c.Benchmark, c.Since, c.Label)
		}
		if err := t.Write(o); err != nil {
			return err
		}
	}
	if b.More > 0 {
		fmt.Fprintf(o.W, "%d more %s (--rows)\n", b.More, words.Plural(b.More, "change"))
	}
	if err := briefMetrics(o, b); err != nil {
		return err
	}
	for _, line := range b.Silent {
		fmt.Fprintln(o.W, line)
	}
	return nil
}

func briefMetrics(o *Output, b *report.Brief) error {
	if b.Metrics != "" {
		fmt.Fprintln(o.W, "metrics:", b.Metrics)
	}
	if len(b.MetricRows) == 0 {
		return nil
	}
	t := &Table{}
	for i, name := range report.MetricHeads {
		t.Columns = append(t.Columns, Column{Name: name, Right: i < 5, Whole: i < 5, Tint: failing})
	}
	for _, row := range b.MetricRows {
		cells := make([]any, len(row))
		for i := range row {
			cells[i] = row[i]
		}
		t.Add(cells...)
	}
	if err := t.Write(o); err != nil {
		return err
	}
	if b.MoreMetrics > 0 {
		fmt.Fprintf(o.W, "%d more significant %s (--full)\n", b.MoreMetrics, words.Plural(b.MoreMetrics, "metric"))
	}
	return nil
}

// failing colours the kind of a change that fails a check.
func failing(v any) Tint {
	if strings.HasPrefix(fmt.Sprint(v), "FAIL ") {
		return red
	}
	return plain
}

// tintOf colours a finding: what costs and is certain red, what is faster green.
func tintOf(f *regression.Finding) Tint {
	switch {
	case f.Kind == regression.Improvement:
		return green
	case f.Kind.Costs() && f.Status == regression.Confirmed && f.Acknowledged == nil:
		return red
	}
	return bold
}

// compared writes what was compared of each benchmark, and how small a change would have
// been detected.
func compared(o *Output, list []*query.Judged) error {
	t := &Table{Columns: []Column{{Name: "benchmark"}, {Name: "runs", Right: true}, {Name: "history", Right: true}, {Name: "findings explain"}}}
	for _, b := range list {
		name := words.Clean(testrun.Benchmark{Group: b.Group, Name: b.Benchmark}.String())
		if b.Reason != "" {
			fmt.Fprintf(o.W, "%s: no verdict: %s\n", name, words.Clean(b.Reason))
			for _, c := range words.First(b.Candidates, 5) {
				fmt.Fprintf(o.W, "    %s  %s\n", words.SignedPercent(c.Share), words.Clean(c.Function))
			}
		}
		for _, text := range b.Remarks() {
			fmt.Fprintf(o.W, "%s: %s\n", name, text)
		}
		if len(b.Analyses) == 0 {
			continue
		}
		a := slices.MaxFunc(b.Analyses, func(a, b *regression.Analysis) int { return len(a.Tested) - len(b.Tested) })
		row := []any{name, len(a.Tested), len(a.History), report.Explained(a)}
		for _, c := range a.Detectable.Changes {
			if len(t.rows) == 0 {
				t.Columns = append(t.Columns, Column{Name: words.Percent(c.Share), Right: true, Text: percent})
			}
			row = append(row, c.Change)
		}
		t.Add(row...)
	}
	if len(t.rows) == 0 {
		return nil
	}
	fmt.Fprintln(o.W, "the smallest change that is detected with a chance of 80%, by the share of the program that a function uses:")
	return t.Write(o)
}

// Scores writes functions by the score of the paper.
func Scores(o *Output, r *query.ScoresResult) error {
	tenth := func(v any) string { return fmt.Sprintf("%.1f", v) }
	t := &Table{Columns: []Column{{Name: "score", Right: true, Text: fourDecimals}, {Name: "expected", Right: true, Text: tenth},
		{Name: "actual", Right: true, Text: tenth}, {Name: "diff", Right: true, Text: tenth}, {Name: "status"}, {Name: "function"}, {Name: "benchmark"}, {Name: "run"}}}
	for i := range r.Rows {
		x := &r.Rows[i]
		t.Add(x.Score, x.Expected, x.Actual, x.Diff, x.Status, x.Function, x.Benchmark, x.Run)
	}
	return ranking(o, t, r.Notes, r.Omitted, r.Expanded)
}

// Hotelling writes tests of subtrees, in text each with the functions that were tested.
func Hotelling(o *Output, r *query.HotellingResult) error {
	number := func(format string) func(any) string {
		return func(v any) string {
			if v == nil { // of a function
				return ""
			}
			return fmt.Sprintf(format, v)
		}
	}
	t := &Table{Columns: []Column{{Name: "p", Right: true, Text: number("%.2g")}, {Name: "t2", Right: true, Text: number("%.2f")}, {Name: "f", Right: true, Text: number("%.2f")},
		{Name: "freedom"}, {Name: "runs"}, {Name: "subtree"}, {Name: "benchmark"}, {Name: "run"}}}
	for i := range r.Rows {
		x := &r.Rows[i]
		subtree := x.Subtree
		if subtree == "" {
			subtree = "(whole program)"
		}
		t.Add(x.P, x.T2, x.F, fmt.Sprintf("%d, %d", x.Freedom[0], x.Freedom[1]), fmt.Sprintf("%d against %d", x.Head, x.Base), subtree, testrun.Benchmark{Group: x.Group, Name: x.Benchmark}.String(), x.Run)
		for _, f := range x.Functions {
			if !o.Exact() {
				t.Add(nil, nil, nil, "", "", fmt.Sprintf("  %s → %s  %s", words.Percent(f.Expected), words.Percent(f.Actual), f.Function), "", "")
			}
		}
	}
	return ranking(o, t, r.Notes, r.Omitted, nil)
}

// Correlation writes functions by their correlation with time.
func Correlation(o *Output, r *query.CorrelationsResult) error {
	t := &Table{Columns: []Column{{Name: "score", Right: true, Text: func(v any) string { return fmt.Sprintf("%.3f", v) }}, {Name: "benchmarks", Right: true}, {Name: "profiles", Right: true}, {Name: "function"}}}
	omitted := r.Omitted
	if o.Format == "text" {
		omitted.Rows -= r.Zero
	}
	for i := range r.Rows {
		x := &r.Rows[i]
		if x.Score == 0 && o.Format == "text" {
			omitted.Rows++
			continue
		}
		t.Add(x.Score, x.Benchmarks, x.Profiles, x.Function)
	}
	if o.Format == "text" {
		o.uncorrelated(r.Zero)
	}
	return ranking(o, t, r.Notes, omitted, r.Expanded)
}

func ranking(o *Output, t *Table, notes []string, omitted query.Omitted, expanded []*query.Expanded) error {
	o.Notes(notes)
	if err := t.Write(o); err != nil {
		return err
	}
	o.Omitted(omitted.Rows, "function")
	return contexts(o.W, expanded)
}

// Bottlenecks writes a ranking of functions, each followed by its contexts; formats for
// programs have the heaviest one in a column.
func Bottlenecks(o *Output, req *query.BottlenecksRequest, r *query.BottlenecksResult) error {
	o.Notes(r.Warnings)
	text := o.Format == "text"
	if text {
		fmt.Fprintf(o.W, "%s; %d %s of %d %s, %s\n", r.Measure, r.Profiles, words.Plural(r.Profiles, "profile"), r.Benchmarks, words.Plural(r.Benchmarks, "benchmark"),
			Amount(query.Number{Int: r.Value, Scale: r.Type.Scale}, r.Type.Unit))
	}
	rows := r.Rows
	for text && r.Zero > 0 && len(rows) > 0 && rows[len(rows)-1].Score == 0 {
		rows = rows[:len(rows)-1]
	}
	if err := potentials(o, req, r, rows).Write(o); err != nil {
		return err
	}
	shown := len(rows)
	if len(r.Negative) > 0 && text {
		fmt.Fprintln(o.W, "\ndecreases when time increases:")
		if err := potentials(o, req, r, r.Negative).Write(o); err != nil {
			return err
		}
		shown += len(r.Negative)
	}
	if !o.Exact() {
		for _, x := range slices.Concat(rows, r.Negative) {
			o.plots(&x, r.Type)
		}
	}
	if !text {
		return nil
	}
	if !req.Negative {
		o.Omitted(r.Functions-r.Zero-shown, "function")
		o.uncorrelated(r.Zero)
	}
	if r.Expanded != nil {
		return contexts(o.W, []*query.Expanded{r.Expanded})
	}
	return nil
}

// uncorrelated says how many functions text does not list.
func (o *Output) uncorrelated(n int) {
	if n > 0 {
		fmt.Fprintf(o.Err, "%s %s correlation 0 (-o json lists them)\n", words.Count(n), map[bool]string{true: "function has", false: "functions have"}[n == 1])
	}
}

// plots draws a function over the runs of benchmarks.
func (o *Output) plots(r *bottleneck.Row, t profile.ValueType) {
	if r.Score == 0 {
		return // it follows nothing
	}
	t.Scale = 0 // of points
	for i := range r.Plots {
		p := &r.Plots[i]
		benchmark := testrun.Benchmark{Group: p.Group, Name: p.Benchmark}
		title := fmt.Sprintf("%s in %s, mean %s", r.Function, benchmark, words.Percent(p.Score))
		share := words.Percent
		value := func(v float64) string { return words.Metric(v, p.Y) }
		if p.Y == "share" {
			value = share
		}
		x, y := make([]float64, len(p.Points)), make([]float64, len(p.Points))
		var left, right string
		for i, point := range p.Points {
			x[i], y[i] = point.X, point.Y
			if p.X == "" {
				x[i] = float64(i)
			}
		}
		if p.X == "" {
			left, right = p.Points[0].Run, p.Points[len(p.Points)-1].Run
		} else {
			of, write := "samples", func(v float64) string { return words.Value(v, t.Unit, t.Scale) }
			if p.X == "share" {
				of, write = "the function's share", share
			}
			title = fmt.Sprintf("%s in %s, r %+.3f: %s over %s", r.Function, benchmark, p.Score, p.Metric, of)
			left, right = write(slices.Min(x)), write(slices.Max(x))
		}
		indent := ""
		if o.Format == "md" {
			indent = "    " // code, whatever is in a name
		}
		fmt.Fprintln(o.W)
		for _, line := range append([]string{words.Clean(title)}, report.Scatter(x, y, value, words.Clean(left), words.Clean(right))...) {
			fmt.Fprintln(o.W, indent+line)
		}
	}
}

func potentials(o *Output, req *query.BottlenecksRequest, r *query.BottlenecksResult, rows []bottleneck.Row) *Table {
	score, text := "potential", percent
	if req.By == "correlation" {
		score, text = "r", func(v any) string {
			if f, ok := v.(float64); ok {
				return fmt.Sprintf("%+.3f", f)
			}
			return ""
		}
	}
	t := &Table{Columns: []Column{{Name: score, Right: true, Text: text}, {Name: "self", Right: true}, {Name: "total", Right: true},
		{Name: "samples", Right: true, Text: grouped}, {Name: "profiles", Right: true}, {Name: "benchmarks", Right: true}, {Name: "function"}}}
	withContext := o.Exact() && req.Contexts > 0
	if withContext {
		t.Columns = append(t.Columns, Column{Name: "contextShare", Right: true}, Column{Name: "context"})
	}
	cell := func(v int64) any { return o.cell(query.Number{Int: v, Scale: r.Type.Scale}, r.Type.Unit) }
	for i := range rows {
		x := &rows[i]
		cells := []any{x.Score, cell(x.Self), cell(x.Total), x.Samples, x.Profiles, x.Benchmarks, x.Function}
		if withContext {
			cells = append(cells, nil, "")
			if len(x.Contexts) > 0 {
				cells[len(cells)-2], cells[len(cells)-1] = x.Contexts[0].Share, calltree.FormatPath(x.Contexts[0].Path)
			}
		}
		t.Add(cells...)
		if o.Exact() {
			continue
		}
		for _, c := range x.Contexts {
			t.Add(nil, nil, nil, nil, nil, nil, "  "+words.Percent(c.Share)+" "+ends(c.Path))
		}
	}
	return t
}

// contexts writes expansions.
func contexts(w io.Writer, list []*query.Expanded) error {
	for _, x := range list {
		if x.Benchmark != "" {
			fmt.Fprintf(w, "\n%s\n", words.Clean(x.Benchmark))
		}
		for _, text := range x.Warnings {
			fmt.Fprintf(w, "note: %s\n", words.Clean(text))
		}
		for i := range x.Expansions {
			e := &x.Expansions[i]
			fmt.Fprintf(w, "\n%s: %s score %s\n", words.Clean(e.Function), x.Selection, twoDecimals(e.Prospect))
			if len(e.Children)+len(e.Parents) == 0 {
				fmt.Fprintln(w, "  no context to follow")
			}
			if err := traces(w, "called by", e.Parents, x.Type); err != nil {
				return err
			}
			if err := traces(w, "calls", e.Children, x.Type); err != nil {
				return err
			}
			if e.Truncated {
				fmt.Fprintf(w, "  more than %d paths; only these were followed (--max-breadth, --max-depth)\n", expansion.DefaultMaxTraces)
			}
		}
	}
	return nil
}

// shownTraces is the maximum number of paths per direction in text; -o json has all.
const shownTraces = 4

// traces writes paths, the candidate first: what each function changed by in this
// context, and what that says of the candidate.
func traces(w io.Writer, title string, list []expansion.Trace, typ profile.ValueType) error {
	for i, trace := range words.First(list, shownTraces) {
		t := &Table{Columns: []Column{{Name: "  score", Right: true}, {Name: "candidate", Right: true}, {Name: "diff", Right: true}, {Name: title}}}
		for depth, s := range trace {
			t.Add(twoDecimals(s.CandidateScore), words.Difference(s.CandidateDiff, typ.Unit, typ.Scale), words.Difference(s.Diff, typ.Unit, typ.Scale), strings.TrimRight(indent(int32(depth))+s.Function+" "+s.Status, " "))
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := t.aligned(&Output{W: w}); err != nil {
			return err
		}
	}
	if more := len(list) - shownTraces; more > 0 {
		fmt.Fprintf(w, "  %d more %s (-o json)\n", more, words.Plural(more, "path"))
	}
	return nil
}
