package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/query"
)

func newTaskSegments(e *env) *cobra.Command {
	c := &cobra.Command{
		Use:   "segments TASK [flags]",
		Short: "List the requests that a task sampled, with their coverage",
		Long: `List the segments that a task sampled, newest first. A segment is the part of a request
that ran in one thread.

  received, expected  dumps that arrived, and dumps that the period of the task implies
  lost                dumps that the agent took and that did not arrive
  covered             share of the segment's time between two consecutive dumps; an
                      analysis shows nothing of the rest
  period              time between two dumps, as measured; an agent that is slower than
                      the period of the task loses no dumps`,
		Example: `  dendro task segments last
  dendro task segments last --spans
  dendro task segments 1795215559054 -o json | jq '.rows[].segment'`,
	}
	return taskCommand(e, c, engines.Read, query.TaskSegments, printTaskSegments, tableFormats...)
}

func printTaskSegments(e *env, result any, format outputFormat) error {
	var t *table
	var causes []string
	switch r := result.(type) {
	case *query.TaskSegmentsResult[query.TaskSegment]:
		t, causes = segmentTable(r.Rows), query.CauseLines(r.Causes)
	case *query.TaskSegmentsResult[query.TaskSpan]:
		t, causes = spanTable(r.Rows, format), query.CauseLines(r.Causes)
	}
	if len(t.rows) == 0 {
		fmt.Fprintln(e.err, "dendro: the task has no snapshots")
	} else if err := t.print(e, format); err != nil {
		return err
	}
	for _, line := range causes {
		fmt.Fprintln(e.err, "dendro: "+line)
	}
	return nil
}

func segmentTable(rows []query.TaskSegment) *table {
	t := &table{columns: []column{{name: "segment"}, {name: "trace"}, {name: "instance"}, {name: "endpoint"}, {name: "start", text: instant}, {name: "latency", right: true, text: millis},
		{name: "received", right: true}, {name: "expected", right: true}, {name: "lost", right: true}, {name: "covered", right: true, text: percent}, {name: "period", right: true, text: millis}}}
	for i := range rows {
		s := &rows[i]
		if !s.Known {
			t.add(s.Segment, "", "", "", nil, nil, s.Received, nil, s.Lost, nil, s.Period)
			continue
		}
		t.add(s.Segment, s.Trace, s.Instance, s.Endpoint, s.Start, s.Latency, s.Received, s.Expected, s.Lost, s.Share, s.Period)
	}
	return t
}

// spanTable lists spans; text indents a span below the one that contains it.
func spanTable(rows []query.TaskSpan, format outputFormat) *table {
	t := &table{columns: []column{{name: "segment"}, {name: "span", right: true}, {name: "kind"}, {name: "start", right: true}, {name: "duration", right: true, text: millis}, {name: "operation"}}}
	for _, s := range rows {
		if format == "text" {
			s.Operation = strings.Repeat("  ", int(s.Depth)) + s.Operation
		}
		t.add(s.Segment, s.Span, s.Kind, s.Start, s.Duration, s.Operation)
	}
	return t
}
