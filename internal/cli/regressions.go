package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/ingest"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// acknowledgedFile lists the changes that are known and accepted.
var acknowledgedFile = filepath.Join(".dendro", "acknowledged.json")

// regressionsOptions are the flags of `dendro regressions`.
type regressionsOptions struct {
	selection
	method  string
	measure string
	x, y    string
	history []string
	window  int
	scan    bool
	share   string
	alpha   float64
	impact  float64
	least   int
	rows    int
	all     bool
	expand  expandOptions
	output  outputFormat
}

func newRegressions(e *env) *cobra.Command {
	o := regressionsOptions{method: "default", measure: "total", x: "share", y: "time"}
	c := &cobra.Command{
		Use:   "regressions [flags]",
		Short: "Find what got slower, where, since when, by how much",
		Long: `Regressions compares the newest selected runs of each benchmark with the runs
before them on the same machine and branch, by the same profiler, and names the
places that cost more: function and call path, samples, share of the program and
time per operation with a 95 % interval, since which run, and what else it could
have been and is not. The newest run is tested alone (what is found is a suspect)
and together with the one before (confirmed). Work that only moved is no regression.

--method thesis ranks functions by the score of the thesis, (now - mean) / std
over the 10 runs before; --method correlation ranks them by how far their samples
go with the time of many benchmarks, to find a slower library that they share.`,
		Example: `  dendro regressions --type cpu
  dendro regressions --benchmark checkout --last 3
  dendro regressions --scan --since 30d -o json
  dendro regressions --method thesis --measure self --rows 10`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.output == "json" && !c.Flags().Changed("rows") {
				o.rows = 0
			}
			if o.method == "thesis" && !c.Flags().Changed("expand-score") {
				o.expand.score = "thesis"
			}
			return o.run(c.Context(), e)
		},
	}
	o.addFlags(c)
	f := c.Flags()
	f.Lookup("last").Usage = "test the newest `n` runs of each benchmark as one (default: 1, and 2 together)"
	f.Var(&choice{&o.method, []string{"default", "thesis", "correlation"}}, "method", "`how`: default, thesis, correlation")
	f.StringArrayVar(&o.history, "history", nil, "runs that count as history, `key=value` (branch, machine, commit, run, attr.KEY, since, until); repeatable")
	f.IntVar(&o.window, "window", 0, "history runs at most (default 30; thesis 10)")
	f.BoolVar(&o.scan, "scan", false, "look for changes of unknown age: the newest 1, 2, 3, 5, 8, 13 runs")
	f.Float64Var(&o.alpha, "alpha", 0, "`probability` of a false finding per benchmark (default 0.0025 for one run, 0.02 for more)")
	f.StringVar(&o.share, "min-share", "0.1%", "least `share` of the program that matters")
	f.Float64Var(&o.impact, "min-impact", 0, "least impact in standard deviations of a sample count of the program (default 0.75; stable native programs 0.25)")
	f.StringVar(&o.measure, "measure", "total", "of --method thesis: total, self, potential:`n`")
	f.Var(&choice{&o.x, []string{"share", "samples"}}, "x", "of --method correlation: `what` of a function, share or samples")
	f.Var(&choice{&o.y, []string{"time", "raw"}}, "y", "of --method correlation: `what` of the metric, time or raw")
	f.IntVar(&o.least, "least-occurrences", 2, "of --method correlation: least `n` profiles of a benchmark with the function and a metric")
	f.IntVar(&o.rows, "rows", 25, "print `n` findings at most (0: all)")
	f.BoolVar(&o.all, "all", false, "print benchmarks without findings too, with what was moved and what went away")
	o.expand.addFlags(c)
	o.output.addFlag(c, "text", "json", "md")
	return c
}

