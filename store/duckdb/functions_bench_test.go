package duckdb

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

var benchStore = flag.String("bench-store", "", "file of a compacted store that BenchmarkFunctions reads; the synthetic one by default")

// BenchmarkFunctions measures queries for functions, which are computed from vectors: sums of all functions
// (`top`), one function in each profile (`find`), all functions in each profile, and moments. It compares them
// with a scan of the rows that Compact writes for other programs. Each query runs on a store that was just
// opened (first), and on one that has vectors and rows in memory (later).
func BenchmarkFunctions(b *testing.B) {
	path := *benchStore
	if path == "" {
		s, _ := syntheticStore(b, *benchRuns)
		if err := s.Compact(context.Background()); err != nil {
			b.Fatal(err)
		}
		path = s.file.Path
		s.Close()
	}
	name := ""
	for _, x := range []struct {
		name string
		do   func(ctx context.Context, s *Store) error
	}{
		{"top", func(ctx context.Context, s *Store) error {
			sums, err := store.SumFunctions(ctx, s, store.Query{})
			if err == nil && name == "" {
				most := store.FunctionSum{}
				for _, r := range sums.Rows {
					if r.Self > most.Self {
						most = r
					}
				}
				name = sums.Functions[most.Function].Name
			}
			return err
		}},
		{"top/rows", func(ctx context.Context, s *Store) error { return scanRows(ctx, s, "") }},
		{"find", func(ctx context.Context, s *Store) error { return readFunctions(ctx, s, store.Query{}, []string{name}) }},
		{"find/rows", func(ctx context.Context, s *Store) error {
			return scanRows(ctx, s, " WHERE fn = (SELECT id FROM fn WHERE name = "+driver.Quote(name)+")")
		}},
		{"all", func(ctx context.Context, s *Store) error { return readFunctions(ctx, s, store.Query{}, nil) }},
		{"moments", func(ctx context.Context, s *Store) error {
			_, err := store.FunctionMoments(ctx, s, store.Query{}, store.Measure{Share: true})
			return err
		}},
		{"tree", func(ctx context.Context, s *Store) error {
			_, _, err := store.MergeTrees(ctx, s, store.Query{})
			return err
		}},
	} {
		for _, later := range []bool{false, true} {
			when := "first"
			if later {
				when = "later"
			}
			b.Run(x.name+"/"+when, func(b *testing.B) {
				ctx, best, least := context.Background(), time.Hour, time.Hour
				var s *Store
				open := func() { s = mustOpen(b, path, Options{ReadOnly: true}) }
				if later {
					open()
					for range 3 {
						if err := x.do(ctx, s); err != nil {
							b.Fatal(err)
						}
					}
				}
				for b.Loop() {
					if !later {
						open()
					}
					start, from := time.Now(), cpu()
					if err := x.do(ctx, s); err != nil {
						b.Fatal(err)
					}
					best, least = min(best, time.Since(start)), min(least, cpu()-from)
					if !later {
						s.Close()
					}
				}
				if later {
					s.Close()
				}
				b.ReportMetric(float64(best.Microseconds())/1e3, "best-ms")
				b.ReportMetric(float64(least.Microseconds())/1e3, "best-cpu-ms")
			})
		}
	}
}

// readFunctions reads the rows of some functions of the selected profiles, or of all.
func readFunctions(ctx context.Context, s *Store, q store.Query, names []string) error {
	set, err := s.Functions(ctx, q, names)
	if err != nil {
		return err
	}
	for _, err := range set.Rows {
		if err != nil {
			return err
		}
	}
	return nil
}

// scanRows adds up the stored rows of functions, as an array over functions.
func scanRows(ctx context.Context, s *Store, where string) error {
	return s.file.With(func(c *driver.Conn) error {
		n, err := c.Number(ctx, "SELECT count(*) FROM fn")
		if err != nil {
			return err
		}
		sums := make([][]store.FunctionSum, driver.Workers)
		for w := range sums {
			sums[w] = make([]store.FunctionSum, n)
		}
		err = c.QueryParallel(ctx, "SELECT bench, slot, fn, self, callees FROM fn_sample"+where, func(worker int, ch driver.Chunk) {
			slot, self, callees := driver.Column[int32](ch, 1), driver.Column[int64](ch, 3), driver.Column[int64](ch, 4)
			for i, fn := range driver.Column[int32](ch, 2) {
				r := &sums[worker][fn]
				r.Profiles++
				r.Self += self[i]
				r.Total += self[i] + callees[i]
				r.SelfShare += float64(self[i]) * float64(slot[i])
				r.TotalShare += float64(self[i]+callees[i]) * float64(slot[i])
			}
		})
		return err
	})
}
