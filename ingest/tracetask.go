package ingest

import (
	"context"
	"fmt"
	"time"

	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
	"github.com/dendroprof/dendro/traceprof"
)

// Rules for storing tasks as profiles.
const (
	// settled is how long a task waits after its end for agents that do not report its
	// completion: the maximum duration of a sampled request.
	settled = 10 * time.Minute
	// lookEvery is the interval between checks for due tasks.
	lookEvery = 10 * time.Second
)

// TraceTasks stores finished tasks of trace profiling as profiles: the service is the
// group, the endpoint the benchmark and the task the test run, so that two tasks of an
// endpoint can be compared. The metric of the run is the mean latency of its sampled
// requests.
//
// A task is finished when every instance that received it has reported completion, or
// ten minutes after its end. Later snapshots replace the profile: tasks are checked
// again in growing intervals for as long as they are kept. Due tasks are read from the
// stores, and the same snapshots give the same profile, so a restart loses nothing and
// several servers over one store do not conflict.
type TraceTasks struct {
	traces traceprof.Store
	store  store.Store
	o      TraceOptions

	looked map[string]time.Time // when each task was last checked
}

// TraceOptions are the parameters of TraceTasks.
type TraceOptions struct {
	Normalizer *normalize.Normalizer // nil: the built-in rules
	Now        func() time.Time      // nil: the system's clock
	// Report is called for each profile stored or replaced, and for each failed task;
	// may be nil. Run continues after failures.
	Report func(Result)
}

// NewTraceTasks returns TraceTasks from traces to st, for one goroutine.
func NewTraceTasks(traces traceprof.Store, st store.Store, o TraceOptions) *TraceTasks {
	if o.Normalizer == nil {
		o.Normalizer = normalize.New(nil)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Report == nil {
		o.Report = func(Result) {}
	}
	return &TraceTasks{traces: traces, store: st, o: o, looked: map[string]time.Time{}}
}

// Run stores finished tasks until the context ends, and returns its error.
func (t *TraceTasks) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := t.StoreDue(ctx); err != nil && ctx.Err() == nil {
			t.o.Report(Result{File: "trace tasks", Status: Failed, Err: err, Error: err.Error()})
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// StoreDue stores the tasks that are due now. It returns an error of the stores; failures
// of single tasks are reported.
func (t *TraceTasks) StoreDue(ctx context.Context) error {
	now := t.o.Now()
	tasks, err := t.traces.Tasks(ctx, traceprof.TaskQuery{Kind: traceprof.TraceKind, To: now.UnixMilli()})
	if err != nil {
		return fmt.Errorf("list finished tasks: %w", err)
	}
	kept := map[string]time.Time{}
	for i := range tasks {
		task := &tasks[i]
		if last, ok := t.looked[task.ID]; ok {
			kept[task.ID] = last
		}
	}
	t.looked = kept // without expired tasks
	for i := range tasks {
		task := &tasks[i]
		if !t.lookAgain(task, now) {
			continue
		}
		over, err := t.over(ctx, task, now)
		if err != nil {
			return fmt.Errorf("state of task %s: %w", task.ID, err)
		}
		if !over {
			continue
		}
		if r, changed := t.bring(ctx, task); changed {
			t.o.Report(r)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		t.looked[task.ID] = now
	}
	return nil
}

// lookAgain reports whether to check a task: each time it is a quarter older than at
// the last check.
func (t *TraceTasks) lookAgain(task *traceprof.Task, now time.Time) bool {
	last, ok := t.looked[task.ID]
	return !ok || now.Sub(last) >= max(lookEvery, last.Sub(time.UnixMilli(task.End()))/4)
}

// over reports whether a task is finished: no more snapshots are expected.
func (t *TraceTasks) over(ctx context.Context, task *traceprof.Task, now time.Time) (bool, error) {
	end := time.UnixMilli(task.End())
	if now.Before(end) {
		return false, nil
	}
	if now.Sub(end) >= settled {
		return true, nil
	}
	logs, err := t.traces.Logs(ctx, task.ID)
	return err == nil && traceprof.AllFinished(logs), err
}

// bring puts the profile of a task into the store, unless there is none. It
// reports whether that changed anything, or failed.
func (t *TraceTasks) bring(ctx context.Context, task *traceprof.Task) (Result, bool) {
	r := Result{File: "task " + task.ID, Run: task.ID, Group: task.Service, Bench: task.Endpoint}
	file, err := t.file(ctx, task)
	if err == nil && file == nil {
		return r, false
	}
	if err == nil {
		var outcomes []store.Outcome
		outcomes, err = t.store.Put(ctx, []*store.File{file}, store.PutOptions{Conflict: store.Replace, Rules: t.o.Normalizer.Version()})
		if err == nil {
			err = outcomes[0].Err
		}
		if err == nil && outcomes[0].Stored == 0 {
			return r, false
		}
	}
	if err != nil {
		r.Status, r.Err, r.Error = Failed, err, err.Error()
		return r, true
	}
	r.Status = Stored
	for _, rec := range file.Records {
		r.Samples += rec.Samples
		r.Profiles = append(r.Profiles, store.IDOf(file.Benchmark, file.Run.Key, rec.Type.Name))
	}
	return r, true
}

// file returns what a task brings into the store, or nil if it has no snapshots.
func (t *TraceTasks) file(ctx context.Context, task *traceprof.Task) (*store.File, error) {
	p, segments, err := traceprof.ReadProfile(ctx, t.traces, task)
	if err != nil || len(p.Tables) == 0 {
		return nil, err
	}
	f := &store.File{
		Name:      "task " + task.ID,
		Benchmark: testrun.Benchmark{Group: task.Service, Name: task.Endpoint},
		Run:       testrun.Run{Key: task.ID, Date: time.UnixMilli(task.Start).UTC()},
		Metrics:   latency(task, segments),
	}
	// The symbols belong to this profile only: no reuse.
	w := newWorker(Options{Normalizer: t.o.Normalizer})
	for i := range p.Tables {
		rec, err := w.record(p, i, f.Benchmark.Group)
		if err != nil {
			return nil, err
		}
		f.Records = append(f.Records, rec)
	}
	return f, nil
}

// latency returns the mean latency of the sampled requests and their number. Segments of
// other threads of a request count only if there are no requests.
func latency(task *traceprof.Task, segments map[string]*traceprof.Segment) []testrun.Metric {
	var sum [2]float64
	var n [2]int
	for _, s := range segments {
		kind := 0
		if s.Operation == traceprof.CutName(task.Endpoint, traceprof.MaxEndpointName) {
			kind = 1
		}
		sum[kind] += float64(s.Latency())
		n[kind]++
	}
	for kind := 1; kind >= 0; kind-- {
		if n[kind] > 0 {
			return []testrun.Metric{{
				Name: "latency", Mean: sum[kind] / float64(n[kind]), Unit: "ms", Better: testrun.Lower, N: n[kind], Primary: true,
			}, testrun.NewOperations(float64(n[kind]), false)}
		}
	}
	return nil
}
