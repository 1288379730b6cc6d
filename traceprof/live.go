package traceprof

import (
	"context"
	"sync"
	"time"
)

// How often LiveInstances writes. A thousand agents that report every second cause a
// thousand updates in memory and a hundred rows a second.
const (
	writeEvery   = time.Second
	renewEvery   = int64(10_000) // ms between two writes of one instance
	forgetAfter  = 10 * Minute   // without a report or poll
	maxInstances = 100_000       // clients choose the names
	mayWait      = 10 * Minute   // how old what an agent could not send may be, when it does
)

// InstanceKey identifies an instance of a service.
type InstanceKey struct{ Service, Name string }

// LiveInstances tracks when instances reported and polled last, and writes it to the
// store in batches. It is safe for concurrent use.
type LiveInstances struct {
	store Store
	now   func() int64

	mu    sync.Mutex
	known map[InstanceKey]*liveInstance
}

// liveInstance describes one instance. Times are in ms by the server's
// clock; written is the value of seen that the store has.
type liveInstance struct {
	first, seen, polled, written int64

	// since is when it was heard of after a silence: what it recorded shortly before may
	// have waited until the server was there, and says nothing about its clock.
	since int64

	// skew is the largest difference between a time by the instance's clock and the
	// server's time of its arrival, since it was last written: hasSkew. A delay makes a clock appear
	// behind, so the largest of several differences is the most accurate.
	skew    int64
	hasSkew bool

	readsReplies bool
}

// Seen records a report. Clock is the time by the instance's clock when it sent the
// report, or shortly before, in ms; 0: unknown.
func (l *LiveInstances) Seen(k InstanceKey, clock int64) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := l.see(k, now); i != nil && clock > 0 && !i.waited(clock) && (!i.hasSkew || clock-now > i.skew) {
		i.skew, i.hasSkew = clock-now, true
	}
}

// waited reports whether a report may have waited for the server since a time.
func (i *liveInstance) waited(clock int64) bool { return i.since-mayWait < clock && clock < i.since }

// polled records a poll for tasks.
func (l *LiveInstances) polled(k InstanceKey) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := l.see(k, now); i != nil {
		i.polled = now
	}
}

// see returns the instance, seen now; nil if too many are tracked. The caller holds
// the lock.
func (l *LiveInstances) see(k InstanceKey, now int64) *liveInstance {
	i := l.known[k]
	if i == nil {
		if len(l.known) >= maxInstances {
			return nil
		}
		i = &liveInstance{first: now, since: now}
		l.known[k] = i
	}
	if now-i.seen > polling {
		i.since = now
	}
	i.seen = max(i.seen, now)
	return i
}

// wrong returns how far the clock of an instance is ahead of the server's, 0 if that may be the delay
// of a message or is not known.
func (l *LiveInstances) wrong(k InstanceKey) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := l.known[k]; i != nil && abs(i.skew) > skewed {
		return i.skew
	}
	return 0
}

// SetReadsReplies records that an instance executes the commands in the reply to any
// report, not only to a poll, as Java agents do.
func (l *LiveInstances) SetReadsReplies(k InstanceKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := l.known[k]; i != nil {
		i.readsReplies = true
	}
}

// ReadsReplies reports whether SetReadsReplies was called for an instance.
func (l *LiveInstances) ReadsReplies(k InstanceKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.known[k]
	return i != nil && i.readsReplies
}

// due returns the instances to write, all of them or those that were not written for
// renewEvery, and forgets silent ones.
func (l *LiveInstances) due(all bool) []Instance {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []Instance
	for k, i := range l.known {
		switch {
		case i.seen > i.written && (all || now-i.written >= renewEvery):
			w := Instance{Service: k.Service, Name: k.Name, FirstSeen: i.first, LastSeen: i.seen, Polled: i.polled}
			if i.hasSkew {
				w.Skew = i.skew
			}
			list = append(list, w)
			i.written, i.hasSkew = i.seen, false
		case now-i.seen > forgetAfter:
			delete(l.known, k)
		}
	}
	return list
}

// Write writes the instances that are due, or all that changed. After an error they
// are due again.
func (l *LiveInstances) Write(ctx context.Context, all bool) error {
	list := l.due(all)
	if len(list) == 0 {
		return nil
	}
	err := l.store.PutInstances(ctx, list...)
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		for k := range list {
			if i := l.known[InstanceKey{list[k].Service, list[k].Name}]; i != nil {
				i.written = 0
			}
		}
	}
	return err
}

// Run writes every second until the context ends, then once more. It calls failed with
// each error of the store and tries again.
func (l *LiveInstances) Run(ctx context.Context, failed func(error)) {
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			running = false
		}
		if err := l.Write(context.WithoutCancel(ctx), !running); err != nil {
			failed(err)
		}
	}
}
