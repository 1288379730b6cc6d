package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query/tasks"
	"github.com/dendroprof/dendro/table"
)

// CreatedTask writes the id of a task, which other commands take, and describes the task
// on stderr.
func CreatedTask(o *table.Output, t *tasks.CreatedTask) error {
	fmt.Fprintln(o.Err, &t.Task)
	o.Notes(t.Notes)
	_, err := fmt.Fprintln(o.W, words.Clean(t.ID))
	return err
}

// Analysis writes the trees of snapshots.
func Analysis(o *table.Output, r *tasks.AnalysisResult) error {
	w := table.NewList(o, 9, 9, 6)
	times := "between them"
	if r.CPU {
		times = "of CPU time"
	} else {
		o.Notes([]string{"times are the time between dumps that have a function; dendro tree trace:ID shows dumps × period"})
	}
	fmt.Fprintf(w, "%s of %s, %s %s\n", words.Counted(r.Snapshots, "snapshot"), words.Counted(r.Segments, "segment"),
		words.Millis(r.RootTotal), times)
	for _, note := range r.Notes {
		fmt.Fprintln(w, "note: "+note)
	}
	w.Row(table.Plain, []string{"total ms", "self ms", "dumps"}, "", "function", "")
	for row := range r.Rows.All() {
		tint := table.Plain
		if r.RootTotal > 0 {
			tint = table.Heavy(float64(row.Total) / float64(r.RootTotal))
		}
		self := ""
		if row.Self != 0 {
			self = words.Count(row.Self)
		}
		indent := strings.Repeat("· ", int(min(row.Branches, 20)))
		if row.Only {
			indent += "↳ "
		}
		w.Row(tint, []string{words.Count(row.Total), self, words.Count(row.Count)}, indent, row.Function, "")
		for _, line := range dumpLines(r.Dumps, row.Dumps) {
			fmt.Fprintln(w, line)
		}
	}
	subtrees(w, r.Omitted)
	return w.Flush()
}

// mostDumps bounds the dumps of a segment in the text of a row.
const mostDumps = 6

// dumpLines formats the dumps of a row: a line for each segment with their times.
func dumpLines(all []tasks.Dump, of []int32) (lines []string) {
	for len(of) > 0 {
		segment, n := all[of[0]].Segment, 1
		for n < len(of) && all[of[n]].Segment == segment {
			n++
		}
		var times []string
		for _, i := range words.First(of[:n], mostDumps) {
			times = append(times, time.UnixMilli(all[i].Time).UTC().Format("15:04:05.000"))
		}
		if n > mostDumps {
			times = append(times, fmt.Sprintf("and %s more", words.Count(n-mostDumps)))
		}
		lines = append(lines, fmt.Sprintf("%28s%s at %s", "", words.Clean(segment), strings.Join(times, ", ")))
		of = of[n:]
	}
	return lines
}
