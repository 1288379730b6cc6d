package intake

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/dendroprof/dendro/continuous"
)

// DefaultFacts are the labels that describe the program of a series and do not make a
// series: with them every restart would be a new one, and CPU and heap of one Go process
// would have different labels.
var DefaultFacts = []string{"__session_id__", "process.*", "thread.*", "thread_name", "otel.scope.*", "telemetry.sdk.*",
	"service.instance.id", "container.id"}

// isFact reports whether a label describes a series only.
func (o *Options) isFact(name string) bool {
	return slices.ContainsFunc(o.Facts, func(pattern string) bool {
		prefix, ok := strings.CutSuffix(pattern, "*")
		return ok && strings.HasPrefix(name, prefix) || name == pattern
	})
}

// perSample reports whether a label tells samples apart that belong to one series: ids of
// spans, and what begins with two underscores.
func perSample(name string) bool {
	switch name {
	case "span_id", "trace_id", "profile_id", "profile_trace_id":
		return true
	}
	return strings.HasPrefix(name, "__")
}

// Labels returns labels of a request in the form of package continuous: sorted, with unique
// names, of which the last counts, and without empty values.
func Labels(list []continuous.Label) continuous.Labels {
	byName := slices.Clone(list)
	slices.SortStableFunc(byName, func(a, b continuous.Label) int { return cmp.Compare(a.Name, b.Name) })
	out := byName[:0]
	for i, l := range byName {
		if i+1 < len(byName) && byName[i+1].Name == l.Name || l.Value == "" || l.Name == "" {
			continue
		}
		out = append(out, l)
	}
	return continuous.Labels(slices.Clip(out))
}

// identity separates the labels of a request into the service, the labels that make the
// series, and facts. It fails if they break a limit.
func (in *Intake) identity(service string, list continuous.Labels) (s continuous.Series, err error) {
	o := &in.opts
	s.Service = service
	if n := len(list); n > o.MaxLabels {
		return s, &Refusal{Limit: "labels of a series", Reason: "labels", Value: int64(n), Max: int64(o.MaxLabels), Flag: "--continuous-max-labels", Series: service}
	}
	for _, l := range append(continuous.Labels{{Name: continuous.ServiceLabel, Value: service}}, list...) {
		if n := max(len(l.Name), len(l.Value)); n > o.MaxLabelBytes {
			return s, &Refusal{Limit: "bytes of the label " + shorten(l.Name), Reason: "label-bytes", Value: int64(n), Max: int64(o.MaxLabelBytes),
				Flag: "--continuous-max-label-bytes", Series: shorten(service)}
		}
		if !utf8.ValidString(l.Name) || !utf8.ValidString(l.Value) {
			return s, &invalid{"the label " + shorten(strings.ToValidUTF8(l.Name, "\uFFFD")) + " is not UTF-8"}
		}
		switch {
		case l.Name == continuous.ServiceLabel:
		case o.isFact(l.Name):
			s.Facts = append(s.Facts, l)
		case !strings.HasPrefix(l.Name, "__"):
			s.Labels = append(s.Labels, l)
		}
	}
	return s, nil
}

// invalid is a push that is wrong whatever the limits are.
type invalid struct{ text string }

func (e *invalid) Error() string { return e.text }

// shorten cuts a text from outside for an error.
func shorten(text string) string {
	const most = 100
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// activeFor is how long a series counts after its last push.
const activeFor = time.Hour

// activeSeries are the series that were pushed lately, and the rates of services.
type activeSeries struct {
	mu    sync.Mutex
	max   int
	last  map[string]time.Time // by Series.Key
	swept time.Time

	rate  int64
	rates map[string]*bucket // by service
}

// bucket is what a service may push at once: bytes.
type bucket struct {
	left float64
	at   time.Time
}

func (a *activeSeries) init(most int, rate int64) {
	a.max, a.rate = most, rate
	a.last, a.rates = map[string]time.Time{}, map[string]*bucket{}
}

func (a *activeSeries) len() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(len(a.last))
}

// admit records series and reports of each whether there is room for it. If there is not for
// all of them, rest has precedence: samples of the others may go there.
func (a *activeSeries) admit(keys []string, rest string, now time.Time) (admitted []bool, restAdmitted bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fresh := 0
	for _, key := range keys {
		if _, ok := a.last[key]; !ok {
			fresh++
		}
	}
	if len(a.last)+fresh > a.max {
		a.sweep(now)
	}
	if len(a.last)+fresh > a.max {
		restAdmitted = a.add(rest, now)
	}
	admitted = make([]bool, len(keys))
	for i, key := range keys {
		admitted[i] = a.add(key, now)
	}
	return admitted, restAdmitted
}

// add records a series if there is room. The caller holds the lock.
func (a *activeSeries) add(key string, now time.Time) bool {
	if _, ok := a.last[key]; !ok && len(a.last) >= a.max {
		return false
	}
	a.last[key] = now
	return true
}

// sweep forgets what was not pushed lately. It is called at most once a second: it looks at
// all series. The caller holds the lock.
func (a *activeSeries) sweep(now time.Time) {
	if now.Sub(a.swept) < time.Second {
		return
	}
	a.swept = now
	for key, at := range a.last {
		if now.Sub(at) > activeFor {
			delete(a.last, key)
		}
	}
	for service, b := range a.rates {
		if now.Sub(b.at) > activeFor {
			delete(a.rates, service)
		}
	}
}

// burst is for how long a service may save up its rate.
const burst = 10 * time.Second

// spend takes bytes from what a service may push, and returns how long to wait for them if
// there are too few. One push may be larger than the burst.
func (a *activeSeries) spend(service string, size int64, now time.Time) (wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	most := float64(a.rate) * burst.Seconds()
	b := a.rates[service]
	if b == nil {
		if len(a.rates) >= a.max {
			a.sweep(now)
		}
		if len(a.rates) >= a.max {
			return 0 // a further service has no series yet, and gets none
		}
		b = &bucket{left: most, at: now}
		a.rates[service] = b
	}
	b.left = min(most, b.left+now.Sub(b.at).Seconds()*float64(a.rate))
	b.at = now
	if need := min(float64(size), most); b.left < need {
		return time.Duration((need - b.left) / float64(a.rate) * float64(time.Second))
	}
	b.left -= float64(size)
	return 0
}
