package trees_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/report/flame"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/viewtest"
	"github.com/dendroprof/dendro/web"
)

// text is what a test shows of a file.
type text struct{ strings.Builder }

// export shows an exported profile as folded stacks.
func export(ctx context.Context, st store.Store, r *trees.ExportRequest) (*text, error) {
	p, table, notes, err := trees.Export(ctx, st, r)
	if err != nil {
		return nil, err
	}
	folded, err := format.Lookup("folded")
	if err != nil {
		return nil, err
	}
	var b text
	for _, n := range notes {
		fmt.Fprintln(&b, "note:", n)
	}
	return &b, format.Write(&b, p, table, folded, format.None)
}

// graph shows a picture as a line for each box.
func graph[R any](picture func(context.Context, store.Store, *R) (*flame.Graph, error)) viewtest.Question {
	return viewtest.Query(func(ctx context.Context, st store.Store, r *R) (*text, error) {
		g, err := picture(ctx, st, r)
		if err != nil {
			return nil, err
		}
		var b text
		fmt.Fprintln(&b, g.Title, g.Unit)
		for _, n := range g.Notes {
			fmt.Fprintln(&b, "note:", n)
		}
		for _, box := range g.Boxes {
			fmt.Fprintf(&b, "%s%s %.4g … %.4g\n", strings.Repeat("  ", int(box.Depth)), g.Functions[box.Func].Name, box.Start, box.End)
		}
		return &b, nil
	})
}

// page shows what an offline page has.
func page[R any](of func(context.Context, store.Store, *R) (*web.Report, error)) viewtest.Question {
	return viewtest.Query(func(ctx context.Context, st store.Store, r *R) (*text, error) {
		p, err := of(ctx, st, r)
		if err != nil {
			return nil, err
		}
		var b text
		fmt.Fprintf(&b, "%s: %s\n", p.Title, p.Start)
		for _, a := range p.Answers {
			fmt.Fprintf(&b, "%s?%s %s\n", a.Path, a.Query, a.Body)
		}
		return &b, nil
	})
}

// TestViews: what the views of trees, sides and samples answer; a file each.
func TestViews(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			viewtest.Run(t, file, viewtest.Print, map[string]viewtest.Question{
				"tree":       viewtest.View(trees.TreeView),
				"diff":       viewtest.View(trees.DiffView),
				"export":     viewtest.Query(export),
				"graph":      graph(trees.Graph),
				"diff-graph": graph(trees.DiffGraph),
				"page":       page(trees.TreePage),
				"diff-page":  page(trees.DiffPage),
			})
		})
	}
}