func (o *regressionsOptions) run(ctx context.Context, e *env) error {
	if o.least < 2 {
		return usagef("--least-occurrences is %d; a correlation needs 2", o.least)
	}
	if o.rows < 0 || o.window < 0 || o.alpha < 0 || o.alpha >= 1 || o.impact < 0 {
		return usagef("--rows, --window and --min-impact must not be negative, --alpha is below 1")
	}
	if o.scan && o.query.Last > 0 {
		return usagef("--scan chooses the tested runs itself: leave out --last")
	}
	if err := o.expand.check(o.output); err != nil {
		return err
	}
	return o.ask(ctx, e, engines.Read, func(st store.Store, q store.Query) error {
		list, err := st.Profiles(ctx, q)
		if err != nil {
			return err
		}
		if err := oneName(list, q); err != nil {
			return err
		}
		switch o.method {
		case "thesis":
			return o.thesis(ctx, e, st, q)
		case "correlation":
			return o.correlation(ctx, e, st, q)
		}
		return o.find(ctx, e, st, q)
	})
}

// oneName demands value types of one name; runs of another sample rate than the
// newest are left out of a history, and that is said.
func oneName(list []store.Profile, q store.Query) error {
	for i := range list {
		if list[i].Type.Name != list[0].Type.Name {
			return store.OneType(list, q)
		}
	}
	if len(list) == 0 {
		return store.OneType(list, q)
	}
	return nil
}

// request turns the flags into what is asked.
func (o *regressionsOptions) request(q store.Query) (regression.Request, error) {
	req := regression.Request{K: q.Last, Scan: o.scan, Window: o.window, Now: time.Now()}
	share, err := parseShare(o.share)
	if err != nil {
		return req, err
	}
	req.Options = regression.Options{Alpha: o.alpha, MinShare: share, Impact: o.impact}
	if req.History, err = historyFilter(o.history); err != nil {
		return req, err
	}
	req.Acknowledged, err = readAcknowledged(acknowledgedFile)
	return req, err
}

// historyFilter parses the values of --history.
func historyFilter(texts []string) (*store.Query, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	q := &store.Query{}
	for _, t := range texts {
		key, value, ok := strings.Cut(t, "=")
		var err error
		switch {
		case !ok:
			err = usagef("--history %q is not key=value", t)
		case key == "branch":
			q.Branches = append(q.Branches, value)
		case key == "machine":
			q.Machines = append(q.Machines, value)
		case key == "commit":
			q.Commits = append(q.Commits, value)
		case key == "run":
			q.Runs = append(q.Runs, value)
		case key == "since":
			q.Since, err = dateFlag("--history since", value)
		case key == "until":
			q.Until, err = dateFlag("--history until", value)
		case strings.HasPrefix(key, "attr."):
			if q.Attributes == nil {
				q.Attributes = map[string]string{}
			}
			q.Attributes[strings.TrimPrefix(key, "attr.")] = value
		default:
			err = usagef("--history: %q is none of branch, machine, commit, run, attr.KEY, since, until", key)
		}
		if err != nil {
			return nil, err
		}
	}
	return q, nil
}

// readAcknowledged reads the list of accepted changes; no file is an empty list.
func readAcknowledged(name string) ([]regression.Acknowledgement, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []struct {
		regression.Acknowledgement
		Until string `json:"until"`
	}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("acknowledged changes: %s: %w", name, err)
	}
	var out []regression.Acknowledgement
	for i, a := range list {
		if a.Until != "" {
			if a.Acknowledgement.Until, err = ingest.ParseDate(a.Until); err != nil {
				return nil, fmt.Errorf("acknowledged changes: %s: entry %d: %w", name, i+1, err)
			}
		}
		out = append(out, a.Acknowledgement)
	}
	return out, nil
}

// findingsAnswer is docs/schema/findings.md.
type findingsAnswer struct {
	Findings   []regression.Finding `json:"findings"`
	Benchmarks []benchmarkAnswer    `json:"benchmarks"`
	Expanded   []*expanded          `json:"expanded,omitempty"`
}

type benchmarkAnswer struct {
	Group      string                 `json:"group,omitempty"`
	Benchmark  string                 `json:"benchmark"`
	Type       string                 `json:"type"`
	Verdict    bool                   `json:"verdict"`
	Reason     string                 `json:"reason,omitempty"` // why there is none
	Findings   int                    `json:"findings"`
	LeftOut    []history.LeftOut      `json:"leftOut"`
	Warnings   []string               `json:"warnings"`
	Analyses   []*regression.Analysis `json:"analyses"`
	Candidates []regression.Candidate `json:"candidates"`
}

