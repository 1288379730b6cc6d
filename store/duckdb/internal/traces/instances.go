package traces

import (
	"context"
	"fmt"

	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/traceprof"
)

// PutInstances implements traceprof.Store. It reads the stored instances, merges the
// reports and writes them again.
func (s *Store) PutInstances(ctx context.Context, list ...traceprof.Instance) error {
	if len(list) == 0 {
		return ctx.Err()
	}
	return s.change(ctx, func(c *driver.Conn) error {
		names, merged := make([]string, len(list)), map[traceprof.InstanceKey]*traceprof.Instance{}
		for k, i := range list {
			names[k], merged[traceprof.InstanceKey{Service: i.Service, Name: i.Name}] = i.Name, nil
		}
		if err := want(c, 0, names); err != nil {
			return err
		}
		var old []int64
		err := readInstances(ctx, c, "name IN (SELECT name FROM wanted)", nil, func(row int64, i traceprof.Instance) {
			key := traceprof.InstanceKey{Service: i.Service, Name: i.Name}
			if _, reported := merged[key]; reported {
				merged[key], old = &i, append(old, row)
			}
		})
		if err != nil {
			return err
		}
		for _, i := range list {
			key := traceprof.InstanceKey{Service: i.Service, Name: i.Name}
			if have := merged[key]; have != nil {
				have.Merge(&i)
			} else {
				merged[key] = &i
			}
		}
		var texts [5][]string
		var numbers [4][]int64
		for _, i := range merged {
			for k, text := range []string{i.Service, i.Name, i.Layer, i.Language, toJSON(i.Properties)} {
				texts[k] = append(texts[k], text)
			}
			for k, n := range []int64{i.FirstSeen, i.LastSeen, i.Polled, i.Skew} {
				numbers[k] = append(numbers[k], n)
			}
		}
		if err := wantKeys(c, 1, old); err != nil {
			return err
		}
		if err := c.Exec("DELETE FROM instance WHERE rowid IN (SELECT key FROM wanted WHERE grp = 1); DELETE FROM wanted"); err != nil {
			return err
		}
		return c.Append("", "instance", len(texts[0]), texts[0], texts[1], texts[2], texts[3], texts[4], numbers[0], numbers[1], numbers[2],
			numbers[3])
	}, nil)
}

// readInstances calls f with the instances that meet a condition and their row ids, in
// the caller's transaction.
func readInstances(ctx context.Context, c *driver.Conn, where string, args []any, f func(row int64, i traceprof.Instance)) error {
	sql := "SELECT service, name, layer, language, properties, first_seen, last_seen, polled, skew, rowid FROM instance WHERE " + where
	return c.Query(ctx, sql, args, func(ch driver.Chunk) error {
		services, names, layers, languages, properties := ch.Texts(0), ch.Texts(1), ch.Texts(2), ch.Texts(3), ch.Texts(4)
		first, last, polled, skew := driver.Column[int64](ch, 5), driver.Column[int64](ch, 6), driver.Column[int64](ch, 7),
			driver.Column[int64](ch, 8)
		for i, row := range driver.Column[int64](ch, 9) {
			found := traceprof.Instance{Service: services[i], Name: names[i], Layer: layers[i], Language: languages[i],
				FirstSeen: first[i], LastSeen: last[i], Polled: polled[i], Skew: skew[i]}
			if err := fromJSON(properties[i], &found.Properties); err != nil {
				return driver.Corruptf("instance %s of %s: %v", names[i], services[i], err)
			}
			f(row, found)
		}
		return nil
	})
}

// Instances implements traceprof.Store.
func (s *Store) Instances(ctx context.Context, service string, since int64) ([]traceprof.Instance, error) {
	where, args := fmt.Sprint("last_seen >= ", since), []any(nil)
	if service != "" {
		where, args = where+" AND service = ?", []any{service}
	}
	var list []traceprof.Instance
	err := s.read(ctx, func(c *driver.Conn) error {
		return readInstances(ctx, c, where, args, func(_ int64, i traceprof.Instance) { list = append(list, i) })
	})
	traceprof.SortInstances(list)
	return list, err
}
