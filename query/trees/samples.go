package trees

import (
	"context"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/store"
)

// Samples are the samples that a request selects, with their lines, which sums of a store have not.
type Samples struct {
	Views []*calltree.Shown // of each profile or file
	Sum   *calltree.Tree    // of all of them
	Head  Head              // of a document about them
}

// ReadSamples reads the samples that a request selects, those of a store from its original files.
func ReadSamples(ctx context.Context, st store.Store, r *TreeRequest) (*Samples, error) {
	s, err := newScope(ctx, st, r, viewLines)
	if err != nil {
		return nil, err
	}
	return &Samples{Views: s.all, Sum: s.tree, Head: s.head(s.tree.RootTotal(), query.Omitted{})}, nil
}
