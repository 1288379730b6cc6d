package traces

import (
	"context"
	"slices"

	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/traceprof"
)

// instanceID returns the id of an instance.
func instanceID(i *traceprof.Instance) int64 { return bolt.TextsID(i.Service, i.Name) }

// instanceProps returns the properties of an instance's node.
func instanceProps(i *traceprof.Instance) bolt.Props {
	n := bolt.Props{"key": instanceID(i), "name": i.Name, "firstSeen": i.FirstSeen, "lastSeen": i.LastSeen}
	n.SetText("service", i.Service)
	bolt.Set(n, "layer", i.Layer)
	bolt.Set(n, "language", i.Language)
	bolt.Set(n, "polled", i.Polled)
	bolt.Set(n, "skew", i.Skew)
	if len(i.Properties) > 0 {
		var keys, values []string
		for _, p := range i.Properties {
			keys, values = append(keys, p.Key), append(values, p.Value)
		}
		n["propertyKeys"], n["propertyValues"] = keys, values
	}
	return n
}

// readInstance is the inverse of instanceProps.
func readInstance(n bolt.Props) traceprof.Instance {
	i := traceprof.Instance{Service: n.WholeText("service"), Name: n.Text("name"), Layer: n.Text("layer"), Language: n.Text("language"),
		FirstSeen: n.Int("firstSeen"), LastSeen: n.Int("lastSeen"), Polled: n.Int("polled"), Skew: n.Int("skew")}
	values := n.Texts("propertyValues")
	for k, key := range n.Texts("propertyKeys") {
		if k < len(values) {
			i.Properties = append(i.Properties, traceprof.Property{Key: key, Value: values[k]})
		}
	}
	return i
}

// PutInstances implements traceprof.Store: it locks the nodes of the instances while it
// merges the reports into them.
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
	return s.write(ctx, "reports of instances", func(t *bolt.Tx) error {
		if err := t.Do("UNWIND $keys AS key MERGE (i:TraceInstance {key: key}) SET i.reports = coalesce(i.reports, 0) + 1", map[string]any{"keys": keys}); err != nil {
			return err
		}
		merged := map[int64]traceprof.Instance{}
		err := t.Each("MATCH (i:TraceInstance) WHERE i.key IN $keys AND i.name IS NOT NULL RETURN i {.*}", map[string]any{"keys": keys}, func(r bolt.Row) error {
			merged[r.Props(0).Int("key")] = readInstance(r.Props(0))
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
			rows = append(rows, instanceProps(&i))
		}
		return t.Do("UNWIND $rows AS r MATCH (i:TraceInstance {key: r.key}) SET i += r", map[string]any{"rows": rows})
	})
}

// Instances implements traceprof.Store.
func (s *Store) Instances(ctx context.Context, service string, since int64) (list []traceprof.Instance, err error) {
	match := "MATCH (i:TraceInstance)"
	if service != "" {
		match = "MATCH (i:TraceInstance {service: $service})"
	}
	err = s.read(ctx, func(t *bolt.Tx) error {
		list = nil
		return t.Each(match+" WHERE i.lastSeen >= $since RETURN i {.*}", map[string]any{"service": bolt.StoredName(service), "since": since},
			func(r bolt.Row) error {
				list = append(list, readInstance(r.Props(0)))
				return nil
			})
	})
	traceprof.SortInstances(list)
	return list, err
}
