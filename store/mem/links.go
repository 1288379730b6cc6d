package mem

import (
	"context"

	"github.com/dendroprof/dendro/store"
)

// KeepLink implements store.LinkKeeper.
func (s *Store) KeepLink(ctx context.Context, address string, maximum int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := store.CheckLink(address); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := store.LinkID(address)
	isNew, err := store.NewLink(address, s.links[id], len(s.links), maximum)
	if isNew {
		s.links[id] = address
	}
	return err
}

// Link implements store.LinkKeeper.
func (s *Store) Link(ctx context.Context, id string) (string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.links[id], ctx.Err()
}