func (o *regressionsOptions) find(ctx context.Context, e *env, st store.Store, q store.Query) error {
	req, err := o.request(q)
	if err != nil {
		return err
	}
	res, err := regression.Find(ctx, st, q, req)
	if err != nil {
		return err
	}
	x, err := o.expandRanked(ctx, st, q, ofFindings(limit(res.Findings, o.rows)))
	if err != nil {
		return err
	}
	switch o.output {
	case "json":
		a := findingsJSON(res, o.rows)
		a.Expanded = x
		return e.writeJSON(a)
	case "md":
		return o.printTable(e, res)
	}
	o.printText(e, res)
	for _, x := range x {
		x.print(e.out)
	}
	return nil
}

func findingsJSON(res *regression.Result, rows int) findingsAnswer {
	a := findingsAnswer{Findings: limit(res.Findings, rows), Benchmarks: []benchmarkAnswer{}}
	if a.Findings == nil {
		a.Findings = []regression.Finding{}
	}
	for _, b := range res.Benchmarks {
		ba := benchmarkAnswer{Group: b.Benchmark.Group, Benchmark: b.Benchmark.Name, Type: b.Type.Name, Verdict: len(b.Analyses) > 0, Reason: b.Reason, Findings: len(b.Findings),
			LeftOut: b.LeftOut, Warnings: b.Warnings, Analyses: b.Analyses, Candidates: b.Ranked}
		if ba.LeftOut == nil {
			ba.LeftOut = []history.LeftOut{}
		}
		if ba.Warnings == nil {
			ba.Warnings = []string{}
		}
		if ba.Analyses == nil {
			ba.Analyses = []*regression.Analysis{}
		}
		if ba.Candidates == nil {
			ba.Candidates = []regression.Candidate{}
		}
		a.Benchmarks = append(a.Benchmarks, ba)
	}
	return a
}

// shown reports whether a finding is printed without --all.
func (o *regressionsOptions) shown(f *regression.Finding) bool {
	return o.all || f.Status != regression.WentAway && f.Kind != regression.Moved
}

// printTable prints a line per finding.
func (o *regressionsOptions) printTable(e *env, res *regression.Result) error {
	tb := &table{columns: []column{{name: "status"}, {name: "kind"}, {name: "share", right: true, text: signedPercent}, {name: "cost", right: true}, {name: "score", right: true},
		{name: "function"}, {name: "caller"}, {name: "benchmark"}, {name: "since"}}}
	for i := range limit(res.Findings, o.rows) {
		f := &res.Findings[i]
		if o.shown(f) {
			tb.add(statusText(f), string(f.Kind), f.Delta.Share, cost(f), fmt.Sprintf("%.1f", f.Score), f.Function, f.Caller, benchmarkOf(f), f.Since.Run)
		}
	}
	return tb.print(e, o.output)
}

func benchmarkOf(f *regression.Finding) string {
	return testrun.Benchmark{Group: f.Group, Name: f.Benchmark}.String()
}

func statusText(f *regression.Finding) string {
	if f.Acknowledged != nil {
		return "acknowledged"
	}
	return string(f.Status)
}

// cost writes a finding's time with its interval: +1.9 ms/op (1.6 … 2.2).
func cost(f *regression.Finding) string {
	t := f.Delta.Time
	if t == nil {
		return ""
	}
	what, per, _ := strings.Cut(t.Unit, "/")
	seconds, ok := testrun.Seconds(what)
	if !ok {
		return fmt.Sprintf("%+.3g %s (%.3g … %.3g)", t.Value, t.Unit, t.Low, t.High)
	}
	if per != "" {
		per = "/" + per
	}
	scale, unit := timeScale(math.Abs(t.Value * seconds))
	k := seconds / scale
	return fmt.Sprintf("%+.3g %s%s (%.3g … %.3g)", t.Value*k, unit, per, t.Low*k, t.High*k)
}

