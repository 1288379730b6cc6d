package profiles

import (
	"cmp"
	"context"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// Rows of functions are derived data: every query computes them from the vectors of profiles. Compact
// writes them to fn_sample for other programs, and for users' SQL.

// columns are some rows of functions; profile is the position in the selection.
type columns struct {
	profile, fn []int32
	self, total []int64
}

func (r *columns) clone() columns {
	return columns{slices.Clone(r.profile), slices.Clone(r.fn), slices.Clone(r.self), slices.Clone(r.total)}
}

func (r *columns) add(profile, fn int32, self, total int64) {
	r.profile, r.fn = append(r.profile, profile), append(r.fn, fn)
	r.self, r.total = append(r.self, self), append(r.total, total)
}

func (r *columns) reset() {
	r.profile, r.fn, r.self, r.total = r.profile[:0], r.fn[:0], r.self[:0], r.total[:0]
}

// manyRows is the number of rows that are handed over together.
const manyRows = 1 << 12

// eachSample calls f on several goroutines with the selected rows: those of all
// functions, or of the wanted ones. F must not change or keep them.
func (s *Store) eachSample(ctx context.Context, c *driver.Conn, sel *selection, v *view, wanted []string,
	f func(worker int, rows columns)) error {
	fns := v.find(wanted)
	if wanted != nil && len(fns) == 0 {
		return nil
	}
	all := v.tallies(fns)
	defer all.release()
	rows := make([]columns, driver.Workers)
	err := s.eachVector(ctx, c, sel, v, func(w, at int, vector calltree.Vector) {
		t := all.of(w)
		t.add(vector, 0)
		if t.rows(&rows[w], int32(at)); len(rows[w].fn) >= manyRows {
			f(w, rows[w])
			rows[w].reset()
		}
	})
	for w := range rows {
		if err == nil && len(rows[w].fn) > 0 {
			f(w, rows[w])
		}
	}
	return err
}

// eachVector calls f on several goroutines with the vectors of the selected profiles and their
// positions, those of a benchmark one after the other.
func (s *Store) eachVector(ctx context.Context, c *driver.Conn, sel *selection, v *view,
	f func(worker, at int, vector calltree.Vector)) error {
	for part, places := range s.parts(sel) {
		vs, err := s.readVectors(ctx, c, part, false)
		if err != nil {
			return err
		}
		vs.limit = len(v.rec)
		bufs, order := make([]calltree.Vector, driver.Workers), part.byBenchmark()
		err = spread(len(order), perWorker, func(w, i int) error {
			at := int(order[i])
			vector, err := vs.at(at, &bufs[w])
			if err == nil {
				f(w, int(places[at]), vector)
			}
			return cmp.Or(err, ctx.Err())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// byBenchmark returns the positions of the profiles, those of a benchmark together.
func (sel *selection) byBenchmark() []int32 {
	var names []string
	bench := store.BenchmarkIndex(sel.profiles, &names)
	order := column.Places[int32](len(bench))
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(bench[a], bench[b]) })
	return order
}

// bytesPerNode estimates the memory of a profile's vector in the cache per call node: fewer
// nodes have a self value.
const bytesPerNode = 1

// manyNodes is the number of call nodes of a selection whose vectors are read in parts, because
// DuckDB keeps the whole result of a statement in memory. A variable for tests.
var manyNodes = 1 << 26

// sized returns a slice of length n, in the memory of s if it is large enough. The
// values are arbitrary.
func sized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }
