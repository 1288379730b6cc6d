package continuous

import (
	"context"
	"slices"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// Hours are sums of hours with their call paths: what a store hands over to another.
type Hours struct {
	Series []Series            // in order of service, type and labels
	Types  []profile.ValueType // of each series: how to read its values
	Forest *calltree.Forest
	Totals []Total           // by series, then start
	Self   []calltree.Vector // of each total, over the forest
}

// Sort orders totals by series and start.
func (h *Hours) Sort() {
	order := make([]int, len(h.Totals))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return h.Totals[a].Compare(&h.Totals[b]) })
	h.Keep(order)
}

// Keep keeps the totals with the given indexes, in their order.
func (h *Hours) Keep(list []int) {
	totals, self := make([]Total, len(list)), make([]calltree.Vector, len(list))
	for to, from := range list {
		totals[to], self[to] = h.Totals[from], h.Self[from]
	}
	h.Totals, h.Self = totals, self
}

// HourStore is a Store whose sums of hours can be handed over. Package storetest tests it with the
// windows.
type HourStore interface {
	Store
	// Hours returns the sums of hours of the selection, as they are: late windows that RollUp
	// has not added yet are not in them.
	Hours(ctx context.Context, q Query) (*Hours, error)
	// Made returns the time before which all hours are made; zero: there is none.
	Made(ctx context.Context) (time.Time, error)
}

// OnlyHours is the progress of a store that has nothing but hours, and all those of days before a
// time.
func OnlyHours(until time.Time) Progress {
	return Progress{Made: [3]int64{earliest, latest, Day.Begin(until.UnixMilli())}, Kept: [3]int64{latest, earliest, earliest}}
}

// From returns the time from which on a store with this progress has windows; zero: it has
// removed none.
func (p *Progress) From() time.Time { return boundary(p.Kept[Day]) }

// Until returns the time before which all hours are made; zero: there is none.
func (p *Progress) Until() time.Time { return boundary(p.Made[Hour]) }

func boundary(ms int64) (t time.Time) {
	if ms > earliest {
		t = time.UnixMilli(ms).UTC()
	}
	return t
}
