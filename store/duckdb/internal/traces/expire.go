package traces

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/traceprof"
)

// Expire implements traceprof.Store, in one transaction.
func (s *Store) Expire(ctx context.Context, e traceprof.Expiry) (traceprof.Expired, error) {
	t := s
	x := expirer{t: t, gone: map[string]bool{}}
	locked := false
	err := s.change(ctx, func(c *driver.Conn) error {
		x.ctx, x.c = ctx, c
		if err := x.run(e); err != nil {
			return err
		}
		if len(x.stacks) > 0 {
			t.removal.Lock()
			locked = true
		}
		return nil
	}, func(committed bool) {
		if committed {
			x.finish()
		}
		if locked {
			t.removal.Unlock()
		}
	})
	if err != nil {
		return traceprof.Expired{}, err
	}
	return x.out, nil
}

// expirer is one call of Expire.
type expirer struct {
	ctx context.Context
	c   *driver.Conn
	t   *Store

	tasks  []expiringTask // known or with snapshots, by their ends
	gone   map[string]bool
	stacks []int32 // of the tasks that are gone
	out    traceprof.Expired
}

// expiringTask is a task that is known or has snapshots.
type expiringTask struct {
	name   string
	stacks []int32 // ids of its dictionaries
	known  bool
	end    int64
	bytes  int64 // of its snapshots and their stacks
}

func (x *expirer) run(e traceprof.Expiry) error {
	if err := x.list(); err != nil {
		return err
	}
	// The segments of each task's traces. They stay as long as one of their tasks.
	for _, sql := range []string{
		"CREATE TEMP TABLE profiled(task INTEGER, seq BIGINT, size BIGINT, start BIGINT)",
		`INSERT INTO profiled SELECT DISTINCT own.task, s.seq, s.size, s.start FROM segment s JOIN (
			SELECT DISTINCT p.task, s.trace_key AS key, s.trace AS name FROM snapshot p JOIN segment s ON s.key = p.key AND s.id = p.segment WHERE s.trace <> ''
		) own ON s.trace_key = own.key AND s.trace = own.name`,
		`INSERT INTO profiled SELECT DISTINCT p.task, s.seq, s.size, s.start FROM snapshot p JOIN segment s ON s.key = p.key AND s.id = p.segment WHERE s.trace = ''`,
	} {
		if err := x.c.Exec(sql); err != nil {
			return err
		}
	}
	if err := x.expire(e); err != nil {
		return err
	}
	return x.c.Exec("DROP TABLE profiled; DELETE FROM wanted")
}

func (x *expirer) expire(e traceprof.Expiry) error {
	if e.Before != 0 {
		if err := x.byTime(e.Before); err != nil {
			return err
		}
	}
	if e.MaxBytes != 0 {
		return x.bySize(e)
	}
	return nil
}

