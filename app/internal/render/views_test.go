package render

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/contents"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/query/listing"
	"github.com/dendroprof/dendro/query/tasks"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/table"
	"github.com/dendroprof/dendro/test/viewtest"
)

// printed is a result with what its printing needs besides.
type printed func(o *table.Output) error

// found is a request for findings, with the flags of the command that print more.
type found struct {
	judge.RegressionsRequest
	All  bool `param:"all"`
	Full bool `param:"full"`
	List int  `param:"list"`
}

func findings(ctx context.Context, st store.Store, r *found) (*printed, error) {
	result, err := judge.Regressions(ctx, st, &r.RegressionsRequest)
	p := printed(func(o *table.Output) error { return Findings(o, result, r.List, r.All, r.Full) })
	return &p, err
}

func bottlenecks(ctx context.Context, st store.Store, r *judge.BottlenecksRequest) (*printed, error) {
	result, err := judge.Bottlenecks(ctx, st, r)
	p := printed(func(o *table.Output) error { return Bottlenecks(o, r, result) })
	return &p, err
}

func check(ctx context.Context, st store.Store, r *judge.CheckRequest) (*printed, error) {
	doc, err := judge.Check(ctx, st, r)
	p := printed(func(o *table.Output) error { return doc.Brief(0).Print(o) })
	return &p, err
}

// detect describes the one original file of a selection.
func detect(ctx context.Context, st store.Store, r *query.ProfilesRequest) (*printed, error) {
	data, err := query.Original(ctx, st, &r.Selection)
	if err != nil {
		return nil, err
	}
	p := printed(func(o *table.Output) (err error) {
		for decoded, problem := range format.NewReader(profile.Limits{}).Read("original", bytes.NewReader(data)) {
			d := contents.Describe(decoded, problem)
			err = Result(o, &d)
		}
		return err
	})
	return &p, nil
}

func band(ctx context.Context, st store.Store, r *trees.DiffRequest) (*printed, error) {
	result, err := trees.Band(ctx, st, r)
	p := printed(func(o *table.Output) error { return Band(o, result, 2) })
	return &p, err
}

// analysis is a small answer to a task's analysis.
func analysis(context.Context, store.Store, *struct{}) (*tasks.AnalysisResult, error) {
	r := &tasks.AnalysisResult{Segments: 2, Snapshots: 9, RootTotal: 80, Notes: []string{"2 segments are incomplete"},
		Omitted: query.Omitted{Rows: 1, Share: .125},
		Dumps:   []tasks.Dump{{Segment: "a\x1b", Time: 1000}, {Segment: "a\x1b", Time: 1010}, {Segment: "b", Time: 2000}}}
	rows := []tasks.StackRow{
		{Function: "shop.Cart.total:10", Total: 80, Count: 9, Dumps: []int32{0, 1, 2}},
		{Depth: 1, Function: "shop.Price.of:\x1b[1m", Total: 70, Self: 70, Count: 8, Only: true},
	}
	r.Rows = document.RowsOf(len(rows), func(i int) tasks.StackRow { return rows[i] })
	return r, nil
}

// TestPrinted: how results are printed; a file for each kind.
func TestPrinted(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	print := func(o *table.Output, result any) error {
		if p, ok := result.(*printed); ok {
			return (*p)(o)
		}
		return Result(o, result)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			viewtest.Run(t, file, print, map[string]viewtest.Question{
				"runs":        viewtest.Query(query.Runs),
				"tree":        viewtest.View(trees.TreeView),
				"diff":        viewtest.View(trees.DiffView),
				"lines":       viewtest.Query(listing.List),
				"regressions": viewtest.Query(findings),
				"check":       viewtest.Query(check),
				"bottlenecks": viewtest.Query(bottlenecks),
				"band":        viewtest.Query(band),
				"detect":      viewtest.Query(detect),
				"analysis":    viewtest.Query(analysis),
				"method":      viewtest.View(judge.MethodView),
			})
		})
	}
}
