package agent

import (
	"runtime"
	"slices"
	"sync"
	"time"

	commonv3 "skywalking.apache.org/repo/goapi/collect/common/v3"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"
)

// Slots of a task.
const (
	maxRoots    = 5 // root segments at a time
	maxChildren = 5 // child segments of one root at a time
	maxProfiled = 10 * time.Minute
)

// state is that of a watched segment; one that is not watched has none.
type state uint8

const (
	pending    state = iota // not older than the threshold
	profiled                // sampled in every pass
	notSampled              // the task has enough segments, or it took too long
)

// watched is a segment with a slot of a task.
type watched struct {
	profiling *profiling
	id        string    // of the segment
	root      *watched  // itself for a root segment
	start     time.Time // of the root segment

	// Guarded by profiling.mu.
	state    state
	since    time.Time // of the first sample
	sequence int32     // of the next sample
	children int       // of a root, running
	released bool
}

// profiling is a task that runs: its slots and its sampler. A pass over all
// goroutines samples every segment that is older than the threshold; while there
// is none, the sampler sleeps.
type profiling struct {
	task     task
	schedule *schedule
	wake     chan struct{} // capacity 1: a segment was added
	quit     chan struct{} // closed at the end of the task
	done     chan struct{} // closed when the sampler has ended

	mu      sync.Mutex
	slots   []*watched
	roots   int // slots of root segments
	started int // root segments with a sample
	closed  bool
}

func newProfiling(t task, s *schedule) *profiling {
	return &profiling{task: t, schedule: s, wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
}

// close ends the sampler and waits for it.
func (p *profiling) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	close(p.quit)
	<-p.done
}

// add gives a segment a slot: one of its own, or one of the root that started it.
// It returns nil if there is none.
func (p *profiling) add(g *segment, root *watched) *watched {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &watched{profiling: p, id: g.id, root: root, start: g.start}
	switch {
	case p.closed:
		return nil
	case root == nil:
		if p.roots >= maxRoots || p.started >= p.task.count {
			return nil
		}
		p.roots++
		w.root = w
	default:
		if root.children >= maxChildren || root.state == notSampled {
			return nil
		}
		root.children++
		w.start = root.start
	}
	p.slots = append(p.slots, w)
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return w
}

// release gives the slot back and returns tags for the segment's root span.
func (w *watched) release() []*commonv3.KeyStringValuePair {
	p := w.profiling
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.released {
		return nil
	}
	w.released = true
	p.slots = slices.DeleteFunc(p.slots, func(o *watched) bool { return o == w })
	if w.root == w {
		p.roots--
	} else {
		w.root.children--
	}
	if w.sequence == 0 {
		return nil
	}
	return []*commonv3.KeyStringValuePair{pair("profile.period", p.period().Round(100*time.Microsecond).String())}
}

// period returns the time between two passes: what the task asks for, or more if
// that would exceed the budget.
func (p *profiling) period() time.Duration { return max(p.task.period, p.schedule.pace.period()) }

// run samples until the end of the task.
func (p *profiling) run() {
	defer close(p.done)
	reader := newReader()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var last time.Time // when the last pass was due
	for {
		var due <-chan time.Time
		next, ok := p.next(last)
		if ok {
			timer.Reset(time.Until(next))
			due = timer.C
		}
		select {
		case <-p.quit:
			return
		case <-p.wake:
		case <-due:
			now := time.Now()
			p.pass(reader, now)
			last = next // so that a late pass does not delay the next ones
			if now.Sub(next) > p.period() {
				last = now
			}
		}
	}
}

// next returns when the next pass is due, false if no segment waits for one.
func (p *profiling) next(last time.Time) (next time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.slots {
		if w.state == notSampled {
			continue
		}
		if at := w.start.Add(p.task.threshold); !ok || at.Before(next) {
			next, ok = at, true
		}
	}
	if after := last.Add(p.period()); next.Before(after) {
		next = after
	}
	return next, ok
}

// pass takes the stacks of all segments that are older than the threshold.
func (p *profiling) pass(r reader, now time.Time) {
	due := p.due(now)
	if len(due) == 0 {
		return
	}
	runtime.LockOSThread() // so that the thread's time is the pass's
	before := threadTime()
	stacks, err := owners(r, func(id string) bool { return due[id] })
	p.schedule.pace.add(threadTime() - before)
	runtime.UnlockOSThread()
	if err != nil {
		p.schedule.agent.out.failed("sample", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.slots {
		if stack := stacks[w.id]; len(stack) > 0 {
			p.sample(w, now, stack)
		}
	}
}

// due returns the ids of the segments to sample.
func (p *profiling) due(now time.Time) map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	due := map[string]bool{}
	for _, w := range p.slots {
		switch {
		case w.state == pending && now.Sub(w.start) > p.task.threshold:
			due[w.id] = true
		case w.state == profiled && now.Sub(w.since) >= maxProfiled:
			w.state = notSampled
		case w.state == profiled:
			due[w.id] = true
		}
	}
	return due
}

// sample queues a stack of a segment. A sample that the queue has no room for
// takes no number, so that only time is missing. Callers hold p.mu.
func (p *profiling) sample(w *watched, at time.Time, stack []string) {
	if w.state == pending {
		if w.root == w {
			if p.started >= p.task.count {
				w.state = notSampled
				return
			}
			p.started++
		}
		w.state, w.since = profiled, at
	}
	if w.state != profiled {
		return
	}
	if p.schedule.agent.out.snapshots.put(&profilev3.ThreadSnapshot{
		TaskId: p.task.id, TraceSegmentId: w.id, Time: at.UnixMilli(), Sequence: w.sequence,
		Stack: &profilev3.ThreadStack{CodeSignatures: stack},
	}) {
		w.sequence++
	}
}

// What a pass costs the process, apart from its own processor time: waking threads
// and sending, in about the same amount each time, and garbage, in proportion to the
// stacks. Both are measured, see BenchmarkOverhead.
const (
	wakeCost    = 200 * time.Microsecond
	garbageCost = 1.6
)

// pace keeps sampling within its budget. The cost of a pass is the median of the
// last ones: one that did the work of the garbage collector too is no reason to
// sample less.
type pace struct {
	budget float64 // share of one core

	mu    sync.Mutex
	costs [9]time.Duration // of the last passes, a ring
	n     int
}

// add notes what a pass cost.
func (c *pace) add(cost time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.costs[c.n%len(c.costs)] = cost
	c.n++
}

// period returns the shortest time between two passes, 0 before the first.
func (c *pace) period() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(c.n, len(c.costs))
	if n == 0 {
		return 0
	}
	sorted := c.costs
	slices.Sort(sorted[:n])
	return time.Duration((float64(wakeCost) + garbageCost*float64(sorted[(n-1)/2])) / c.budget)
}
