package trees_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/testrun"
)

// shop returns a store with two runs of a benchmark.
func shop() store.Store {
	st := mem.New()
	for i, stacks := range []string{"main;parse 3\nmain;sort 5\n", "main;parse 3\nmain;sort 9\n"} {
		src := ingest.MemorySource("orders.folded", []byte(stacks))
		src.Label = ingest.Label{Group: "shop", Benchmark: "orders",
			Run: testrun.Run{Key: fmt.Sprintf("run-%d", i+1), Date: time.Date(2026, 11, 1+i, 0, 0, 0, 0, time.UTC)}}
		if _, err := ingest.Run(context.Background(), st, []ingest.Source{src}, ingest.Options{}, func(ingest.Result) {}); err != nil {
			panic(err)
		}
	}
	return st
}

// The functions of a selection, as `dendro top` lists them.
func ExampleFunctions() {
	result, err := trees.Functions(context.Background(), shop(), &trees.TreeRequest{Selection: query.Selection{Groups: []string{"shop"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for row := range result.Rows.All() {
		fmt.Println(row.Function, row.Self, row.Total)
	}
	// Output:
	// sort 14 14
	// parse 6 6
	// main 0 20
}

// Two runs compared, as the document that `dendro diff -o json` prints.
func ExampleDiff() {
	result, err := trees.Diff(context.Background(), shop(), &trees.DiffRequest{
		Base: trees.Side{Runs: []string{"run-1"}}, Head: trees.Side{Runs: []string{"run-2"}}, By: "value"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for row := range result.Rows.All() {
		fmt.Println(row.Function, row.Total.Base, row.Total.Head)
	}
	// Output:
	// main 8 12
	// sort 5 9
	// parse 3 3
}

// A result is written as JSON while it is made.
func Example_json() {
	result, err := query.Runs(context.Background(), shop(), &query.RunsRequest{})
	if err == nil {
		err = document.Write(os.Stdout, result, document.Form{})
	}
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"rows":[{"run":"run-1","date":"2026-11-01T00:00:00Z","benchmarks":1,"profiles":1,"types":["cpu-samples"]},{"run":"run-2","date":"2026-11-02T00:00:00Z","benchmarks":1,"profiles":1,"types":["cpu-samples"]}]}
}
