package traceprof_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/traceprof"
)

// situation is what is stored around a task of five minutes that begins at
// began. As it is, everything went well but that nothing was sampled.
type situation struct {
	task      traceprof.Task
	now       int64
	instance  *traceprof.Instance
	logs      []traceprof.Log
	segments  []traceprof.Segment
	snapshots []traceprof.Snapshots
}

// request is a segment of the task's endpoint that begins some ms after the task.
func request(id string, start, latency int64) traceprof.Segment {
	return traceprof.Segment{
		ID: id, Trace: id, Service: "shop", Instance: "i", Endpoint: "GET:/checkout", Operation: "GET:/checkout",
		Start: began + start, End: began + start + latency,
	}
}

func named(s traceprof.Segment, operation, endpoint string) traceprof.Segment {
	s.Operation, s.Endpoint = operation, endpoint
	return s
}

func event(after int64, e traceprof.Event) traceprof.Log {
	return traceprof.Log{Instance: "i", Event: e, Time: began + after}
}

func TestWhy(t *testing.T) {
	const minute = traceprof.Minute
	for _, c := range []struct {
		name   string
		change func(*situation)
		want   string // the codes
		text   string // of the first cause, a part
		names  string // of the first cause
	}{
		{"not begun", func(s *situation) { s.now = began - 90_000 }, "not-begun", "starts in 1m30s", ""},
		{"over before it was created", func(s *situation) { s.task.Created = began + 25*minute; s.now = began + 26*minute }, "over-when-created",
			"was over 20m0s before it was created", ""},
		{"over years before", func(s *situation) { s.task.Created = began + 1000*24*60*minute; s.now = s.task.Created + minute },
			"over-when-created",
			"days before it was created", ""},
		{"unknown service", func(s *situation) {
			s.task.Service = "Shop"
			s.segments = nil
		}, "service-never-seen", `service "Shop"`, "shop"},
		{"no service at all", func(s *situation) { s.instance, s.segments, s.logs = nil, nil, nil }, "service-never-seen", "has ever reported.",
			""},
		{"case, slash and method", func(s *situation) {
			s.segments = []traceprof.Segment{
				named(request("a", 0, 9), "POST:/Checkout/", "POST:/Checkout/"), named(request("b", 0, 9), "/checkout", "/checkout"),
				named(request("c", 0, 9), "GET:/chekout", "GET:/chekout"), named(request("d", 0, 9), "GET:/orders", "GET:/orders"),
			}
		}, "endpoint-never-seen", "agents compare names exactly", "/checkout POST:/Checkout/ GET:/chekout"},
		{"nearly the name, with a method", func(s *situation) {
			s.task.Endpoint = "GET:/checkot"
			s.segments = []traceprof.Segment{request("a", 0, 9)}
		}, "endpoint-never-seen", `what was seen is ["GET:/checkout"]`, "GET:/checkout"},
		{"no server", func(s *situation) {
			s.logs = append(s.logs, traceprof.Log{Event: traceprof.ServerStarted, Time: began + minute, Text: "No server ran between A and B."})
		}, "server-down finished-without-samples", "between A and B", ""},
		{"a regrouped name", func(s *situation) {
			s.task.Endpoint = "GET:/orders/{id}/items"
			s.segments = []traceprof.Segment{named(request("a", 0, 9), "GET:/orders/17/items", "GET:/orders/17/items"),
				named(request("b", 0, 9), "GET:/users/17/cart", "GET:/users/17/cart")}
		}, "endpoint-never-seen", "", "GET:/orders/17/items"},
		{"a long name", func(s *situation) {
			s.task.Endpoint = "/" + strings.Repeat("a", 150)
			s.segments = []traceprof.Segment{named(request("a", 1000, 500), s.task.Endpoint[:150], s.task.Endpoint[:150])}
		}, "endpoint-too-long finished-without-samples", "151 characters", ""},
		{"not the first span", func(s *situation) {
			s.segments = []traceprof.Segment{named(request("a", 1000, 500), "Tomcat/thread", "GET:/checkout")}
		}, "endpoint-not-first", "first span", "Tomcat/thread"},
		{"clock behind", func(s *situation) {
			s.instance.Skew = -3_600_000
			s.segments = []traceprof.Segment{request("a", -60*minute, 500)}
		}, "clock-skew no-request", `instance "i" is 1h0m0s behind`, ""},
		{"clock beyond all durations", func(s *situation) {
			s.instance.Skew = math.MaxInt64 / 2
			s.segments = []traceprof.Segment{request("a", -60*minute, 500)}
		}, "clock-skew no-request", `instance "i" is 53375995583 days ahead`, ""},
		{"never polled", func(s *situation) { s.instance.Polled, s.logs = 0, nil }, "instance-never-polled",
			`Instance "i" never polled for tasks`, ""},
		{"has not polled yet", func(s *situation) {
			s.instance.Polled, s.logs, s.segments, s.now = began-10_000, nil, nil, began+10_000
		}, "endpoint-never-seen", "", ""},
		{"polls no more", func(s *situation) { s.instance.Polled, s.logs = began-minute, nil }, "instance-never-polled",
			"after 2023-11-14 22:12:20 UTC", ""},
		{"polled, not delivered", func(s *situation) { s.logs = nil }, "never-notified", "did not receive this one", ""},
		{"the agent failed", func(s *situation) {
			s.logs[1] = event(2000, traceprof.Failed)
			s.logs[1].Text = "no perf events"
		}, "agent-failed", "no perf events", ""},
		{"vanished", func(s *situation) {
			s.logs, s.instance.LastSeen = s.logs[:1], began+minute
		}, "instance-vanished", "was last seen before its end", ""},
		{"no request", func(s *situation) {
			s.segments = []traceprof.Segment{request("a", -20*minute, 500), request("b", 6*minute, 500)}
		}, "no-request", "No request of", ""},
		{"no request since it knows", func(s *situation) {
			s.logs[0].Time = began + 20_000
			s.segments = []traceprof.Segment{request("a", 10_000, 500)}
		}, "no-request-since-notified", "task ran: 1,", ""},
		{"in progress", func(s *situation) { s.segments = []traceprof.Segment{request("a", -500, 5000)} }, "no-request request-in-progress", "",
			""},
		{"in progress, not received", func(s *situation) {
			s.logs, s.instance.Polled = nil, began-10_000
			s.now, s.segments = began+10_000, []traceprof.Segment{request("a", -500, 5000), request("b", 1000, 500)}
		}, "request-in-progress", "running when the task began: 1", ""},
		{"faster than the threshold", func(s *situation) {
			s.task.MinDuration = 500
			s.segments = append(s.segments, request("b", 3000, 300))
		}, "all-requests-faster", "slowest request took 500 ms", ""},
		{"threshold hardly reached", func(s *situation) { s.task.MinDuration = 490 }, "ended-before-first-dump", "two periods of 10 ms", ""},
		{"shorter than the period", func(s *situation) { s.task.Period = 400 }, "ended-before-first-dump", "", ""},
		{"finished without samples", func(s *situation) {}, "finished-without-samples", `Instance "i" reported`, ""},
		{"running", func(s *situation) { s.now, s.logs = began+2*minute, s.logs[:1] }, "still-running", "", ""},
		{"nothing says why", func(s *situation) { s.logs = s.logs[:1] }, "unknown", "", ""},

		{"all well", func(s *situation) { s.sampled("@0:%d A A A A") }, "", "", ""},
		{"dumps at odd times", func(s *situation) {
			s.snapshots = []traceprof.Snapshots{tracetest.Picture("", "r", fmt.Sprintf("@0:%d A A", began-minute))}
		}, "clock-skew", "segment r", ""},
		{"stopped while the agent goes on", func(s *situation) {
			s.task.Duration, s.task.Stopped, s.now = 15*minute, began+2000, began+30*minute
			s.segments = []traceprof.Segment{request("r", 14*minute, 100)}
			s.snapshots = []traceprof.Snapshots{tracetest.Picture("", "r", fmt.Sprintf("@0:%d A A A A", began+14*minute+10))}
		}, "", "", ""},
		{"traces sampled away", func(s *situation) {
			s.sampled("@0:%d A A A A")
			s.segments = nil
		}, "segments-missing", "1 of 1", ""},
		{"queue full", func(s *situation) {
			s.snapshots = []traceprof.Snapshots{tracetest.Picture("", "r", fmt.Sprintf("@0:%d A A @9:%d A", began+1010, began+1100))}
		}, "snapshots-lost", "7 snapshots were made", ""},
		{"a hole", func(s *situation) {
			s.snapshots = []traceprof.Snapshots{tracetest.Picture("", "r", fmt.Sprintf("@0:%d A A A @3:%d B B", began+1010, began+1169))}
		}, "sampling-hole", "no snapshot for 139 ms of segment r, 20 ms after its first snapshot (holes in all: 1)", ""},
		{"a slow agent", func(s *situation) {
			s.task.Period = 5
			s.sampled("@0:%d A A A A")
		}, "agent-slower-than-period", "every 10 ms; the period of the task is 5 ms", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &situation{
				task: traceprof.Task{
					ID: "t", Kind: traceprof.TraceKind, Service: "shop", ServiceID: "s", Endpoint: "GET:/checkout",
					Created: began, Start: began, Duration: 5 * minute, Period: 10, MaxSegments: 5,
				},
				now: began + 10*minute,
				instance: &traceprof.Instance{Service: "shop", Name: "i", FirstSeen: began - minute, LastSeen: began + 9*minute,
					Polled: began + 9*minute},
				logs:     []traceprof.Log{event(500, traceprof.Notified), event(5*minute, traceprof.Finished)},
				segments: []traceprof.Segment{request("r", 1000, 500)},
			}
			c.change(s)
			_, causes, err := traceprof.Describe(t.Context(), s.store(t), s.task, s.now)
			if err != nil {
				t.Fatal(err)
			}
			var codes []string
			for _, cause := range causes {
				codes = append(codes, string(cause.Code))
				if len(cause.Text) == 0 || cause.Text[len(cause.Text)-1] != '.' {
					t.Errorf("%s: text %q", cause.Code, cause.Text)
				}
			}
			if got := strings.Join(codes, " "); got != c.want {
				t.Fatalf("got %q, want %q: %+v", got, c.want, causes)
			}
			if len(causes) > 0 && (!strings.Contains(causes[0].Text, c.text) || strings.Join(causes[0].Names, " ") != c.names) {
				t.Errorf("got %q, names %q", causes[0].Text, causes[0].Names)
			}
		})
	}
}

