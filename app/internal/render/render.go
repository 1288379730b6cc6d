// Package render writes results of queries for people and for spreadsheets: aligned
// text, Markdown, TSV and CSV, with colours on a terminal. JSON and files that other
// tools read are written elsewhere.
//
//	query result ──Result(out, result)──▶ stdout; what was omitted ──▶ stderr
//
// A result describes its table (package table), and a report its pages; trees, listings and
// contexts have a text of their own here. Every name in a result comes from a program that nobody checked: it
// is made safe to print (words.Clean) before it reaches a terminal.
//
// The package computes nothing, parses no flags and opens nothing.
package render

import (
	"fmt"

	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/contents"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/query/listing"
	"github.com/dendroprof/dendro/query/tasks"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/table"
)

// Result writes a result that needs no more than itself: as its table, but for results that
// people read in another form.
func Result(o *table.Output, result any) error {
	if o.Format == "text" {
		switch r := result.(type) {
		case *trees.TreeResult:
			return Tree(o, r)
		case *trees.NodeResult:
			return Node(o, r)
		case *trees.DiffResult:
			return Diff(o, r)
		case *trees.DiffFunctionsResult:
			return DiffFunctions(o, r)
		case *trees.DiffNodeResult:
			return DiffNode(o, r)
		case *listing.Result:
			return Lines(o, r)
		case *contents.File:
			return Detected(o, r)
		case *tasks.AnalysisResult:
			return Analysis(o, r)
		case *tasks.CreatedTask:
			return CreatedTask(o, r)
		}
	}
	if !o.Exact() {
		switch r := result.(type) {
		case *judge.ScoresResult:
			return ranking(o, r.Table(false), r.Expanded)
		case *judge.CorrelationsResult:
			return Correlations(o, r)
		}
	}
	switch r := result.(type) {
	case query.Result:
		return r.Table(o.Exact()).Print(o)
	case fmt.Stringer:
		_, err := fmt.Fprintln(o.W, r)
		return err
	}
	return fmt.Errorf("%T has no form %s", result, o.Format)
}
