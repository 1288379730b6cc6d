package change

import (
	"context"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/store"
)

// JudgeAll judges lines on all cores, each continuing its verdict of prev, which is nil if
// there is none. It reads the runs of all lines in as few statements as the store can.
func JudgeAll(ctx context.Context, st store.Reader, lines []*history.Series, prev []*Verdict,
	o regression.Options) ([]*Verdict, error) {
	var ids []store.ProfileID
	for i, s := range lines {
		runs, err := resumed(prev[i], s, o).needed(s)
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
	return list, regression.Parallel(ctx, len(lines), func(ctx context.Context, i int) (err error) {
		list[i], err = Judge(ctx, st, lines[i], prev[i], o)
		return err
	})
}
