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
	err := c.Query(ctx, "SELECT id FROM segment WHERE "+isWanted(0, "key", "id"), nil, func(ch driver.Chunk) error {
		for _, id := range ch.Texts(0) {
			known[id] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return known, c.Exec("DELETE FROM wanted")
}

// writeSegments appends rows whose numbers begin at next.
func writeSegments(c *driver.Conn, next int64, list []*traceprof.Segment) error {
	n := len(list)
	var texts [6][]string
	var numbers [7][]int64
	failed, raw := make([]bool, n), make([][]byte, n)
	for i, s := range list {
		for k, text := range []string{s.ID, s.Trace, s.Service, s.Instance, s.Endpoint, s.Operation} {
			texts[k] = append(texts[k], text)
		}
		size := len(s.ID) + len(s.Trace) + len(s.Raw) + segmentOverhead
		for k, v := range []int64{next + int64(i), textKey(s.ID), textKey(s.Trace), s.Start, s.Latency(), int64(size), s.Arrived()} {
			numbers[k] = append(numbers[k], v)
		}
		failed[i], raw[i] = s.Error, s.Raw
	}
	return c.Append("", "segment", n, numbers[0], numbers[1], texts[0], numbers[2], texts[1], texts[2], texts[3], texts[4], texts[5],
		numbers[3], numbers[4], failed, numbers[5], raw, numbers[6])
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
		err = c.Query(ctx, sql+where+" ORDER BY "+order+page, args, func(ch driver.Chunk) error {
			numbers = append(numbers, driver.Column[int64](ch, 0)...)
			list = appendSegments(list, ch)
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

// appendSegments reads rows of the columns that Segments selects.
func appendSegments(list []traceprof.Segment, ch driver.Chunk) []traceprof.Segment {
	ids, traces, services, instances, endpoints, operations := ch.Texts(1), ch.Texts(2), ch.Texts(3), ch.Texts(4), ch.Texts(5), ch.Texts(6)
	start, latency, failed := driver.Column[int64](ch, 7), driver.Column[int64](ch, 8), driver.Column[bool](ch, 9)
	arrived := driver.Column[int64](ch, 10)
	for i := range ids {
		list = append(list, traceprof.Segment{ID: ids[i], Trace: traces[i], Service: services[i], Instance: instances[i],
			Endpoint: endpoints[i], Operation: operations[i], Start: start[i], End: start[i] + latency[i], Error: failed[i]})
		list[len(list)-1].SetArrived(arrived[i])
	}
	return list
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
	return c.Query(ctx, "SELECT seq, raw FROM segment WHERE "+where, nil, func(ch driver.Chunk) error {
		raw := driver.Column[driver.Text](ch, 1)
		for i, n := range driver.Column[int64](ch, 0) {
			if b := raw[i].Bytes(); len(b) > 0 {
				list[at[n]].Raw = slices.Clone(b)
			}
		}
		return nil
	})
}

// Endpoints implements traceprof.Store.
func (s *Store) Endpoints(ctx context.Context, service, keyword string, limit int) ([]traceprof.Endpoint, error) {
	var list []traceprof.Endpoint
	const sql = "SELECT endpoint, count(*), max(latency), max(start) FROM segment WHERE service = ? GROUP BY endpoint ORDER BY endpoint"
	err := s.read(ctx, func(c *driver.Conn) error {
		return c.Query(ctx, sql, []any{service}, func(ch driver.Chunk) error {
			count, slowest, last := driver.Column[int64](ch, 1), driver.Column[int64](ch, 2), driver.Column[int64](ch, 3)
			for i, name := range ch.Texts(0) {
				if traceprof.HasKeyword(name, keyword) && (limit <= 0 || len(list) < limit) {
					list = append(list, traceprof.Endpoint{Service: service, Name: name, Segments: count[i], Slowest: slowest[i], LastSeen: last[i]})
				}
			}
			return nil
		})
	})
	return list, err
}
