package traceprof

import (
	"context"
	"fmt"
	"slices"
)

// Cause is a reason why a task has no data, or incomplete data.
type Cause struct {
	Code CauseCode `json:"code"`
	Text string    `json:"text"` // a sentence with the evidence

	Names     []string `json:"names,omitempty"`     // similar names of endpoints or services, best first
	Instances []string `json:"instances,omitempty"` // the affected ones; nil: all, or none in particular
	Requests  int      `json:"requests,omitempty"`  // segments of the endpoint that are evidence
	Slowest   int64    `json:"slowest,omitempty"`   // the longest of them, ms
}

// CauseCode identifies a cause for programs.
type CauseCode string

// The causes, in the order of reports.
const (
	NotBegun          CauseCode = "not-begun"
	OverWhenCreated   CauseCode = "over-when-created"
	ServiceNeverSeen  CauseCode = "service-never-seen"
	EndpointTooLong   CauseCode = "endpoint-too-long"         // agents cut names before they compare
	EndpointNeverSeen CauseCode = "endpoint-never-seen"       // no segment began with it
	EndpointNotFirst  CauseCode = "endpoint-not-first"        // segments have it, but begin with another operation
	ClockSkew         CauseCode = "clock-skew"                // the clocks of agents and server differ
	ServerDown        CauseCode = "server-down"               // no server ran for a part of the task
	NeverPolled       CauseCode = "instance-never-polled"     // it reports, but does not poll for tasks
	NeverNotified     CauseCode = "never-notified"            // it polled and did not receive it
	ProfilerBusy      CauseCode = "cpu-profiler-busy"         // another task had the CPU profiler of the Go program
	AgentFailed       CauseCode = "agent-failed"              // it reported an error
	InstanceVanished  CauseCode = "instance-vanished"         // it received the task and was not seen again
	NoRequest         CauseCode = "no-request"                // none began while the task ran
	NoRequestSince    CauseCode = "no-request-since-notified" // none began after the agent received the task
	RequestInProgress CauseCode = "request-in-progress"       // it began before the agent received the task
	AllFaster         CauseCode = "all-requests-faster"       // than the threshold
	TooFast           CauseCode = "ended-before-first-dump"   // slower than the threshold, by less than two periods
	FinishedEmpty     CauseCode = "finished-without-samples"
	SegmentsMissing   CauseCode = "segments-missing" // there are snapshots, the traces were sampled away
	SnapshotsLost     CauseCode = "snapshots-lost"   // in the agent's queue
	AgentSlow         CauseCode = "agent-slower-than-period"
	SamplingHole      CauseCode = "sampling-hole" // an agent took no dump for several periods
	StillRunning      CauseCode = "still-running"
	Unknown           CauseCode = "unknown"
)

// maxRequests is the maximum number of requests that are examined.
const maxRequests = 10_000

// Describe returns the coverage of a task, and why it has no or incomplete data, the most
// likely cause first. Now is in ms. A task with complete data has no causes. For the other
// kinds of task, which have no snapshots, the causes are why agents did not carry them out.
func Describe(ctx context.Context, st Store, task Task, now int64) (*TaskCoverage, []Cause, error) {
	f, err := factsOf(ctx, st, task, now)
	if err != nil {
		return nil, nil, err
	}
	causes := []Cause{}
	for _, look := range f.checks() {
		if c, ok := look(f); ok {
			causes = append(causes, c)
		}
	}
	if len(causes) == 0 && !f.hasData() && task.Kind == TraceKind {
		causes = append(causes, f.nothingFound())
	}
	return f.coverage, causes, nil
}

// facts is what the store says about a task.
type facts struct {
	task      Task
	now       int64
	logs      []Log      // newest first
	instances []Instance // of the service
	services  []string   // all; nil if the service has instances
	snapshots []Snapshots
	coverage  *TaskCoverage

	endpoints []Endpoint // of the service; nil if the endpoint was seen
	seen      bool       // some segment, at any time, began with the endpoint
	requests  []Segment  // that began with it and lie in part in the task's time, newest first
	other     []string   // how segments begin that have the endpoint, but not first

	notified map[string]int64 // of each instance: when it received the task first, by its clock
	rivals   []rival          // tasks that need the CPU profiler of Go programs too
}

