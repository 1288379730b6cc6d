package remote

import (
	"context"
	"fmt"
	"io"

	"github.com/dendroprof/dendro/internal/transfer"
	"github.com/dendroprof/dendro/store"
)

// Put uploads files. When the answer is lost on the way back the error reports that
// nothing is known: the same files may then be put again, what is there already
// is unchanged (S4).
func (s *Store) Put(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
	resp, err := s.upload(ctx, "put", func(w io.Writer) error { return transfer.WriteFiles(w, files, opts) })
	if err != nil {
		return nil, err
	}
	var outcomes transfer.Outcomes
	if err := s.read(ctx, resp, &outcomes); err != nil {
		return nil, fmt.Errorf("it is not known what %s stored, put the same again: %w", s.base, err)
	}
	if len(outcomes) != len(files) {
		return nil, fmt.Errorf("%s says what became of %d files, not %d", s.base, len(outcomes), len(files))
	}
	return outcomes, nil
}

// Delete removes profiles.
func (s *Store) Delete(ctx context.Context, ids []store.ProfileID) (int, error) {
	var n transfer.Count
	err := s.whole(ctx, s.change, "delete", &transfer.Question{Profiles: ids}, &n)
	return int(n), err
}

// Compact lets the server put its store into the best order.
func (s *Store) Compact(ctx context.Context) error {
	var n transfer.Count
	return s.whole(ctx, s.change, "compact", &transfer.Question{}, &n)
}
