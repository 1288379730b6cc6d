package skywalking

import (
	"context"
	"sync"
	"time"

	"github.com/dendroprof/dendro/traceprof"
)

// How often what was seen is written. A thousand agents that report every second
// are a thousand notes in memory and one write in writeEvery.
const (
	flushEvery   = time.Second
	writeEvery   = int64(30_000)         // ms between two writes of an instance that is known
	forgetAfter  = int64(10 * 60 * 1000) // ms without a sign of life
	maxProcesses = 100_000               // remembered at a time; names are the clients' to choose
)

// presence notes which instances were seen when, so that a report each second is
// not a write each second. It is safe for concurrent use.
type presence struct {
	now func() int64

	mu    sync.Mutex
	known map[Process]*sighting
}

// sighting is what was noted of an instance, in ms.
type sighting struct {
	first, last, written int64

	// ahead is the most that a time of the instance's clock was ahead of the
	// server's when it arrived. What is late looks like a clock that is behind,
	// so of several the greatest is the nearest to the truth.
	ahead   int64
	compare bool // ahead was set

	listens bool // a Java agent: it reads commands in the reply to any report
}

func newPresence(now func() int64) *presence {
	return &presence{now: now, known: map[Process]*sighting{}}
}

// note notes a sign of life. clock is the time that the instance's clock showed
// when it gave the sign, or a little before; 0: it did not say.
func (p *presence) note(who Process, clock int64) {
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.known[who]
	if s == nil {
		if len(p.known) >= maxProcesses {
			return
		}
		s = &sighting{first: now}
		p.known[who] = s
	}
	s.last = max(s.last, now)
	if clock > 0 && (!s.compare || clock-now > s.ahead) {
		s.ahead, s.compare = clock-now, true
	}
}

// listens notes that an instance executes commands in the replies to its reports.
func (p *presence) listens(who Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.known[who]; s != nil {
		s.listens = true
	}
}

// isListening reports whether an instance is known to.
func (p *presence) isListening(who Process) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.known[who]
	return s != nil && s.listens
}

// due returns what is to be written, all or what it is time for, and forgets who
// has been silent for long.
func (p *presence) due(all bool) []traceprof.Instance {
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []traceprof.Instance
	for who, s := range p.known {
		switch {
		case s.last > s.written && (all || now-s.written >= writeEvery):
			i := traceprof.Instance{Service: who.Service, Name: who.Instance, FirstSeen: s.first, LastSeen: s.last}
			if s.compare {
				i.Skew = s.ahead
			}
			list = append(list, i)
			s.written, s.compare = s.last, false
		case now-s.last > forgetAfter:
			delete(p.known, who)
		}
	}
	return list
}

// again makes what could not be written due again.
func (p *presence) again(list []traceprof.Instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range list {
		if s := p.known[Process{list[i].Service, list[i].Name}]; s != nil {
			s.written = 0
		}
	}
}

// run writes what is due until the context ends, then the rest.
func (p *presence) run(ctx context.Context, put func(context.Context, []traceprof.Instance) error) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.flush(ctx, false, put)
		case <-ctx.Done():
			p.flush(context.WithoutCancel(ctx), true, put)
			return
		}
	}
}

func (p *presence) flush(ctx context.Context, all bool, put func(context.Context, []traceprof.Instance) error) {
	if list := p.due(all); len(list) > 0 && put(ctx, list) != nil {
		p.again(list)
	}
}
