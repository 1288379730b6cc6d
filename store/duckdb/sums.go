package duckdb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/store"
)

// fillSelected fills the table of selected profiles with what sums over rows
// need to know of them: the index of the benchmark, the whole of which shares
// are parts, and the metric.
func (sel *selection) fillSelected(c *conn, bench []int32) error {
	n := len(sel.profiles)
	whole, y, hasY := make([]float64, n), make([]float64, n), make([]bool, n)
	for i := range sel.profiles {
		p := &sel.profiles[i]
		whole[i] = float64(p.Sum)
		if m, ok := p.Metric(); ok {
			y[i], hasY[i] = m.Mean, true
		}
	}
	return c.appendTo("temp", "selected", n, sel.ids(), bench, whole, y, hasY)
}

// SumFunctions implements store.FunctionSummer in SQL.
func (s *Store) SumFunctions(ctx context.Context, q store.Query) (*store.FunctionSums, error) {
	var rows []store.FunctionSum
	var n *names
	sel, err := s.ask(ctx, q, func(c *conn, sel *selection) (err error) {
		if n, err = s.dict.functionNames(c); err != nil {
			return err
		}
		where, _ := sel.condition(true)
		sql := fmt.Sprintf(`SELECT fn, count(*), sum(self)::BIGINT, sum(total)::BIGINT, sum(self / nullif(whole, 0)), sum(total / nullif(whole, 0))
			FROM fn_sample JOIN (SELECT id, whole FROM selected) s ON s.id = profile WHERE %s GROUP BY fn`, where)
		return c.joined(func() error { return sel.fillSelected(c, make([]int32, len(sel.profiles))) }, func() error {
			return c.once(ctx, sql, func(ch chunk) error {
				fn, count, self, total := column[int32](ch, 0), column[int64](ch, 1), column[int64](ch, 2), column[int64](ch, 3)
				selfShare, totalShare, valid := column[float64](ch, 4), column[float64](ch, 5), ch.valid(4)
				for i := range fn {
					r := store.FunctionSum{Function: fn[i], Profiles: count[i], Self: self[i], Total: total[i]}
					if valid.at(i) {
						r.SelfShare, r.TotalShare = selfShare[i], totalShare[i]
					}
					rows = append(rows, r)
				}
				return nil
			})
		})
	})
	if err != nil {
		return nil, err
	}
	sums := &store.FunctionSums{Profiles: sel.profiles}
	if n == nil {
		return sums, nil
	}
	used := make([]bool, len(n.functions))
	for i := range rows {
		used[rows[i].Function] = true
	}
	index := n.place(used, &sums.Functions)
	sums.Rows = make([]store.FunctionSum, len(rows))
	for _, r := range rows {
		r.Function = index[r.Function]
		sums.Rows[r.Function] = r
	}
	return sums, nil
}

// FunctionMoments implements store.MomentCounter in SQL. DuckDB's aggregates are
// Welford's: sums of deviations, not differences of sums of squares.
func (s *Store) FunctionMoments(ctx context.Context, q store.Query, m store.Measure) (*store.MomentSet, error) {
	x := "total"
	if m.Self {
		x = "self"
	}
	if m.Share {
		x += " / greatest(1, whole)"
	}
	out := &store.MomentSet{}
	var rows []store.Moments
	var n *names
	sel, err := s.ask(ctx, q, func(c *conn, sel *selection) (err error) {
		if n, err = s.dict.functionNames(c); err != nil {
			return err
		}
		bench := store.BenchmarkIndex(sel.profiles, &out.Benchmarks)
		return c.joined(func() error { return sel.fillSelected(c, bench) }, func() error {
			rows, err = readMoments(ctx, c, sel, x)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	out.Profiles = sel.profiles
	if n == nil {
		return out, nil
	}
	used := make([]bool, len(n.functions))
	for i := range rows {
		used[rows[i].Function] = true
	}
	index := n.place(used, &out.Functions)
	for i := range rows {
		rows[i].Function = index[rows[i].Function]
	}
	slices.SortFunc(rows, func(a, b store.Moments) int {
		return cmp.Or(cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.Function, b.Function))
	})
	out.Rows = rows
	return out, nil
}

// readMoments groups the selected rows. Where all profiles have a metric, or
// none has, the moments of x are those of both series.
func readMoments(ctx context.Context, c *conn, sel *selection, x string) ([]store.Moments, error) {
	with := 0
	for i := range sel.profiles {
		if len(sel.profiles[i].Metrics) > 0 {
			with++
		}
	}
	aggregates := "avg(x), var_pop(x)"
	pairs := with > 0
	mixed := pairs && with < len(sel.profiles)
	if mixed {
		aggregates += ", count(yy), avg(yy), var_pop(yy), covar_pop(yy, x), avg(x) FILTER (has_y), var_pop(x) FILTER (has_y)"
	} else if pairs {
		aggregates += ", count(*), avg(y), var_pop(y), covar_pop(y, x)"
	}
	where, _ := sel.condition(true)
	where = strings.Replace(where, "bench =", "f.bench =", 1)
	sql := fmt.Sprintf(`SELECT b, fn, count(*), %s FROM (
		SELECT s.bench AS b, fn, (%s)::DOUBLE AS x, y, has_y, CASE WHEN has_y THEN y END AS yy
		FROM fn_sample f JOIN selected s ON s.id = f.profile WHERE %s) GROUP BY b, fn`, aggregates, x, where)
	var rows []store.Moments
	return rows, c.once(ctx, sql, func(ch chunk) error {
		b, fn, count := column[int32](ch, 0), column[int32](ch, 1), column[int64](ch, 2)
		f := func(col, row int) float64 {
			if !ch.valid(col).at(row) {
				return 0
			}
			return column[float64](ch, col)[row]
		}
		for i := range fn {
			r := store.Moments{Benchmark: b[i], Function: fn[i], N: count[i], Mean: f(3, i)}
			r.M2 = f(4, i) * float64(r.N)
			if pairs {
				r.NY = column[int64](ch, 5)[i]
				k := float64(r.NY)
				r.MeanY, r.M2Y, r.CovC = f(6, i), f(7, i)*k, f(8, i)*k
				r.MeanX, r.M2X = r.Mean, r.M2
				if mixed {
					r.MeanX, r.M2X = f(9, i), f(10, i)*k
				}
			}
			rows = append(rows, r)
		}
		return nil
	})
}
