package traces

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/traceprof"
)

// segmentOverhead is the counted size of a segment without its ids and raw bytes.
const segmentOverhead = 100

// segmentProps returns the properties of a segment's node.
func segmentProps(g *traceprof.Segment) bolt.Props {
	n := bolt.Props{"instance": g.Instance, "operation": g.Operation, "start": g.Start, "latency": g.Latency(), "failed": g.Error,
		"arrived": g.Arrived(),
		"size":    int64(len(g.ID) + len(g.Trace) + len(g.Raw) + segmentOverhead)}
	n.SetText("id", g.ID)
	n.SetText("trace", g.Trace)
	n.SetText("service", g.Service)
	n.SetText("endpoint", g.Endpoint)
	if len(g.Raw) > 0 {
		n["raw"] = g.Raw
	}
	return n
}

// readSegment is the inverse of segmentProps. The end is start and latency, modulo 2^64.
func readSegment(n bolt.Props) traceprof.Segment {
	failed, _ := n["failed"].(bool)
	raw, _ := n["raw"].([]byte)
	g := traceprof.Segment{ID: n.WholeText("id"), Trace: n.WholeText("trace"), Service: n.WholeText("service"), Instance: n.Text("instance"),
		Endpoint: n.WholeText("endpoint"), Operation: n.Text("operation"), Start: n.Int("start"), End: n.Int("start") + n.Int("latency"),
		Error: failed, Raw: raw}
	g.SetArrived(n.Int("arrived"))
	return g
}

// segmentsTogether is the approximate size of the segments in one statement, in bytes.
const segmentsTogether = 4 << 20

// PutSegments implements traceprof.Store.
func (s *Store) PutSegments(ctx context.Context, list ...traceprof.Segment) error {
	if len(list) == 0 {
		return ctx.Err()
	}
	rows := make([]bolt.Props, len(list))
	for i := range list {
		rows[i] = segmentProps(&list[i])
	}
	// Locking in one order avoids deadlocks between servers.
	slices.SortStableFunc(rows, func(a, b bolt.Props) int { return cmp.Compare(a.Text("id"), b.Text("id")) })
	return s.write(ctx, "segments", func(t *bolt.Tx) error {
		from, bytes := 0, int64(0)
		for i := range rows {
			if bytes += rows[i].Int("size"); bytes < segmentsTogether && i+1 < len(rows) {
				continue
			}
			if err := putNew(t, "TraceSegment", "id", rows[from:i+1]); err != nil {
				return err
			}
			from, bytes = i+1, 0
		}
		return nil
	})
}

// segmentColumns is a segment without its raw bytes.
const segmentColumns = "{.id, .idWhole, .trace, .traceWhole, .service, .serviceWhole, .instance, .endpoint, .endpointWhole, .operation, .start, .latency, .failed, .arrived}"

// Segments implements traceprof.Store.
func (s *Store) Segments(ctx context.Context, q traceprof.SegmentQuery) (list []traceprof.Segment, err error) {
	where, params := segmentCondition(&q)
	order := "s.start DESC, s.id"
	if q.BySlowest {
		order = "s.latency DESC, " + order
	}
	page := ""
	if params["offset"] = max(q.Offset, 0); q.Offset > 0 {
		page = " SKIP $offset"
	}
	if params["limit"] = q.Limit; q.Limit > 0 {
		page += " LIMIT $limit"
	}
	columns := "{.*}"
	if q.NoRaw {
		columns = segmentColumns
	}
	err = s.read(ctx, func(t *bolt.Tx) error {
		list = nil
		return t.Each("MATCH (s:TraceSegment) WHERE "+where+" WITH s ORDER BY "+order+page+" RETURN s "+columns, params, func(r bolt.Row) error {
			list = append(list, readSegment(r.Props(0)))
			return nil
		})
	})
	return list, err
}

// segmentCondition returns the conditions of a query and their parameters.
func segmentCondition(q *traceprof.SegmentQuery) (where string, params map[string]any) {
	conditions, params := []string{"true"}, map[string]any{}
	demand := func(asked bool, name, condition string, value any) {
		if asked {
			conditions, params[name] = append(conditions, condition), value
		}
	}
	demand(len(q.IDs) > 0, "ids", "s.id IN $ids", bolt.StoredNames(q.IDs))
	demand(len(q.Traces) > 0, "traces", "s.trace IN $traces", bolt.StoredNames(q.Traces))
	demand(q.Service != "", "service", "s.service = $service", bolt.StoredName(q.Service))
	demand(q.Instance != "", "instance", "s.instance = $instance", q.Instance)
	demand(q.Endpoint != "", "endpoint", "s.endpoint = $endpoint", bolt.StoredName(q.Endpoint))
	demand(q.Operation != "", "operation", "s.operation = $operation", q.Operation)
	demand(q.From != 0, "from", "s.start >= $from", q.From)
	demand(q.To != 0, "to", "s.start <= $to", q.To)
	demand(q.Shortest != 0, "shortest", "s.latency >= $shortest", q.Shortest)
	demand(q.Longest != 0, "longest", "s.latency <= $longest", q.Longest)
	if q.Failed != nil {
		demand(true, "failed", "s.failed = $failed", *q.Failed)
	}
	return strings.Join(conditions, " AND "), params
}

// Endpoints implements traceprof.Store. It compares the keyword here, so
// that letter case is handled as in other engines.
func (s *Store) Endpoints(ctx context.Context, service, keyword string, limit int) (list []traceprof.Endpoint, err error) {
	err = s.read(ctx, func(t *bolt.Tx) error {
		list = nil
		return t.Each(`MATCH (s:TraceSegment {service: $service})
			WITH s.endpoint AS endpoint, s.endpointWhole AS endpointWhole, count(*) AS n, max(s.latency) AS slowest, max(s.start) AS last
			RETURN {endpoint: endpoint, endpointWhole: endpointWhole}, n, slowest, last`, map[string]any{"service": bolt.StoredName(service)}, func(r bolt.Row) error {
			if name := r.Props(0).WholeText("endpoint"); traceprof.HasKeyword(name, keyword) {
				list = append(list, traceprof.Endpoint{Service: service, Name: name, Segments: r.Int(1), Slowest: r.Int(2), LastSeen: r.Int(3)})
			}
			return nil
		})
	})
	slices.SortFunc(list, func(a, b traceprof.Endpoint) int { return cmp.Compare(a.Name, b.Name) })
	if limit > 0 && limit < len(list) {
		list = list[:limit]
	}
	return list, err
}
