package render

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
)

// Lines writes functions with their lines: as text a listing of each function, else a
// row per line.
func Lines(o *Output, r *query.LinesResult) error {
	if o.Format != "text" {
		t := &Table{Columns: []Column{{Name: "function"}, {Name: "file"}, {Name: "line", Right: true}, {Name: "self", Right: true}, {Name: "total", Right: true},
			{Name: "share", Right: true, Text: percent}, {Name: "source"}}}
		for i := range r.Rows {
			f := &r.Rows[i]
			for _, l := range f.Lines {
				t.Add(f.Function, f.File, l.Line, o.cell(l.Self, r.Unit), o.cell(l.Total, r.Unit), share(l.Total, r.RootTotal), l.Source)
			}
		}
		return list(o, t, r.Notes, r.Omitted)
	}
	o.Notes(r.Notes)
	w := bufio.NewWriter(o.W)
	fmt.Fprintf(w, "%s in total%s\n", Amount(r.RootTotal, r.Unit), ofProfiles(r.Profiles, r.Type))
	part := func(n query.Number) string {
		if n.Value() == 0 {
			return "."
		}
		return Amount(n, r.Unit)
	}
	for i := range r.Rows {
		f := &r.Rows[i]
		fmt.Fprintf(w, "\n%s\n", words.Clean(f.Function))
		if f.File != "" {
			fmt.Fprintf(w, "%s\n", words.Clean(f.File))
		}
		fmt.Fprintf(w, "self %s (%s), total %s (%s)\n", Amount(f.Self, r.Unit), words.Percent(share(f.Self, r.RootTotal)),
			Amount(f.Total, r.Unit), words.Percent(share(f.Total, r.RootTotal)))
		fmt.Fprintf(w, "%14s  %14s  %6s\n", "self", "total", "line")
		for _, l := range f.Lines {
			number := fmt.Sprint(l.Line)
			if l.Line == 0 {
				number = "unknown"
			}
			text := fmt.Sprintf("%14s  %14s  %6s", part(l.Self), part(l.Total), number)
			if l.Source != "" {
				text += "  " + words.Clean(strings.ReplaceAll(l.Source, "\t", "    "))
			}
			fmt.Fprintln(w, text)
		}
	}
	o.Omitted(r.Omitted.Rows, "function")
	return w.Flush()
}
