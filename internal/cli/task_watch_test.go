package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/traceprof"
)

// TestWatchJSON wants a JSON object a line, with what each is about.
func TestWatchJSON(t *testing.T) {
	where := t.TempDir() + "/s.duckdb"
	if err := sampledStore(t.Context(), where); err != nil {
		t.Fatal(err)
	}
	var out, errOut strings.Builder
	e := &env{in: strings.NewReader(""), out: &out, err: &errOut}
	if status := e.run(t.Context(), []string{"task", "watch", "last", "-o", "json", "--store", where}); status != exitFine {
		t.Fatal(errOut.String())
	}
	keys := map[string][]string{"task": {"id", "endpoint"}, "log": {"event", "instance"}, "snapshots": {"received", "lost"}, "why": {"code"}, "end": {"finished"}}
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
		"snapshots.received=19", "snapshots.lost=2", "end.finished=true", "why.code=snapshots-lost"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestWatchEnds wants a watch to end when nobody takes what it prints.
func TestWatchEnds(t *testing.T) {
	st := mem.New()
	task, err := st.CreateTask(t.Context(), traceprof.Task{Kind: traceprof.TraceKind, Service: "s", ServiceID: "s", Created: traceStart, Start: traceStart, Duration: traceprof.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for _, json := range []bool{false, true} {
		out, in := io.Pipe()
		broken := errors.New("broken")
		out.CloseWithError(broken)
		w := watcher{e: &env{out: in}, json: json, told: map[string]bool{}}
		w.say("task", "text", task)
		if _, err := w.look(t.Context(), st, task.ID, traceStart, 0); !errors.Is(err, broken) {
			t.Errorf("json %v: %v", json, err)
		}
	}
}

// TestInTheWay wants the task named that an order overlaps, and no other.
func TestInTheWay(t *testing.T) {
	st := mem.New()
	d := traceprof.NewDispatcher(st, traceprof.DispatcherOptions{Now: func() int64 { return traceStart }})
	async := traceprof.Order{Kind: traceprof.AsyncKind, Service: "s", ServiceID: "s", Start: traceStart, Duration: traceprof.Minute, Instances: []string{"i"}, Events: []string{"CPU"}}
	there, err := d.Create(t.Context(), async)
	if err != nil {
		t.Fatal(err)
	}
	for start := int64(traceStart + 1000); start < traceStart+10*traceprof.Minute; start += 5 * traceprof.Minute {
		other := traceprof.Order{Kind: traceprof.TraceKind, Service: "s", ServiceID: "s", Endpoint: "/e", Start: start, Duration: traceprof.Minute, Period: 10, MaxSegments: 1}
		if _, err := d.Create(t.Context(), other); err != nil {
			t.Fatal(err)
		}
	}
	async.Start = 0 // now
	_, err = d.Create(t.Context(), async)
	var refused *traceprof.RefusedError
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	if got := inTheWay(t.Context(), st, refused, &async, traceStart+500); !strings.HasPrefix(got, ": task "+there.ID+" runs until") {
		t.Errorf("%q, want %s", got, there.ID)
	}
	if got := inTheWay(t.Context(), st, &traceprof.RefusedError{Code: traceprof.BadArgument}, &async, traceStart); got != "" {
		t.Errorf("%q of another refusal", got)
	}
}