// list finds the tasks that are known or have snapshots.
func (x *expirer) list() error {
	found := map[string]*expiringTask{}
	const sql = `SELECT t.id, t.name, n.newest, (n.size + coalesce(g.size, 0) + coalesce(p.size, 0))::BIGINT FROM sampled_task t
		JOIN (SELECT task, max(newest) AS newest, sum(size) AS size FROM snapshot GROUP BY task) n ON n.task = t.id
		LEFT JOIN (SELECT task, sum(strlen(name) + 8) AS size FROM stack_signature GROUP BY task) g ON g.task = t.id
		LEFT JOIN (SELECT task, count(*) * 8 AS size FROM stack_path GROUP BY task) p ON p.task = t.id`
	err := x.c.Query(x.ctx, sql, nil, func(ch driver.Chunk) error {
		names, newest, bytes := ch.Texts(1), driver.Column[int64](ch, 2), driver.Column[int64](ch, 3)
		for i, id := range driver.Column[int32](ch, 0) {
			have := found[names[i]]
			if have == nil {
				have = &expiringTask{name: names[i], end: newest[i]}
				found[names[i]] = have
			}
			have.stacks = append(have.stacks, id)
			have.end, have.bytes = max(have.end, newest[i]), have.bytes+bytes[i]
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, task := range x.t.all() {
		have := found[task.ID]
		if have == nil {
			have = &expiringTask{name: task.ID}
			found[task.ID] = have
		}
		have.known, have.end = true, task.End()
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		x.tasks = append(x.tasks, *found[name])
	}
	slices.SortStableFunc(x.tasks, func(a, b expiringTask) int { return cmp.Compare(a.end, b.end) })
	return nil
}

// count runs a statement that changes rows and returns their number.
func (x *expirer) count(sql string) (int, error) {
	n := int64(0)
	err := x.c.Query(x.ctx, sql, nil, func(ch driver.Chunk) error {
		n = driver.Column[int64](ch, 0)[0]
		return nil
	})
	return int(n), err
}

func (x *expirer) byTime(before int64) error {
	var going []expiringTask
	for _, task := range x.tasks {
		if task.end < before {
			going = append(going, task)
		}
	}
	if err := x.removeTasks(going); err != nil {
		return err
	}
	n, err := x.count(fmt.Sprint("DELETE FROM segment WHERE seq NOT IN (SELECT seq FROM profiled) AND start < ", before))
	x.out.Segments += n
	if err != nil {
		return err
	}
	n, err = x.count(fmt.Sprint("DELETE FROM instance WHERE last_seen < ", before))
	x.out.Instances += n
	if err != nil {
		return err
	}
	_, err = x.count(fmt.Sprintf("DELETE FROM task_log WHERE time < %d AND task NOT IN (SELECT id FROM task)", before))
	return err
}

// removeTasks removes tasks with their logs and snapshots, and the segments of their
// traces that belong to no other task.
func (x *expirer) removeTasks(going []expiringTask) error {
	if len(going) == 0 {
		return nil
	}
	var names []string
	var ids []int64
	for _, task := range going {
		names = append(names, task.name)
		x.gone[task.name] = true
		if task.known {
			x.out.Tasks++
		}
		for _, id := range task.stacks {
			ids, x.stacks = append(ids, int64(id)), append(x.stacks, id)
		}
	}
	if err := x.c.Exec("DELETE FROM wanted"); err != nil {
		return err
	}
	if err := want(x.c, 0, names); err != nil {
		return err
	}
	if err := wantKeys(x.c, 1, ids); err != nil {
		return err
	}
	const named, numbered = "(SELECT name FROM wanted WHERE grp = 0)", "(SELECT key FROM wanted WHERE grp = 1)"
	n, err := x.count(`DELETE FROM segment WHERE seq IN (SELECT seq FROM profiled WHERE task IN ` + numbered + `)
		AND seq NOT IN (SELECT seq FROM profiled WHERE task NOT IN ` + numbered + `)`)
	x.out.Segments += n
	for _, sql := range []string{
		"DELETE FROM profiled WHERE task IN " + numbered,
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
	return err
}

// bySize removes the oldest tasks and segments until the rest is small enough.
func (x *expirer) bySize(e traceprof.Expiry) error {
	held, err := x.sum("SELECT sum(size) FROM segment")
	if err != nil {
		return err
	}
	for _, task := range x.tasks {
		if !x.gone[task.name] {
			held += task.bytes
		}
	}
	if held <= e.MaxBytes {
		return nil
	}
	freed, err := x.removeLoose(held - e.MaxBytes)
	if err != nil {
		return err
	}
	held -= freed
	for _, task := range x.tasks {
		if held <= e.MaxBytes {
			break
		}
		if x.gone[task.name] || task.known && task.end > e.Now {
			continue
		}
		ids := driver.List(append(task.stacks, -1))
		own, err := x.sum("SELECT sum(size) FROM (SELECT DISTINCT seq, size FROM profiled WHERE task IN (" + ids + ") AND seq NOT IN (SELECT seq FROM profiled WHERE task NOT IN (" + ids + ")))")
		if err != nil {
			return err
		}
		held -= own + task.bytes
		if err := x.removeTasks([]expiringTask{task}); err != nil {
			return err
		}
	}
	return nil
}

func (x *expirer) sum(sql string) (n int64, err error) {
	err = x.c.Query(x.ctx, "SELECT coalesce(("+sql+"), 0)::BIGINT", nil, func(ch driver.Chunk) error {
		n = driver.Column[int64](ch, 0)[0]
		return nil
	})
	return n, err
}

// removeLoose removes the oldest segments that belong to no task until so many bytes
// are free, and returns how many are. It finds the time up to which segments are
// removed in two steps, about a minute and within the last one, so that nothing is
// sorted.
func (x *expirer) removeLoose(excess int64) (int64, error) {
	const loose, span = "seq NOT IN (SELECT seq FROM profiled)", "start - start % 65536"
	freed, last, err := x.oldest(excess, fmt.Sprintf("SELECT %s AS moment, sum(size)::BIGINT FROM segment WHERE %s GROUP BY moment ORDER BY moment", span, loose))
	if err != nil {
		return 0, err
	}
	within, until, err := x.oldest(excess-freed.before,
		fmt.Sprintf("SELECT start, sum(size)::BIGINT FROM segment WHERE %s AND %s = %d GROUP BY start ORDER BY start", loose, span, last))
	if err != nil {
		return 0, err
	}
	n, err := x.count(fmt.Sprintf("DELETE FROM segment WHERE %s AND start <= %d", loose, until))
	x.out.Segments += n
	return freed.before + within.all, err
}

// amount counts bytes up to some time, without and with those of that time.
type amount struct{ before, all int64 }

// oldest reads times and their bytes, in ascending order, until there are enough
// bytes, and returns the sum and the last time.
func (x *expirer) oldest(enough int64, sql string) (sum amount, last int64, err error) {
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

// finish applies to memory what was committed.
func (x *expirer) finish() {
	t := x.t
	t.mu.Lock()
	for name := range x.gone {
		delete(t.tasks, name)
	}
	t.mu.Unlock()
	t.stacks.drop(x.stacks...)
	if t.removed += x.out.Segments; t.removed > t.seen.len()/2 {
		t.seen, t.removed = keyFilter{}, 0 // most of what it knows is gone
	}
}
