package tasks

import (
	"fmt"
	"strings"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/table"
	"github.com/dendroprof/dendro/traceprof"
)

func text(name string) table.Column  { return table.Column{Name: name} }
func count(name string) table.Column { return table.Column{Name: name, Right: true} }
func millis(name string) table.Column {
	return table.Column{Name: name, Right: true, Text: table.Millis}
}
func instant(name string) table.Column { return table.Column{Name: name, Text: table.Instant} }

// Table lists tasks.
func (r *TasksResult) Table(bool) *table.Table {
	t := &table.Table{Of: "task", Columns: []table.Column{text("task"), text("state"), text("kind"), text("service"), text("endpoint"),
		instant("start"),
		millis("duration"), millis("period"), millis("min duration"), count("max requests")}}
	for i := range r.Rows {
		k := &r.Rows[i]
		t.Add(k.ID, string(k.State), string(k.Kind), k.Service, k.Endpoint, k.Start, k.Duration, k.Period, k.MinDuration, k.MaxSegments)
	}
	return t
}

// String is the task, its coverage and the causes of missing data.
func (r *TaskResult) String() string {
	lines := []string{r.Task.String()}
	if r.Coverage != nil {
		lines = append(lines, CoverageText(r.Coverage))
	}
	return strings.Join(append(lines, CauseLines(r.Causes)...), "\n")
}

// Table lists the events of a task.
func (r *TaskLogResult) Table(bool) *table.Table {
	t := &table.Table{Of: "event", Omitted: r.Omitted.Rows,
		Columns: []table.Column{instant("time"), text("instance"), text("event"), text("text")}}
	for _, l := range r.Rows {
		t.Add(l.Time, l.Instance, string(l.Event), l.Text)
	}
	return t
}

// String is the change of a task in a line.
func (ev *TaskEvent) String() string { return ev.Time.Format("15:04:05") + "  " + ev.Text }

// Table lists the segments that a task sampled.
func (r *TaskSegmentsResult) Table(bool) *table.Table {
	t := sampled(r.Causes, len(r.Rows))
	t.Of, t.Omitted = "segment", r.Omitted.Rows
	t.Columns = []table.Column{text("segment"), text("trace"), text("instance"), text("endpoint"), instant("start"), millis("latency"),
		count("received"), count("expected"),
		count("lost"), {Name: "covered", Right: true, Text: table.Percent}, millis("period")}
	for i := range r.Rows {
		s := &r.Rows[i]
		if !s.Known {
			t.Add(s.Segment, "", "", "", nil, nil, s.Received, nil, s.Lost, nil, s.Period)
			continue
		}
		var expected any = s.Expected
		if s.CPU {
			expected = nil
		}
		t.Add(s.Segment, s.Trace, s.Instance, s.Endpoint, s.Start, s.Latency, s.Received, expected, s.Lost, s.Share, s.Period)
	}
	r.remark(t)
	return t
}

// maxRemarks bounds the segments whose missing dumps are explained.
const maxRemarks = 5

// remark adds an explanation of the dumps of segments that were expected and are neither
// received nor lost.
func (r *TaskSegmentsResult) remark(t *table.Table) {
	var list []string
	for i := range r.Rows {
		if why := fewer(&r.Rows[i].Coverage); why != "" {
			list = append(list, fmt.Sprintf("segment %s: %s", words.Clean(r.Rows[i].Segment), why))
		}
	}
	t.Remarks = append(t.Remarks, words.First(list, maxRemarks)...)
	if more := len(list) - maxRemarks; more > 0 {
		t.Remarks = append(t.Remarks, fmt.Sprintf("%d more segments have fewer snapshots than expected", more))
	}
}

// fewer explains the dumps of a segment that were expected and never made; empty if there are
// none but those of its first and last period.
func fewer(c *traceprof.Coverage) string {
	missing := c.Expected - (c.Received - c.Late) - c.Lost
	if missing <= 2 {
		return ""
	}
	var why []string
	if c.Period > 0 && c.Span/c.Period < c.Expected {
		why = append(why, fmt.Sprintf("the agent made one every %s", words.Millis(c.Period)))
	}
	if c.Holes > 0 {
		why = append(why, fmt.Sprintf("it made none for %s", words.Millis(c.Hole)))
	}
	if c.Late > 0 {
		why = append(why, fmt.Sprintf("%s of the received ones were made after the segment's end", words.Count(c.Late)))
	}
	if len(why) == 0 {
		why = append(why, "it made none before the first and after the last one")
	}
	return fmt.Sprintf("%s of %s expected snapshots were not made: %s", words.Count(missing), words.Count(c.Expected), strings.Join(why, ", "))
}

// Table lists the spans of the segments that a task sampled; text indents a span below the
// one that contains it.
func (r *TaskSpansResult) Table(bool) *table.Table {
	t := sampled(r.Causes, len(r.Rows))
	t.Of, t.Omitted = "span", r.Omitted.Rows
	t.Columns = []table.Column{text("segment"), count("span"), text("kind"), count("start"), millis("duration"), text("operation")}
	for _, s := range r.Rows {
		t.Add(s.Segment, s.Span, s.Kind, s.Start, s.Duration, table.Nested{Depth: s.Depth, Name: s.Operation})
	}
	return t
}

// sampled begins a table of what a task sampled, with the reason why there is not more.
func sampled(causes []traceprof.Cause, rows int) *table.Table {
	t := &table.Table{Remarks: CauseLines(causes)}
	if rows == 0 {
		t.Empty = "the task has no snapshots"
	}
	return t
}
