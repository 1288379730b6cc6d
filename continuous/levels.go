package continuous

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Progress says up to where a store has made sums, and from where on it keeps the windows
// of each level. Both engines and answers follow from it: each pushed window is read
// once, from one level. Times are the starts of windows in milliseconds since 1970.
//
//	P1  Made and Kept only grow. They are full hours or days of UTC.
//	P2  A raw window is in a sum of an hour if its start is before Made[Hour] and its
//	    number is at most Seq, and in that of its day if its start is before Made[Day]
//	    too. The others are in none.
//	P3  Kept[Day] ≤ Kept[Hour] ≤ Made[Day] and Kept[Hour] ≤ Kept[Raw] ≤ Made[Hour]: what
//	    is removed is in a coarser level.
type Progress struct {
	Made [3]int64 // by Level; of Raw it means nothing
	Kept [3]int64 // by Level: windows before were removed
	Seq  int64    // the number of the last window that RollUp saw; windows are numbered as they are stored
}

// NewProgress returns the progress of a store without sums.
func NewProgress() Progress {
	return Progress{Made: [3]int64{earliest, earliest, earliest}, Kept: [3]int64{earliest, earliest, earliest}}
}

// The range of starts: all full days, far from what a number of 64 bits can hold.
const (
	latest   = (int64(1) << 50) / dayMillis * dayMillis
	earliest = -latest

	dayMillis = 24 * 60 * 60 * 1000
)

// millis returns the length of a level's windows.
func (l Level) millis() int64 { return l.Length().Milliseconds() }

// Begin returns the start of the level's window that has a start in it, both in
// milliseconds since 1970. Windows of Raw have their own.
func (l Level) Begin(start int64) int64 {
	n := l.millis()
	if n == 0 {
		return start
	}
	if start < 0 {
		start -= n - 1
	}
	return start / n * n
}

// end returns the first start of a window of the level at or after a time.
func (l Level) end(t int64) int64 {
	if begin := l.Begin(t); begin != t {
		return begin + l.millis()
	}
	return t
}

// Coarsest returns the coarsest level whose windows are not longer than a step.
func Coarsest(step time.Duration) Level {
	switch {
	case step >= Day.Length():
		return Day
	case step >= Hour.Length():
		return Hour
	}
	return Raw
}

// Range selects windows by their start: [From, Until), in milliseconds since 1970.
type Range struct{ From, Until int64 }

// Range returns the time of the query; a zero time does not limit.
func (q *Query) Range() Range {
	r := Range{earliest, latest}
	if !q.From.IsZero() {
		r.From = min(max(millisUp(q.From), earliest), latest)
	}
	if !q.Until.IsZero() {
		r.Until = min(max(millisUp(q.Until), earliest), latest)
	}
	return r
}

// millisUp returns the first millisecond at or after a time: starts are full ones.
func millisUp(t time.Time) int64 {
	ms := t.UnixMilli()
	if time.UnixMilli(ms).Before(t) {
		ms++
	}
	return ms
}

// Part is what an answer reads of one level.
type Part struct {
	Level Level
	Range
	Late bool // only raw windows with a number above Progress.Seq: they are in no sum yet
}

// Parts returns what to read for a selection so that it has each window once: sums of
// level coarsest or finer where whole ones are selected, the edges from finer levels,
// and coarser sums where nothing else is left.
func (p *Progress) Parts(r Range, coarsest Level) []Part {
	var parts []Part
	rest := []Range{r}
	for _, l := range []Level{Day, Hour} {
		var finer []Range
		for _, r := range rest {
			sums, around := p.split(r, l, l <= coarsest)
			if sums.From < sums.Until {
				parts = append(parts, Part{l, sums, false}, Part{Raw, sums, true})
			}
			finer = append(finer, around...)
		}
		rest = finer
	}
	for _, r := range rest {
		parts = append(parts, Part{Raw, r, false})
	}
	return parts
}

// split returns which sums of a level an answer reads, and what is left for finer ones. It
// reads those without finer windows, and whole is whether also those that lie in the
// range as a whole.
func (p *Progress) split(r Range, l Level, whole bool) (sums Range, around []Range) {
	kept := p.Kept[l-1]
	sums = Range{l.end(r.From), min(l.end(r.Until), kept)}
	if whole {
		sums.Until = max(sums.Until, min(l.Begin(r.Until), p.Made[l]))
	}
	left, right := Range{max(r.From, kept), r.Until}, Range{}
	if sums.From < sums.Until {
		left.Until, right = sums.From, Range{max(sums.Until, kept), r.Until}
	}
	for _, r := range []Range{left, right} {
		if r.From < r.Until {
			around = append(around, r)
		}
	}
	return sums, around
}

