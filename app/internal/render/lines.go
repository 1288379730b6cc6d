package render

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/listing"
	"github.com/dendroprof/dendro/table"
)

// Lines writes a listing of each function.
func Lines(o *table.Output, r *listing.Result) error {
	o.Notes(r.Notes)
	w := bufio.NewWriter(o.W)
	fmt.Fprintln(w, r.Sum())
	part := func(n document.Number) string {
		if n.Value() == 0 {
			return "."
		}
		return n.Amount(query.Noun(r.Type, r.Unit))
	}
	for i := range r.Rows {
		f := &r.Rows[i]
		fmt.Fprintf(w, "\n%s\n", words.Clean(f.Function))
		if f.File != "" {
			fmt.Fprintf(w, "%s\n", words.Clean(f.File))
		}
		fmt.Fprintf(w, "self %s (%s), total %s (%s)\n", f.Self.Amount(query.Noun(r.Type, r.Unit)), words.Percent(f.Self.Of(r.RootTotal)),
			f.Total.Amount(query.Noun(r.Type, r.Unit)), words.Percent(f.Total.Of(r.RootTotal)))
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
