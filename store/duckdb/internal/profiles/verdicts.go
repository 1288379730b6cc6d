package profiles

import (
	"context"
	"strconv"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/testrun"
)

// noBenchmark is the id of the zero benchmark, which verdicts on pushed profiles have.
const noBenchmark = -1

// verdictRow is a row of table verdict.
type verdictRow struct {
	bench int32
	store.Verdict
}

func (r *verdictRow) fields() []any { return []any{&r.bench, &r.Key, &r.Stamp, &r.Document} }

// benchOf returns the id of a benchmark for its verdicts. The caller holds the catalog.
func (s *Store) benchOf(b testrun.Benchmark) (id int32, ok bool) {
	if b == (testrun.Benchmark{}) {
		return noBenchmark, true
	}
	id, ok = s.catalog.benches[b]
	return id, ok
}

// Verdicts implements store.VerdictKeeper.
func (s *Store) Verdicts(ctx context.Context, of []testrun.Benchmark) (v store.Verdicts, err error) {
	names := map[int32]testrun.Benchmark{}
	err = s.file.Look(ctx, func(c *driver.Conn) (err error) {
		clear(names)
		var ids []int32
		s.catalog.mu.Lock()
		for _, b := range of {
			if id, ok := s.benchOf(b); ok {
				names[id], ids = b, append(ids, id)
			}
		}
		if len(of) == 0 {
			names[noBenchmark] = testrun.Benchmark{}
			for b, id := range s.catalog.benches {
				names[id] = b
			}
		}
		s.catalog.mu.Unlock()
		// The count comes first: what is kept in the meantime has a stamp with a later one.
		if v.Code, err = codeCount(ctx, c); err != nil {
			return err
		}
		v.List = nil
		sql := "FROM verdict"
		if len(of) > 0 {
			if err := selectIDs(c, ids); err != nil {
				return err
			}
			defer c.Exec("DELETE FROM selected")
			sql += " WHERE bench IN (SELECT id FROM selected)"
		}
		var row verdictRow
		return c.Rows(ctx, sql, nil, row.fields(), func() error {
			var ok bool
			if row.Benchmark, ok = names[row.bench]; ok { // else it is newer than the names
				v.List = append(v.List, row.Verdict)
			}
			return nil
		})
	})
	store.SortVerdicts(v.List)
	return v, err
}

// KeepVerdicts implements store.VerdictKeeper. It changes no answer, so that the version stays.
func (s *Store) KeepVerdicts(ctx context.Context, list []store.Verdict) error {
	if err := store.CheckVerdicts(list); err != nil {
		return err
	}
	return s.writing(ctx, "verdicts", func(c *driver.Conn) error {
		var ids []int32
		var rows []verdictRow
		for _, v := range list {
			if id, ok := s.benchOf(v.Benchmark); ok {
				ids, rows = append(ids, id), append(rows, verdictRow{id, v})
			}
		}
		if len(ids) == 0 {
			return nil
		}
		return c.WriteTx(func() error {
			if err := selectIDs(c, ids); err != nil {
				return err
			}
			if err := c.Exec("DELETE FROM verdict WHERE bench IN (SELECT id FROM selected); DELETE FROM selected"); err != nil {
				return err
			}
			return driver.Insert(c, "", "verdict", rows, (*verdictRow).fields)
		})
	})
}

// codeCount returns store.Verdicts.Code.
func codeCount(ctx context.Context, c *driver.Conn) (int64, error) {
	return c.Number(ctx, "SELECT coalesce(max(value::BIGINT), 0)::BIGINT FROM meta WHERE key = '"+metaCode+"'")
}

// countOtherCode adds to store.Verdicts.Code in the open transaction.
func countOtherCode(ctx context.Context, c *driver.Conn) error {
	n, err := codeCount(ctx, c)
	if err != nil {
		return err
	}
	return c.SetMeta(ctx, metaCode, strconv.FormatInt(n+1, 10))
}
