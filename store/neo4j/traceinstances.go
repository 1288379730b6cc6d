package neo4j

import (
	"cmp"
	"context"
	"slices"

	"github.com/dendroprof/dendro/traceprof"
)

// instanceID returns the id of an instance.
func instanceID(i *traceprof.Instance) int64 { return textsID(i.Service, i.Name) }

// instanceFacts returns what an instance's node says of it.
func instanceFacts(i *traceprof.Instance) facts {
	n := facts{"key": instanceID(i), "name": i.Name, "firstSeen": i.FirstSeen, "lastSeen": i.LastSeen}
	n.setText("service", i.Service)
	set(n, "layer", i.Layer)
	set(n, "language", i.Language)
	set(n, "polled", i.Polled)
	set(n, "skew", i.Skew)
	if len(i.Properties) > 0 {
		var keys, values []string
		for _, p := range i.Properties {
			keys, values = append(keys, p.Key), append(values, p.Value)
		}
		n["propertyKeys"], n["propertyValues"] = keys, values
	}
	return n
}

// readInstance is the reverse.
func readInstance(n facts) traceprof.Instance {
	i := traceprof.Instance{Service: n.wholeText("service"), Name: n.text("name"), Layer: n.text("layer"), Language: n.text("language"),
		FirstSeen: n.int("firstSeen"), LastSeen: n.int("lastSeen"), Polled: n.int("polled"), Skew: n.int("skew")}
	values := n.texts("propertyValues")
	for k, key := range n.texts("propertyKeys") {
		if k < len(values) {
			i.Properties = append(i.Properties, traceprof.Property{Key: key, Value: values[k]})
		}
	}
	return i
}

// PutInstances implements traceprof.Store: it holds the nodes of the instances
// while it unites what they say with the reports.
func (s *Store) PutInstances(ctx context.Context, list ...traceprof.Instance) error {
	if len(list) == 0 {
		return ctx.Err()
	}
	var keys []int64
	for i := range list {
		keys = append(keys, instanceID(&list[i]))
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	return s.changeTraces(ctx, "reports of instances", func(t *tx) error {
		if err := t.do("UNWIND $keys AS key MERGE (i:TraceInstance {key: key}) SET i.reports = coalesce(i.reports, 0) + 1", map[string]any{"keys": keys}); err != nil {
			return err
		}
		merged := map[int64]traceprof.Instance{}
		err := t.each("MATCH (i:TraceInstance) WHERE i.key IN $keys AND i.name IS NOT NULL RETURN i {.*}", map[string]any{"keys": keys}, func(r row) error {
			merged[r.facts(0).int("key")] = readInstance(r.facts(0))
			return nil
		})
		if err != nil {
			return err
		}
		for i := range list {
			key := instanceID(&list[i])
			have, ok := merged[key]
			if !ok {
				merged[key] = list[i]
				continue
			}
			have.Merge(&list[i])
			merged[key] = have
		}
		var rows []map[string]any
		for _, key := range keys {
			i := merged[key]
			rows = append(rows, instanceFacts(&i))
		}
		return t.do("UNWIND $rows AS r MATCH (i:TraceInstance {key: r.key}) SET i += r", map[string]any{"rows": rows})
	})
}

// Instances implements traceprof.Store.
func (s *Store) Instances(ctx context.Context, service string, since int64) (list []traceprof.Instance, err error) {
	match := "MATCH (i:TraceInstance)"
	if service != "" {
		match = "MATCH (i:TraceInstance {service: $service})"
	}
	err = s.askTraces(ctx, func(t *tx) error {
		list = nil
		return t.each(match+" WHERE i.lastSeen >= $since RETURN i {.*}", map[string]any{"service": storedName(service), "since": since}, func(r row) error {
			list = append(list, readInstance(r.facts(0)))
			return nil
		})
	})
	slices.SortFunc(list, func(a, b traceprof.Instance) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Name, b.Name))
	})
	return list, err
}
