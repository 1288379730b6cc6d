package duckdb

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/traceprof"
)

// readAtOnce is about how many bytes of snapshots one statement reads.
const readAtOnce = 4 << 20

// sampledSegment is a segment with snapshots.
type sampledSegment struct {
	task    int32
	name    string // of the task
	segment string
	bytes   int64
}

// fewSegments is up to how many segments are found and read by one statement,
// which takes less time than decoding a large one.
const fewSegments = 8

// Snapshots implements traceprof.Store. Many segments are listed first; then some
// are read at a time. What is removed meanwhile is left out.
func (s *Store) Snapshots(ctx context.Context, q traceprof.SnapshotQuery) iter.Seq2[traceprof.Snapshots, error] {
	return func(yield func(traceprof.Snapshots, error) bool) {
		var list []sampledSegment
		var values []traceprof.Snapshots
		err := s.look(ctx, func(c *conn) (err error) {
			if n := len(q.Segments); n > 0 && n <= fewSegments {
				values, err = s.readFew(ctx, c, q)
			} else {
				list, err = c.sampledSegments(ctx, q)
			}
			return err
		})
		for {
			if err != nil {
				yield(traceprof.Snapshots{}, err)
				return
			}
			for _, v := range values {
				if !yield(v, nil) {
					return
				}
			}
			if len(list) == 0 {
				return
			}
			n := readTogether(list)
			values, err = s.readSnapshots(ctx, list[:n])
			list = list[n:]
		}
	}
}

// readFew finds and reads a few segments.
func (s *Store) readFew(ctx context.Context, c *conn, q traceprof.SnapshotQuery) ([]traceprof.Snapshots, error) {
	s.traces.removal.RLock()
	defer s.traces.removal.RUnlock()
	found, err := c.snapshotParts(ctx, "", q.Segments)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var list []sampledSegment
	for at := range found {
		list = append(list, sampledSegment{task: at.task, segment: at.segment})
	}
	if err := s.traces.stacks.nameTasks(ctx, c, list); err != nil {
		return nil, err
	}
	if len(q.Tasks) > 0 {
		list = slices.DeleteFunc(list, func(at sampledSegment) bool { return !slices.Contains(q.Tasks, at.name) })
	}
	sortSegments(list)
	var values []traceprof.Snapshots
	for len(list) > 0 {
		n := readTogether(list)
		some, err := s.traces.stacks.decode(ctx, c, list[:n], found)
		if err != nil {
			return nil, err
		}
		values, list = append(values, some...), list[n:]
	}
	return values, nil
}

// nameTasks fills in the names of tasks.
func (sc *stackCache) nameTasks(ctx context.Context, c *conn, list []sampledSegment) error {
	var missing []string
	sc.mu.Lock()
	for i := range list {
		if s := sc.byID[list[i].task]; s != nil {
			list[i].name = s.task
		} else {
			missing = append(missing, fmt.Sprint(list[i].task))
		}
	}
	sc.mu.Unlock()
	if len(missing) == 0 {
		return nil
	}
	names := map[int32]string{}
	err := c.query(ctx, "SELECT id, name FROM sampled_task WHERE id IN ("+strings.Join(missing, ", ")+")", nil, func(ch chunk) error {
		texts := ch.texts(1)
		for i, id := range column[int32](ch, 0) {
			names[id] = texts[i]
		}
		return nil
	})
	for i := range list {
		if name, ok := names[list[i].task]; ok {
			list[i].name = name
		}
	}
	return err
}

func sortSegments(list []sampledSegment) {
	slices.SortFunc(list, func(a, b sampledSegment) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.segment, b.segment))
	})
}

// readTogether returns how many segments at the beginning of a list are read by
// one statement: they are of one task.
func readTogether(list []sampledSegment) int {
	n, bytes := 0, int64(0)
	for n < len(list) && list[n].task == list[0].task && (n == 0 || bytes+list[n].bytes <= readAtOnce) {
		bytes += list[n].bytes
		n++
	}
	return n
}

// sampledSegments lists what a query selects, in the order of its answer.
func (c *conn) sampledSegments(ctx context.Context, q traceprof.SnapshotQuery) (list []sampledSegment, err error) {
	err = c.joined(ctx.Err, func() error {
		where := "true"
		if len(q.Segments) > 0 {
			if err := c.want(1, q.Segments); err != nil {
				return err
			}
			where += " AND " + isWanted(1, "s.key", "s.segment")
		}
		if len(q.Tasks) > 0 {
			ids, err := sampledTasks(ctx, c, q.Tasks)
			if err != nil {
				return err
			}
			numbers := make([]int64, 0, len(ids))
			for _, id := range ids {
				numbers = append(numbers, int64(id))
			}
			if err := c.wantKeys(2, numbers); err != nil {
				return err
			}
			where += " AND s.task IN (SELECT key FROM wanted WHERE grp = 2)"
		}
		const from = "SELECT s.task, t.name, s.segment, sum(s.size)::BIGINT FROM snapshot s JOIN sampled_task t ON t.id = s.task WHERE "
		return c.query(ctx, from+where+" GROUP BY ALL", nil, func(ch chunk) error {
			names, segments, bytes := ch.texts(1), ch.texts(2), column[int64](ch, 3)
			for i, task := range column[int32](ch, 0) {
				list = append(list, sampledSegment{task, names[i], segments[i], bytes[i]})
			}
			return nil
		})
	})
	sortSegments(list)
	return list, err
}

