package traces

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/traceprof"
)

// Expire implements traceprof.Store. It works in transactions of limited size, between which
// others write, each of which is an Expire of less: if one fails, the next Expire continues.
// If nothing is to be removed, it writes nothing.
func (s *Store) Expire(ctx context.Context, e traceprof.Expiry) (all traceprof.Expired, err error) {
	p := progress{whole: e}
	for {
		step, err := p.next(ctx, s)
		if err != nil || step == (traceprof.Expiry{}) {
			return all, err
		}
		gone, err := s.expire(ctx, step)
		all.Tasks, all.Segments, all.Instances = all.Tasks+gone.Tasks, all.Segments+gone.Segments, all.Instances+gone.Instances
		if err != nil {
			return all, err
		}
	}
}

// The maximum that one transaction removes of segments by time, and of bytes by size. Both
// may be exceeded by what belongs together.
const (
	stepSegments = 20_000
	stepBytes    = 64 << 20
)

// progress divides an Expiry into steps.
type progress struct {
	whole  traceprof.Expiry
	before int64 // of the last step by time
	timed  bool  // there are no more steps by time
	left   int64 // bytes after the last step by size; 0: there was none
}

// next returns the next step, or none. It reads only what is needed to see whether there is
// something to remove.
func (p *progress) next(ctx context.Context, s *Store) (step traceprof.Expiry, err error) {
	err = s.read(ctx, func(c *driver.Conn) error {
		if p.whole.Before != 0 && !p.timed {
			if step.Before, err = p.nextBefore(ctx, c, s); err != nil || step.Before != 0 {
				return err
			}
			p.timed = true
		}
		if p.whole.MaxBytes == 0 {
			return nil
		}
		x := remover{ctx: ctx, c: c, s: s, stacksOf: map[string][]int32{}}
		tasks, err := x.StoredTasks()
		if err != nil {
			return err
		}
		bytes, err := x.SegmentBytes()
		for i := range tasks {
			bytes += tasks[i].Bytes
		}
		if bytes > p.whole.MaxBytes && (p.left == 0 || bytes < p.left) { // the rest may not go
			step.Now, step.MaxBytes, p.left = p.whole.Now, max(p.whole.MaxBytes, bytes-stepBytes), bytes
		}
		return err
	})
	return step, err
}

// nextBefore returns the time before which the next step removes, or 0.
func (p *progress) nextBefore(ctx context.Context, c *driver.Conn, s *Store) (before int64, err error) {
	const most = math.MaxInt64
	last := cmp.Or(p.before, math.MinInt64)
	if last >= p.whole.Before {
		return 0, nil
	}
	due, err := c.Number(ctx, fmt.Sprintf(`SELECT least((SELECT coalesce(min(arrived), %[1]d) FROM segment), (SELECT coalesce(min(last_seen), %[1]d) FROM instance),
		(SELECT coalesce(min(newest), %[1]d) FROM snapshot), (SELECT coalesce(min(time), %[1]d) FROM task_log WHERE task NOT IN (SELECT id FROM task)))::BIGINT`, most))
	if err != nil {
		return 0, err
	}
	for _, task := range s.all() {
		due = min(due, task.Over())
	}
	if due >= p.whole.Before {
		return 0, nil
	}
	p.before = p.whole.Before
	cut, err := c.Number(ctx, fmt.Sprintf(`SELECT coalesce((SELECT arrived FROM segment WHERE arrived >= %d AND arrived < %d ORDER BY arrived LIMIT 1 OFFSET %d), %[2]d)::BIGINT`,
		last, p.whole.Before, stepSegments))
	if cut > last {
		p.before = cut
	} else { // as many arrived within one ms
		p.before = last + 1
	}
	return p.before, err
}

// expire is one step, in one transaction.
func (s *Store) expire(ctx context.Context, e traceprof.Expiry) (traceprof.Expired, error) {
	x := remover{ctx: ctx, s: s, stacksOf: map[string][]int32{}}
	locked := false
	err := s.change(ctx, func(c *driver.Conn) error {
		x.c = c
		if err := x.run(e); err != nil {
			return err
		}
		if len(x.stacks) > 0 {
			s.removal.Lock()
			locked = true
		}
		return nil
	}, func(committed bool) {
		if committed {
			x.finish()
		}
		if locked {
			s.removal.Unlock()
		}
	})
	if err != nil {
		return traceprof.Expired{}, err
	}
	return x.out, nil
}

// remover implements traceprof.Remover for one call of Expire.
type remover struct {
	ctx context.Context
	c   *driver.Conn
	s   *Store

	stacksOf map[string][]int32 // ids of the dictionaries of each task
	removed  []string           // tasks
	stacks   []int32            // dictionaries of removed tasks
	out      traceprof.Expired
}

func (x *remover) run(e traceprof.Expiry) error {
	// The segments of each task's traces, which stay as long as one of their tasks.
	for _, sql := range []string{
		"CREATE TEMP TABLE profiled(task INTEGER, seq BIGINT)",
		`INSERT INTO profiled SELECT DISTINCT own.task, s.seq FROM segment s JOIN (
			SELECT DISTINCT p.task, s.trace_key AS key, s.trace AS name FROM snapshot p JOIN segment s ON s.key = p.key AND s.id = p.segment WHERE s.trace <> ''
		) own ON s.trace_key = own.key AND s.trace = own.name`,
		`INSERT INTO profiled SELECT DISTINCT p.task, s.seq FROM snapshot p JOIN segment s ON s.key = p.key AND s.id = p.segment WHERE s.trace = ''`,
	} {
		if err := x.c.Exec(sql); err != nil {
			return err
		}
	}
	if err := e.Run(x); err != nil {
		return err
	}
	return x.c.Exec("DROP TABLE profiled; DELETE FROM wanted")
}

