package query

import (
	"context"

	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
)

// Selected returns the selected profiles of all value types; that there are none is an
// error.
func Selected(ctx context.Context, st store.Reader, s *Selection) ([]store.Profile, error) {
	list, err := ProfilesOf(ctx, st, *s)
	return list, Hinted(ctx, st, s, err)
}

// Original returns the original file of the one selected profile.
func Original(ctx context.Context, st store.Store, s *Selection) ([]byte, error) {
	list, err := st.Profiles(ctx, *s)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, param.Errorf("--source writes the file of one profile; %d are selected", len(list))
	}
	return st.Source(ctx, list[0].ID)
}
