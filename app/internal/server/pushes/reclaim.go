package pushes

import (
	"context"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store"
)

// Call paths are removed by a compaction, for which pushes wait. So it is worth it only if
// many are of no use any more, and that is looked at only after windows were removed.
const (
	reclaimEvery = time.Hour
	reclaimLeast = 100_000 // paths of no use
	reclaimPart  = 4       // that are at least this part (1/4) of all
)

// reclaimer removes the call paths of a store that only removed windows had.
type reclaimer struct {
	st      store.Writer
	forest  continuous.Limited // nil: the engine removes them by itself
	least   int64
	expired int64 // windows that were removed since the last look
	looked  time.Time
}

// reclaim removes call paths if that is worth it, and returns how many.
func (r *reclaimer) reclaim(ctx context.Context, now time.Time) (paths int64, err error) {
	if r.forest == nil || r.expired == 0 || now.Sub(r.looked) < reclaimEvery {
		return 0, nil
	}
	r.looked = now
	size, err := r.forest.Forest(ctx)
	if err != nil || size.Paths < r.least {
		return 0, err
	}
	unused, err := r.forest.Unused(ctx)
	if err != nil {
		return 0, err
	}
	r.expired = 0
	if unused < r.least || unused < size.Paths/reclaimPart {
		return 0, nil
	}
	return unused, r.st.Compact(ctx)
}
