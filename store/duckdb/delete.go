package duckdb

import (
	"context"
	"fmt"

	"github.com/dendroprof/dendro/store"
)

// Delete implements store.Writer. Paths and functions that no profile has any
// more stay in the file until Compact.
func (s *Store) Delete(ctx context.Context, ids []store.ProfileID) (int, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	if err := s.writable(); err != nil {
		return 0, err
	}
	s.write.Lock()
	defer s.write.Unlock()
	gone := map[store.ProfileID]*entry{}
	for _, id := range ids {
		if e := s.cat.profiles[id]; e != nil {
			gone[id] = e
		}
	}
	if len(gone) == 0 {
		return 0, nil
	}
	return len(gone), s.with(func(c *conn) error { return s.commitDelete(ctx, c, gone) })
}

func (s *Store) commitDelete(ctx context.Context, c *conn, gone map[store.ProfileID]*entry) error {
	benches, runs, pairs := map[int32]bool{}, map[int32]bool{}, map[pair]bool{}
	list := make([]*entry, 0, len(gone))
	for id, e := range s.cat.profiles {
		if gone[id] != nil {
			list = append(list, e)
			continue
		}
		benches[e.bench], runs[e.run], pairs[pair{e.bench, e.run}] = true, true, true
	}
	if err := c.exec("BEGIN TRANSACTION"); err != nil {
		return err
	}
	err := removeRows(ctx, c, &s.cat, list)
	for _, sql := range []string{
		"DELETE FROM benchmark WHERE id NOT IN (SELECT bench FROM profile)",
		"DELETE FROM run WHERE id NOT IN (SELECT run FROM profile)",
		"DELETE FROM metric WHERE (bench, run) NOT IN (SELECT (bench, run) FROM profile)",
	} {
		if err == nil {
			err = c.query(ctx, sql, nil, nil)
		}
	}
	if err == nil {
		s.removal.Lock()
		defer s.removal.Unlock()
		err = c.exec("COMMIT")
	}
	if err != nil {
		c.exec("ROLLBACK")
		return fmt.Errorf("delete: %w", err)
	}
	cat := &s.cat
	cat.change(func() {
		for id := range gone {
			delete(cat.profiles, id)
		}
		for b, id := range cat.benches {
			if !benches[id] {
				delete(cat.benches, b)
			}
		}
		for key, r := range cat.runs {
			if !runs[r.id] {
				delete(cat.runs, key)
			}
		}
		for at := range cat.metrics {
			if !pairs[at] {
				delete(cat.metrics, at)
			}
		}
	})
	return nil
}