// checks returns the checks for a task: with data, those for causes that make it
// incomplete, otherwise the others.
func (f *facts) checks() []func(*facts) (Cause, bool) {
	delivery := []func(*facts) (Cause, bool){
		(*facts).clockSkew, (*facts).serverDown, (*facts).neverPolled, (*facts).neverNotified, (*facts).profilerBusy, (*facts).agentFailed,
		(*facts).instanceVanished,
	}
	quality := []func(*facts) (Cause, bool){(*facts).segmentsMissing, (*facts).snapshotsLost, (*facts).samplingHole, (*facts).agentSlow}
	switch {
	case f.hasData():
		return append([]func(*facts) (Cause, bool){(*facts).clockSkew, (*facts).serverDown, (*facts).profilerBusy, (*facts).agentFailed},
			quality...)
	case f.task.OverWhenCreated():
		return []func(*facts) (Cause, bool){(*facts).overWhenCreated}
	case f.now < f.task.Start:
		return []func(*facts) (Cause, bool){(*facts).notBegun}
	case f.task.Kind != TraceKind:
		return append([]func(*facts) (Cause, bool){(*facts).serviceNeverSeen}, delivery...)
	case len(f.instances) == 0 && !f.seen && len(f.endpoints) == 0:
		return []func(*facts) (Cause, bool){(*facts).serviceNeverSeen}
	}
	list := append([]func(*facts) (Cause, bool){(*facts).endpointTooLong, (*facts).endpointNeverSeen, (*facts).endpointNotFirst}, delivery...)
	return append(list, (*facts).noRequest, (*facts).noRequestSince, (*facts).requestInProgress, (*facts).allFaster, (*facts).tooFast,
		(*facts).finishedEmpty)
}

func (f *facts) hasData() bool { return f.coverage.Received > 0 }

// factsOf reads what there is.
func factsOf(ctx context.Context, st Store, task Task, now int64) (*facts, error) {
	f := &facts{task: task, now: now, notified: map[string]int64{}}
	var err error
	if f.logs, err = st.Logs(ctx, task.ID); err != nil {
		return nil, err
	}
	if f.instances, err = st.Instances(ctx, task.Service, 0); err != nil {
		return nil, err
	}
	skew := map[string]int64{}
	for _, i := range f.instances {
		skew[i.Name] = i.Skew
	}
	for _, l := range f.logs {
		if l.Event == Notified {
			f.notified[l.Instance] = l.Time + skew[l.Instance] // the oldest comes last
		}
	}
	if err := f.readSnapshots(ctx, st); err != nil {
		return nil, err
	}
	if err := f.readRivals(ctx, st); err != nil {
		return nil, err
	}
	if task.Kind == TraceKind {
		err = f.readRequests(ctx, st)
	}
	if err == nil && len(f.instances) == 0 {
		err = f.readServices(ctx, st)
	}
	return f, err
}

func (f *facts) readSnapshots(ctx context.Context, st Store) error {
	list, segments, err := snapshotsOf(ctx, st, f.task.ID)
	if err == nil {
		f.snapshots, f.coverage = list, coverTask(&f.task, list, segments)
	}
	return err
}

// readRequests reads the segments that begin with the endpoint, or if there are none the
// service's endpoints and the segments that have the endpoint elsewhere.
func (f *facts) readRequests(ctx context.Context, st Store) error {
	q := SegmentQuery{Service: f.task.Service, Operation: CutName(f.task.Endpoint, MaxEndpointName), NoRaw: true, Limit: 1}
	last, err := st.Segments(ctx, q)
	if err != nil {
		return err
	}
	if f.seen = len(last) > 0; f.seen {
		q.Limit, q.From, q.To = maxRequests, f.task.Start-maxDuration, f.task.End()
		f.requests, err = st.Segments(ctx, q)
		return err
	}
	if f.endpoints, err = st.Endpoints(ctx, f.task.Service, "", 0); err != nil {
		return err
	}
	others, err := st.Segments(ctx, SegmentQuery{Service: f.task.Service, Endpoint: q.Operation, NoRaw: true, Limit: 100})
	if err != nil {
		return err
	}
	for _, s := range others {
		f.other = appendNew(f.other, s.Operation)
	}
	return nil
}

func (f *facts) readServices(ctx context.Context, st Store) error {
	all, err := st.Instances(ctx, "", 0)
	for _, i := range all { // by service
		f.services = append(f.services, i.Service)
	}
	f.services = slices.Compact(f.services)
	return err
}

// nothingFound is reported when there is no other cause.
func (f *facts) nothingFound() Cause {
	if f.now < f.task.End()+Minute {
		return Cause{Code: StillRunning, Text: "The task is running, or just over: snapshots arrive while requests of the endpoint run, and up to a minute later."}
	}
	return Cause{Code: Unknown, Requests: len(f.requests), Text: fmt.Sprintf(
		"%d requests of the endpoint began while the task ran, and nothing that is stored says why none was sampled. "+
			"The logs of the agents may: they refuse a task that overlaps with one they know, and sample five requests at a time.", len(f.requests))}
}

// appendNew appends a name if the list does not have it.
func appendNew(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}
