package change

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/store"
)

// JudgeAll judges lines on all cores, each continuing its verdict of prev, which is nil if
// there is none. It reads the runs of all lines in as few statements as the store can.
func JudgeAll(ctx context.Context, st store.Reader, lines []*history.Series, prev []*Verdict, o Options) ([]*Verdict, error) {
	var ids []store.ProfileID
	for i, s := range lines {
		of := prev[i]
		if !continues(of, s, o) || !Current(of, s, o) && keyOf(s).Pair != "" {
			of = nil
		}
		runs, err := of.needed(s)
		if err != nil {
			return nil, err
		}
		for _, run := range runs {
			ids = append(ids, s.Profiles[run].ID)
		}
	}
	if len(ids) > 0 {
		release, err := store.Preload(ctx, st, ids)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	list := make([]*Verdict, len(lines))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range lines {
		group.Go(func() (err error) {
			list[i], err = Judge(ctx, st, s, prev[i], o)
			return err
		})
	}
	return list, group.Wait()
}
