package traces

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/traceprof"
)

// PutSegments implements traceprof.Store. A filter in memory finds that a segment is
// new, as nearly all are; only for the others it queries the file.
func (s *Store) PutSegments(ctx context.Context, list ...traceprof.Segment) error {
	if len(list) == 0 {
		return ctx.Err()
	}
	t := s
	var fresh []*traceprof.Segment
	return s.change(ctx, func(c *driver.Conn) error {
		known, err := t.knownSegments(ctx, c, list)
		if err != nil {
			return err
		}
		for i := range list {
			if id := list[i].ID; !known[id] {
				known[id] = true
				fresh = append(fresh, &list[i])
			}
		}
		return writeSegments(c, t.nextSegment, fresh)
	}, func(committed bool) {
		if !committed {
			return
		}
		t.nextSegment += int64(len(fresh))
		for _, seg := range fresh {
			t.seen.add(uint64(textKey(seg.ID)))
		}
	})
}

// knownSegments returns those of the segments' ids that are stored.
func (t *Store) knownSegments(ctx context.Context, c *driver.Conn, list []traceprof.Segment) (map[string]bool, error) {
	known := map[string]bool{}
	if !t.seen.loaded {
		t.seen = keyFilter{loaded: true}
		err := c.Query(ctx, "SELECT key FROM segment", nil, func(ch driver.Chunk) error {
			for _, key := range driver.Column[int64](ch, 0) {
				t.seen.add(uint64(key))
			}
			return nil
		})
		if err != nil {
			t.seen = keyFilter{}
			return nil, err
		}
	}
	var doubtful []string
	for i := range list {
		if id := list[i].ID; t.seen.mayHave(uint64(textKey(id))) {
			doubtful = append(doubtful, id)
		}
	}
	if len(doubtful) == 0 {
		return known, nil
	}
	if err := want(c, 0, doubtful); err != nil {
		return nil, err
	}
	var id string
	err := c.Rows(ctx, "SELECT id FROM segment WHERE "+isWanted(0, "key", "id"), nil, []any{&id}, func() error {
		known[id] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	return known, c.Exec("DELETE FROM wanted")
}

// segmentRow is a row of table segment.
type segmentRow struct {
	traceprof.Segment
	seq, key, traceKey, latency, size, arrived int64
}

func (r *segmentRow) fields() []any {
	return []any{&r.seq, &r.key, &r.ID, &r.traceKey, &r.Trace, &r.Service, &r.Instance, &r.Endpoint, &r.Operation, &r.Start, &r.latency,
		&r.Error, &r.size, &r.Raw, &r.arrived}
}

// writeSegments appends rows whose numbers begin at next.
func writeSegments(c *driver.Conn, next int64, list []*traceprof.Segment) error {
	rows := make([]segmentRow, len(list))
	for i, s := range list {
		size := len(s.ID) + len(s.Trace) + len(s.Raw) + segmentOverhead
		rows[i] = segmentRow{Segment: *s, seq: next + int64(i), key: textKey(s.ID), traceKey: textKey(s.Trace), latency: s.Latency(),
			size: int64(size), arrived: s.Arrived()}
	}
	return driver.Insert(c, "", "segment", rows, (*segmentRow).fields)
}

// segmentOverhead is the size of a segment without its ids and raw bytes.
const segmentOverhead = 60

// Segments implements traceprof.Store.
func (s *Store) Segments(ctx context.Context, q traceprof.SegmentQuery) ([]traceprof.Segment, error) {
	order := "start DESC, id"
	if q.BySlowest {
		order = "latency DESC, " + order
	}
	page := ""
	if q.Limit > 0 {
		page = fmt.Sprint(" LIMIT ", q.Limit)
	}
	if q.Offset > 0 {
		page += fmt.Sprint(" OFFSET ", q.Offset)
	}
	var list []traceprof.Segment
	err := s.read(ctx, func(c *driver.Conn) error {
		where, args, err := segmentCondition(c, &q)
		if err != nil {
			return err
		}
		var numbers []int64
		const sql = "SELECT seq, id, trace, service, instance, endpoint, operation, start, latency, failed, arrived FROM segment WHERE "
		var r segmentRow
		err = c.Rows(ctx, sql+where+" ORDER BY "+order+page, args, []any{&r.seq, &r.ID, &r.Trace, &r.Service, &r.Instance, &r.Endpoint,
			&r.Operation, &r.Start, &r.latency, &r.Error, &r.arrived}, func() error {
			s := r.Segment
			s.End = s.Start + r.latency
			s.SetArrived(r.arrived)
			numbers, list = append(numbers, r.seq), append(list, s)
			return nil
		})
		if err != nil || q.NoRaw || len(list) == 0 {
			return err
		}
		return readRaw(ctx, c, numbers, list)
	})
	return list, err
}

// segmentCondition returns the SQL conditions of a query, and fills table wanted.
func segmentCondition(c *driver.Conn, q *traceprof.SegmentQuery) (where string, args []any, err error) {
	where, args, err = among(c, textsOf{"key", "id", q.IDs}, textsOf{"trace_key", "trace", q.Traces})
	if err != nil {
		return "", nil, err
	}
	conditions := []string{where}
	for _, c := range [][2]string{{"service", q.Service}, {"instance", q.Instance}, {"endpoint", q.Endpoint}, {"operation", q.Operation}} {
		if c[1] != "" {
			conditions, args = append(conditions, c[0]+" = ?"), append(args, c[1])
		}
	}
	for _, c := range []struct {
		sql  string
		than int64
	}{{"start >= ", q.From}, {"start <= ", q.To}, {"latency >= ", q.Shortest}, {"latency <= ", q.Longest}} {
		if c.than != 0 {
			conditions = append(conditions, fmt.Sprint(c.sql, c.than))
		}
	}
	if q.Failed != nil {
		conditions = append(conditions, fmt.Sprint("failed = ", *q.Failed))
	}
	return strings.Join(conditions, " AND "), args, nil
}

// readRaw reads the raw bytes of segments whose rows have the given numbers: in a
// separate statement, which reads no other raw bytes.
func readRaw(ctx context.Context, c *driver.Conn, numbers []int64, list []traceprof.Segment) error {
	at := make(map[int64]int, len(numbers))
	for i, n := range numbers {
		at[n] = i
	}
	where := fmt.Sprintf("seq BETWEEN %d AND %d", slices.Min(numbers), slices.Max(numbers))
	if len(numbers) > 1 {
		if err := wantKeys(c, 2, numbers); err != nil {
			return err
		}
		where += " AND seq IN (SELECT key FROM wanted WHERE grp = 2)"
	}
	var n int64
	var raw []byte
	return c.Rows(ctx, "SELECT seq, raw FROM segment WHERE "+where, nil, []any{&n, &raw}, func() error {
		if len(raw) > 0 {
			list[at[n]].Raw = raw
		}
		return nil
	})
}

// Endpoints implements traceprof.Store.
func (s *Store) Endpoints(ctx context.Context, service, keyword string, limit int) ([]traceprof.Endpoint, error) {
	var list []traceprof.Endpoint
	const sql = "SELECT endpoint, count(*), max(latency), max(start) FROM segment WHERE service = ? GROUP BY endpoint ORDER BY endpoint"
	err := s.read(ctx, func(c *driver.Conn) error {
		e := traceprof.Endpoint{Service: service}
		return c.Rows(ctx, sql, []any{service}, []any{&e.Name, &e.Segments, &e.Slowest, &e.LastSeen}, func() error {
			if traceprof.HasKeyword(e.Name, keyword) && (limit <= 0 || len(list) < limit) {
				list = append(list, e)
			}
			return nil
		})
	})
	return list, err
}
