package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/expansion"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/table"
	"github.com/dendroprof/dendro/testrun"
)

// Findings writes what became slower: for people by benchmark, with what could have been
// found; as a table with a row per finding. At most rows findings; 0: all. With all,
// moved and transient changes and every benchmark are written too, with full the evidence.
func Findings(o *table.Output, r *judge.RegressionsResult, rows int, all, full bool) error {
	if o.Format != "text" {
		shown := *r
		shown.Findings = slices.Clone(words.First(r.Findings, rows))
		shown.Findings = slices.DeleteFunc(shown.Findings, func(f regression.Finding) bool { return !all && !report.Shown(&f) })
		if err := shown.Table(o.Exact()).Write(o); err != nil {
			return err
		}
		return contexts(o, r.Expanded)
	}
	o.Notes(r.Notes)
	for _, line := range r.Weather {
		fmt.Fprintln(o.W, line)
	}
	printed, hidden, accepted, omitted := 0, 0, 0, 0
	for _, c := range r.Rows() {
		f := &c.Finding
		switch {
		case !all && !report.Shown(f):
			hidden++
		case !all && f.Change != nil && f.Acknowledged != nil:
			accepted++
		case rows > 0 && printed == rows:
			omitted++
		default:
			if err := report.Finding(c, full).Print(o); err != nil {
				return err
			}
			printed++
		}
	}
	switch {
	case printed > 0:
	case slices.ContainsFunc(r.Benchmarks, func(b judge.Judged) bool { return r.Followed && b.Outcome.Finding != "" }):
		fmt.Fprintln(o.W, "no findings but the open changes below")
	default:
		fmt.Fprintln(o.W, "no findings")
	}
	if r.Followed {
		if err := states(o, r, all); err != nil {
			return err
		}
		if accepted > 0 {
			fmt.Fprintf(o.Err, "%s not shown (--all)\n", words.Counted(accepted, "accepted change"))
		}
		o.Omitted(omitted, "change")
		return contexts(o, r.Expanded)
	}
	quiet := 0
	var list []*judge.Judged
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
		fmt.Fprintf(o.W, "%s without findings (--all)\n", words.Counted(quiet, "more benchmark"))
	}
	if hidden > 0 {
		fmt.Fprintf(o.Err, "%d moved or transient not shown (--all)\n", hidden)
	}
	o.Omitted(omitted, "finding")
	return contexts(o, r.Expanded)
}

// fewStates is the number of benchmarks whose states are printed although nothing changed.
const fewStates = 8

// states writes what is known of each benchmark; of many, of those that are not unchanged.
func states(o *table.Output, r *judge.RegressionsResult, all bool) error {
	t := &table.Table{Columns: []table.Column{{Name: "benchmark"}, {Name: "state"}}}
	var list []*judge.Judged // one of each benchmark, whatever its value types
	seen, quiet := map[testrun.Benchmark]bool{}, 0
	for i := range r.Benchmarks {
		x := &r.Benchmarks[i]
		if b := (testrun.Benchmark{Group: x.Group, Name: x.Benchmark}); !seen[b] {
			seen[b], list = true, append(list, x)
		}
	}
	for _, x := range list {
		if x.Outcome.Status == report.Unchanged && len(list) > fewStates && !all {
			quiet++
		} else {
			t.Add(testrun.Benchmark{Group: x.Group, Name: x.Benchmark}.String(), x.Outcome.Says)
		}
	}
	if t.Len() > 0 {
		if err := t.Write(o); err != nil {
			return err
		}
	}
	if quiet > 0 {
		fmt.Fprintf(o.W, "%s unchanged (--all)\n", words.Counted(quiet, "more benchmark"))
	}
	return nil
}