func (x *remover) StoredTasks() ([]traceprof.StoredTask, error) {
	found := map[string]traceprof.StoredTask{}
	const sql = `SELECT t.id, t.name, n.newest, (n.size + coalesce(g.size, 0) + coalesce(p.size, 0))::BIGINT FROM sampled_task t
		JOIN (SELECT task, max(newest) AS newest, sum(size) AS size FROM snapshot GROUP BY task) n ON n.task = t.id
		LEFT JOIN (SELECT task, sum(strlen(name) + 8) AS size FROM stack_signature GROUP BY task) g ON g.task = t.id
		LEFT JOIN (SELECT task, count(*) * 8 AS size FROM stack_path GROUP BY task) p ON p.task = t.id`
	err := x.c.Query(x.ctx, sql, nil, func(ch driver.Chunk) error {
		names, newest, bytes := ch.Texts(1), driver.Column[int64](ch, 2), driver.Column[int64](ch, 3)
		for i, id := range driver.Column[int32](ch, 0) {
			task, ok := found[names[i]]
			if !ok {
				task = traceprof.StoredTask{ID: names[i], End: newest[i]}
			}
			task.End, task.Bytes = max(task.End, newest[i]), task.Bytes+bytes[i]
			found[names[i]] = task
			x.stacksOf[names[i]] = append(x.stacksOf[names[i]], id)
		}
		return nil
	})
	for _, task := range x.s.all() {
		found[task.ID] = traceprof.StoredTask{ID: task.ID, Known: true, End: task.Over(), Bytes: found[task.ID].Bytes}
	}
	return slices.Collect(maps.Values(found)), err
}

// count runs a statement that changes rows and returns n plus their number.
func (x *remover) count(n int, sql string) (int, error) {
	changed, err := x.c.Number(x.ctx, sql)
	return n + int(changed), err
}

func (x *remover) RemoveBefore(before int64) (err error) {
	if x.out.Segments, err = x.count(x.out.Segments, fmt.Sprint("DELETE FROM segment WHERE seq NOT IN (SELECT seq FROM profiled) AND arrived < ", before)); err != nil {
		return err
	}
	if x.out.Instances, err = x.count(0, fmt.Sprint("DELETE FROM instance WHERE last_seen < ", before)); err != nil {
		return err
	}
	_, err = x.count(0, fmt.Sprintf("DELETE FROM task_log WHERE time < %d AND task NOT IN (SELECT id FROM task)", before))
	return err
}

func (x *remover) RemoveTasks(list []traceprof.StoredTask) (freed int64, err error) {
	if len(list) == 0 {
		return 0, nil
	}
	var names []string
	var ids []int64
	for _, task := range list {
		names = append(names, task.ID)
		freed += task.Bytes
		if task.Known {
			x.out.Tasks++
		}
		for _, id := range x.stacksOf[task.ID] {
			ids, x.stacks = append(ids, int64(id)), append(x.stacks, id)
		}
	}
	x.removed = append(x.removed, names...)
	if err := x.c.Exec("DELETE FROM wanted"); err != nil {
		return 0, err
	}
	if err := want(x.c, 0, names); err != nil {
		return 0, err
	}
	if err := wantKeys(x.c, 1, ids); err != nil {
		return 0, err
	}
	const named, numbered = "(SELECT name FROM wanted WHERE grp = 0)", "(SELECT key FROM wanted WHERE grp = 1)"
	const own = "seq IN (SELECT seq FROM profiled WHERE task IN " + numbered + ") AND seq NOT IN (SELECT seq FROM profiled WHERE task NOT IN " + numbered + ")"
	bytes, err := x.sum("SELECT sum(size) FROM segment WHERE " + own)
	if err != nil {
		return 0, err
	}
	x.out.Segments, err = x.count(x.out.Segments, "DELETE FROM segment WHERE "+own)
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
			_, err = x.count(0, sql)
		}
	}
	return freed + bytes, err
}

func (x *remover) SegmentBytes() (int64, error) { return x.sum("SELECT sum(size) FROM segment") }

func (x *remover) sum(sql string) (int64, error) {
	return x.c.Number(x.ctx, "SELECT coalesce(("+sql+"), 0)::BIGINT")
}

// RemoveLoose finds the time up to which segments are removed in two steps, about a
// minute and within the last one, so that nothing is sorted.
func (x *remover) RemoveLoose(excess int64) (int64, error) {
	const loose, span = "seq NOT IN (SELECT seq FROM profiled)", "arrived - arrived % 65536"
	freed, last, err := x.oldest(excess, fmt.Sprintf("SELECT %s AS moment, sum(size)::BIGINT FROM segment WHERE %s GROUP BY moment ORDER BY moment", span, loose))
	if err != nil {
		return 0, err
	}
	within, until, err := x.oldest(excess-freed.before,
		fmt.Sprintf("SELECT arrived, sum(size)::BIGINT FROM segment WHERE %s AND %s = %d GROUP BY arrived ORDER BY arrived", loose, span, last))
	if err != nil {
		return 0, err
	}
	x.out.Segments, err = x.count(x.out.Segments, fmt.Sprintf("DELETE FROM segment WHERE %s AND arrived <= %d", loose, until))
	return freed.before + within.all, err
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

// finish applies the commit to memory.
func (x *remover) finish() {
	s := x.s
	s.mu.Lock()
	for _, id := range x.removed {
		delete(s.tasks, id)
	}
	s.mu.Unlock()
	s.stacks.drop(x.stacks...)
	if s.removed += x.out.Segments; s.removed > s.seen.len()/2 {
		s.seen, s.removed = keyFilter{}, 0 // most of its keys were removed
	}
}
