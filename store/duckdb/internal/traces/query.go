package traces

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/traceprof"
)

// readAtOnce is about how many bytes of snapshots one statement reads.
const readAtOnce = 4 << 20

// sampledSize is a SampledSegment, how many bytes its snapshots take, and when the newest
// of them arrived, in ms.
type sampledSize struct {
	traceprof.SampledSegment
	bytes, arrived int64
}

// SampledSegments implements traceprof.Store.
func (s *Store) SampledSegments(ctx context.Context, q traceprof.SnapshotQuery) (list []traceprof.SampledSegment, err error) {
	err = s.file.Look(ctx, func(c *driver.Conn) error {
		sized, err := sampledSegments(ctx, c, q)
		for i := range sized {
			list = append(list, sized[i].SampledSegment)
		}
		return err
	})
	return list, err
}

// Snapshots implements traceprof.Store. It lists the segments, then reads them in parts;
// those that are removed in between are skipped.
func (s *Store) Snapshots(ctx context.Context, q traceprof.SnapshotQuery) iter.Seq2[traceprof.Snapshots, error] {
	return func(yield func(traceprof.Snapshots, error) bool) {
		var list []sampledSize
		err := s.file.Look(ctx, func(c *driver.Conn) (err error) {
			list, err = sampledSegments(ctx, c, q)
			return err
		})
		for err == nil && len(list) > 0 {
			n := readTogether(list)
			var values []traceprof.Snapshots
			values, err = s.readSnapshots(ctx, list[:n])
			list = list[n:]
			for _, v := range values {
				if !yield(v, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(traceprof.Snapshots{}, err)
		}
	}
}

// readTogether returns how many segments at the beginning of a list one statement
// reads: they are of one task.
func readTogether(list []sampledSize) int {
	n, bytes := 0, int64(0)
	for n < len(list) && list[n].Task == list[0].Task && (n == 0 || bytes+list[n].bytes <= readAtOnce) {
		bytes += list[n].bytes
		n++
	}
	return n
}

// sampledSegments lists the selected segments in the order of the result.
func sampledSegments(ctx context.Context, c *driver.Conn, q traceprof.SnapshotQuery) (list []sampledSize, err error) {
	err = c.ReadTx(ctx.Err, func() error {
		where, args, err := among(c, textsOf{"s.key", "s.segment", q.Segments}, textsOf{"t.key", "t.name", q.Tasks})
		if err != nil {
			return err
		}
		const from = "SELECT t.name, s.segment, sum(s.size)::BIGINT, max(s.newest) FROM snapshot s JOIN sampled_task t ON t.id = s.task WHERE "
		var s sampledSize
		return c.Rows(ctx, from+where+" GROUP BY ALL", args, []any{&s.Task, &s.Segment, &s.bytes, &s.arrived}, func() error {
			list = append(list, s)
			return nil
		})
	})
	slices.SortFunc(list, func(a, b sampledSize) int { return a.Compare(b.SampledSegment) })
	return list, err
}

// readSnapshots reads segments of one task, in the order of the list.
func (s *Store) readSnapshots(ctx context.Context, list []sampledSize) (values []traceprof.Snapshots, err error) {
	err = s.file.Look(ctx, func(c *driver.Conn) error {
		s.removal.RLock()
		defer s.removal.RUnlock()
		values, err = readSegments(ctx, c, &s.stacks, list)
		return err
	})
	return values, err
}

// readSegments is readSnapshots while nothing is removed.
func readSegments(ctx context.Context, c *driver.Conn, stacks *stackCache, list []sampledSize) ([]traceprof.Snapshots, error) {
	var ids map[string][]int32
	task := list[0].Task
	err := c.ReadTx(ctx.Err, func() (err error) {
		ids, err = dictionaries(ctx, c, []string{task})
		return err
	})
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	segments := column.Of(list, func(s sampledSize) string { return s.Segment })
	found, err := snapshotParts(ctx, c, "task IN ("+driver.List(ids[task])+") AND ", segments)
	if err != nil {
		return nil, err
	}
	parts := map[string][]snapshotPart{}
	for _, p := range found {
		parts[p.segment] = append(parts[p.segment], p)
	}
	var values []traceprof.Snapshots
	d := snapshotDecoder{stacks: stacks}
	for _, at := range list {
		if len(parts[at.Segment]) == 0 {
			continue // removed meanwhile
		}
		v, err := d.join(ctx, c, at.SampledSegment, parts[at.Segment])
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// snapshotPart is a row of table snapshot.
type snapshotPart struct {
	stacks   int32 // id of the dictionary
	segment  string
	seq      int64
	n        int32
	language traceprof.Language
	data     []byte
}

// snapshotParts reads the rows of segments that meet a condition, which is empty or
// ends in AND.
func snapshotParts(ctx context.Context, c *driver.Conn, condition string, segments []string) (found []snapshotPart, err error) {
	wanted, keys := make(map[string]string, len(segments)), make([]string, len(segments))
	for i, segment := range segments {
		keys[i], wanted[segment] = fmt.Sprint(textKey(segment)), segment
	}
	read := func(keys string) error {
		sql := "SELECT task, segment, seq, n, language, data FROM snapshot WHERE " + condition + "key IN (" + keys + ")"
		var p snapshotPart
		var name *driver.Text
		return c.Rows(ctx, sql, nil, []any{&p.stacks, &name, &p.seq, &p.n, (*uint8)(&p.language), &p.data}, func() error {
			var ok bool
			if p.segment, ok = wanted[string(name.Bytes())]; ok {
				found = append(found, p)
			}
			return nil
		})
	}
	if len(segments) <= few {
		err = read(strings.Join(keys, ", "))
	} else {
		err = c.ReadTx(func() error { return want(c, 0, segments) }, func() error { return read("SELECT key FROM wanted") })
	}
	return found, err
}

// join joins the parts of a segment.
func (d *snapshotDecoder) join(ctx context.Context, c *driver.Conn, at traceprof.SampledSegment,
	parts []snapshotPart) (traceprof.Snapshots, error) {
	slices.SortFunc(parts, func(a, b snapshotPart) int { return cmp.Compare(a.seq, b.seq) })
	list := make([]traceprof.Snapshots, len(parts))
	for i, p := range parts {
		stacks, err := d.stacks.read(ctx, c, p.stacks, at.Task)
		if err != nil {
			return list[i], err
		}
		list[i] = traceprof.Snapshots{Task: at.Task, Segment: at.Segment, Language: p.language, Stacks: stacks}
		if err := d.appendTo(&list[i], p.data, int(p.n), stacks.Paths.Len()); err != nil {
			return list[i], err
		}
	}
	return traceprof.Join(list), nil
}
