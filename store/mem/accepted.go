package mem

import (
	"context"
	"maps"
	"slices"

	"github.com/dendroprof/dendro/store"
)

// Accept implements store.Accepter.
func (s *Store) Accept(ctx context.Context, list ...store.Acceptance) error {
	list, err := store.NormalAcceptances(list)
	if err != nil {
		return err
	}
	return s.changeAccepted(ctx, func() {
		for _, a := range list {
			s.accepted[a.Finding] = a
		}
	})
}

// Withdraw implements store.Accepter.
func (s *Store) Withdraw(ctx context.Context, findings ...string) error {
	return s.changeAccepted(ctx, func() {
		for _, finding := range findings {
			delete(s.accepted, finding)
		}
	})
}

func (s *Store) changeAccepted(ctx context.Context, f func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	return nil
}

// Accepted implements store.Accepter.
func (s *Store) Accepted(ctx context.Context) ([]store.Acceptance, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := slices.Collect(maps.Values(s.accepted))
	store.SortAcceptances(list)
	return list, nil
}
