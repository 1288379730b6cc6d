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
		var rows []instanceRow
		for _, i := range merged {
			rows = append(rows, instanceRow{*i, toJSON(i.Properties)})
		}
		if err := wantKeys(c, 1, old); err != nil {
			return err
		}
		if err := c.Exec("DELETE FROM instance WHERE rowid IN (SELECT key FROM wanted WHERE grp = 1); DELETE FROM wanted"); err != nil {
			return err
		}
		return driver.Insert(c, "", "instance", rows, (*instanceRow).fields)
	}, nil)
}

// instanceRow is a row of table instance.
type instanceRow struct {
	traceprof.Instance
	properties string // as JSON
}

func (r *instanceRow) fields() []any {
	return []any{&r.Service, &r.Name, &r.Layer, &r.Language, &r.properties, &r.FirstSeen, &r.LastSeen, &r.Polled, &r.Skew}
}

// readInstances calls f with the instances that meet a condition and their row ids, in
// the caller's transaction.
func readInstances(ctx context.Context, c *driver.Conn, where string, args []any, f func(row int64, i traceprof.Instance)) error {
	var r instanceRow
	var id int64
	return c.Rows(ctx, "SELECT *, rowid FROM instance WHERE "+where, args, append(r.fields(), &id), func() error {
		found := r.Instance
		if err := fromJSON(r.properties, &found.Properties); err != nil {
			return driver.Corruptf("instance %s of %s: %v", r.Name, r.Service, err)
		}
		f(id, found)
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
