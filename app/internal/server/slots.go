package server

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// A request is in one of three stages, each with a maximum number of requests, of which a
// client may have half. Only computing takes a slot that work needs: a client that sends a
// body slowly, or reads an answer slowly, keeps nobody from computing.
type stage int

const (
	outside stage = iota // in no stage
	receiving
	computing
	sending
)

// Kind is a kind of work. Each has slots of its own, so that one cannot lock out the others.
type Kind int

// Kinds of work. The zero value follows from the route: uploads are imports, others queries.
const (
	usual   Kind = iota
	Queries      // answers from memory
	Streams      // answers that are read while they are sent: a slow reader keeps its slot
	Imports      // what changes the store
	Reports      // of agents: they wait for a commit that they share, and their receiver bounds its work
	Outside      // needs no slot: cheap and always possible
)

// slotWait is how long a request waits for a slot to compute.
const slotWait = time.Minute

// busyPause is when a client that was refused should try again.
const busyPause = 5 * time.Second

// slots are the places of all stages.
type slots struct {
	stages map[Kind]map[stage]*Budget
	wait   time.Duration // for a slot to compute
}

// newSlots returns the slots of a server: of each kind n requests may be received and sent
// at the same time.
func newSlots(n int) *slots {
	s := &slots{stages: map[Kind]map[stage]*Budget{}, wait: slotWait}
	cores := runtime.GOMAXPROCS(0)
	for kind, compute := range map[Kind]int{Queries: max(16, 4*cores), Streams: max(32, 4*cores), Imports: max(32, 4*cores), Reports: n} {
		of := func(what string, n int) *Budget { return NewBudget(what, int64(n), int64((n+1)/2)) }
		s.stages[kind] = map[stage]*Budget{receiving: of("requests being received", n),
			computing: of("requests being computed", min(n, compute)), sending: of("answers being sent", n)}
	}
	return s
}

// slot is the place of one request. It is safe for concurrent use: a handler may read its body
// in one goroutine while it writes in another.
type slot struct {
	stages map[stage]*Budget // nil: no slot is needed
	client string
	ctx    context.Context

	mu   sync.Mutex
	at   stage
	away int // reads and writes that wait for the client
}

// of returns the place of a request, which is in no stage yet.
func (s *slots) of(ctx context.Context, kind Kind, client string) *slot {
	return &slot{stages: s.stages[kind], client: client, ctx: ctx}
}

// move moves the request to a stage. It waits for a slot to compute, for a time; to places of
// other stages it moves at once or not at all.
func (s *slot) move(to stage, wait time.Duration) error {
	if s.stages == nil || s.at == to {
		return nil
	}
	if to != outside {
		if err := s.stages[to].Acquire(s.ctx, s.client, 1, wait); err != nil {
			return err
		}
	}
	if s.at != outside {
		s.stages[s.at].Release(s.client, 1)
	}
	s.at = to
	return nil
}

// enter is move for callers outside.
func (s *slot) enter(to stage, wait time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.move(to, wait)
}

// waiting calls do, which waits for the client, in another stage than computing.
func (s *slot) waiting(in stage, do func()) error {
	if s.stages == nil {
		do()
		return nil
	}
	s.mu.Lock()
	s.away++
	err := s.move(in, 0)
	s.mu.Unlock()
	if err == nil {
		do()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away--; s.away > 0 || err != nil {
		return err
	}
	// Whoever has sent part of an answer must be able to go on: there is no time limit here,
	// and requests that compute end.
	return s.move(computing, time.Hour)
}
