package traceprof

import (
	"context"
	"fmt"
	"slices"
)

// rival is a task that needs the CPU profiler of a Go program at the same time as another
// one: SkyWalking's Go agent carries out trace profiling, and pprof tasks of CPU time, with the
// one profiler that a program has. The task that an instance receives later gets nothing.
type rival struct {
	task Task
	logs []Log // newest first
}

// needsCPUProfiler reports whether Go agents carry out a task with the CPU profiler.
func needsCPUProfiler(t *Task) bool {
	return t.Kind == TraceKind || t.Kind == PprofKind && slices.Contains(t.Events, "CPU")
}

// readRivals reads the tasks of the other kind that an instance received too.
func (f *facts) readRivals(ctx context.Context, st Store) error {
	if !needsCPUProfiler(&f.task) {
		return nil
	}
	other := PprofKind
	if f.task.Kind == PprofKind {
		other = TraceKind
	}
	// Agents run a task for its whole duration, from when they receive it.
	list, err := st.Tasks(ctx, TaskQuery{Kind: other, Service: f.task.Service, From: f.task.Start - maxDuration, To: f.task.End()})
	for i := range list {
		if err != nil || !needsCPUProfiler(&list[i]) {
			continue
		}
		r := rival{task: list[i]}
		if r.logs, err = st.Logs(ctx, r.task.ID); err == nil {
			f.rivals = append(f.rivals, r)
		}
	}
	return err
}

// ran returns when an instance ran a task, by the server's clock; ok: it received the task
// and did not report an error.
func ran(t *Task, logs []Log, instance string) (from, to int64, ok bool) {
	for _, l := range logs {
		switch {
		case l.Instance != instance:
		case l.Event == Failed:
			return 0, 0, false
		case l.Event == Notified:
			from, ok = max(l.Time, t.Start), true // the oldest comes last
		}
	}
	return from, from + t.Duration, ok
}

// profilerBusy finds instances whose CPU profiler another task had when they received this one.
func (f *facts) profilerBusy() (Cause, bool) {
	c := Cause{Code: ProfilerBusy}
	var busy *rival
	for instance := range f.notified {
		if f.task.Kind == TraceKind && f.sampledAt(instance) || f.task.Kind == PprofKind && !f.failedAt(instance) {
			continue
		}
		var mine int64
		for _, l := range f.logs {
			if l.Instance == instance && l.Event == Notified {
				mine = max(l.Time, f.task.Start)
			}
		}
		for i := range f.rivals {
			r := &f.rivals[i]
			if from, to, ok := ran(&r.task, r.logs, instance); ok && from <= mine && mine <= to {
				c.Instances, busy = appendNew(c.Instances, instance), r
			}
		}
	}
	if busy == nil {
		return c, false
	}
	slices.Sort(c.Instances)
	what := "for pprof"
	if busy.task.Kind == TraceKind {
		what = fmt.Sprintf("for trace profiling of %q", busy.task.Endpoint)
	}
	c.Text = fmt.Sprintf("The CPU profiler of %s was in use by task %s (%s) when this task began. A Go program has one, so the task that begins later gets nothing: create one after the other.",
		some(c.Instances), busy.task.ID, what)
	return c, true
}

// sampledAt reports whether an instance sent snapshots.
func (f *facts) sampledAt(instance string) bool {
	return slices.ContainsFunc(f.coverage.Segments, func(c Coverage) bool { return c.Instance == instance })
}

// failedAt reports whether an instance reported an error.
func (f *facts) failedAt(instance string) bool {
	return slices.ContainsFunc(f.logs, func(l Log) bool { return l.Instance == instance && l.Event == Failed })
}
