package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/excerpt"
	"github.com/dendroprof/dendro/internal/query"
	"github.com/dendroprof/dendro/internal/spans"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/traceprof"
	"github.com/dendroprof/dendro/traceprof/archive"
)

// taskAnalyzeOptions are the flags of `dendro task analyze`.
type taskAnalyzeOptions struct {
	excerptOptions
	cutOptions
	snapshots int
	limits    profile.Limits
	output    destination
}

func newTaskAnalyze(e *env) *cobra.Command {
	o := taskAnalyzeOptions{cutOptions: page}
	c := &cobra.Command{
		Use:   "analyze [TASK | FILE.tar.gz] [flags]",
		Short: "Show where the time of sampled requests was spent",
		Long: `Analyze merges the snapshots of requests into trees, one for each outermost frame: of
all that a task sampled, of one trace or segment, of one span, or of a part of a
segment's time. A file that ` + "`dendro task export`" + ` or SkyWalking's profile_exporter wrote
is analyzed the same, without a store.

Total is for how long an element was on the stack without a break, as far as the
dumps show it: from the first dump that has it to the last. Self is what is left
without its callees. The only callee of an element stands below it without a further
indentation, marked ↳. The numbers are those of SkyWalking's own clients; -o pprof, folded,
firefox, html and svg show the same snapshots as a profile, where each counts one
period, a line is not a node of its own, and the frames of the agent are left out.`,
		Example: `  dendro task analyze last
  dendro task analyze --segment 7f2b…  --span 3 --own
  dendro task analyze last --trace 9c01… --range 120..480
  dendro task analyze 9c01….tar.gz -o json
  dendro task analyze last -o flame.html`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, e, args) },
	}
	o.excerptOptions.addFlags(c)
	o.cutOptions.addFlags(c)
	c.Flags().IntVar(&o.snapshots, "limit", traceprof.DefaultLimit, "at most `n` snapshots")
	addLimits(c, &o.limits)
	o.output.addFlag(c, "text", "json", "folded", "pprof", "firefox", "html", "svg")
	return c
}

// excerptOptions are the flags that say what of the sampled time is meant.
type excerptOptions struct {
	choice excerpt.Choice
	span   int32
	part   string
}

func (o *excerptOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&o.choice.Segments, "segment", nil, "`id` of a segment; repeatable")
	f.StringVar(&o.choice.Trace, "trace", "", "`id` of a trace")
	f.Int32Var(&o.span, "span", 0, "of one segment: the time of the span with this `number` (task segments --spans)")
	f.BoolVar(&o.choice.Own, "own", false, "without the time of the spans in that span, or in the segment's first")
	f.StringVar(&o.part, "range", "", "of one segment: a part of its time, `from..to` in ms since its start")
}

// settle completes the choice from the flags.
func (o *excerptOptions) settle(c *cobra.Command) error {
	if c.Flags().Changed("span") {
		o.choice.Span = &o.span
	}
	if o.part == "" {
		return nil
	}
	p := excerpt.Part{To: math.MaxInt32}
	from, to, ok := strings.Cut(o.part, "..")
	for _, end := range []struct {
		text string
		to   *int64
	}{{from, &p.From}, {to, &p.To}} {
		if end.text == "" {
			continue
		}
		n, err := strconv.ParseInt(end.text, 10, 32)
		ok = ok && err == nil
		*end.to = n
	}
	if !ok {
		return usagef("--range %q is not from..to in ms", o.part)
	}
	o.choice.Part = &p
	return nil
}

func (o *taskAnalyzeOptions) run(c *cobra.Command, e *env, args []string) error {
	if err := errors.Join(o.excerptOptions.settle(c), o.cutOptions.settle(c, o.output.format)); err != nil {
		return err
	}
	ctx := c.Context()
	if len(args) == 1 {
		f, err := os.Open(args[0])
		switch {
		case err == nil:
			return errors.Join(o.file(ctx, e, f), f.Close())
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return e.withTraces(ctx, engines.Read, func(st traceprof.Store) error {
		if len(args) == 1 {
			t, err := findTask(ctx, st, args[0])
			if errors.Is(err, traceprof.ErrNoTask) {
				return fmt.Errorf("there is no such file, and %w", err)
			}
			if err != nil {
				return err
			}
			o.choice.Task = t.ID
		}
		return o.show(ctx, e, st, (*excerpt.Segment).Spans)
	})
}

// file analyzes an archive.
func (o *taskAnalyzeOptions) file(ctx context.Context, e *env, f *os.File) error {
	a, err := archive.Read(bufio.NewReader(f), o.limits)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	st, err := engines.Open(ctx, "mem:", engines.Write)
	if err != nil {
		return err
	}
	traces := st.(traceprof.Store) // the engine in memory keeps everything
	if err := a.Put(ctx, traces); err != nil {
		return errors.Join(err, st.Close())
	}
	o.choice.Task = a.Task
	return errors.Join(o.show(ctx, e, traces, func(s *excerpt.Segment) ([]spans.Span, error) {
		for i := range a.Segments {
			if a.Segments[i].ID == s.ID {
				return a.Segments[i].Spans, nil
			}
		}
		return nil, nil
	}), st.Close())
}

// show prints what was chosen.
func (o *taskAnalyzeOptions) show(ctx context.Context, e *env, st traceprof.Store, spansOf func(*excerpt.Segment) ([]spans.Span, error)) error {
	list, err := o.choice.Find(ctx, st)
	if err != nil {
		return choiceUsage(err)
	}
	ranges, err := o.choice.RangesOf(list, spansOf)
	if err != nil {
		return choiceUsage(err)
	}
	switch o.output.format {
	case "text", "json":
		result, err := traceprof.Analyze(ctx, st, ranges, traceprof.AnalyzeOptions{Limit: o.snapshots})
		if err != nil {
			return err
		}
		return o.output.write(e, func(e *env) error { return o.print(e, result, len(list)) })
	}
	p, err := o.choice.TimedOf(ctx, st, list, ranges)
	if err != nil {
		return err
	}
	return o.output.write(e, func(e *env) error { return o.profile(e, p) })
}

// choiceUsage makes a choice that makes no sense a mistake of the call.
func choiceUsage(err error) error {
	if errors.Is(err, excerpt.ErrChoice) {
		return usageError{err}
	}
	return err
}

// profile writes the snapshots as a profile, or draws it.
func (o *taskAnalyzeOptions) profile(e *env, p *profile.Profile) error {
	if o.output.format != "html" && o.output.format != "svg" {
		return writeProfile(e, p, -1, "", string(o.output.format))
	}
	g, err := query.Graph(context.Background(), nil, &query.TreeRequest{View: "flame", Sort: "total", Inputs: []query.Input{query.NewInput(o.choice.String(), p, nil)},
		Cut: query.Cut{Depth: o.cutOptions.depth, MinPercent: o.cutOptions.minPercent, Rows: o.cutOptions.rows}})
	if err != nil {
		return err
	}
	out := o.output
	out.file = "" // it is open
	return out.draw(e, g)
}
