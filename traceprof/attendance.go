package traceprof

import (
	"context"
	"maps"
	"sync"
)

// How often it is written that instances poll. A thousand agents that poll every
// second are a thousand notes in memory a second and a hundred rows.
const (
	writeEvery  = 1000        // ms between two writes
	renewEvery  = 10_000      // ms between two writes of one instance
	forgetAfter = 10 * Minute // without a poll
	maxVisits   = 100_000     // instances remembered; their names are the clients' to choose
)

// attendance notes when instances polled last. It is safe for concurrent use.
type attendance struct {
	mu      sync.Mutex
	seen    map[process]*visit
	written int64 // when the last write began, ms
}

// process names an instance of a service.
type process struct{ service, instance string }

// visit is when an instance polled last, and of that what the store knows.
type visit struct{ polled, written int64 }

// note notes a poll, and writes what is due if nobody did for a while.
func (a *attendance) note(ctx context.Context, st Store, p process, now int64) error {
	a.mu.Lock()
	if v := a.seen[p]; v != nil {
		v.polled = now
	} else if len(a.seen) < maxVisits {
		a.seen[p] = &visit{polled: now}
	}
	wait := a.written <= now && now < a.written+writeEvery
	if !wait {
		a.written = now
	}
	a.mu.Unlock()
	if wait {
		return nil
	}
	return a.write(ctx, st, now, false)
}

// write writes the polls that the store does not know, all or what is due, and
// forgets the instances that are silent.
func (a *attendance) write(ctx context.Context, st Store, now int64, all bool) error {
	var list []Instance
	a.mu.Lock()
	for p, v := range a.seen {
		if v.polled > v.written && (all || v.polled >= v.written+renewEvery) {
			list = append(list, Instance{Service: p.service, Name: p.instance, FirstSeen: v.polled, LastSeen: v.polled, Polled: v.polled})
			v.written = v.polled
		}
	}
	maps.DeleteFunc(a.seen, func(_ process, v *visit) bool { return v.polled <= v.written && now > v.polled+forgetAfter })
	a.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	err := st.PutInstances(ctx, list...)
	if err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		for i := range list {
			if v := a.seen[process{list[i].Service, list[i].Name}]; v != nil {
				v.written = 0
			}
		}
	}
	return err
}
