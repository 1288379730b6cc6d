package traceprof

import (
	"fmt"
	"testing"
)

// TestCountsOfLines: a server that runs for years does not keep a count for each task it ever
// had, and keeps those of tasks whose logs grow.
func TestCountsOfLines(t *testing.T) {
	d := NewDispatcher(nil, DispatcherOptions{})
	for i := range 3 * maxLogs {
		d.hasRoom(fmt.Sprint("task ", i))
		d.hasRoom("busy")
	}
	if n := d.lines.Len(); n != maxLogs {
		t.Errorf("counts of %d logs, want %d", n, maxLogs)
	}
	if d.hasRoom("busy") {
		t.Error("the count of a log that grows was forgotten")
	}
}