// Sums returns the levels whose sums get a window of level from with a start and a number
// when progress becomes next.
func (p *Progress) Sums(next *Progress, from Level, start, seq int64) (to []Level) {
	switch late := start < p.Made[Hour] && seq > p.Seq; {
	case from == Hour:
		if p.Made[Day] <= start && start < next.Made[Day] {
			return []Level{Day}
		}
	case from == Day || start >= next.Made[Hour] || start < p.Made[Hour] && !late:
	case start < p.Made[Day]: // its day does not wait for hours any more
		return []Level{Hour, Day}
	default:
		return []Level{Hour}
	}
	return nil
}

// Advance returns the progress after sums of all hours and days that ended before now, of
// windows up to a number.
func (p Progress) Advance(now time.Time, seq int64) Progress {
	for _, l := range []Level{Hour, Day} {
		p.Made[l] = max(p.Made[l], l.Begin(min(now.UnixMilli(), latest)))
	}
	p.Seq = max(p.Seq, seq)
	return p
}

// Gone returns the start of the first day that the policy keeps at some level by its age. What is
// before needs no sum: it is removed.
func (p *Policy) Gone(now time.Time) int64 {
	if p.Keep[Day] <= 0 {
		return earliest
	}
	return max(earliest, Day.Begin(now.Add(-p.Keep[Day]).UnixMilli()))
}

// Beyond returns from when on a store keeps windows that removed more than the policy does by their age, such as those beyond
// its bytes; zero: it did not.
func (p *Policy) Beyond(kept, now time.Time) time.Time {
	if kept.UnixMilli() <= p.Gone(now) {
		return time.Time{}
	}
	return kept
}

// Weight is how much the windows of a level and a service take that start in one window of the
// next coarser level (of Day: of its own), which begins at Start.
type Weight struct {
	Service      string
	Start, Bytes int64
}

// Cuts are what services have lost because they had more than their share: by service, from when
// on each level keeps their windows, as Progress.Kept of all services.
type Cuts map[string][3]int64

// Of returns the progress for a selection of services. Where one of them has no finer windows any
// more, coarser ones of all are read.
func (p Progress) Of(cuts Cuts, services ...string) Progress {
	for _, service := range services {
		for l, from := range cuts[service] {
			p.Kept[l] = max(p.Kept[l], from)
		}
	}
	return p
}

// Expire returns the progress, and what services have lost besides, after what the policy removes.
// Weigh lists the weights of a level with a limit.
func (p Progress) Expire(now time.Time, policy *Policy, cuts Cuts, weigh func(Level) ([]Weight, error)) (Progress, Cuts, error) {
	was := p
	if cuts = maps.Clone(cuts); cuts == nil {
		cuts = Cuts{}
	}
	coarser := p.Kept[Day]
	for _, l := range []Level{Day, Hour, Raw} {
		unit := min(l+1, Day)
		from := max(p.Kept[l], coarser)
		if keep := policy.Keep[l]; keep > 0 {
			from = max(from, unit.Begin(now.Add(-keep).UnixMilli()))
		}
		if limit := policy.Bytes[l]; limit > 0 {
			list, err := weigh(l)
			if err != nil {
				return was, cuts, err
			}
			slices.SortFunc(list, func(a, b Weight) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Service, b.Service)) })
			cuts.share(l, policy, list, Range{from, p.Made[unit]})
			for _, w := range slices.Backward(list) {
				if limit -= w.Bytes; limit < 0 {
					from = max(from, w.Start+unit.millis())
					break
				}
			}
		}
		p.Kept[l] = min(from, p.Made[unit])
		coarser = p.Kept[l]
	}
	for service, from := range cuts {
		from[Hour] = max(from[Hour], from[Day])
		from[Raw] = max(from[Raw], from[Hour])
		if cuts[service] = from; from[Day] <= p.Kept[Day] && from[Hour] <= p.Kept[Hour] && from[Raw] <= p.Kept[Raw] {
			delete(cuts, service)
		}
	}
	return p, cuts, nil
}

// share removes the oldest windows of services with more than their share of a level from a list
// of weights, oldest first, until the others fit. It may remove those of a range.
func (c Cuts) share(l Level, policy *Policy, list []Weight, removable Range) {
	unit := min(l+1, Day).millis()
	total, of := int64(0), map[string]int64{}
	for _, w := range list {
		if w.Start >= removable.From {
			total += w.Bytes
			of[w.Service] += w.Bytes
		}
	}
	most := policy.Bytes[l] / 100 * int64(policy.Share)
	for i := range list {
		w := &list[i]
		if total <= policy.Bytes[l] || policy.Share == 0 {
			return
		}
		if w.Start < removable.From || w.Start+unit > removable.Until || of[w.Service] <= most {
			continue
		}
		from, known := c[w.Service]
		if !known {
			from = [3]int64{earliest, earliest, earliest}
		}
		from[l] = max(from[l], w.Start+unit)
		c[w.Service] = from
		total -= w.Bytes
		of[w.Service] -= w.Bytes
		w.Bytes = 0
	}
}
