package traces

import (
	"context"
	"strings"

	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/traceprof"
)

// Copy copies everything into the tables of an attached, empty catalog: with one
// dictionary for each task, and one row for each segment that has snapshots in place
// of the many in which they came.
func Copy(ctx context.Context, s *Store, c *driver.Conn, catalog string) error {
	err := c.Exec(strings.ReplaceAll(`INSERT INTO fresh.task SELECT * FROM task ORDER BY created, id;
		INSERT INTO fresh.task_log SELECT * FROM task_log ORDER BY task, time;
		INSERT INTO fresh.instance SELECT * FROM instance ORDER BY service, name;
		INSERT INTO fresh.segment SELECT * FROM segment;`, "fresh.", `"`+catalog+`".`))
	if err != nil {
		return err
	}
	list, err := sampledSegments(ctx, c, traceprof.SnapshotQuery{})
	if err != nil {
		return err
	}
	id, next := int32(-1), int64(0)
	var stacks *taskStacks
	for len(list) > 0 {
		if stacks == nil || stacks.task != list[0].Task {
			id++
			stacks = &taskStacks{id: id, task: list[0].Task, isNew: true, growable: true, Stacks: traceprof.NewStacks()}
		}
		n := readTogether(list)
		values, err := readSegments(ctx, c, &s.stacks, list[:n])
		if err != nil {
			return err
		}
		arrived := map[string]int64{}
		for _, s := range list[:n] {
			arrived[s.Segment] = s.arrived
		}
		rows := snapshotRows{next: next}
		for i := range values {
			values[i].Path, values[i].Received = stacks.Add(&values[i]), arrived[values[i].Segment]
			rows.add(id, &values[i])
		}
		var added newStacks
		stacks.write(&added)
		stacks.committed()
		if err := added.append(c, catalog); err != nil {
			return err
		}
		if err := rows.append(c, catalog); err != nil {
			return err
		}
		next, list = rows.next, list[n:]
	}
	return nil
}
