package profiles

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/bitset"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// Sums are computed in Go: dense arrays over functions beat a hash aggregate of DuckDB with several
// sums four times, and the numbers of a profile (its whole, its metric) need no join.

// SumFunctions adds up functions and their shares.
func (s *Store) SumFunctions(ctx context.Context, q store.Query) (*store.FunctionSums, error) {
	parts := make([][]store.FunctionSum, driver.Workers)
	var v *view
	sel, err := s.withSelection(ctx, q, func(c *driver.Conn, sel *selection) (err error) {
		if v, err = s.dict.reader(ctx, c); err != nil {
			return err
		}
		all := v.tallies(nil)
		defer all.release()
		part := func(w int) []store.FunctionSum {
			if parts[w] == nil {
				parts[w] = make([]store.FunctionSum, len(v.functions))
			}
			return parts[w]
		}
		inverse := func(at int) float64 {
			if sum := sel.profiles[at].Sum; sum > 0 {
				return 1 / float64(sum)
			}
			return 0
		}
		rows := make([]columns, driver.Workers)
		err = s.eachProfile(ctx, c, sel, v, func(w, at int, p *packedRows) {
			r := &rows[w]
			r.reset()
			p.unpack(r, 0, nil)
			r.addTo(part(w), inverse(at))
		}, func(w, at int, vector calltree.Vector) {
			t := all.of(w)
			alone := len(vector.Self) > 0 && slices.Min(vector.Self) < 0
			if alone {
				t.addTo(part(w))
			}
			if t.add(vector, inverse(at)); alone || t.full() {
				t.addTo(part(w))
			}
		})
		for w, t := range all.list {
			if t != nil {
				t.addTo(part(w))
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if v == nil {
		return &store.FunctionSums{Profiles: sel.profiles}, nil
	}
	return v.sums(sel.profiles, parts), nil
}

// addTo adds the profiles of a tally to sums, and removes them.
func (t *tally) addTo(sums []store.FunctionSum) {
	t.each(func(fn int32, a *amount) {
		r := &sums[fn]
		r.Profiles += int64(bits.OnesCount64(a.total.profiles))
		r.Self += a.self.sum
		r.Total += a.total.sum
		r.SelfShare += a.self.share
		r.TotalShare += a.total.share
	})
}

// addTo adds the rows of one profile to sums.
func (r *columns) addTo(sums []store.FunctionSum, inverse float64) {
	selfs, totals := r.self[:len(r.fn)], r.total[:len(r.fn)]
	for i, fn := range r.fn {
		x, self, total := &sums[fn], selfs[i], totals[i]
		x.Profiles++
		x.Self += self
		x.Total += total
		x.SelfShare += float64(self) * inverse
		x.TotalShare += float64(total) * inverse
	}
}

// sums returns the sums of the functions that occur, in order of their names.
func (n *names) sums(profiles []store.Profile, parts [][]store.FunctionSum) *store.FunctionSums {
	all := make([]store.FunctionSum, len(n.functions))
	for _, part := range parts {
		for fn := range part {
			if p := &part[fn]; p.Profiles > 0 {
				a := &all[fn]
				a.Profiles, a.Self, a.Total = a.Profiles+p.Profiles, a.Self+p.Self, a.Total+p.Total
				a.SelfShare, a.TotalShare = a.SelfShare+p.SelfShare, a.TotalShare+p.TotalShare
			}
		}
	}
	used := bitset.New(len(all))
	for fn := range all {
		if all[fn].Profiles > 0 {
			used.Add(int32(fn))
		}
	}
	ids := n.inOrder(used)
	sums := &store.FunctionSums{Profiles: profiles, Functions: n.copies(ids), Rows: make([]store.FunctionSum, len(ids))}
	for at, fn := range ids {
		sums.Rows[at] = all[fn]
		sums.Rows[at].Function = int32(at)
	}
	return sums
}

// FunctionMoments computes moments.
func (s *Store) FunctionMoments(ctx context.Context, q store.Query, m store.Measure) (*store.MomentSet, error) {
	out := &store.MomentSet{}
	parts := make([]sums, driver.Workers)
	var v *view
	var series *series
	sel, err := s.withSelection(ctx, q, func(c *driver.Conn, sel *selection) (err error) {
		if v, err = s.dict.reader(ctx, c); err != nil {
			return err
		}
		series = newSeries(sel.profiles, m, &out.Benchmarks)
		return s.eachSample(ctx, c, sel, v, nil, func(w int, rows columns) {
			p := &parts[w]
			if p.index == nil {
				p.index = make([][]int32, len(out.Benchmarks))
			}
			p.add(series, rows, len(v.functions))
		})
	})
	if err != nil {
		return nil, err
	}
	out.Profiles = sel.profiles
	if v == nil {
		return out, nil
	}
	all := mergeSums(parts, len(v.functions))
	used := bitset.New(len(v.functions))
	for i := range all.rows {
		used.Add(all.rows[i].fn)
	}
	ids := v.inOrder(used)
	out.Functions = v.copies(ids)
	place := make([]int32, len(v.functions)) // of each function in ids
	for at, fn := range ids {
		place[fn] = int32(at)
	}
	places := make([]bitset.Set, len(out.Benchmarks)) // of each benchmark
	for bench := range places {
		places[bench] = bitset.New(len(ids))
	}
	for i := range all.rows {
		places[all.rows[i].bench].Add(place[all.rows[i].fn])
	}
	out.Rows = make([]store.Moments, 0, len(all.rows))
	for bench, set := range places {
		for at := range set.All() {
			r := &all.rows[all.index[bench][ids[at]]-1]
			out.Rows = append(out.Rows, r.moments(at, series.meanY[bench]))
		}
	}
	return out, nil
}

// series holds how to compute an observation from a row of each selected profile.
type series struct {
	self     bool
	profiles []observed
	meanY    []float64 // of each benchmark
}

// observed is the common part of the observations of one profile.
type observed struct {
	bench  int32
	hasY   bool
	factor float64 // of x
	y      float64 // less the mean of its benchmark
}

func newSeries(profiles []store.Profile, m store.Measure, benchmarks *[]string) *series {
	s := &series{self: m.Self, profiles: make([]observed, len(profiles))}
	bench := store.BenchmarkIndex(profiles, benchmarks)
	s.meanY = make([]float64, len(*benchmarks))
	n := make([]float64, len(*benchmarks))
	for i := range profiles {
		o := &s.profiles[i]
		o.bench, o.factor = bench[i], 1
		if m.Share {
			o.factor = 1 / math.Max(1, float64(profiles[i].Sum))
		}
		if metric, ok := profiles[i].Metric(); ok {
			o.y, o.hasY = metric.Mean, true
			n[o.bench]++
			s.meanY[o.bench] += (o.y - s.meanY[o.bench]) / n[o.bench]
		}
	}
	for i := range s.profiles {
		o := &s.profiles[i]
		o.y -= s.meanY[o.bench]
	}
	return s
}

// sums are those of the occurring pairs of benchmark and function.
type sums struct {
	index [][]int32 // of each benchmark and function, its row plus one
	rows  []pairSums
}

// pairSums are sums over the profiles of a benchmark that have a function, of numbers near
// zero, so that their moments follow without loss: x less the first one, y less the mean of
// the benchmark.
type pairSums struct {
	bench, fn           int32
	n, ny               int32
	first               float64
	x, xx, y, yy, xy    float64 // where there is a y
	xWithout, xxWithout float64
}

// of returns the index that s has for the functions of a benchmark.
func (s *sums) of(bench int32, functions int) []int32 {
	if s.index[bench] == nil {
		s.index[bench] = make([]int32, functions)
	}
	return s.index[bench]
}

// add adds observations.
func (s *sums) add(series *series, rows columns, functions int) {
	values := rows.total
	if series.self {
		values = rows.self
	}
	values = values[:len(rows.fn)]
	profile := int32(-1)
	var o observed
	var index []int32
	for i, fn := range rows.fn {
		if p := rows.profile[i]; p != profile {
			profile, o = p, series.profiles[p]
			index = s.of(o.bench, functions)
		}
		x := float64(values[i]) * o.factor
		at := index[fn]
		if at == 0 {
			s.rows = append(s.rows, pairSums{bench: o.bench, fn: fn, first: x})
			at = int32(len(s.rows))
			index[fn] = at
		}
		r := &s.rows[at-1]
		r.n++
		x -= r.first
		if !o.hasY {
			r.xWithout += x
			r.xxWithout += x * x
			continue
		}
		r.ny++
		r.x += x
		r.xx += x * x
		r.y += o.y
		r.yy += o.y * o.y
		r.xy += x * o.y
	}
}

// moments returns the moments, as those of a function of the answer.
func (r *pairSums) moments(function int32, meanY float64) store.Moments {
	m := store.Moments{Benchmark: r.bench, Function: function, N: int64(r.n), NY: int64(r.ny)}
	n, ny := float64(r.n), float64(r.ny)
	x := r.x + r.xWithout
	m.Mean, m.M2 = r.first+x/n, math.Max(0, r.xx+r.xxWithout-x*x/n)
	if r.ny > 0 {
		m.MeanX, m.M2X = r.first+r.x/ny, math.Max(0, r.xx-r.x*r.x/ny)
		m.MeanY, m.M2Y = meanY+r.y/ny, math.Max(0, r.yy-r.y*r.y/ny)
		m.CovC = r.xy - r.x*r.y/ny
	}
	return m
}

// merge adds the sums of other profiles to r.
func (r *pairSums) merge(q *pairSums) {
	d, ny, without := q.first-r.first, float64(q.ny), float64(q.n-q.ny)
	r.n, r.ny = r.n+q.n, r.ny+q.ny
	r.xx += q.xx + 2*d*q.x + ny*d*d
	r.xy += q.xy + d*q.y
	r.x, r.y, r.yy = r.x+q.x+ny*d, r.y+q.y, r.yy+q.yy
	r.xxWithout += q.xxWithout + 2*d*q.xWithout + without*d*d
	r.xWithout += q.xWithout + without*d
}

// mergeSums merges the sums of the workers.
func mergeSums(parts []sums, functions int) sums {
	var all sums
	for _, p := range parts {
		if all.index == nil {
			all = p
			continue
		}
		for i := range p.rows {
			q := &p.rows[i]
			at := &all.of(q.bench, functions)[q.fn]
			if *at == 0 {
				all.rows = append(all.rows, *q)
				*at = int32(len(all.rows))
			} else {
				all.rows[*at-1].merge(q)
			}
		}
	}
	return all
}