// timeScale returns the unit of time in which a number of seconds reads well.
func timeScale(s float64) (scale float64, unit string) {
	switch {
	case s >= 1:
		return 1, "s"
	case s >= 1e-3:
		return 1e-3, "ms"
	case s >= 1e-6:
		return 1e-6, "µs"
	}
	return 1e-9, "ns"
}

// printText prints findings for people, by benchmark, and what could have been
// found.
func (o *regressionsOptions) printText(e *env, res *regression.Result) {
	printed, left, silent := 0, 0, 0
	for i := range res.Findings {
		f := &res.Findings[i]
		switch {
		case !o.shown(f):
			left++
		case o.rows > 0 && printed == o.rows:
			silent++
		default:
			e.printFinding(f)
			printed++
		}
	}
	if printed == 0 {
		fmt.Fprintln(e.out, "no findings")
	}
	quiet := 0
	for i := range res.Benchmarks {
		b := &res.Benchmarks[i]
		if len(b.Findings) == 0 && b.Reason == "" && len(b.Warnings) == 0 && len(res.Benchmarks) > 8 && !o.all {
			quiet++
			continue
		}
		e.printBenchmark(b)
	}
	if quiet > 0 {
		fmt.Fprintf(e.out, "%d more %s without findings (--all)\n", quiet, plural(quiet, "benchmark"))
	}
	if left > 0 {
		fmt.Fprintf(e.err, "%d that moved or went away not shown (--all)\n", left)
	}
	if silent > 0 {
		fmt.Fprintf(e.err, "%d more findings (--rows)\n", silent)
	}
}

// printFinding prints one finding in some lines.
func (e *env) printFinding(f *regression.Finding) {
	name := escape(f.Function)
	if name == "" {
		name = f.Note
	}
	head := fmt.Sprintf("%s %s  %s  %+.1f %%  %s", statusText(f), f.Kind, escape(benchmarkOf(f)), 100*f.Delta.Share, name)
	if f.Presence != "" {
		head += " (" + string(f.Presence) + ")"
	}
	fmt.Fprintln(e.out, head)
	line := func(label, format string, args ...any) {
		fmt.Fprintf(e.out, "    %-10s %s\n", label, fmt.Sprintf(format, args...))
	}
	if f.Caller != "" {
		line("called by", "%s", escape(f.Caller))
	}
	if len(f.Path) > 0 {
		line("path", "%s", escape(strings.Join(f.Path, ";")))
	}
	for _, p := range limit(f.Parts, 5) {
		line("part", "%+.1f samples  %s", p.Delta, escape(strings.Join(below(p.Path, f.Path), ";")))
	}
	amount := ""
	if f.Delta.Samples != 0 {
		amount = fmt.Sprintf("%+.1f samples per run, %.1f %% of the program before", f.Delta.Samples, 100*f.Delta.Before)
	}
	if c := cost(f); c != "" {
		amount = strings.TrimSuffix(c+", "+amount, ", ")
	}
	if amount != "" {
		line("cost", "%s", amount)
	}
	since := f.Since.Run
	if f.Since.Commit != "" {
		since += " (" + f.Since.Commit[:min(10, len(f.Since.Commit))] + ")"
	}
	line("since", "%s, last good %s; score %.1f", escape(since), escape(f.Since.LastGood), f.Score)
	if name != f.Note && f.Note != "" {
		line("note", "%s", f.Note)
	}
	for _, r := range f.RuledOut {
		line("not", "%s: %s", r.Cause, r.Evidence)
	}
	if f.Acknowledged != nil {
		line("accepted", "%s", escape(f.Acknowledged.Reason))
	}
}

// below returns the part of a path that is not the path above; its last frame at
// least.
func below(path, above []string) []string {
	n := 0
	for n < len(path)-1 && n < len(above) && path[n] == above[n] {
		n++
	}
	return path[n:]
}

