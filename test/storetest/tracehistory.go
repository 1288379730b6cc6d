package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/traceprof"
)

// TraceHistory does the same random calls with several engines and requires the
// same outcomes and, after every few calls, the same answers. One of the engines
// should be one that is simple enough to be believed.
func TraceHistory(t testing.TB, seed uint64, engines ...TraceEngine) {
	t.Helper()
	h := &traceHistory{r: rand.New(rand.NewPCG(seed, 11)), stacks: new(calltree.Forest), now: 1000}
	var labs []*traceLab
	for _, e := range engines {
		labs = append(labs, newTraceLab(t, e))
	}
	for step := range 60 {
		call := h.next()
		var outcome string
		for i, l := range labs {
			got := call.run(l.ctx, l.s)
			if i == 0 {
				outcome = got
			} else if got != outcome {
				t.Fatalf("seed %d, step %d, %s: engine 0 says %q, engine %d %q", seed, step, call.name, outcome, i, got)
			}
		}
		if step%20 == 19 {
			for _, l := range labs {
				l.reopen()
			}
		}
		if step%6 != 5 {
			continue
		}
		want := h.draw(t, labs[0])
		for i, l := range labs[1:] {
			if d := cmp.Diff(want, h.draw(t, l)); d != "" {
				t.Fatalf("seed %d, after step %d, %s (-engine 0 +engine %d):\n%s", seed, step, call.name, i+1, d)
			}
		}
	}
}

// traceHistory makes the calls of a history.
type traceHistory struct {
	r      *rand.Rand
	stacks *calltree.Forest
	now    int64
	tasks  []string // ids that may exist
}

// traceCall is one call; run returns its outcome.
type traceCall struct {
	name string
	run  func(context.Context, traceprof.Store) string
}

// outcome describes what an error is for contract's sake.
func outcome(err error) string {
	var refused *traceprof.RefusedError
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &refused):
		return refused.Reason
	case errors.Is(err, traceprof.ErrNoTask):
		return "no such task"
	}
	return "error: " + err.Error()
}

func (h *traceHistory) some(prefix string, n int) string { return fmt.Sprint(prefix, h.r.IntN(n)) }

// task returns the id of a task, which may be unknown.
func (h *traceHistory) task() string {
	if len(h.tasks) == 0 || h.r.IntN(4) == 0 {
		return h.some("ghost", 2)
	}
	return h.tasks[h.r.IntN(len(h.tasks))]
}

func (h *traceHistory) next() traceCall {
	h.now += h.r.Int64N(50)
	switch h.r.IntN(16) {
	case 0, 1:
		return h.create()
	case 2:
		id, at := h.task(), h.now-h.r.Int64N(100)
		return traceCall{"stop", func(ctx context.Context, s traceprof.Store) string { return outcome(s.StopTask(ctx, id, at)) }}
	case 3:
		var list []traceprof.Log
		for i := range 1 + h.r.IntN(4) {
			list = append(list, traceprof.Log{Task: h.task(), Instance: h.some("i", 2), Event: traceprof.Notified, Time: h.now - h.r.Int64N(3),
				Text: fmt.Sprint(i)})
		}
		return traceCall{"log", func(ctx context.Context, s traceprof.Store) string { return outcome(s.AppendLog(ctx, list...)) }}
	case 4:
		var list []traceprof.Instance
		for range 1 + h.r.IntN(3) {
			i := traceprof.Instance{Service: h.some("s", 2), Name: h.some("i", 3), LastSeen: h.now - h.r.Int64N(20)}
			if h.r.IntN(2) == 0 {
				i.Properties = []traceprof.Property{{Key: "k", Value: fmt.Sprint(h.now)}}
			}
			list = append(list, i)
		}
		return traceCall{"instances", func(ctx context.Context, s traceprof.Store) string { return outcome(s.PutInstances(ctx, list...)) }}
	case 5, 6, 7:
		var list []traceprof.Segment
		for range 1 + h.r.IntN(5) {
			g := segment(h.some("g", 25), h.now-h.r.Int64N(300), h.r.Int64N(10))
			g.Trace, g.Service, g.Endpoint = h.some("t", 10), h.some("s", 2), h.some("/", 3)
			if h.r.IntN(8) == 0 {
				g.Trace = ""
			}
			list = append(list, g)
		}
		return traceCall{"segments", func(ctx context.Context, s traceprof.Store) string { return outcome(s.PutSegments(ctx, list...)) }}
	case 8:
		e := traceprof.Expiry{Before: h.now - 150 - h.r.Int64N(200), Now: h.now}
		if h.r.IntN(6) == 0 {
			e.MaxBytes = 1
		}
		return traceCall{"expire", func(ctx context.Context, s traceprof.Store) string {
			out, err := s.Expire(ctx, e)
			return fmt.Sprint(out, outcome(err))
		}}
	}
	return h.snapshots()
}

