package perfscript

import (
	"github.com/dendroprof/dendro/format/internal/perf"
	"github.com/dendroprof/dendro/profile"
)

// maxEvents bounds the value types of a text; perf itself records a few dozen.
const maxEvents = 1000

// events are the events of a text in the order of their first samples.
type events struct {
	limits profile.Limits
	list   []*perf.Event
	byText map[string]*perf.Event
	last   *perf.Event
}

// find returns the event of that spelling, nil if there are too many.
func (e *events) find(text []byte, hasPeriod bool) *perf.Event {
	if l := e.last; l != nil && l.HasPeriod == hasPeriod && l.Name == string(text) {
		return l
	}
	key := string(text)
	if hasPeriod {
		key += " "
	}
	ev, ok := e.byText[key]
	if !ok {
		if len(e.list) == maxEvents {
			return nil
		}
		ev = perf.NewEvent(key[:len(text)], e.limits)
		ev.HasPeriod = hasPeriod
		e.list = append(e.list, ev)
		e.byText[key] = ev
	}
	e.last = ev
	return ev
}
