package trees_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/internal/cost"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/store/mem"
)

// TestOriginalsAreCounted: what the original files of a selection take in memory is counted before
// it is made, and reading them ends with the request.
func TestOriginalsAreCounted(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "[worker tid=7];main;f%d 1\n", i)
	}
	st := mem.New()
	if _, err := ingest.Run(t.Context(), st, []ingest.Source{ingest.MemorySource("a.folded", []byte(text.String()))},
		ingest.Options{KeepSource: true}, func(ingest.Result) {}); err != nil {
		t.Fatal(err)
	}
	ask := func(ctx context.Context) error {
		r := trees.TreeRequest{View: "tree", Filter: trees.Filter{SampleFilter: trees.SampleFilter{Threads: []string{"worker"}}}}
		_, err := trees.Tree(ctx, st, &r)
		return err
	}
	if err := ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, limits := range []cost.Limits{{Memory: cost.Limit{Max: 1 << 20}}, {Expanded: cost.Limit{Max: 64 << 10}}} {
		ctx, end := cost.Begin(t.Context(), limits)
		defer end()
		if err := ask(ctx); !errors.As(err, new(*cost.Exceeded)) {
			t.Errorf("%+v: %v", limits, err)
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if err := ask(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
