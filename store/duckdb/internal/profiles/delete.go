package profiles

import (
	"context"
	"fmt"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// Delete implements store.Writer. Unused paths and functions stay in the file until
// Compact.
func (s *Store) Delete(ctx context.Context, ids []store.ProfileID) (int, error) {
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.file.EnterToWrite(ctx); err != nil {
		return 0, err
	}
	defer s.file.Leave()
	gone := map[store.ProfileID]*entry{}
	for _, id := range ids {
		if e := s.catalog.profiles[id]; e != nil {
			gone[id] = e
		}
	}
	if len(gone) == 0 {
		return 0, nil
	}
	return len(gone), s.file.With(func(c *driver.Conn) error { return s.commitDelete(ctx, c, gone) })
}

func (s *Store) commitDelete(ctx context.Context, c *driver.Conn, gone map[store.ProfileID]*entry) error {
	list := make([]*entry, 0, len(gone))
	ids := make([]int32, 0, len(gone))
	for _, e := range gone {
		list, ids = append(list, e), append(ids, e.id())
	}
	alone := false
	err := c.WriteTx(func() error {
		if err := removeUnused(ctx, c, ids); err != nil {
			return err
		}
		if err := removeRows(ctx, c, &s.catalog, list); err != nil {
			return err
		}
		s.removal.Lock() // a query that began before would find other rows than its catalog says
		alone = true
		return nil
	})
	if alone {
		defer s.removal.Unlock()
	}
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	s.catalog.change(func() { s.catalog.remove(gone) })
	return nil
}

// removeUnused removes the metrics, benchmarks with their verdicts, and runs that only the profiles of the
// ids refer to, before these profiles are removed.
func removeUnused(ctx context.Context, c *driver.Conn, ids []int32) error {
	if err := selectIDs(c, ids); err != nil {
		return err
	}
	const going, staying = "FROM profile WHERE id IN (SELECT id FROM selected)", "FROM profile WHERE id NOT IN (SELECT id FROM selected)"
	for _, sql := range []string{
		"DELETE FROM metric WHERE (bench, run) IN (SELECT (bench, run) " + going + ") AND (bench, run) NOT IN (SELECT (bench, run) " + staying + ")",
		"DELETE FROM benchmark WHERE id IN (SELECT bench " + going + ") AND id NOT IN (SELECT bench " + staying +
			" UNION ALL SELECT bench FROM metric)",
		fmt.Sprintf("DELETE FROM verdict WHERE bench NOT IN (SELECT id FROM benchmark) AND bench != %d", noBenchmark),
		"DELETE FROM run WHERE id IN (SELECT run " + going + ") AND id NOT IN (SELECT run " + staying + " UNION ALL SELECT run FROM metric)",
	} {
		if err := c.Query(ctx, sql, nil, nil); err != nil {
			return err
		}
	}
	return c.Exec("DELETE FROM selected")
}
