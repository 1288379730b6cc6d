package continuous

import (
	"context"
	"slices"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/column"
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
	order := column.Places[int](len(h.Totals))
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

// Compaction counts the files of a lake that a compaction merged, made and removed.
type Compaction struct {
	Merged, Made int // files that became fewer
	Summed       int // days whose hours became one sum
	Expired      int // files of days that are not kept any more
	Removed      int // files that nothing used any more
}

// Kept says from when on a lake keeps hours, and from when on it keeps sums of days; nothing is kept before Days.
// Both are the start of a day, or zero if nothing was removed yet.
type Kept struct {
	Hours time.Time `json:"hours,omitzero"`
	Days  time.Time `json:"days,omitzero"`
}

// After returns what a policy keeps at a time. It is computed by Progress.Expire, as for a store. Limits of bytes do not
// apply to a lake.
func (k Kept) After(now time.Time, policy *Policy) Kept {
	p := OnlyHours(time.Time{}, k).Advance(now, 0)
	p, _, _ = p.Expire(now, &Policy{Keep: policy.Keep}, nil, nil) // what can fail counts bytes
	return Kept{boundary(p.Kept[Hour]), boundary(p.Kept[Day])}
}

// Span is a time from one instant until before another. A zero From is the first window.
type Span struct {
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until"`
}

// Reach says which hours of a partition are there: all before Until but those of Lost, in order.
type Reach struct {
	Until time.Time `json:"until"`
	Lost  []Span    `json:"lost,omitempty"`
}

// Before returns the times before another that are not there.
func (r Reach) Before(t time.Time) (list []Span) {
	for _, lost := range append(slices.Clone(r.Lost), Span{r.Until, t}) {
		if t.Before(lost.Until) {
			lost.Until = t
		}
		if lost.From.Before(lost.Until) {
			list = append(list, lost)
		}
	}
	return list
}

// With returns the reach when the hours from one time until another are there too, and Until is not
// before it.
func (r Reach) With(from, until time.Time) Reach {
	next := Reach{Until: Later(r.Until, until)}
	for _, lost := range r.Before(next.Until) {
		before, behind := lost, lost
		if from.Before(before.Until) {
			before.Until = from
		}
		behind.From = Later(behind.From, until)
		for _, rest := range []Span{before, behind} {
			if n := len(next.Lost); rest.From.Before(rest.Until) && n > 0 && next.Lost[n-1].Until.Equal(rest.From) {
				next.Lost[n-1].Until = rest.Until
			} else if rest.From.Before(rest.Until) {
				next.Lost = append(next.Lost, rest)
			}
		}
	}
	return next
}

// OnlyHours is the progress of a store that has only hours, and only of the days before until. Kept says which of
// them were not removed.
func OnlyHours(until time.Time, kept Kept) Progress {
	p := Progress{Made: [3]int64{earliest, latest, Day.Begin(until.UnixMilli())}, Kept: [3]int64{latest, earliest, earliest}}
	for l, from := range map[Level]time.Time{Hour: kept.Hours, Day: kept.Days} {
		if !from.IsZero() {
			p.Kept[l] = from.UnixMilli()
		}
	}
	return p
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
