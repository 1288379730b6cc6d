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

// Rows of functions are derived data: queries compute them from the vectors of profiles, and keep them in
// memory if there are many queries. Compact writes them to fn_sample for other programs, and for users' SQL.

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
	flush := func(w, least int) {
		if len(rows[w].fn) >= least {
			f(w, rows[w])
			rows[w].reset()
		}
	}
	err := s.eachProfile(ctx, c, sel, v, func(w, at int, p *packedRows) {
		p.unpack(&rows[w], int32(at), fns)
		flush(w, manyRows)
	}, func(w, at int, vector calltree.Vector) {
		t := all.of(w)
		t.add(vector, 0)
		t.rows(&rows[w], int32(at))
		flush(w, manyRows)
	})
	for w := range rows {
		if err == nil {
			flush(w, 1)
		}
	}
	return err
}

// eachProfile calls f on several goroutines with the rows of the selected profiles that are in
// memory, or that it computes to keep them there, and compute with the vectors of the others, those of
// a benchmark one after the other. Both get the position of the profile.
func (s *Store) eachProfile(ctx context.Context, c *driver.Conn, sel *selection, v *view, f func(worker, at int, rows *packedRows),
	compute func(worker, at int, vector calltree.Vector)) error {
	var have, missing []int32
	rows := make([]*packedRows, len(sel.profiles))
	for _, i := range sel.byBenchmark() {
		if rows[i] = kept(&s.cache, &s.cache.rows, int32(sel.profiles[i].Seq)); rows[i] != nil {
			have = append(have, i)
		} else {
			missing = append(missing, i)
		}
	}
	err := spread(len(have), perWorker, func(w, i int) error {
		f(w, int(have[i]), rows[have[i]])
		return ctx.Err()
	})
	if err != nil || len(missing) == 0 {
		return err
	}
	part := *s.part(sel, missing)
	places := part.places()
	part.place = nil
	epoch, admitted := s.cache.admitRows(bytesPerNode * part.nodes())
	if part.once = admitted; admitted {
		all, packers := v.tallies(nil), make([]columns, driver.Workers)
		defer all.release()
		compute = func(w, at int, vector calltree.Vector) {
			t, r := all.of(w), &packers[w]
			r.reset()
			t.add(vector, 0)
			t.rows(r, 0)
			p := packRows(r)
			keep(&s.cache, &s.cache.rows, epoch, int32(sel.profiles[at].Seq), p)
			f(w, at, p)
		}
	}
	return s.eachVector(ctx, c, &part, v, func(w, i int, vector calltree.Vector) { compute(w, int(places[i]), vector) })
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

// bytesPerNode estimates the memory of a profile's vector or rows in the cache per call node: fewer
// nodes have a self value, and there are fewer functions.
const bytesPerNode = 1

// manyNodes is the number of call nodes of a selection whose vectors are read in parts, because
// DuckDB keeps the whole result of a statement in memory. A variable for tests.
var manyNodes = 1 << 26

// sized returns a slice of length n, in the memory of s if it is large enough. The
// values are arbitrary.
func sized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }
