package traces

import (
	"context"
	"fmt"
	"slices"

	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/traceprof"
)

// Expire implements traceprof.Store. It works in transactions of limited size, between which
// others write, each of which leaves a consistent store: if one fails, the next Expire
// continues. If nothing is to be removed, it writes nothing.
func (s *Store) Expire(ctx context.Context, e traceprof.Expiry) (traceprof.Expired, error) {
	x := remover{ctx: ctx, s: s}
	err := e.Run(&x)
	return x.out, err
}

// The maximum that one transaction removes of segments by time, of bytes by size, and of tasks.
// What belongs together may exceed it.
const (
	stepSegments = 20_000
	stepBytes    = 64 << 20
	stepTasks    = 20
)

// remover implements traceprof.Remover for one call of Expire.
type remover struct {
	ctx context.Context
	s   *Store
	out traceprof.Expired

	// Of the present transaction.
	c      *driver.Conn
	gone   traceprof.Expired
	tasks  []string
	stacks []int32 // dictionaries of the tasks
}

// step removes something in a transaction.
func (x *remover) step(remove func() error) error {
	x.gone, x.tasks, x.stacks = traceprof.Expired{}, nil, nil
	locked := false
	return x.s.change(x.ctx, func(c *driver.Conn) error {
		x.c = c
		// The segments of each task's traces, which stay as long as one of their tasks.
		for _, sql := range []string{
			"CREATE TEMP TABLE profiled(task INTEGER, seq BIGINT)",
			`INSERT INTO profiled SELECT DISTINCT own.task, s.seq FROM segment s JOIN (
				SELECT DISTINCT p.task, s.trace_key AS key, s.trace AS name FROM snapshot p JOIN segment s ON s.key = p.key AND s.id = p.segment WHERE s.trace <> ''
			) own ON s.trace_key = own.key AND s.trace = own.name`,
			`INSERT INTO profiled SELECT DISTINCT p.task, s.seq FROM snapshot p JOIN segment s ON s.key = p.key AND s.id = p.segment WHERE s.trace = ''`,
		} {
			if err := c.Exec(sql); err != nil {
				return err
			}
		}
		if err := remove(); err != nil {
			return err
		}
		if err := c.Exec("DROP TABLE profiled; DELETE FROM wanted"); err != nil {
			return err
		}
		if len(x.stacks) > 0 {
			x.s.removal.Lock()
			locked = true
		}
		return nil
	}, func(committed bool) {
		if committed {
			x.finish()
		}
		if locked {
			x.s.removal.Unlock()
		}
	})
}

// finish applies the commit to memory.
func (x *remover) finish() {
	s := x.s
	s.mu.Lock()
	for _, id := range x.tasks {
		delete(s.tasks, id)
	}
	s.mu.Unlock()
	s.stacks.drop(x.stacks...)
	if s.removed += x.gone.Segments; s.removed > s.seen.len()/2 {
		s.seen, s.removed = keyFilter{}, 0 // most of its keys were removed
	}
	x.out.Tasks, x.out.Segments, x.out.Instances = x.out.Tasks+x.gone.Tasks, x.out.Segments+x.gone.Segments, x.out.Instances+x.gone.Instances
}

// look returns the number that a query has before anything is removed.
func (x *remover) look(sql string) (n int64, err error) {
	err = x.s.read(x.ctx, func(c *driver.Conn) error {
		n, err = c.Number(x.ctx, sql)
		return err
	})
	return n, err
}

// count runs a statement that changes rows and returns their number.
func (x *remover) count(sql string) (int, error) {
	n, err := x.c.Number(x.ctx, sql)
	return int(n), err
}

func (x *remover) StoredTasks() ([]traceprof.StoredTask, error) {
	found := map[string]traceprof.StoredTask{}
	const sql = `SELECT t.name, n.newest, (n.size + coalesce(g.size, 0) + coalesce(p.size, 0))::BIGINT FROM sampled_task t
		JOIN (SELECT task, max(newest) AS newest, sum(size) AS size FROM snapshot GROUP BY task) n ON n.task = t.id
		LEFT JOIN (SELECT task, sum(strlen(name) + 8) AS size FROM stack_signature GROUP BY task) g ON g.task = t.id
		LEFT JOIN (SELECT task, count(*) * 8 AS size FROM stack_path GROUP BY task) p ON p.task = t.id`
	err := x.s.read(x.ctx, func(c *driver.Conn) error {
		var name string
		var newest, bytes int64
		return c.Rows(x.ctx, sql, nil, []any{&name, &newest, &bytes}, func() error {
			task, ok := found[name]
			if !ok {
				task.End = newest
			}
			found[name] = traceprof.StoredTask{End: max(task.End, newest), Bytes: task.Bytes + bytes}
			return nil
		})
	})
	return traceprof.StoredTasks(x.s.all(), found), err
}

