package baseline

import (
	"fmt"
	"strings"

	"github.com/dendroprof/dendro/test/bench"
)

// Answer runs a query in SQL where the model allows it and by fetching
// the rows where it does not.
func (e *DuckDB) Answer(q bench.Question) (bench.Answer, error) {
	switch q.Kind {
	case bench.Potential:
		return e.potential(q)
	case bench.Tree, bench.Merged:
		return e.merged(q)
	case bench.Above:
		return e.above(q)
	case bench.Scores:
		return e.scores(q)
	case bench.Correlation:
		return e.correlation(q)
	case bench.Subtree:
		return e.subtree(q)
	case bench.Series:
		return e.series(q)
	}
	return bench.Answer{}, bench.ErrNoAnswer
}

// profiles spells the ids of the selected profiles as a subquery, for literal
// lists make slow plans. It is empty when everything is selected.
func profiles(q bench.Question) string {
	var where []string
	add := func(column, value string) {
		if value != "" {
			where = append(where, column+" = "+quote(value))
		}
	}
	add("b.grp", q.Group)
	add("b.name", q.Benchmark)
	add("p.run", q.Run)
	if where == nil {
		return ""
	}
	return `SELECT p.id FROM profile p JOIN benchmark b ON b.id = p.bench WHERE ` + strings.Join(where, " AND ")
}

// within spells the condition that the profile in a column is selected.
func within(q bench.Question, column string) string {
	if sub := profiles(q); sub != "" {
		return column + ` IN (` + sub + `)`
	}
	return `true`
}

// function returns the id of a function as the query spells it, -1 for one
// that the store does not have.
func (e *DuckDB) function(name string) int32 {
	if e.dict.mapName != nil {
		name = e.dict.mapName(name)
	}
	if id, ok := e.dict.ids[name]; ok {
		return id
	}
	return -1
}

// q1. The sums of a function over everything are one scan.
func (e *DuckDB) potential(q bench.Question) (bench.Answer, error) {
	var fns []int32
	var selfs []int64
	err := e.conn.each(`
		SELECT fn, sum(self)::BIGINT s FROM node WHERE `+within(q, "profile")+`
		GROUP BY fn HAVING s > 0 ORDER BY s DESC`, func(c chunk) {
		fns = append(fns, column[int32](c, 0)...)
		selfs = append(selfs, column[int64](c, 1)...)
	})
	return bench.Answer{Rows: len(fns), Sum: func() bench.Checksum {
		var d bench.Digest
		for i, fn := range fns {
			d.Row(e.dict.names[fn], selfs[i])
		}
		return d.Sum()
	}}, err
}

// q4. The function's outermost nodes have no recursion edge coming in.
func (e *DuckDB) above(q bench.Question) (bench.Answer, error) {
	type row struct {
		bench int32
		run   string
		total int64
	}
	var rows []row
	err := e.conn.each(fmt.Sprintf(`
		SELECT p.bench, p.run, a.t FROM (
			SELECT profile, sum(total)::BIGINT t FROM node WHERE fn = %d AND rec = -1 AND %s GROUP BY profile
		) a JOIN profile p ON p.id = a.profile WHERE 100 * a.t > p.samples`,
		e.function(q.Function), within(q, "profile")), func(c chunk) {
		for i := range c.rows {
			rows = append(rows, row{column[int32](c, 0)[i], c.text(1, i), column[int64](c, 2)[i]})
		}
	})
	return bench.Answer{Rows: len(rows), Sum: func() bench.Checksum {
		var d bench.Digest
		for _, r := range rows {
			key := e.order[r.bench]
			d.Row(bench.ProfileKey(key[0], key[1], r.run), r.total)
		}
		return d.Sum()
	}}, err
}