// sampled adds snapshots of the request "r"; the picture takes the time of the
// first.
func (s *situation) sampled(picture string) {
	s.snapshots = []traceprof.Snapshots{tracetest.Picture("", "r", fmt.Sprintf(picture, began+1010))}
}

// store returns a store of the situation.
func (s *situation) store(t *testing.T) traceprof.Store {
	t.Helper()
	st := mem.New()
	task, err := st.CreateTask(t.Context(), s.task)
	if err != nil {
		t.Fatal(err)
	}
	s.task = task
	if s.instance != nil {
		if err := st.PutInstances(t.Context(), *s.instance); err != nil {
			t.Fatal(err)
		}
	}
	for i := range s.logs {
		s.logs[i].Task = task.ID
	}
	for i := range s.snapshots {
		s.snapshots[i].Task = task.ID
	}
	if err := st.AppendLog(t.Context(), s.logs...); err != nil {
		t.Fatal(err)
	}
	if err := st.PutSegments(t.Context(), s.segments...); err != nil {
		t.Fatal(err)
	}
	put(t, st, traceprof.Segment{}, s.snapshots...)
	return st
}

// TestWhyOfOtherKinds says what keeps agents from tasks that bring no snapshots.
func TestWhyOfOtherKinds(t *testing.T) {
	s := &situation{
		task: traceprof.Task{Kind: traceprof.AsyncKind, Service: "shop", Created: began, Start: began, Duration: 10_000,
			Instances: []string{"i"}, Events: []string{"CPU"}},
		instance: &traceprof.Instance{Service: "shop", Name: "i", FirstSeen: began, LastSeen: began + 5000},
	}
	_, causes, err := traceprof.Describe(t.Context(), s.store(t), s.task, began+31_000)
	if err != nil || len(causes) != 1 || causes[0].Code != traceprof.NeverPolled || causes[0].Instances[0] != "i" {
		t.Errorf("%+v, %v", causes, err)
	}
	s.instance.Language, s.instance.Polled = "python", began+1000
	_, causes, err = traceprof.Describe(t.Context(), s.store(t), s.task, began+31_000)
	if err != nil || len(causes) != 1 || causes[0].Code != traceprof.NeverNotified ||
		!strings.Contains(causes[0].Text, "agents of java run async-profiler tasks, and it reports the language python") {
		t.Errorf("%+v, %v", causes, err)
	}
	s.logs = []traceprof.Log{event(0, traceprof.Notified), event(100, traceprof.TooLarge)}
	_, causes, err = traceprof.Describe(t.Context(), s.store(t), s.task, began+31_000)
	if err != nil || len(causes) != 1 || causes[0].Code != traceprof.AgentFailed {
		t.Errorf("%+v, %v", causes, err)
	}
}