func (x *remover) RemoveBefore(before int64) error {
	due, err := x.look(fmt.Sprintf(`SELECT (EXISTS (FROM segment WHERE arrived < %[1]d) OR EXISTS (FROM instance WHERE last_seen < %[1]d)
		OR EXISTS (FROM task_log WHERE time < %[1]d AND task NOT IN (SELECT id FROM task)))::BIGINT`, before))
	if err != nil || due == 0 {
		return err
	}
	for {
		err := x.step(func() (err error) {
			x.gone.Segments, err = x.count(fmt.Sprintf(`DELETE FROM segment WHERE seq IN (
				SELECT seq FROM segment WHERE seq NOT IN (SELECT seq FROM profiled) AND arrived < %d LIMIT %d)`, before, stepSegments))
			if err != nil {
				return err
			}
			if x.gone.Instances, err = x.count(fmt.Sprint("DELETE FROM instance WHERE last_seen < ", before)); err != nil {
				return err
			}
			_, err = x.count(fmt.Sprintf("DELETE FROM task_log WHERE time < %d AND task NOT IN (SELECT id FROM task)", before))
			return err
		})
		if err != nil || x.gone.Segments < stepSegments {
			return err
		}
	}
}

func (x *remover) RemoveTasks(list []traceprof.StoredTask) (freed int64, err error) {
	for some := range slices.Chunk(list, stepTasks) {
		var bytes int64
		err := x.step(func() (err error) {
			bytes, err = x.removeTasks(some)
			return err
		})
		if err != nil {
			return freed, err
		}
		freed += bytes
	}
	return freed, nil
}

func (x *remover) removeTasks(list []traceprof.StoredTask) (freed int64, err error) {
	names := column.Of(list, func(s traceprof.StoredTask) string { return s.ID })
	stacks, err := dictionaries(x.ctx, x.c, names)
	if err != nil {
		return 0, err
	}
	var ids []int64
	for _, task := range list {
		own := stacks[task.ID]
		if !task.Known {
			newer, err := x.count(fmt.Sprintf("SELECT count(*) FROM snapshot WHERE task IN (%s) AND newest > %d",
				driver.List(append(own[:len(own):len(own)], -1)), task.End))
			if err != nil {
				return 0, err
			}
			if newer > 0 {
				continue // they were stored since
			}
		} else {
			x.gone.Tasks++
		}
		freed += task.Bytes
		x.tasks, x.stacks = append(x.tasks, task.ID), append(x.stacks, own...)
		for _, id := range own {
			ids = append(ids, int64(id))
		}
	}
	if err := want(x.c, 0, x.tasks); err != nil {
		return 0, err
	}
	if err := wantKeys(x.c, 1, ids); err != nil {
		return 0, err
	}
	const named, numbered = "(SELECT name FROM wanted WHERE grp = 0)", "(SELECT key FROM wanted WHERE grp = 1)"
	const own = "seq IN (SELECT seq FROM profiled WHERE task IN " + numbered + ") AND seq NOT IN (SELECT seq FROM profiled WHERE task NOT IN " + numbered + ")"
	bytes, err := x.c.Number(x.ctx, "SELECT coalesce(sum(size), 0)::BIGINT FROM segment WHERE "+own)
	if err != nil {
		return 0, err
	}
	x.gone.Segments, err = x.count("DELETE FROM segment WHERE " + own)
	for _, sql := range []string{
		"DELETE FROM snapshot WHERE task IN " + numbered,
		"DELETE FROM stack_path WHERE task IN " + numbered,
		"DELETE FROM stack_signature WHERE task IN " + numbered,
		"DELETE FROM sampled_task WHERE id IN " + numbered,
		"DELETE FROM task_log WHERE task IN " + named,
		"DELETE FROM task WHERE id IN " + named,
	} {
		if err == nil {
			_, err = x.count(sql)
		}
	}
	return freed + bytes, err
}

func (x *remover) SegmentBytes() (int64, error) {
	return x.look("SELECT coalesce(sum(size), 0)::BIGINT FROM segment")
}

// RemoveLoose finds the time up to which segments are removed in two steps, about a
// minute and within the last one, so that nothing is sorted.
func (x *remover) RemoveLoose(excess int64) (freed int64, err error) {
	excess = min(excess, stepBytes)
	err = x.step(func() error {
		const loose, span = "seq NOT IN (SELECT seq FROM profiled)", "arrived - arrived % 65536"
		minutes, last, err := x.oldest(excess, fmt.Sprintf("SELECT %s AS moment, sum(size)::BIGINT FROM segment WHERE %s GROUP BY moment ORDER BY moment", span, loose))
		if err != nil {
			return err
		}
		within, until, err := x.oldest(excess-minutes.before,
			fmt.Sprintf("SELECT arrived, sum(size)::BIGINT FROM segment WHERE %s AND %s = %d GROUP BY arrived ORDER BY arrived", loose, span, last))
		if err != nil {
			return err
		}
		freed = minutes.before + within.all
		x.gone.Segments, err = x.count(fmt.Sprintf("DELETE FROM segment WHERE %s AND arrived <= %d", loose, until))
		return err
	})
	return freed, err
}

// amount counts bytes up to some time, without and with those of that time.
type amount struct{ before, all int64 }

// oldest reads times and their bytes, in ascending order, until there are enough
// bytes, and returns the sum and the last time.
func (x *remover) oldest(enough int64, sql string) (sum amount, last int64, err error) {
	err = x.c.Query(x.ctx, sql, nil, func(ch driver.Chunk) error {
		bytes := driver.Column[int64](ch, 1)
		for i, moment := range driver.Column[int64](ch, 0) {
			if sum.all >= enough {
				break
			}
			last, sum = moment, amount{sum.all, sum.all + bytes[i]}
		}
		return nil
	})
	return sum, last, err
}
