package ingest_test

import (
	"context"
	"fmt"

	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/testrun"
)

// Files are imported in parallel and reported in order; labels say what was measured.
func ExampleRun() {
	src := ingest.MemorySource("orders.folded", []byte("main;parse 3\nmain;sort 5\n"))
	src.Label = ingest.Label{Group: "shop", Benchmark: "orders", Run: testrun.Run{Key: "run-1", Commit: "4f1c2a9"}}
	sum, err := ingest.Run(context.Background(), mem.New(), []ingest.Source{src}, ingest.Options{}, func(r ingest.Result) {
		fmt.Println(r.File, r.Status, r.Group, r.Bench, r.Run, r.Types)
	})
	fmt.Println(sum.Files, err)
	// Output:
	// orders.folded stored shop orders run-1 [cpu-samples]
	// 1 <nil>
}