// readSnapshots reads segments of one task, in the order of the list.
func (s *Store) readSnapshots(ctx context.Context, list []sampledSegment) (values []traceprof.Snapshots, err error) {
	err = s.look(ctx, func(c *conn) error {
		s.traces.removal.RLock()
		defer s.traces.removal.RUnlock()
		values, err = c.readSegments(ctx, &s.traces.stacks, list)
		return err
	})
	return values, err
}

// readSegments is readSnapshots while nothing is removed.
func (c *conn) readSegments(ctx context.Context, stacks *stackCache, list []sampledSegment) ([]traceprof.Snapshots, error) {
	segments := make([]string, len(list))
	for i := range list {
		segments[i] = list[i].segment
	}
	found, err := c.snapshotParts(ctx, fmt.Sprintf("task = %d AND ", list[0].task), segments)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return stacks.decode(ctx, c, list, found)
}

// placeOf is what identifies the snapshots of a segment in the file.
type placeOf struct {
	task    int32
	segment string
}

// snapshotPart is a row of table snapshot.
type snapshotPart struct {
	seq      int64
	n        int32
	language traceprof.Language
	data     []byte
}

// snapshotParts reads the rows of segments that meet a condition, which is empty
// or ends in AND.
func (c *conn) snapshotParts(ctx context.Context, condition string, segments []string) (map[placeOf][]snapshotPart, error) {
	found := map[placeOf][]snapshotPart{}
	wanted, keys := make(map[string]bool, len(segments)), make([]string, len(segments))
	for i, segment := range segments {
		keys[i], wanted[segment] = fmt.Sprint(textKey(segment)), true
	}
	read := func(keys string) error {
		sql := "SELECT task, segment, seq, n, language, data FROM snapshot WHERE " + condition + "key IN (" + keys + ")"
		return c.query(ctx, sql, nil, func(ch chunk) error {
			tasks, names, seq := column[int32](ch, 0), column[text](ch, 1), column[int64](ch, 2)
			n, languages, data := column[int32](ch, 3), column[uint8](ch, 4), column[text](ch, 5)
			for i := range names {
				if name := names[i].bytes(); wanted[string(name)] {
					at := placeOf{tasks[i], string(name)}
					found[at] = append(found[at], snapshotPart{seq[i], n[i], traceprof.Language(languages[i]), slices.Clone(data[i].bytes())})
				}
			}
			return nil
		})
	}
	if len(segments) <= fewSegments {
		return found, read(strings.Join(keys, ", "))
	}
	return found, c.joined(func() error { return c.want(0, segments) }, func() error { return read("SELECT key FROM wanted") })
}

// decode puts the parts of each segment together. The segments are of one task.
func (sc *stackCache) decode(ctx context.Context, c *conn, list []sampledSegment, found map[placeOf][]snapshotPart) ([]traceprof.Snapshots, error) {
	stacks, err := sc.read(ctx, c, list[0].task, list[0].name)
	if err != nil {
		return nil, err
	}
	var values []traceprof.Snapshots
	var d snapshotDecoder
	for i := range list {
		parts := found[placeOf{list[i].task, list[i].segment}]
		if len(parts) == 0 {
			continue // removed meanwhile
		}
		v := traceprof.Snapshots{Task: list[i].name, Segment: list[i].segment, Stacks: stacks}
		if err := d.join(&v, parts); err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// join decodes the parts of a segment.
func (d *snapshotDecoder) join(v *traceprof.Snapshots, parts []snapshotPart) error {
	slices.SortFunc(parts, func(a, b snapshotPart) int { return cmp.Compare(a.seq, b.seq) })
	v.Language = parts[0].language
	n := 0
	for _, p := range parts {
		n += int(p.n)
	}
	v.Sequence, v.Time, v.Path = make([]int32, 0, n), make([]int64, 0, n), make([]int32, 0, n)
	for _, p := range parts {
		if p.language != v.Language {
			continue // another language than the first
		}
		if err := d.appendTo(v, p.data, int(p.n), v.Stacks.Paths.Len()); err != nil {
			return err
		}
	}
	settle(v)
	return nil
}