// TestWhyProfilerBusy: a Go program has one CPU profiler, and the task that an instance
// receives second gets nothing.
func TestWhyProfilerBusy(t *testing.T) {
	const minute = traceprof.Minute
	traced := traceprof.Task{Kind: traceprof.TraceKind, Service: "shop", Endpoint: "GET:/checkout", Created: began, Start: began,
		Duration: minute, Period: 10}
	cpu := traceprof.Task{Kind: traceprof.PprofKind, Service: "shop", Created: began, Start: began, Duration: minute,
		Instances: []string{"i"}, Events: []string{"CPU"}}
	heap := cpu
	heap.Events = []string{"HEAP"}
	failed := event(3001, traceprof.Failed)
	for _, c := range []struct {
		name        string
		task, other traceprof.Task
		first       int64 // ms after the task's start: when the instance received the other one
		mine        []traceprof.Log
		theirs      []traceprof.Log
		data        bool
		text        string // empty: not the cause
	}{
		{"a pprof task first", traced, cpu, 1000, nil, nil, false, `instance "i" was in use by task `},
		{"and before the task began", traced, cpu, -minute + 4000, nil, nil, false, "(for pprof)"},
		{"it was over", traced, cpu, -minute + 2000, nil, nil, false, ""},
		{"it came later", traced, cpu, 4000, nil, nil, false, ""},
		{"it failed itself", traced, cpu, 1000, nil, []traceprof.Log{event(1001, traceprof.Failed)}, false, ""},
		{"it was of memory", traced, heap, 1000, nil, nil, false, ""},
		{"there is data", traced, cpu, 1000, nil, nil, true, ""},
		{"trace profiling first", cpu, traced, 1000, []traceprof.Log{failed}, nil, false, `(for trace profiling of "GET:/checkout")`},
		{"and the agent did not fail", cpu, traced, 1000, nil, nil, false, ""},
		{"a task of memory needs no profiler", heap, traced, 1000, []traceprof.Log{failed}, nil, false, ""},
	} {
		s := &situation{task: c.task, segments: []traceprof.Segment{request("r", 5000, 100)},
			instance: &traceprof.Instance{Service: "shop", Name: "i", Language: "go", FirstSeen: began - minute, LastSeen: began + minute,
				Polled: began + 3000},
			logs: append([]traceprof.Log{event(3000, traceprof.Notified)}, c.mine...)}
		if c.data {
			s.sampled("@0:%d A A")
		}
		st := s.store(t)
		c.other.Start, c.other.Created = began+c.first, began+c.first
		other, err := st.CreateTask(t.Context(), c.other)
		if err != nil {
			t.Fatal(err)
		}
		theirs := append([]traceprof.Log{event(c.first, traceprof.Notified)}, c.theirs...)
		for i := range theirs {
			theirs[i].Task = other.ID
		}
		if err := st.AppendLog(t.Context(), theirs...); err != nil {
			t.Fatal(err)
		}
		_, causes, err := traceprof.Describe(t.Context(), st, s.task, began+10*minute)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		for _, cause := range causes {
			if cause.Code == traceprof.ProfilerBusy {
				got = cause.Text
			}
		}
		if (got != "") != (c.text != "") || !strings.Contains(got, c.text) || got != "" && !strings.Contains(got, other.ID) {
			t.Errorf("%s: %q, want %q; all %+v", c.name, got, c.text, causes)
		}
	}
}