// compared writes what was compared of each benchmark, and how small a change would have
// been detected.
func compared(o *table.Output, list []*judge.Judged) error {
	t := &table.Table{Columns: []table.Column{{Name: "benchmark"}, {Name: "runs", Right: true}, {Name: "history", Right: true},
		{Name: "findings explain"}}}
	for _, b := range list {
		name := words.Clean(testrun.Benchmark{Group: b.Group, Name: b.Benchmark}.String())
		if b.Reason != "" {
			fmt.Fprintf(o.W, "%s: no verdict: %s\n", name, words.Clean(b.Reason))
			if len(b.Candidates) > 0 {
				fmt.Fprintln(o.W, "    the largest changes of share between the newest run and those before, which may be noise:")
			}
			for _, c := range words.First(b.Candidates, 5) {
				fmt.Fprintf(o.W, "    %s  %s\n", words.SignedPercent(c.Share), words.Clean(c.Function))
			}
		}
		for _, text := range b.Remarks() {
			fmt.Fprintf(o.W, "%s: %s\n", name, text)
		}
		a := regression.Most(b.Analyses)
		if a == nil {
			continue
		}
		row := []any{name, len(a.Tested), len(a.History), report.Explained(a)}
		for _, c := range a.Detectable.Changes {
			if t.Len() == 0 {
				t.Columns = append(t.Columns, table.Column{Name: words.Percent(c.Share), Right: true, Text: table.Percent})
			}
			row = append(row, c.Change)
		}
		t.Add(row...)
	}
	if t.Len() == 0 {
		return nil
	}
	fmt.Fprintln(o.W, "the smallest change that is detected with a chance of 80%, by the share of the program that a function uses:")
	return t.Write(o)
}

// Correlations writes functions by their correlation with time, but for those without one.
func Correlations(o *table.Output, r *judge.CorrelationsResult) error {
	shown := *r
	shown.Rows = slices.DeleteFunc(slices.Clone(r.Rows), func(x judge.CorrelationRow) bool { return x.Score == 0 })
	shown.Omitted.Rows += len(r.Rows) - len(shown.Rows) - r.Zero
	uncorrelated(o, r.Zero)
	return ranking(o, shown.Table(false), r.Expanded)
}

// ranking writes a table of functions, and their contexts.
func ranking(o *table.Output, t *table.Table, expanded []*judge.Expanded) error {
	if err := t.Print(o); err != nil {
		return err
	}
	return contexts(o, expanded)
}

// Bottlenecks writes a ranking of functions, each followed by its contexts; formats for
// programs have the heaviest one in a column.
func Bottlenecks(o *table.Output, req *judge.BottlenecksRequest, r *judge.BottlenecksResult) error {
	notes := slices.Clone(r.Warnings)
	for _, x := range r.LeftOut {
		notes = append(notes, fmt.Sprintf("left out: %s without %s (--type %s)", words.Counted(x.Benchmarks, "benchmark"),
			r.Type.Name, x.Type))
	}
	o.Notes(notes)
	text := o.Format == "text"
	if text {
		fmt.Fprintf(o.W, "%s; %s of %s, %s\n", r.Measure, words.Counted(r.Profiles, "profile"), words.Counted(r.Benchmarks, "benchmark"),
			document.Whole(r.Value, r.Type.Scale).Amount(r.Type.Unit))
	}
	rows := r.Rows
	for text && r.Zero > 0 && len(rows) > 0 && rows[len(rows)-1].Score == 0 {
		rows = rows[:len(rows)-1]
	}
	if err := r.TableOf(rows, o.Exact()).Write(o); err != nil {
		return err
	}
	shown := len(rows)
	if len(r.Negative) > 0 && text {
		fmt.Fprintln(o.W, "\ndecreases when time increases:")
		if err := r.TableOf(r.Negative, o.Exact()).Write(o); err != nil {
			return err
		}
		shown += len(r.Negative)
	}
	if !o.Exact() {
		for _, x := range slices.Concat(rows, r.Negative) {
			plots(o, &x, r.Type)
		}
	}
	if text && !req.Negative {
		o.Omitted(r.Functions-r.Zero-shown, "function")
		uncorrelated(o, r.Zero)
	}
	if r.Expanded != nil {
		return contexts(o, []*judge.Expanded{r.Expanded})
	}
	return nil
}