// printBenchmark says what was compared and what could have been found.
func (e *env) printBenchmark(b *regression.Benchmark) {
	name := escape(b.Benchmark.String())
	if b.Reason != "" {
		fmt.Fprintf(e.out, "%s: no verdict: %s\n", name, escape(b.Reason))
		for _, c := range limit(b.Ranked, 5) {
			fmt.Fprintf(e.out, "    %+.2f %%  %s\n", 100*c.Share, escape(c.Function))
		}
	}
	for _, w := range b.Warnings {
		fmt.Fprintf(e.out, "%s: %s\n", name, escape(w))
	}
	for _, l := range b.LeftOut {
		fmt.Fprintf(e.out, "%s: %d %s left out: %s\n", name, l.Runs, plural(l.Runs, "run"), l.Reason)
	}
	if len(b.Analyses) == 0 {
		return
	}
	for _, a := range limit(b.Analyses, 2) {
		e.printPower(name, a)
	}
	if a := b.Analyses[0]; a.Noisy > 1 {
		fmt.Fprintf(e.out, "    its own history gives findings in %d of %d tests: the threshold is a score of %.1f\n", a.Noisy, a.Blocks, a.Threshold)
	}
}

// printPower says how small a change a comparison finds, and what would make it
// smaller.
func (e *env) printPower(name string, a *regression.Analysis) {
	d := a.Detectable
	var sizes []string
	for _, c := range d.Changes {
		sizes = append(sizes, fmt.Sprintf("%.1f %% (function of %.0f %%)", 100*c.Change, 100*c.Share))
	}
	fmt.Fprintf(e.out, "%s: %s against %d: finds in 4 of 5 cases a change of %s\n", name, escape(strings.Join(a.Tested, " ")), len(a.History), strings.Join(sizes, ", "))
	if len(a.Tested) == 1 {
		fmt.Fprintf(e.out, "    at 5 %%: with 4 times the samples %.1f %%, with one more run %.1f %%, with 3 runs %.1f %%\n", 100*d.FourTimesTheSamples, 100*d.OneMoreRun, 100*d.ThreeRuns)
	}
}

func (o *regressionsOptions) thesis(ctx context.Context, e *env, st store.Store, q store.Query) error {
	m, err := regression.ParseMeasure(o.measure)
	if err != nil {
		return usageError{err}
	}
	res, err := regression.Thesis(ctx, st, q, m, o.window)
	if err != nil {
		return err
	}
	for _, w := range res.Warnings {
		fmt.Fprintln(e.err, escape(w))
	}
	tb := &table{columns: []column{{name: "score", right: true, text: func(v any) string { return fmt.Sprintf("%.4f", v) }}, {name: "expected", right: true, text: tenth},
		{name: "actual", right: true, text: tenth}, {name: "diff", right: true, text: tenth}, {name: "status"}, {name: "function"}, {name: "benchmark"}, {name: "run"}}}
	for _, r := range limit(res.Rows, o.rows) {
		tb.add(r.Score, r.Expected, r.Actual, r.Diff, r.Status, r.Function, testrun.Benchmark{Group: r.Group, Name: r.Benchmark}.String(), r.Run)
	}
	x, err := o.expandRanked(ctx, st, q, ofThesis(limit(res.Rows, o.rows)))
	if err != nil {
		return err
	}
	return o.printRanked(e, tb, len(res.Rows), x)
}

func tenth(v any) string { return fmt.Sprintf("%.1f", v) }

func (o *regressionsOptions) correlation(ctx context.Context, e *env, st store.Store, q store.Query) error {
	res, err := bottleneck.Find(ctx, st, q, bottleneck.Options{Rank: bottleneck.Correlation, Correlating: o.correlating()})
	if err != nil {
		return err
	}
	for _, w := range res.Warnings {
		fmt.Fprintln(e.err, escape(w))
	}
	list := res.Rows
	for _, r := range slices.Backward(res.Negative) {
		list = append(list, r)
	}
	tb := &table{columns: []column{{name: "score", right: true, text: func(v any) string { return fmt.Sprintf("%.3f", v) }}, {name: "benchmarks", right: true}, {name: "profiles", right: true}, {name: "function"}}}
	for _, r := range limit(list, o.rows) {
		tb.add(r.Score, r.Benchmarks, r.Profiles, r.Function)
	}
	x, err := o.expandCorrelated(ctx, st, q, limit(list, o.rows))
	if err != nil {
		return err
	}
	return o.printRanked(e, tb, len(list), x)
}
