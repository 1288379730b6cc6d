package intake

import (
	"sync"
	"time"

	"github.com/dendroprof/dendro/continuous"
)

// activeFor is how long a series counts after its last push.
const activeFor = time.Hour

// activeSeries are the series that were pushed lately, and the rates of services.
//
// A series counts from the commit of its first window on. Until then its pushes hold a place for
// it, and free it if they fail, so that what was refused takes nobody's place. A service has a
// share of the places, and a client half of them. The bare series of a service, without labels,
// needs no place: every type that a service pushes has one, so that samples of other series
// always have a series to go to.
type activeSeries struct {
	mu          sync.Mutex
	room        func(k continuous.Key, service string, bytes int64) bool // of the store; nil: it has no limit
	max         int                                                      // series with labels, and types of services
	share, half int                                                      // of a service and of a client
	series      map[continuous.Key]*active
	bare        map[continuous.Key]*active // by the bare series
	services    map[string]int             // series with labels
	texts       map[string]int64           // bytes of labels of services that are not committed yet
	clients     map[string]*places
	swept       time.Time

	rate   int64
	rates  map[string]*bucket // by service
	forgot time.Time          // when those were forgotten that matter no more
}

// active is a series, or a type of a service.
type active struct {
	key     continuous.Key
	bare    *active // of a series with labels: that of its service and type; nil: it is one
	service string
	client  string // that pushed it first
	series  int32  // of a type: series with labels, which need it
	pushes  int32  // that are not committed yet
	bytes   int64  // of its labels, until it is committed
	last    int64  // nanosecond of the last commit; 0: none yet
}

// places are how many series with labels and how many types are there because of a client.
type places struct{ series, types int }

// bucket is what a service may push at once: bytes.
type bucket struct {
	left float64
	at   time.Time
}

func (a *activeSeries) init(o *Options) {
	a.room = o.HasRoom
	a.max, a.rate = o.MaxSeries, o.MaxRate
	a.share, a.half = max(1, int(o.part(int64(o.MaxSeries)))), (o.MaxSeries+1)/2
	a.series, a.bare = map[continuous.Key]*active{}, map[continuous.Key]*active{}
	a.services, a.texts, a.clients, a.rates = map[string]int{}, map[string]int64{}, map[string]*places{}, map[string]*bucket{}
}

func (a *activeSeries) len() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.series)
	for _, e := range a.bare {
		if e.last != 0 {
			n++
		}
	}
	return int64(n)
}

// candidate is a series for which a push needs a place.
type candidate struct {
	key     continuous.Key
	labels  bool  // it has some
	bytes   int64 // of its labels and facts
	service string
	bare    continuous.Key // of its service and type
}

// admit holds a place for a series and returns it: the series, its service's bare one if there
// is no room. It refuses another type of a service for which there is no place either. Settle
// frees it.
func (a *activeSeries) admit(c *candidate, client string, now time.Time) (*active, *Refusal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e := a.series[c.key]
	if e == nil {
		bare := a.bare[c.bare]
		if bare == nil {
			refused := a.noType(client)
			if refused != nil && a.sweep(now) {
				refused = a.noType(client)
			}
			if refused != nil {
				return nil, refused
			}
			bare = &active{key: c.bare, service: c.service, client: client}
			a.bare[c.bare] = bare
			a.add(client).types++
		}
		if e = bare; c.labels {
			if added := a.addSeries(c, bare, client, now); added != nil {
				e = added
			}
		}
	}
	e.pushes++
	return e, nil
}

// noType returns why a client cannot push another type of a service, or nil.
func (a *activeSeries) noType(client string) *Refusal {
	what, n, most := "types of services of the last hour", len(a.bare), a.max
	if of := a.of(client).types; n < most && of >= a.half {
		what, n, most = "types of services of the last hour that one client pushes", of, a.half
	}
	if n < most {
		return nil
	}
	return refusal("series", what, int64(n+1), int64(most), "--continuous-max-series").later(time.Minute)
}