// q5. n·Σx² − (Σx)² is exact in whole numbers; the usual formula in floating
// point is not, and a function without any change would get a score.
func (e *DuckDB) scores(q bench.Question) (bench.Answer, error) {
	type row struct {
		fn          int32
		newest, old int64
		score       float64
	}
	var rows []row
	err := e.conn.each(fmt.Sprintf(`
		WITH w AS (
			SELECT p.id, row_number() OVER (ORDER BY p.seq DESC) - 1 AS age
			FROM profile p WHERE p.id IN (%s) QUALIFY age <= %d
		), n AS (SELECT count(*)::HUGEINT - 1 AS n FROM w), t AS (
			SELECT node.fn, w.age, sum(node.total)::HUGEINT AS x
			FROM node JOIN w ON w.id = node.profile WHERE node.rec = -1 GROUP BY ALL
		), f AS (
			SELECT fn, coalesce(sum(x) FILTER (age = 0), 0) AS x0, coalesce(sum(x) FILTER (age > 0), 0) AS s,
				coalesce(sum(x * x) FILTER (age > 0), 0) AS ss
			FROM t GROUP BY fn
		)
		SELECT fn, x0::BIGINT, s::BIGINT, CASE WHEN n * ss = s * s THEN 0
			ELSE (x0 - s::DOUBLE / n) / sqrt((n * ss - s * s)::DOUBLE / (n * (n - 1))) END AS score
		FROM f, n ORDER BY score DESC`, profiles(q), q.Last), func(c chunk) {
		for i := range c.rows {
			rows = append(rows, row{column[int32](c, 0)[i], column[int64](c, 1)[i], column[int64](c, 2)[i],
				column[float64](c, 3)[i]})
		}
	})
	return bench.Answer{Rows: len(rows), Sum: func() bench.Checksum {
		var d bench.Digest
		for _, r := range rows {
			name := e.dict.names[r.fn]
			d.Row(name, r.newest, r.old)
			d.Approx(name, r.score)
		}
		return d.Sum()
	}}, err
}

// q6. The 1e-8 is the thesis's: below it a deviation counts as none.
func (e *DuckDB) correlation(q bench.Question) (bench.Answer, error) {
	type row struct {
		fn      int32
		benches int64
		mean    float64
	}
	var rows []row
	err := e.conn.each(`
		WITH x AS (
			SELECT profile, fn, sum(self) AS s FROM node WHERE `+within(q, "profile")+` GROUP BY ALL
		), r AS (
			SELECT p.bench, x.fn, covar_pop(x.s / p.samples, p.metric) AS c,
				stddev_pop(x.s / p.samples) * stddev_pop(p.metric) AS d, count(*) AS n
			FROM x JOIN profile p ON p.id = x.profile GROUP BY ALL HAVING n >= 2
		)
		SELECT fn, count(*)::BIGINT, avg(CASE WHEN d * n <= 1e-8 THEN 0 ELSE c / d END) AS m
		FROM r GROUP BY fn ORDER BY m DESC`, func(c chunk) {
		for i := range c.rows {
			rows = append(rows, row{column[int32](c, 0)[i], column[int64](c, 1)[i], column[float64](c, 2)[i]})
		}
	})
	return bench.Answer{Rows: len(rows), Sum: func() bench.Checksum {
		var d bench.Digest
		for _, r := range rows {
			name := e.dict.names[r.fn]
			d.Row(name, r.benches)
			d.Approx(name, r.mean)
		}
		return d.Sum()
	}}, err
}

// degrees is the highest degree of subtree potential in a query.
const degrees = 5