// uncorrelated says how many functions text does not list.
func uncorrelated(o *table.Output, n int) {
	if n > 0 {
		fmt.Fprintf(o.Err, "%s %s correlation 0 (-o json lists them)\n", words.Count(n),
			map[bool]string{true: "function has", false: "functions have"}[n == 1])
	}
}

// plots draws a function over the runs of benchmarks.
func plots(o *table.Output, r *bottleneck.Row, t profile.ValueType) {
	if r.Score == 0 {
		return // it follows nothing
	}
	t.Scale = 0 // of points
	for i := range r.Plots {
		p := &r.Plots[i]
		if len(p.Points) == 0 {
			continue // a server may contradict itself
		}
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

// contexts writes expansions: as text, or as Markdown whose headings are functions.
func contexts(o *table.Output, list []*judge.Expanded) error {
	w, name := o.W, words.Clean
	if o.Format == "md" {
		name = func(s string) string { return "### " + table.Markdown(s) }
	}
	for _, x := range list {
		if x.Benchmark != "" {
			fmt.Fprintf(w, "\n%s\n", name(x.Benchmark))
		}
		for _, note := range x.Warnings {
			fmt.Fprintf(w, "note: %s\n", words.Clean(note))
		}
		for i := range x.Expansions {
			e := &x.Expansions[i]
			fmt.Fprintf(w, "\n%s: %s score %s\n", name(e.Function), x.Selection, twoDecimals(e.Prospect))
			if len(e.Children)+len(e.Parents) == 0 {
				fmt.Fprintln(w, "  no context to follow")
			}
			if err := traces(o, "called by", e.Parents, x.Type); err != nil {
				return err
			}
			if err := traces(o, "calls", e.Children, x.Type); err != nil {
				return err
			}
			if e.Truncated {
				fmt.Fprintf(w, "  more than %d paths; only these were followed (--max-breadth, --max-depth)\n", expansion.DefaultMaxTraces)
			}
		}
	}
	return nil
}

// why writes the reasons of a step, each with its weight.
func why(list []expansion.Reason) string {
	parts := column.Of(list, func(r expansion.Reason) string { return fmt.Sprintf("%s (%s)", r.Distance, twoDecimals(r.Weight)) })
	return strings.Join(parts, "; ")
}

// shownTraces is the maximum number of paths per direction in text; -o json has all.
const shownTraces = 4

// traces writes paths, the candidate first: what each function changed by in this
// context, and what that says of the candidate.
func traces(o *table.Output, title string, list []expansion.Trace, typ profile.ValueType) error {
	for i, trace := range words.First(list, shownTraces) {
		t := &table.Table{Columns: []table.Column{{Name: "  score", Right: true}, {Name: "candidate", Right: true}, {Name: "diff", Right: true},
			{Name: title}}}
		weighed := slices.ContainsFunc(trace, func(s expansion.Step) bool { return len(s.Why) > 0 })
		if weighed {
			t.Columns = append(t.Columns, table.Column{Name: "weight", Right: true}, table.Column{Name: "why"})
		}
		for depth, s := range trace {
			cells := []any{twoDecimals(s.CandidateScore), words.Difference(s.CandidateDiff, typ.Unit, typ.Scale),
				words.Difference(s.Diff, typ.Unit, typ.Scale), strings.TrimRight(indent(int32(depth))+s.Function+" "+s.Status, " ")}
			if weighed && len(s.Why) > 0 {
				cells = append(cells, "×"+twoDecimals(s.Weight), why(s.Why))
			} else if weighed {
				cells = append(cells, "", "")
			}
			t.Add(cells...)
		}
		if i > 0 || o.Format == "md" {
			fmt.Fprintln(o.W)
		}
		if err := t.Write(o); err != nil {
			return err
		}
	}
	if more := len(list) - shownTraces; more > 0 {
		fmt.Fprintf(o.W, "  %s (-o json)\n", words.Counted(more, "more path"))
	}
	return nil
}