// addSeries adds a series with labels; nil: there is no room.
func (a *activeSeries) addSeries(c *candidate, bare *active, client string, now time.Time) *active {
	full := func() bool {
		return len(a.series) >= a.max || a.services[c.service] >= a.share || a.of(client).series >= a.half
	}
	if full() && (!a.sweep(now) || full()) || a.room != nil && !a.room(c.key, c.service, a.texts[c.service]+c.bytes) {
		return nil
	}
	e := &active{key: c.key, bare: bare, service: bare.service, client: client, bytes: c.bytes}
	a.texts[c.service] += c.bytes
	bare.series++
	a.series[c.key] = e
	a.services[c.service]++
	a.add(client).series++
	return e
}

// of returns the places of a client; of an unknown one, none.
func (a *activeSeries) of(client string) places {
	if p := a.clients[client]; p != nil && client != "" {
		return *p
	}
	return places{}
}

func (a *activeSeries) add(client string) *places {
	p := a.clients[client]
	if p == nil {
		p = &places{}
		a.clients[client] = p
	}
	return p
}

// remove forgets a series, or a type that no series needs.
func (a *activeSeries) remove(e *active) {
	p := a.clients[e.client]
	if e.bare == nil {
		delete(a.bare, e.key)
		p.types--
	} else {
		delete(a.series, e.key)
		a.settled(e)
		p.series--
		e.bare.series--
		if a.services[e.service]--; a.services[e.service] == 0 {
			delete(a.services, e.service)
		}
		if e.bare.unused() {
			a.remove(e.bare)
		}
	}
	if *p == (places{}) {
		delete(a.clients, e.client)
	}
}

// settled says that the labels of a series are in the store, or that they will not be.
func (a *activeSeries) settled(e *active) {
	if a.texts[e.service] -= e.bytes; a.texts[e.service] == 0 {
		delete(a.texts, e.service)
	}
	e.bytes = 0
}

// unused reports whether nothing needs a series that was never committed.
func (e *active) unused() bool { return e.pushes == 0 && e.series == 0 && e.last == 0 }

// settle frees the places that a push held, which was committed or not.
func (a *activeSeries) settle(held []*active, committed bool, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range held {
		e.pushes--
		if committed {
			e.last = now.UnixNano()
			a.settled(e)
		}
	}
	for _, e := range held {
		if e.unused() && (a.series[e.key] == e || a.bare[e.key] == e) { // a push may hold one twice
			a.remove(e)
		}
	}
}

// sweep forgets what was not pushed lately, and reports whether it looked: it does at most once
// a second, because it looks at all series. The caller holds the lock.
func (a *activeSeries) sweep(now time.Time) bool {
	if now.Sub(a.swept) < time.Second {
		return false
	}
	a.swept = now
	for _, list := range []map[continuous.Key]*active{a.series, a.bare} {
		for _, e := range list {
			if e.pushes == 0 && e.series == 0 && now.UnixNano()-e.last > int64(activeFor) {
				e.last = 0
				a.remove(e)
			}
		}
	}
	return true
}

// burst is for how long a service may save up its rate.
const burst = 10 * time.Second

// spend takes bytes from what a service may push, and returns how long to wait for them if
// there are too few. One push may be larger than the burst. Of very many services, those whose
// rate cannot be remembered share one.
func (a *activeSeries) spend(service string, size int64, now time.Time) (wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	most := float64(a.rate) * burst.Seconds()
	b := a.rates[service]
	if b == nil {
		if len(a.rates) >= a.max {
			a.forgetRates(now)
		}
		if len(a.rates) >= a.max {
			service = ""
		}
		if b = a.rates[service]; b == nil {
			b = &bucket{left: most, at: now}
			a.rates[service] = b
		}
	}
	b.left = min(most, b.left+now.Sub(b.at).Seconds()*float64(a.rate))
	b.at = now
	if need := min(float64(size), most); b.left < need {
		return time.Duration((need - b.left) / float64(a.rate) * float64(time.Second))
	}
	b.left -= float64(size)
	return 0
}

// forgetRates forgets the services that have saved up all they may, at most once a second.
func (a *activeSeries) forgetRates(now time.Time) {
	if now.Sub(a.forgot) < time.Second {
		return
	}
	a.forgot = now
	for service, b := range a.rates {
		if now.Sub(b.at) >= burst {
			delete(a.rates, service)
		}
	}
}
