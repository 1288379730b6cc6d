package render

import (
	"bufio"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/tasks"
	"github.com/dendroprof/dendro/traceprof"
)

// instant formats a cell that holds a time in ms since 1970.
func instant(v any) string {
	ms, _ := v.(int64)
	return words.Instant(ms)
}

// millis formats a cell that holds a length of time in ms; others stay empty.
func millis(v any) string {
	ms, ok := v.(int64)
	if !ok {
		return ""
	}
	return words.Millis(ms)
}

// Task writes a task in a line.
func Task(o *Output, t *tasks.Task) error {
	_, err := fmt.Fprintln(o.W, t)
	return err
}

// CreatedTask writes the id of a task, which other commands take, and describes the task
// on stderr.
func CreatedTask(o *Output, t *tasks.CreatedTask) error {
	fmt.Fprintln(o.Err, &t.Task)
	_, err := fmt.Fprintln(o.W, t.ID)
	return err
}

// Tasks writes a list of tasks.
func Tasks(o *Output, r *query.List[tasks.Task]) error {
	t := &Table{Columns: []Column{{Name: "task"}, {Name: "state"}, {Name: "kind"}, {Name: "service"}, {Name: "endpoint"},
		{Name: "start", Text: instant}, {Name: "duration", Right: true, Text: millis}, {Name: "period", Right: true, Text: millis}, {Name: "max requests", Right: true}}}
	for i := range r.Rows {
		k := &r.Rows[i]
		t.Add(k.ID, string(k.State), string(k.Kind), k.Service, k.Endpoint, k.Start, k.Duration, k.Period, k.MaxSegments)
	}
	return t.Write(o)
}

// TaskDescription writes a task, its coverage and the causes of missing data.
func TaskDescription(o *Output, r *tasks.TaskResult) error {
	lines := []string{r.Task.String()}
	if r.Coverage != nil {
		lines = append(lines, tasks.CoverageText(r.Coverage))
	}
	lines = append(lines, tasks.CauseLines(r.Causes)...)
	_, err := fmt.Fprintln(o.W, strings.Join(lines, "\n"))
	return err
}

// TaskLog writes the events of a task.
func TaskLog(o *Output, r *query.List[traceprof.Log]) error {
	t := &Table{Columns: []Column{{Name: "time", Text: instant}, {Name: "instance"}, {Name: "event"}, {Name: "text"}}}
	for _, l := range r.Rows {
		t.Add(l.Time, l.Instance, string(l.Event), l.Text)
	}
	return t.Write(o)
}

// TaskEvent writes a change of a task in a line.
func TaskEvent(o *Output, ev *tasks.TaskEvent) error {
	_, err := fmt.Fprintf(o.W, "%s  %s\n", ev.Time.Format("15:04:05"), ev.Text)
	return err
}

// TaskSegments writes the segments that a task sampled.
func TaskSegments(o *Output, r *tasks.TaskSegmentsResult[tasks.TaskSegment]) error {
	t := &Table{Columns: []Column{{Name: "segment"}, {Name: "trace"}, {Name: "instance"}, {Name: "endpoint"}, {Name: "start", Text: instant}, {Name: "latency", Right: true, Text: millis},
		{Name: "received", Right: true}, {Name: "expected", Right: true}, {Name: "lost", Right: true}, {Name: "covered", Right: true, Text: percent}, {Name: "period", Right: true, Text: millis}}}
	for i := range r.Rows {
		s := &r.Rows[i]
		if !s.Known {
			t.Add(s.Segment, "", "", "", nil, nil, s.Received, nil, s.Lost, nil, s.Period)
			continue
		}
		t.Add(s.Segment, s.Trace, s.Instance, s.Endpoint, s.Start, s.Latency, s.Received, s.Expected, s.Lost, s.Share, s.Period)
	}
	return t.sampled(o, r.Causes)
}

// TaskSpans writes the spans of the segments that a task sampled; text indents a span
// below the one that contains it.
func TaskSpans(o *Output, r *tasks.TaskSegmentsResult[tasks.TaskSpan]) error {
	t := &Table{Columns: []Column{{Name: "segment"}, {Name: "span", Right: true}, {Name: "kind"}, {Name: "start", Right: true}, {Name: "duration", Right: true, Text: millis}, {Name: "operation"}}}
	for _, s := range r.Rows {
		if o.Format == "text" {
			s.Operation = strings.Repeat("  ", int(s.Depth)) + s.Operation
		}
		t.Add(s.Segment, s.Span, s.Kind, s.Start, s.Duration, s.Operation)
	}
	return t.sampled(o, r.Causes)
}

// sampled writes a table of what a task sampled, and why there is not more.
func (t *Table) sampled(o *Output, causes []traceprof.Cause) error {
	if len(t.rows) == 0 {
		fmt.Fprintln(o.Err, "dendro: the task has no snapshots")
	} else if err := t.Write(o); err != nil {
		return err
	}
	for _, line := range tasks.CauseLines(causes) {
		fmt.Fprintln(o.Err, "dendro: "+line)
	}
	return nil
}

// Analysis writes the trees of snapshots.
func Analysis(o *Output, r *tasks.AnalysisResult) error {
	w := bufio.NewWriter(o.W)
	fmt.Fprintf(w, "%s %s of %d %s, %s between them\n", words.Count(r.Snapshots), words.Plural(r.Snapshots, "snapshot"), r.Segments, words.Plural(r.Segments, "segment"), words.Millis(r.RootTotal))
	for _, note := range r.Notes {
		fmt.Fprintln(w, "note: "+note)
	}
	fmt.Fprintf(w, "%9s %9s %6s  %s\n", "total ms", "self ms", "dumps", "function")
	for row := range r.Rows.All() {
		line := stackLine(o, &row)
		if o.Colour && r.RootTotal > 0 {
			line = heavy(float64(row.Total) / float64(r.RootTotal)).paint(line)
		}
		fmt.Fprintln(w, line)
	}
	if n := r.Omitted.Rows; n > 0 {
		fmt.Fprintf(w, "… %s more %s with %s of the total (--min-percent, --depth, --rows)\n", words.Count(n), words.Plural(n, "subtree"), words.Percent(r.Omitted.Share))
	}
	return w.Flush()
}

// stackLine formats an element.
func stackLine(o *Output, r *tasks.StackRow) string {
	self := ""
	if r.Self != 0 {
		self = words.Count(r.Self)
	}
	indent := strings.Repeat("· ", int(min(r.Branches, 20)))
	if r.Only {
		indent += "↳ "
	}
	line := fmt.Sprintf("%9s %9s %6s  %s", words.Count(r.Total), self, words.Count(r.Count), indent)
	return line + o.name(r.Function, utf8.RuneCountInString(line))
}
