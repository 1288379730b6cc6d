package profiles

import (
	"context"
	"math"

	"github.com/dendroprof/dendro/internal/bitset"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// Sums over rows are computed in Go while DuckDB's chunks stream by: dense
// arrays over functions beat a hash aggregate with several sums four times, and
// the numbers of a profile (its whole, its metric) need no join.

// SumFunctions implements store.FunctionSummer.
func (s *Store) SumFunctions(ctx context.Context, q store.Query) (*store.FunctionSums, error) {
	parts := make([][]store.FunctionSum, driver.Workers)
	var n *names
	sel, err := s.withSelection(ctx, q, func(c *driver.Conn, sel *selection) (err error) {
		if n, err = s.dict.functionNames(c); err != nil {
			return err
		}
		inverse := inverseSums(sel.profiles)
		return s.eachSample(ctx, c, sel, n, nil, func(w int, rows columns) {
			if parts[w] == nil {
				parts[w] = make([]store.FunctionSum, len(n.functions))
			}
			sumRows(parts[w], rows, inverse)
		})
	})
	if err != nil {
		return nil, err
	}
	if n == nil {
		return &store.FunctionSums{Profiles: sel.profiles}, nil
	}
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
	return n.sums(sel.profiles, all), nil
}

// sums returns the sums of the functions that occur, in order of their names.
func (n *names) sums(profiles []store.Profile, all []store.FunctionSum) *store.FunctionSums {
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

// TotalFunctions implements store.FunctionTotaler. DuckDB adds up without a hash table
// (setting perfect_ht_threshold), in a quarter of the time of handing over every row. Rows
// in memory are faster still: those of later queries are kept.
func (s *Store) TotalFunctions(ctx context.Context, q store.Query) (*store.FunctionSums, error) {
	var n *names
	var all []store.FunctionSum
	kept := false
	sel, err := s.withSelection(ctx, q, func(c *driver.Conn, sel *selection) (err error) {
		if err := store.Addable(sel.profiles, q); err != nil {
			return err
		}
		if _, kept = s.cache.admit(bytesPerNode * sel.nodes()); kept {
			return nil
		}
		if n, err = s.dict.functionNames(c); err != nil {
			return err
		}
		all = make([]store.FunctionSum, len(n.functions))
		return sel.query(ctx, c, "SELECT fn, count(*), sum(self)::BIGINT, sum(total)::BIGINT FROM fn_sample", true, " GROUP BY fn", func(ch driver.Chunk) error {
			count, self, total := driver.Column[int64](ch, 1), driver.Column[int64](ch, 2), driver.Column[int64](ch, 3)
			for i, fn := range driver.Column[int32](ch, 0) {
				all[fn] = store.FunctionSum{Profiles: count[i], Self: self[i], Total: total[i]}
			}
			return nil
		})
	})
	switch {
	case err != nil:
		return nil, err
	case kept:
		return s.SumFunctions(ctx, q)
	case n == nil:
		return &store.FunctionSums{Profiles: sel.profiles}, nil
	}
	return n.sums(sel.profiles, all), nil
}

// inverseSums returns 1 ÷ Sum of each profile, 0 for an empty one.
func inverseSums(profiles []store.Profile) []float64 {
	inverse := make([]float64, len(profiles))
	for i := range profiles {
		if sum := profiles[i].Sum; sum > 0 {
			inverse[i] = 1 / float64(sum)
		}
	}
	return inverse
}

func sumRows(sums []store.FunctionSum, rows columns, inverse []float64) {
	for i, fn := range rows.fn {
		r, share := &sums[fn], inverse[rows.profile[i]]
		r.Profiles++
		r.Self += rows.self[i]
		r.Total += rows.total[i]
		r.SelfShare += float64(rows.self[i]) * share
		r.TotalShare += float64(rows.total[i]) * share
	}
}

// FunctionMoments implements store.MomentCounter.
func (s *Store) FunctionMoments(ctx context.Context, q store.Query, m store.Measure) (*store.MomentSet, error) {
	out := &store.MomentSet{}
	parts := make([]moments, driver.Workers)
	var n *names
	sel, err := s.withSelection(ctx, q, func(c *driver.Conn, sel *selection) (err error) {
		if n, err = s.dict.functionNames(c); err != nil {
			return err
		}
		series := newSeries(sel.profiles, m, &out.Benchmarks)
		return s.eachSample(ctx, c, sel, n, nil, func(w int, rows columns) {
			p := &parts[w]
			if p.index == nil {
				p.index = make([][]int32, len(out.Benchmarks))
			}
			p.add(series, rows, len(n.functions))
		})
	})
	if err != nil {
		return nil, err
	}
	out.Profiles = sel.profiles
	if n == nil {
		return out, nil
	}
	all := mergeMoments(parts, len(n.functions))
	used := bitset.New(len(n.functions))
	for i := range all.rows {
		used.Add(all.rows[i].Function)
	}
	ids := n.inOrder(used)
	out.Functions = n.copies(ids)
	out.Rows = make([]store.Moments, 0, len(all.rows))
	for _, of := range all.index {
		if of == nil {
			continue
		}
		for at, fn := range ids {
			if i := of[fn]; i != 0 {
				r := all.rows[i-1]
				r.Function = int32(at)
				out.Rows = append(out.Rows, r)
			}
		}
	}
	return out, nil
}

// series holds how to compute an observation from a row of each selected profile.
type series struct {
	self     bool
	profiles []observed
	inverse  []float64 // 1 ÷ n
}

// observed is the common part of the observations of one profile.
type observed struct {
	bench  int32
	factor float64 // of x
	y      float64
	hasY   bool
	allY   bool // all profiles of the benchmark have a y
}

func newSeries(profiles []store.Profile, m store.Measure, benchmarks *[]string) *series {
	s := &series{self: m.Self, profiles: make([]observed, len(profiles)), inverse: make([]float64, len(profiles)+1)}
	bench := store.BenchmarkIndex(profiles, benchmarks)
	lacksY := make([]bool, len(*benchmarks))
	for i := range profiles {
		o := &s.profiles[i]
		o.bench, o.factor = bench[i], 1
		if m.Share {
			o.factor = 1 / math.Max(1, float64(profiles[i].Sum))
		}
		if metric, ok := profiles[i].Metric(); ok {
			o.y, o.hasY = metric.Mean, true
		} else {
			lacksY[o.bench] = true
		}
		s.inverse[i+1] = 1 / float64(i+1)
	}
	for i := range s.profiles {
		s.profiles[i].allY = !lacksY[bench[i]]
	}
	return s
}

// moments are those of the occurring pairs of benchmark and function.
type moments struct {
	index [][]int32 // of each benchmark and function, its row plus one
	rows  []store.Moments
}

// row returns the row of a pair.
func (p *moments) row(bench, fn int32, functions int) *store.Moments {
	if p.index[bench] == nil {
		p.index[bench] = make([]int32, functions)
	}
	i := p.index[bench][fn]
	if i == 0 {
		p.rows = append(p.rows, store.Moments{Benchmark: bench, Function: fn})
		i = int32(len(p.rows))
		p.index[bench][fn] = i
	}
	return &p.rows[i-1]
}

// add adds observations: Welford's method (1962), for pairs as in Bennett and others
// (2009), with a table of reciprocals in place of divisions.
func (p *moments) add(s *series, rows columns, functions int) {
	values := rows.total
	if s.self {
		values = rows.self
	}
	for i, fn := range rows.fn {
		o := &s.profiles[rows.profile[i]]
		r := p.row(o.bench, fn, functions)
		x := float64(values[i]) * o.factor
		r.N++
		if !o.allY {
			d := x - r.Mean
			r.Mean += d * s.inverse[r.N]
			r.M2 += d * (x - r.Mean)
		}
		if !o.hasY {
			continue
		}
		r.NY++
		dx, dy := x-r.MeanX, o.y-r.MeanY
		r.MeanX += dx * s.inverse[r.NY]
		r.MeanY += dy * s.inverse[r.NY]
		r.M2X += dx * (x - r.MeanX)
		r.M2Y += dy * (o.y - r.MeanY)
		r.CovC += dx * (o.y - r.MeanY)
		if o.allY { // the moments of all are those of the pairs
			r.Mean, r.M2 = r.MeanX, r.M2X
		}
	}
}

// mergeMoments merges the moments of the workers (Chan, Golub and LeVeque 1979).
func mergeMoments(parts []moments, functions int) moments {
	var all moments
	for _, p := range parts {
		if all.index == nil {
			all = p
			continue
		}
		for i := range p.rows {
			q := &p.rows[i]
			r := all.row(q.Benchmark, q.Function, functions)
			a, b := float64(r.N), float64(q.N)
			d := q.Mean - r.Mean
			r.M2 += q.M2 + d*d*a*b/(a+b)
			r.Mean += d * b / (a + b)
			r.N += q.N
			if q.NY == 0 {
				continue
			}
			a, b = float64(r.NY), float64(q.NY)
			dx, dy := q.MeanX-r.MeanX, q.MeanY-r.MeanY
			r.M2X += q.M2X + dx*dx*a*b/(a+b)
			r.M2Y += q.M2Y + dy*dy*a*b/(a+b)
			r.CovC += q.CovC + dx*dy*a*b/(a+b)
			r.MeanX += dx * b / (a + b)
			r.MeanY += dy * b / (a + b)
			r.NY += q.NY
		}
	}
	return all
}
