package server

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
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
	stages    map[Kind]map[stage]*Budget
	receivers map[Kind]*receivers
	wait      time.Duration // for a slot to compute
}

// newSlots returns the slots of a server: of each kind n requests may be received and sent
// at the same time.
func newSlots(n int) *slots {
	s := &slots{stages: map[Kind]map[stage]*Budget{}, receivers: map[Kind]*receivers{}, wait: slotWait}
	cores := runtime.GOMAXPROCS(0)
	for kind, compute := range map[Kind]int{Queries: max(16, 4*cores), Streams: max(32, 4*cores), Imports: max(32, 4*cores), Reports: n} {
		of := func(what string, n int) *Budget { return NewBudget(what, int64(n), int64((n+1)/2)) }
		received := of("requests being received", n)
		if kind == Reports { // of many programs behind one address; stalled bodies are evicted
			received = NewBudget("requests being received", int64(n), int64(n))
		}
		s.receivers[kind] = &receivers{slots: map[*slot]bool{}}
		s.stages[kind] = map[stage]*Budget{receiving: received,
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
	among  *receivers

	began   time.Time    // of receiving
	got     atomic.Int64 // bytes
	evicted atomic.Bool
	stop    func() // ends a read of the body; nil: there is none

	mu   sync.Mutex
	at   stage
	away int // reads and writes that wait for the client
}

// of returns the place of a request, which is in no stage yet.
func (s *slots) of(ctx context.Context, kind Kind, client string) *slot {
	return &slot{stages: s.stages[kind], client: client, ctx: ctx, among: s.receivers[kind]}
}

// move moves the request to a stage. It waits for a slot to compute, for a time; to places of
// other stages it moves at once or not at all.
func (s *slot) move(to stage, wait time.Duration) error {
	if s.stages == nil || s.at == to {
		return nil
	}
	switch to {
	case outside:
	case receiving:
		if err := s.receive(); err != nil {
			return err
		}
	default:
		if err := s.stages[to].Acquire(s.ctx, s.client, 1, wait); err != nil {
			return err
		}
	}
	if s.at == receiving && !s.among.remove(s) {
		s.at = outside // another request has the place
	}
	if s.at != outside {
		s.stages[s.at].Release(s.client, 1)
	}
	s.at = to
	return nil
}

// receivers are the requests whose bodies the server waits for.
type receivers struct {
	mu    sync.Mutex
	slots map[*slot]bool
}

// How a body gets a place if others have them all: the slowest request is evicted of the client
// that has the most, if the server has waited for it for a while. A client that has the most
// itself waits longer for one of its own, so that it does not keep others from evicting.
const (
	receiveWait  = 5 * time.Second
	receiveTry   = 100 * time.Millisecond
	minReceiving = time.Second // of a client's own
	minOthers    = 100 * time.Millisecond
)

// receive takes a place to be received. If there is none, it evicts the slowest request.
func (s *slot) receive() error {
	b := s.stages[receiving]
	err := b.Acquire(s.ctx, s.client, 1, 0)
	for end := time.Now().Add(receiveWait); errors.Is(err, ErrBusy) && time.Now().Before(end); {
		if s.among.evict(b, s.client, time.Now()) {
			err = nil
			break
		}
		err = b.Acquire(s.ctx, s.client, 1, receiveTry)
	}
	if err == nil {
		s.among.mu.Lock()
		defer s.among.mu.Unlock()
		if s.began.IsZero() {
			s.began = time.Now()
		}
		s.among.slots[s] = true
	}
	return err
}

// remove reports whether a request still had its place.
func (r *receivers) remove(s *slot) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	had := r.slots[s]
	delete(r.slots, s)
	return had
}

// evict ends the slowest request of the client that has the most, and gives its place to another
// client. If no other has more, or the client has its share, it is one of its own.
func (r *receivers) evict(b *Budget, client string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	from, least := client, minReceiving
	if !b.shareUsed(client) {
		has := map[string]int{}
		for s := range r.slots {
			has[s.client]++
		}
		if from = most(has, client); has[from] > has[client]+1 {
			least = minOthers
		}
	}
	var slowest *slot
	lowest := 0.0
	for s := range r.slots {
		took := now.Sub(s.began)
		if s.client != from || took < least || s.stop == nil {
			continue
		}
		if rate := float64(s.got.Load()) / took.Seconds(); slowest == nil || rate < lowest {
			slowest, lowest = s, rate
		}
	}
	if slowest == nil {
		return false
	}
	delete(r.slots, slowest)
	b.transfer(from, client)
	slowest.evicted.Store(true)
	slowest.stop()
	return true
}

// most returns the client that has the most of something, first if no other has more.
func most(has map[string]int, first string) string {
	for client, n := range has {
		if n > has[first] {
			first = client
		}
	}
	return first
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
	if in == receiving && s.at == computing { // nobody computes while it waits for a place
		_ = s.move(outside, 0)
	}
	err := s.move(in, 0)
	s.mu.Unlock()
	if err == nil {
		do()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away--; s.away > 0 || err != nil || s.evicted.Load() {
		return err
	}
	// Whoever has sent part of an answer must be able to go on: there is no time limit here,
	// and requests that compute end.
	return s.move(computing, time.Hour)
}
