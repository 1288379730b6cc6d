package traceprof_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/traceprof"
)

// TestTaskFilter selects of four tasks; in the answer they have numbers.
func TestTaskFilter(t *testing.T) {
	all := []traceprof.Task{
		{ID: "0", Kind: traceprof.TraceKind, Service: "a", Endpoint: "/x", Created: 1, Start: 10, Duration: 5},
		{ID: "1", Kind: traceprof.TraceKind, Service: "b", Endpoint: "/x", Created: 2, Start: 20, Duration: 5},
		{ID: "2", Kind: traceprof.PprofKind, Service: "a", Created: 3, Start: 20, Duration: 50, Stopped: 22},
		{ID: "3", Kind: traceprof.TraceKind, Service: "a", Endpoint: "/y", Created: 3, Start: 20, Duration: 5},
	}
	for _, c := range []struct {
		q    traceprof.TaskQuery
		want string
	}{
		{traceprof.TaskQuery{}, "2 3 1 0"},
		{traceprof.TaskQuery{Limit: 3}, "2 3 1"},
		{traceprof.TaskQuery{Limit: 9}, "2 3 1 0"},
		{traceprof.TaskQuery{Kind: traceprof.PprofKind}, "2"},
		{traceprof.TaskQuery{Service: "b"}, "1"},
		{traceprof.TaskQuery{Endpoint: "/x"}, "1 0"},
		{traceprof.TaskQuery{From: 22}, "2 3 1"},
		{traceprof.TaskQuery{From: 23}, "3 1"},
		{traceprof.TaskQuery{To: 19}, "0"},
		{traceprof.TaskQuery{From: 16, To: 19}, ""},
	} {
		var ids []string
		for _, task := range c.q.Filter(all) {
			ids = append(ids, task.ID)
		}
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%+v: %s, want %s", c.q, got, c.want)
		}
	}
}

// TestSegmentFilter selects of four segments by every condition.
func TestSegmentFilter(t *testing.T) {
	all := []traceprof.Segment{
		{ID: "a", Trace: "t", Service: "s", Instance: "i", Endpoint: "/x", Operation: "x", Start: 10, End: 15, Raw: []byte{1}},
		{ID: "b", Trace: "t", Service: "s", Instance: "j", Endpoint: "/y", Operation: "y", Start: 20, End: 28},
		{ID: "c", Trace: "u", Service: "r", Instance: "i", Endpoint: "/x", Operation: "x", Start: 20, End: 21, Error: true},
		{ID: "d", Trace: "v", Service: "s", Instance: "i", Endpoint: "/x", Operation: "y", Start: 5, End: 13},
	}
	yes, no := true, false
	for _, c := range []struct {
		q    traceprof.SegmentQuery
		want string
	}{
		{traceprof.SegmentQuery{}, "bcad"},
		{traceprof.SegmentQuery{BySlowest: true}, "bdac"},
		{traceprof.SegmentQuery{BySlowest: true, Offset: 1, Limit: 2}, "da"},
		{traceprof.SegmentQuery{Offset: 3, Limit: 5}, "d"},
		{traceprof.SegmentQuery{Offset: 4}, ""},
		{traceprof.SegmentQuery{Offset: -1, Limit: 1}, "b"},
		{traceprof.SegmentQuery{IDs: []string{"d", "a", "z"}}, "ad"},
		{traceprof.SegmentQuery{Traces: []string{"t", "v"}}, "bad"},
		{traceprof.SegmentQuery{Traces: []string{"t"}, IDs: []string{"a", "c"}}, "a"},
		{traceprof.SegmentQuery{Service: "r"}, "c"},
		{traceprof.SegmentQuery{Instance: "j"}, "b"},
		{traceprof.SegmentQuery{Endpoint: "/x"}, "cad"},
		{traceprof.SegmentQuery{Operation: "y"}, "bd"},
		{traceprof.SegmentQuery{From: 10}, "bca"},
		{traceprof.SegmentQuery{To: 10}, "ad"},
		{traceprof.SegmentQuery{Shortest: 8}, "bd"},
		{traceprof.SegmentQuery{Longest: 5}, "ca"},
		{traceprof.SegmentQuery{Failed: &yes}, "c"},
		{traceprof.SegmentQuery{Failed: &no, Limit: 2}, "ba"},
	} {
		got := ""
		for _, s := range c.q.Filter(slices.Clone(all)) {
			got += s.ID
		}
		if got != c.want {
			t.Errorf("%+v: %s, want %s", c.q, got, c.want)
		}
	}
	if list := (&traceprof.SegmentQuery{NoRaw: true}).Filter(all); list[2].ID != "a" || list[2].Raw != nil || all[0].Raw == nil {
		t.Errorf("%+v, %+v", list[2], all[0])
	}
}