func (h *traceHistory) create() traceCall {
	t := traceprof.Task{Kind: traceprof.TraceKind, Service: h.some("s", 2), Created: h.now, Start: h.now - h.r.Int64N(100),
		Duration: 20 + h.r.Int64N(60)}
	t.ServiceID = t.Service
	if h.r.IntN(4) == 0 {
		t.Kind, t.Events = traceprof.PprofKind, []string{h.some("E", 3)}
	}
	// The id that it has if it is admitted; close enough to be a task mostly.
	h.tasks = append(h.tasks, fmt.Sprintf("%d_%s", t.Created, t.ServiceID))
	return traceCall{"create", func(ctx context.Context, s traceprof.Store) string {
		made, err := s.CreateTask(ctx, t)
		return made.ID + outcome(err)
	}}
}

func (h *traceHistory) snapshots() traceCall {
	var list []traceprof.Snapshots
	for range 1 + h.r.IntN(3) {
		v := traceprof.Snapshots{Task: h.task(), Segment: h.some("g", 25)}
		if h.r.IntN(5) == 0 {
			v.Language = traceprof.GoProfiles
		}
		for range h.r.IntN(6) {
			v.Sequence, v.Time = append(v.Sequence, int32(h.r.IntN(12)-2)), append(v.Time, h.now+h.r.Int64N(20)-10)
			frames := make([]string, h.r.IntN(4))
			for i := range frames {
				frames[i] = h.some("f", 3)
			}
			v.Path = append(v.Path, stackPath(h.stacks, frames))
			if v.Language == traceprof.GoProfiles {
				v.Count, v.Nanos = append(v.Count, h.r.Int64N(5)), append(v.Nanos, h.r.Int64N(5))
			}
		}
		v.Stacks = h.stacks.Snapshot()
		list = append(list, v)
	}
	return traceCall{"snapshots", func(ctx context.Context, s traceprof.Store) string { return outcome(s.PutSnapshots(ctx, list...)) }}
}

// draw writes down what a store answers.
func (h *traceHistory) draw(t testing.TB, l *traceLab) string {
	t.Helper()
	var b strings.Builder
	note := func(what string, answer any, err error) {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		fmt.Fprintf(&b, "%s: %+v\n", what, answer)
	}
	tasks, err := l.s.Tasks(l.ctx, traceprof.TaskQuery{})
	note("tasks", tasks, err)
	logs, err := l.s.Logs(l.ctx, append([]string{"ghost0", "ghost1"}, h.tasks...)...)
	note("logs", logs, err)
	instances, err := l.s.Instances(l.ctx, "", h.now-100)
	note("instances", instances, err)
	for _, q := range []traceprof.SegmentQuery{{NoRaw: true}, {Service: "s1", BySlowest: true, Limit: 5}, {Traces: []string{"t1", "t2"}},
		{IDs: []string{"g3"}}, {From: h.now - 100, Endpoint: "/1"}} {
		segments, err := l.s.Segments(l.ctx, q)
		note("segments", segments, err)
	}
	endpoints, err := l.s.Endpoints(l.ctx, "s0", "", 0)
	note("endpoints", endpoints, err)
	for _, q := range []traceprof.SnapshotQuery{{}, {Segments: []string{"g1", "g2"}}, {Tasks: []string{"ghost1"}}} {
		text, err := drawSnapshots(l.ctx, l.s, q)
		note("snapshots", text, err)
	}
	return b.String()
}
