package profiles

import (
	"fmt"
	"testing"

	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// TestProfileColumns: each field of a profile is in its own column, which views and other programs read by
// its name.
func TestProfileColumns(t *testing.T) {
	var row profileRow
	for i, field := range row.fields() {
		switch f := field.(type) {
		case *string:
			*f = fmt.Sprint(i)
		case *int32:
			*f = int32(i)
		case *int64:
			*f = int64(i)
		}
	}
	p := &row.p
	err := open(t).file.With(func(c *driver.Conn) error {
		if err := driver.Insert(c, "", "profile", []profileRow{row}, (*profileRow).fields); err != nil {
			return err
		}
		for column, want := range map[string]any{"id": row.id, "uid": p.ID, "bench": row.bench, "run": row.run, "type": p.Type.Name,
			"unit": p.Type.Unit, "scale": row.scale, "period": p.Type.Period, "period_unit": p.Type.PeriodUnit,
			"period_name": p.Type.PeriodName, "original": p.Type.Original, "profiler": p.Profiler, "version": p.ProfilerVersion,
			"duration": int64(p.Duration), "samples": p.Samples, "sum": p.Sum, "nodes": row.nodes, "hash": p.Hash, "file": p.File,
			"source": row.source, "parts": row.parts, "is_default": p.Default, "slot": row.slot, "divisor": row.divisor} {
			got := ""
			if err := c.Rows(t.Context(), "SELECT "+column+"::VARCHAR FROM profile", nil, []any{&got}, func() error { return nil }); err != nil {
				return err
			}
			if got != fmt.Sprint(want) {
				t.Errorf("column %s has %s, want %v", column, got, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
