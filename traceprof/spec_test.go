package traceprof_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/traceprof"
)

// order is an order of trace profiling that is allowed, with a change.
func order(change func(*traceprof.Task)) traceprof.Task {
	o := traceprof.Task{
		Kind: traceprof.TraceKind, ServiceID: "c2hvcA==.1", Service: "shop", Endpoint: "GET:/checkout",
		Duration: 5 * traceprof.Minute, Period: 10, MaxSegments: 5,
	}
	if change != nil {
		change(&o)
	}
	return o
}

func TestOrderIsRefused(t *testing.T) {
	async := func(change func(*traceprof.Task)) func(*traceprof.Task) {
		return func(o *traceprof.Task) {
			*o = traceprof.Task{Kind: traceprof.AsyncKind, ServiceID: "s", Duration: 10_000, Instances: []string{"i"}, Events: []string{"cpu"}}
			change(o)
		}
	}
	pprof := func(change func(*traceprof.Task)) func(*traceprof.Task) {
		return async(func(o *traceprof.Task) {
			o.Kind, o.Duration = traceprof.PprofKind, traceprof.Minute
			change(o)
		})
	}
	for _, c := range []struct {
		change func(*traceprof.Task)
		want   string // empty: allowed
	}{
		{func(o *traceprof.Task) { *o = traceprof.Task{Kind: traceprof.TraceKind} }, "service cannot be null"},
		{func(o *traceprof.Task) { o.Endpoint, o.Duration = " \t ", 0 }, "endpoint name cannot be empty"},
		{func(o *traceprof.Task) { o.Duration, o.MinDuration = traceprof.Minute-1, -1 }, "monitor duration must greater than 1 minutes"},
		{func(o *traceprof.Task) { o.Duration = traceprof.Minute }, ""},
		{func(o *traceprof.Task) { o.MinDuration, o.MaxSegments = -1, 0 }, "min duration threshold must greater than or equals zero"},
		{func(o *traceprof.Task) { o.MaxSegments, o.Duration = 0, 16*traceprof.Minute }, "max sampling count must greater than zero"},
		{func(o *traceprof.Task) { o.Duration, o.Period = 16*traceprof.Minute, 9 }, "The duration of the monitoring task cannot be greater than 15 minutes"},
		{func(o *traceprof.Task) { o.Duration = 15 * traceprof.Minute }, ""},
		{func(o *traceprof.Task) { o.Period, o.MaxSegments = 9, 10 }, "dump period must be greater than or equals 10 milliseconds"},
		{func(o *traceprof.Task) { o.MaxSegments = 10 }, "max sampling count must less than 10"},
		{func(o *traceprof.Task) { o.MaxSegments = 9 }, ""},
		{func(o *traceprof.Task) { o.Endpoint = strings.Repeat("ä", 512) }, ""},
		{func(o *traceprof.Task) { o.Endpoint = strings.Repeat("ä", 513) }, "endpoint name cannot be longer than 512 characters"},
		{func(o *traceprof.Task) { o.Start = math.MaxInt64 }, "start time must be before the year 10000"},
		{func(o *traceprof.Task) { o.MinDuration = math.MaxInt64 }, "min duration threshold cannot be greater than a year"},
		{func(o *traceprof.Task) { o.Period = math.MaxInt64 }, "dump period cannot be greater than a year"},
		{func(o *traceprof.Task) { o.Kind = "heap" }, "unknown kind of task heap"},

		{async(func(o *traceprof.Task) {}), ""},
		{async(func(o *traceprof.Task) { o.ServiceID, o.Duration = "", 0 }), "service cannot be null"},
		{async(func(o *traceprof.Task) { o.Duration, o.Events = 0, nil }), "duration cannot be negative"},
		{async(func(o *traceprof.Task) { o.Events, o.Instances = nil, nil }), "events cannot be empty"},
		{async(func(o *traceprof.Task) { o.Instances = nil }), "serviceInstanceIds cannot be empty"},
		{async(func(o *traceprof.Task) { o.Duration = math.MaxInt64 }), "duration cannot be greater than a year"},

		{pprof(func(o *traceprof.Task) {}), ""},
		{pprof(func(o *traceprof.Task) { o.Events = nil }), "events cannot be empty"},
		{pprof(func(o *traceprof.Task) { o.Duration = 0 }), "duration cannot be negative"},
		{pprof(func(o *traceprof.Task) { o.Duration, o.Events = 0, []string{"HEAP"} }), ""},
		{pprof(func(o *traceprof.Task) { o.Duration = 16 * traceprof.Minute }), "duration cannot be greater than 15 minutes"},
		{pprof(func(o *traceprof.Task) { o.Events = []string{"block"} }), "dumpPeriod cannot be negative"},
		{pprof(func(o *traceprof.Task) { o.Events, o.Period = []string{"MUTEX"}, 1 }), ""},
		{pprof(func(o *traceprof.Task) { o.Instances = nil }), "serviceInstanceIds cannot be empty"},
	} {
		_, err := order(c.change).Requested(1000)
		var refused *traceprof.RefusedError
		switch {
		case err == nil && c.want == "":
		case !errors.As(err, &refused) || refused.Reason != c.want || refused.Code != traceprof.BadArgument:
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestOrderBecomesTask(t *testing.T) {
	o := order(func(o *traceprof.Task) {
		o.Endpoint, o.Service, o.Start = "  /a b\n", strings.Repeat("s", 80), -1
		o.Instances = []string{"ignored"}
	})
	task, err := o.Requested(1000)
	if err != nil {
		t.Fatal(err)
	}
	if task.Endpoint != "/a b" || task.Start != 1000 || task.Created != 1000 || len(task.Service) != traceprof.MaxServiceName ||
		task.Instances != nil {
		t.Errorf("got %+v", task)
	}
	task, err = traceprof.Task{
		Kind: traceprof.AsyncKind, ServiceID: "s", Duration: 5, Instances: []string{strings.Repeat("i", 80)}, Events: []string{"cpu", "Alloc"},
		Arguments: "interval=1ms\xff",
	}.Requested(7)
	if err != nil || len(task.Instances[0]) != traceprof.MaxInstanceName || strings.Join(task.Events, " ") != "CPU ALLOC" ||
		task.Arguments != "interval=1ms\uFFFD" {
		t.Errorf("got %+v, %v", task, err)
	}
}
