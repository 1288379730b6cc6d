package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/expansion"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// expandOptions are the flags of commands that expand the functions they rank into
// the contexts that matter.
type expandOptions struct {
	selection string // --expand; empty: do not
	direction string
	score     string
	top       int
	reverse   bool
	repo      string
	revision  string
	expansion.Options
}

func (o *expandOptions) addFlags(c *cobra.Command) {
	o.direction, o.score = "both", "counts"
	f := c.Flags()
	f.Var(&choice{&o.selection, []string{"greedy", "informed", "correlation"}}, "expand", "search the contexts of the functions, and follow what is chosen by `how`: greedy, informed, correlation")
	f.Var(&choice{&o.direction, []string{"callers", "callees", "both"}}, "expand-to", "expand to `what`: callers, callees, both")
	f.IntVar(&o.top, "expand-top", 5, "expand the first `n` functions (0: all)")
	f.IntVar(&o.MaxDepth, "max-depth", expansion.DefaultMaxDepth, "expand to paths of `n` functions at most")
	f.IntVar(&o.MaxBreadth, "max-breadth", expansion.DefaultMaxBreadth, "follow the best `n` extensions of a path")
	f.Float64Var(&o.Threshold, "threshold", 0, "stop where the `score` of the function in the context is not above this")
	f.Var(&choice{&o.score, []string{"thesis", "counts"}}, "expand-score", "of greedy and informed: `what` a change is held against: the scatter of the history (thesis), or that and the scatter of counts, so that new contexts have a score too (counts)")
	f.BoolVar(&o.reverse, "expand-reverse", false, "of correlation: follow what falls when time grows")
	f.StringVar(&o.repo, "repo", "", "of informed: `directory` of the git repository of the code, to prefer what changed lately")
	f.StringVar(&o.revision, "repo-revision", "", "`revision` of --repo (default: the commit of the newest run if the repository has it, else HEAD)")
}

// check demands sensible values.
func (o *expandOptions) check(format outputFormat) error {
	switch {
	case o.MaxDepth < 1 || o.MaxBreadth < 1 || o.top < 0:
		return usagef("--max-depth and --max-breadth are 1 or more, --expand-top is not negative")
	case math.IsNaN(o.Threshold):
		return usagef("--threshold is not a number")
	case o.selection != "" && format != "text" && format != "json":
		return usagef("--expand is printed as text or json")
	case o.repo != "" && o.selection != "informed":
		return usagef("--repo is for --expand informed")
	}
	return nil
}

// expanded is the JSON of expansions (docs/schema/bottlenecks.md).
type expanded struct {
	Benchmark  string                `json:"benchmark,omitempty"` // of regressions: whose runs are looked at
	Selection  string                `json:"selection"`
	Expansions []expansion.Expansion `json:"expansions"`
	Warnings   []string              `json:"warnings"`

	typ profile.ValueType // of the diffs
}

// expand searches the contexts of candidates in profiles, oldest first: of each
// benchmark the newest run is held against those before, or all are correlated.
func (o *expandOptions) expand(ctx context.Context, st store.Store, list []store.Profile, candidates []expansion.Candidate, c bottleneck.Correlating) (*expanded, error) {
	choose := history.Options{Extra: 1}
	if o.selection == "correlation" {
		choose = history.Options{AnyMachine: true, AnyProfiler: true, AnyBranch: true, Window: len(list)}
	}
	benchmarks := history.Choose(list, choose)
	d, err := expansion.Load(ctx, st, benchmarks, 1, o.selection == "informed")
	if err != nil {
		return nil, err
	}
	out := &expanded{Selection: o.selection, Warnings: []string{}, typ: list[0].Type}
	score := expansion.Score(expansion.Deviation)
	if o.score == "counts" {
		score = expansion.Counting(d.SampleUnit())
	}
	var sel expansion.Selection
	switch o.selection {
	case "correlation":
		sel = expansion.Correlated(d, c, o.reverse)
	case "informed":
		recency, err := o.recency(ctx, list)
		if err != nil {
			return nil, err
		}
		sel = expansion.Informed(score, recency)
		out.Warnings = append(out.Warnings, d.Warnings()...)
	default:
		sel = expansion.Greedy(score)
		out.Warnings = append(out.Warnings, d.Warnings()...)
	}
	opts := o.Options
	opts.NoChildren, opts.NoParents = o.direction == "callers", o.direction == "callees"
	out.Expansions = expansion.Expand(d, words.First(candidates, o.top), sel, opts)
	return out, nil
}

// recency reads the repository; nil without one.
func (o *expandOptions) recency(ctx context.Context, list []store.Profile) (expansion.Recency, error) {
	if o.repo == "" {
		return nil, nil
	}
	newest := newestRun(list)
	revision := o.revision
	if revision == "" {
		revision = newest.Commit
	}
	log, err := readLog(ctx, o.repo, revision)
	if err != nil && o.revision == "" && revision != "" {
		log, err = readLog(ctx, o.repo, "")
	}
	if err != nil {
		return nil, err
	}
	now := log.Date
	if newest.Date.After(now) {
		now = newest.Date
	}
	return func(f *profile.Function) (time.Duration, bool) {
		when, _, known := log.LastChange(f)
		return now.Sub(when), known
	}, nil
}

// newestRun returns the newest of the profiles' runs.
func newestRun(list []store.Profile) testrun.Run {
	newest := list[0].Run
	for i := range list {
		if newest.Before(list[i].Run) {
			newest = list[i].Run
		}
	}
	return newest
}

// print writes expansions for people.
func (x *expanded) print(w io.Writer) {
	if x.Benchmark != "" {
		fmt.Fprintf(w, "\n%s\n", words.Clean(x.Benchmark))
	}
	for _, text := range x.Warnings {
		fmt.Fprintf(w, "note: %s\n", words.Clean(text))
	}
	for i := range x.Expansions {
		e := &x.Expansions[i]
		fmt.Fprintf(w, "\n%s: %s score %s\n", words.Clean(e.Function), x.Selection, number(e.Prospect))
		if len(e.Children)+len(e.Parents) == 0 {
			fmt.Fprintln(w, "  no context to follow")
		}
		printTraces(w, "called by", e.Parents, x.typ)
		printTraces(w, "calls", e.Children, x.typ)
		if e.Truncated {
			fmt.Fprintf(w, "  more than %d paths; only these were followed (--max-breadth, --max-depth)\n", expansion.DefaultMaxTraces)
		}
	}
}

// shownTraces is how many paths of a direction people get; -o json has all.
const shownTraces = 4

// printTraces writes paths, the candidate first: what each function changed by in
// this context, and what that says of the candidate.
func printTraces(w io.Writer, title string, traces []expansion.Trace, typ profile.ValueType) {
	for i, trace := range words.First(traces, shownTraces) {
		tb := &table{columns: []column{{name: "  score", right: true}, {name: "candidate", right: true}, {name: "diff", right: true}, {name: title}}}
		for depth, s := range trace {
			tb.add(number(s.CandidateScore), words.Difference(s.CandidateDiff, typ), words.Difference(s.Diff, typ), strings.TrimRight(indent(depth)+s.Function+" "+s.Status, " "))
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		_ = tb.aligned(w, false)
	}
	if more := len(traces) - shownTraces; more > 0 {
		fmt.Fprintf(w, "  %d more %s (-o json)\n", more, words.Plural(more, "path"))
	}
}

// number writes a score for people.
func number(v float64) string { return fmt.Sprintf("%.2f", v) }