func TestHasKeyword(t *testing.T) {
	for _, c := range []struct {
		name, keyword string
		want          bool
	}{{"/Cart", "cART", true}, {"/Cart", "", true}, {"", "x", false}, {"ÉTÉ", "été", true}, {"a_b", "a%b", false}} {
		if got := traceprof.HasKeyword(c.name, c.keyword); got != c.want {
			t.Errorf("%q has %q: %v", c.name, c.keyword, got)
		}
	}
}

func TestAdmitAndStop(t *testing.T) {
	at := func(kind traceprof.Kind, created, start, duration int64, events ...string) traceprof.Task {
		return traceprof.Task{Kind: kind, Service: "s", ServiceID: "s.1", Created: created, Start: start, Duration: duration, Events: events}
	}
	never := at(traceprof.TraceKind, 6, 300, 50)
	never.Stopped = 250
	there := []traceprof.Task{at(traceprof.TraceKind, 5, 100, 50), never, at(traceprof.PprofKind, 9, 100, 50, "CPU", "HEAP")}
	for _, c := range []struct {
		task traceprof.Task
		want string // id, or empty: refused
	}{
		{at(traceprof.TraceKind, 1, 151, 10), "10_s.1"},
		{at(traceprof.TraceKind, 20, 151, 10), "20_s.1"},
		{at(traceprof.TraceKind, 1, 150, 10), ""},
		{at(traceprof.TraceKind, 1, 90, 10), ""},
		{at(traceprof.TraceKind, 1, 90, 9), "10_s.1"},
		{at(traceprof.TraceKind, 1, 240, 100), "10_s.1"},
		{at(traceprof.AsyncKind, 1, 100, 50), "10_s.1"},
		{at(traceprof.PprofKind, 1, 100, 50, "MUTEX"), "10_s.1"},
		{at(traceprof.PprofKind, 1, 100, 50, "MUTEX", "HEAP"), ""},
	} {
		got, err := traceprof.Admit(there, c.task)
		if got.ID != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: %s, %v, want %s", c.task, got.ID, err, c.want)
		}
	}
	task := there[0]
	for _, c := range []struct {
		at      int64
		changed bool
	}{{150, false}, {149, true}, {120, false}} {
		if changed := task.Stop(c.at); changed != c.changed {
			t.Errorf("stopped at %d: %v", c.at, changed)
		}
	}
	if task.End() != 149 {
		t.Errorf("ends at %d", task.End())
	}
}

// TestAllFinished reads logs, newest first: a received the task (a), ended it (A), or a server started (-).
func TestAllFinished(t *testing.T) {
	for lines, want := range map[string]bool{"": false, "-": false, "a": false, "A": false, "Aa": true, "aAa": false, "AaAa": true,
		"AaBb": true, "ABab": true, "Aba": false, "-A-a": true, "Aaa": true} {
		var logs []traceprof.Log
		for i, r := range lines {
			l := traceprof.Log{Instance: strings.ToLower(string(r)), Event: traceprof.Notified, Time: int64(len(lines) - i)}
			switch {
			case r == '-':
				l.Instance, l.Event = "", traceprof.ServerStarted
			case r < 'a':
				l.Event = traceprof.Failed
			}
			logs = append(logs, l)
		}
		if traceprof.AllFinished(logs) != want {
			t.Errorf("%q: finished %v", lines, !want)
		}
	}
}