// q7. As the thesis computes it: p of every node from its children's, degree by
// degree, then the sums of every function less what recursion counted twice.
// Each degree is a separate table, as the database has no arrays that could
// be written in place.
func (e *DuckDB) subtree(q bench.Question) (answer bench.Answer, err error) {
	run := func(sql string) {
		if err == nil {
			err = e.conn.exec(sql)
		}
	}
	// Nodes without recursion edge keep distance 0, which no correction uses.
	run(`CREATE OR REPLACE TEMP TABLE p0 AS
		SELECT profile, id, parent, fn, recd, self AS p0 FROM node WHERE ` + within(q, "profile"))
	for n := 1; n <= degrees; n++ {
		run(fmt.Sprintf(`CREATE OR REPLACE TEMP TABLE p%d AS
			SELECT u.*, u.p0 + coalesce(v.s, 0) AS p%d
			FROM p%d u LEFT JOIN (
				SELECT profile, parent, sum(p%d)::BIGINT AS s FROM p%d GROUP BY ALL
			) v ON v.profile = u.profile AND v.parent = u.id`, n, n, n-1, n-1, n-1))
		run(fmt.Sprintf(`DROP TABLE p%d`, n-1))
	}
	var sums []string
	for n := range degrees + 1 {
		// c of degree n: for an edge of distance d ≤ n, p of degree n−d of the
		// lower node. Both ends are nodes of the function, so that the sum over
		// its nodes needs no join.
		correction := "0"
		for d := n; d >= 1; d-- {
			correction = fmt.Sprintf("CASE WHEN recd = %d THEN p%d ELSE %s END", d, n-d, correction)
		}
		sums = append(sums, fmt.Sprintf("sum(p%d - (%s))::BIGINT AS s%d", n, correction, n))
	}
	var fns []int32
	var potentials [][degrees + 1]int64
	if err == nil {
		err = e.conn.each(fmt.Sprintf(`SELECT fn, %s FROM p%d GROUP BY fn HAVING s%d > 0 ORDER BY s1 DESC`,
			strings.Join(sums, ", "), degrees, degrees), func(c chunk) {
			fns = append(fns, column[int32](c, 0)...)
			from := len(potentials)
			potentials = append(potentials, make([][degrees + 1]int64, c.rows)...)
			for n := range degrees + 1 {
				for i, v := range column[int64](c, 1+n) {
					potentials[from+i][n] = v
				}
			}
		})
	}
	run(fmt.Sprintf(`DROP TABLE p%d`, degrees))
	return bench.Answer{Rows: len(fns), Sum: func() bench.Checksum {
		var d bench.Digest
		for i, fn := range fns {
			d.Row(e.dict.names[fn], potentials[i][:]...)
		}
		return d.Sum()
	}}, err
}

// q8. A match below another match must not count again. Both end in the same
// function, so that the recursion edges lead from one to the other.
func (e *DuckDB) series(q bench.Question) (bench.Answer, error) {
	var chain [3]int32
	for i, name := range q.Chain {
		chain[i] = e.function(name)
	}
	type node struct {
		rec     int32
		total   int64
		matched bool
	}
	type at struct{ profile, id int32 }
	nodes := map[at]node{}
	runs := map[int32]string{}
	// Each end is filtered by its function before the join: joined to all nodes
	// the same query takes twenty times as long.
	side := func(columns string, fn int32) string {
		return fmt.Sprintf(`(SELECT profile, id, %s FROM node WHERE fn = %d AND profile IN (SELECT id FROM s))`, columns, fn)
	}
	err := e.conn.each(fmt.Sprintf(`
		WITH s AS (%s)
		SELECT n2.profile, n2.id, n2.rec, n2.total, p.run, (n0.id IS NOT NULL)::INTEGER
		FROM %s n2
		JOIN profile p ON p.id = n2.profile
		LEFT JOIN %s n1 ON n1.profile = n2.profile AND n1.id = n2.parent
		LEFT JOIN %s n0 ON n0.profile = n1.profile AND n0.id = n1.parent`,
		profiles(q), side("parent, rec, total", chain[2]), side("parent", chain[1]), side("fn", chain[0])), func(c chunk) {
		ps, ids, recs := column[int32](c, 0), column[int32](c, 1), column[int32](c, 2)
		totals, matched := column[int64](c, 3), column[int32](c, 5)
		for i := range c.rows {
			nodes[at{ps[i], ids[i]}] = node{recs[i], totals[i], matched[i] != 0}
			if _, ok := runs[ps[i]]; !ok {
				runs[ps[i]] = c.text(4, i)
			}
		}
	})
	sums := map[int32]int64{}
	for k, n := range nodes {
		inner := false
		for r := n.rec; r >= 0 && !inner; {
			above := nodes[at{k.profile, r}]
			inner, r = above.matched, above.rec
		}
		if n.matched && !inner {
			sums[k.profile] += n.total
		}
	}
	return bench.Answer{Rows: len(sums), Sum: func() bench.Checksum {
		var d bench.Digest
		for p, n := range sums {
			d.Row(runs[p], n)
		}
		return d.Sum()
	}}, err
}
