package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/app/internal/cli/command"
)

// TestWatchJSON wants a JSON object a line, with what each is about.
func TestWatchJSON(t *testing.T) {
	where := t.TempDir() + "/s.duckdb"
	if err := sampledStore(t.Context(), where); err != nil {
		t.Fatal(err)
	}
	var out, errOut strings.Builder
	e := &command.Env{In: strings.NewReader(""), Out: &out, Err: &errOut}
	if status := run(t.Context(), e, []string{"task", "watch", "last", "-o", "json", "--store", where}); status != exitFine {
		t.Fatal(errOut.String())
	}
	keys := map[string][]string{"task": {"id", "endpoint"}, "log": {"event", "instance"}, "snapshots": {"received", "lost"}, "why": {"code"},
		"end": {"finished"}}
	var got []string
	for line := range strings.Lines(out.String()) {
		var l struct {
			What, Text string
			Value      map[string]any
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Text == "" {
			t.Fatalf("%s: %v", line, err)
		}
		for _, key := range keys[l.What] {
			got = append(got, fmt.Sprintf("%s.%s=%v", l.What, key, l.Value[key]))
		}
	}
	want := []string{"task.id=1700000100000_c2hvcA==.1", "task.endpoint=/checkout",
		"log.event=NOTIFIED", "log.instance=one@test", "log.event=EXECUTION_FINISHED", "log.instance=one@test",
		"snapshots.received=19", "snapshots.lost=2", "why.code=snapshots-lost", "end.finished=true"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
