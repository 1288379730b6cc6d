package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/table"
)

// Labels writes the labels that an import gives to files.
func Labels(o *table.Output, rows []ingest.Result) error {
	t := &table.Table{Columns: []table.Column{{Name: "run"}, {Name: "date", Text: table.Date}, {Name: "commit", Text: table.Commit},
		{Name: "branch"}, {Name: "group"}, {Name: "benchmark"},
		{Name: "types", Text: table.Joined}, {Name: "metrics", Text: table.Joined}, {Name: "file"}}}
	for _, r := range rows {
		t.Add(r.Run, r.Date, r.Commit, r.Branch, r.Group, r.Bench, r.Types, r.Metrics, r.File)
	}
	return t.Write(o)
}

// Guesses says in one sentence which labels an import guessed, with an example of each
// origin.
func Guesses(rows []ingest.Result) string {
	type origin struct {
		what    []string
		example string
	}
	var order []string
	origins := map[string]*origin{}
	for i := range rows {
		r := &rows[i]
		example := map[string]string{"benchmark": strings.TrimPrefix(r.Group+"/"+r.Bench, "/"), "group": r.Group, "run": r.Run,
			"commit": words.Commit(r.Commit)}
		for _, g := range r.Guessed {
			o := origins[g.From]
			if o == nil {
				o = &origin{example: example[g.What]}
				origins[g.From], order = o, append(order, g.From)
			}
			if !slices.Contains(o.what, g.What) {
				o.what = append(o.what, g.What)
			}
		}
	}
	if order == nil {
		return ""
	}
	var parts []string
	for _, from := range order {
		parts = append(parts, fmt.Sprintf("%s from %s (%s)", strings.Join(origins[from].what, ", "), from, words.Clean(origins[from].example)))
	}
	return "guessed labels: " + strings.Join(parts, "; ") + ". --dry-run lists them, flags and --layout set them"
}
