package traceprof_test

import (
	"strings"
	"testing"

	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/traceprof"
)

// TestNoteStart starts a server some time after the last report of an agent: tasks that
// overlap the time between have a line in their logs.
func TestNoteStart(t *testing.T) {
	const minute = traceprof.Minute
	for _, tt := range []struct {
		name        string
		seen, start int64 // after the begin of the task of five minutes
		want        bool
	}{
		{"during the task", minute, 3 * minute, true},
		{"after its end", minute, 10 * minute, true},
		{"silent only after its end", 6 * minute, 10 * minute, false},
		{"another server runs", minute, minute + 20_000, false},
		{"before the task", -9 * minute, -minute, false},
	} {
		st := mem.New()
		task, err := st.CreateTask(t.Context(), traceprof.Task{Kind: traceprof.TraceKind, Service: "shop", ServiceID: "s", Created: began,
			Start: began, Duration: 5 * minute})
		if err != nil {
			t.Fatal(err)
		}
		if err := st.PutInstances(t.Context(), traceprof.Instance{Service: "shop", Name: "i", FirstSeen: 1,
			LastSeen: began + tt.seen}); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a start that failed and is repeated
			if err := traceprof.NoteStart(t.Context(), st, began+tt.start); err != nil {
				t.Fatal(err)
			}
		}
		logs, err := st.Logs(t.Context(), task.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(logs) == 1 && logs[0].Event == traceprof.ServerStarted &&
			strings.Contains(logs[0].Text, "No server ran for at least part of the time between"); got != tt.want || len(logs) > 1 {
			t.Errorf("%s: %+v", tt.name, logs)
		}
	}
}
