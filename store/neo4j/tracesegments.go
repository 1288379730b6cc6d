package neo4j

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/traceprof"
)

// segmentOverhead is what a segment counts beside its ids and its raw bytes.
const segmentOverhead = 100

// segmentFacts returns what a segment's node says of it.
func segmentFacts(g *traceprof.Segment) facts {
	n := facts{"instance": g.Instance, "operation": g.Operation, "start": g.Start, "latency": g.Latency(), "failed": g.Error,
		"size": int64(len(g.ID) + len(g.Trace) + len(g.Raw) + segmentOverhead)}
	n.setText("id", g.ID)
	n.setText("trace", g.Trace)
	n.setText("service", g.Service)
	n.setText("endpoint", g.Endpoint)
	if len(g.Raw) > 0 {
		n["raw"] = g.Raw
	}
	return n
}

// readSegment is the reverse. The end is start and latency, modulo 2^64.
func readSegment(n facts) traceprof.Segment {
	failed, _ := n["failed"].(bool)
	raw, _ := n["raw"].([]byte)
	return traceprof.Segment{ID: n.wholeText("id"), Trace: n.wholeText("trace"), Service: n.wholeText("service"), Instance: n.text("instance"),
		Endpoint: n.wholeText("endpoint"), Operation: n.text("operation"), Start: n.int("start"), End: n.int("start") + n.int("latency"),
		Error: failed, Raw: raw}
}

// segmentsTogether is about how many bytes of segments one statement writes.
const segmentsTogether = 4 << 20

// PutSegments implements traceprof.Store.
func (s *Store) PutSegments(ctx context.Context, list ...traceprof.Segment) error {
	if len(list) == 0 {
		return ctx.Err()
	}
	rows := make([]facts, len(list))
	for i := range list {
		rows[i] = segmentFacts(&list[i])
	}
	// Servers that lock in one order do not wait for each other in a circle.
	slices.SortStableFunc(rows, func(a, b facts) int { return cmp.Compare(a.text("id"), b.text("id")) })
	return s.changeTraces(ctx, "segments", func(t *tx) error {
		from, bytes := 0, int64(0)
		for i := range rows {
			if bytes += rows[i].int("size"); bytes < segmentsTogether && i+1 < len(rows) {
				continue
			}
			if err := t.putNew("TraceSegment", "id", rows[from:i+1]); err != nil {
				return err
			}
			from, bytes = i+1, 0
		}
		return nil
	})
}

// segmentColumns is a segment without its raw bytes.
const segmentColumns = "{.id, .idWhole, .trace, .traceWhole, .service, .serviceWhole, .instance, .endpoint, .endpointWhole, .operation, .start, .latency, .failed}"

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
	err = s.askTraces(ctx, func(t *tx) error {
		list = nil
		return t.each("MATCH (s:TraceSegment) WHERE "+where+" WITH s ORDER BY "+order+page+" RETURN s "+columns, params, func(r row) error {
			list = append(list, readSegment(r.facts(0)))
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
	demand(len(q.IDs) > 0, "ids", "s.id IN $ids", storedNames(q.IDs))
	demand(len(q.Traces) > 0, "traces", "s.trace IN $traces", storedNames(q.Traces))
	demand(q.Service != "", "service", "s.service = $service", storedName(q.Service))
	demand(q.Instance != "", "instance", "s.instance = $instance", q.Instance)
	demand(q.Endpoint != "", "endpoint", "s.endpoint = $endpoint", storedName(q.Endpoint))
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

// Endpoints implements traceprof.Store. The keyword is looked for here, so that
// case means the same as everywhere.
func (s *Store) Endpoints(ctx context.Context, service, keyword string, limit int) (list []traceprof.Endpoint, err error) {
	err = s.askTraces(ctx, func(t *tx) error {
		list = nil
		return t.each(`MATCH (s:TraceSegment {service: $service})
			WITH s.endpoint AS endpoint, s.endpointWhole AS endpointWhole, count(*) AS n, max(s.latency) AS slowest, max(s.start) AS last
			RETURN {endpoint: endpoint, endpointWhole: endpointWhole}, n, slowest, last`, map[string]any{"service": storedName(service)}, func(r row) error {
			if name := r.facts(0).wholeText("endpoint"); traceprof.HasKeyword(name, keyword) {
				list = append(list, traceprof.Endpoint{Service: service, Name: name, Segments: r.int(1), Slowest: r.int(2), LastSeen: r.int(3)})
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
