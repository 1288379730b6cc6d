package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/excerpt"
	"github.com/dendroprof/dendro/internal/spans"
	"github.com/dendroprof/dendro/traceprof"
)

// taskSegmentsOptions are the flags of `dendro task segments`.
type taskSegmentsOptions struct {
	spans  bool
	output outputFormat
}

func newTaskSegments(e *env) *cobra.Command {
	var o taskSegmentsOptions
	c := &cobra.Command{
		Use:   "segments TASK [flags]",
		Short: "List the requests that a task sampled, and how well",
		Long: `Segments lists what a task sampled, newest first: a segment is the part of a request
that ran in one thread. Beside each stand the dumps that came and those that were to
be expected, the ones that were lost on the way, and the share of the segment's time
that lies between dumps: of the rest an analysis cannot know. An agent that is slower
than the task's period shows in the period, not as loss.`,
		Example: `  dendro task segments last
  dendro task segments last --spans
  dendro task segments 1795215559054 -o json | jq '.rows[].segment'`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), e, args[0]) },
	}
	c.Flags().BoolVar(&o.spans, "spans", false, "list the spans of each segment, with the numbers that analyze --span takes")
	o.output.addFlag(c, "text", "json", "md", "tsv", "csv")
	return c
}

func (o *taskSegmentsOptions) run(ctx context.Context, e *env, name string) error {
	return e.withTask(ctx, engines.Read, name, func(st traceprof.Store, t traceprof.Task) error {
		if t.Kind != traceprof.TraceKind {
			return fmt.Errorf("task %s is of kind %s: its recordings are runs in the store (dendro runs --group %s)", t.ID, t.Kind, t.Service)
		}
		r, err := reportOn(ctx, st, t, t.End())
		if err != nil {
			return err
		}
		if len(r.Coverage.Segments) == 0 {
			return e.nothingSampled(&r, o.output)
		}
		choice := excerpt.Choice{Task: t.ID}
		list, err := choice.Find(ctx, st)
		if err != nil {
			return err
		}
		slices.Reverse(list)
		covered := map[string]traceprof.Coverage{}
		for _, c := range r.Coverage.Segments {
			covered[c.Segment] = c
		}
		if o.spans {
			return printSpans(e, list, o.output)
		}
		if err := segmentTable(list, covered).print(e, o.output); err != nil {
			return err
		}
		for i := range r.Causes {
			fmt.Fprintln(e.err, "dendro: "+causeText(&r.Causes[i]))
		}
		return nil
	})
}

// nothingSampled prints an empty list and says why it is.
func (e *env) nothingSampled(r *taskReport, format outputFormat) error {
	if format == "json" {
		if err := (&table{}).print(e, format); err != nil {
			return err
		}
	}
	fmt.Fprintf(e.err, "task %s has no snapshots\n", r.ID)
	for i := range r.Causes {
		fmt.Fprintln(e.err, causeText(&r.Causes[i]))
	}
	return nil
}

func segmentTable(list []excerpt.Segment, covered map[string]traceprof.Coverage) *table {
	t := &table{columns: []column{{name: "segment"}, {name: "trace"}, {name: "instance"}, {name: "endpoint"}, {name: "start", text: instant}, {name: "latency", right: true, text: millis},
		{name: "received", right: true}, {name: "expected", right: true}, {name: "lost", right: true}, {name: "covered", right: true, text: percent}, {name: "period", right: true, text: millis}}}
	for i := range list {
		s := &list[i]
		c := covered[s.ID]
		if !s.Known {
			t.add(s.ID, "", "", "", nil, nil, c.Received, nil, c.Lost, nil, c.Period)
			continue
		}
		t.add(s.ID, s.Trace, s.Instance, s.Endpoint, s.Start, s.Latency(), c.Received, c.Expected, c.Lost, c.Share(), c.Period)
	}
	return t
}

// printSpans lists the spans of segments, a span below the one it is in.
func printSpans(e *env, list []excerpt.Segment, format outputFormat) error {
	t := &table{columns: []column{{name: "segment"}, {name: "span", right: true}, {name: "kind"}, {name: "start", right: true}, {name: "duration", right: true, text: millis}, {name: "operation"}}}
	for i := range list {
		all, err := spans.Of(list[i].Raw)
		if err != nil {
			return err
		}
		for _, s := range nested(all) {
			name := s.Operation
			if format == "text" {
				name = strings.Repeat("  ", s.depth) + name
			}
			t.add(list[i].ID, s.ID, s.Kind, s.Start-list[i].Start, s.End-s.Start, name)
		}
	}
	return t.print(e, format)
}

// nestedSpan is a span with how many are around it.
type nestedSpan struct {
	spans.Span
	depth int
}

// nested orders spans so that each comes behind the one it is in, by start.
func nested(all []spans.Span) []nestedSpan {
	inner := map[int32][]spans.Span{}
	known := map[int32]bool{}
	for _, s := range all {
		known[s.ID] = true
	}
	for _, s := range all {
		parent := s.Parent
		if !known[parent] || parent >= s.ID { // agents number outer spans first
			parent = -1
		}
		inner[parent] = append(inner[parent], s)
	}
	var list []nestedSpan
	stack := []nestedSpan{}
	push := func(of int32, depth int) {
		next := inner[of]
		slices.SortStableFunc(next, func(a, b spans.Span) int { return cmp.Compare(a.Start, b.Start) })
		for _, s := range slices.Backward(next) {
			stack = append(stack, nestedSpan{s, depth})
		}
		delete(inner, of) // ids may repeat
	}
	for push(-1, 0); len(stack) > 0; {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		list = append(list, s)
		push(s.ID, s.depth+1)
	}
	return list
}
