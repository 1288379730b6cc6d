package chrome

import (
	"cmp"
	"math"
	"slices"

	"github.com/dendroprof/dendro/profile"
)

// nesting turns the duration events of one thread into samples: one for each
// stretch of time in which the same events are open, and one without a stack for a
// stretch between two in which none is.
type nesting struct {
	*trace
	thread profile.ThreadID
	table  *profile.Samples
	frames []profile.FrameID // by name of event; none until it is used

	open   []openEvent
	opened map[int32]int // how often a name is open by a begin
	begins int           // how many are open by a begin
	now    int64
}

// openEvent is an event that has begun.
type openEvent struct {
	name  int32
	begin bool  // it waits for its end event
	end   int64 // at which it must end, by its own length and those around it
	cut   bool  // by an event around it
	stack profile.StackID
}

// run adds the samples of all events of the thread.
func (n *nesting) run(events []duration) error {
	sortEvents(events)
	n.opened = map[int32]int{}
	n.now = events[0].at
	for _, d := range events {
		n.expire(d.at)
		n.advance(d.at)
		switch d.phase {
		case 'B':
			n.push(openEvent{name: d.name, begin: true, end: math.MaxInt64})
			n.opened[d.name]++
			n.begins++
		case 'X':
			n.push(openEvent{name: d.name, end: d.at + d.length})
		case 'E':
			n.end(d)
		}
		if len(n.open) > n.limits.Depth {
			return &profile.ParseError{Offset: -1, Err: profile.TooDeep(n.limits.Depth)}
		}
	}
	n.expire(math.MaxInt64 - 1)
	n.unclosed += n.begins
	return nil
}

// sortEvents sorts by time. Begins and ends at one time stay in the order of the
// file; complete events that begin together are put outer first.
func sortEvents(events []duration) {
	byTime := func(a, b duration) int { return cmp.Compare(a.at, b.at) }
	if !slices.IsSortedFunc(events, byTime) {
		slices.SortStableFunc(events, byTime)
	}
	for i := 0; i < len(events); {
		j := i + 1
		for j < len(events) && events[j].at == events[i].at && events[j].phase == 'X' && events[i].phase == 'X' {
			j++
		}
		slices.SortStableFunc(events[i:j], func(a, b duration) int { return cmp.Compare(b.length, a.length) })
		i = j
	}
}

// push opens an event inside of those that are open.
func (n *nesting) push(o openEvent) {
	parent := profile.NoStack
	if len(n.open) > 0 {
		top := &n.open[len(n.open)-1]
		parent = top.stack
		if top.end < o.end {
			o.cut = !o.begin
			o.end = top.end
		}
	}
	if n.frames[o.name] == none {
		of := profile.Function{Name: n.texts[o.name].name, File: n.texts[o.name].file}
		if of.File != "" {
			of.Kind = profile.KindPython
		}
		fn := n.p.Symbols.Function(of)
		n.frames[o.name] = n.p.Symbols.Frame(profile.Frame{Function: fn})
	}
	o.stack = n.p.Symbols.Stack(parent, n.frames[o.name])
	n.open = append(n.open, o)
}

// pop closes the innermost event.
func (n *nesting) pop() {
	top := n.open[len(n.open)-1]
	n.open = n.open[:len(n.open)-1]
	if top.begin {
		n.opened[top.name]--
		n.begins--
	}
	if top.cut {
		n.crossed++
	}
}

// expire closes what ends up to a time by itself.
func (n *nesting) expire(at int64) {
	for len(n.open) > 0 && n.open[len(n.open)-1].end <= at {
		n.advance(n.open[len(n.open)-1].end)
		if n.open[len(n.open)-1].begin {
			n.crossed++
		}
		n.pop()
	}
}

// end closes the innermost begin, or the innermost of that name if the end has one.
func (n *nesting) end(d duration) {
	named := d.name != none
	if named && n.opened[d.name] == 0 || n.begins == 0 {
		n.unopened++
		return
	}
	for {
		top := n.open[len(n.open)-1]
		found := top.begin && (!named || top.name == d.name)
		n.pop()
		if found {
			return
		}
		n.crossed++
	}
}

// advance ends the stretch of time up to now, if any time has passed.
func (n *nesting) advance(at int64) {
	if at <= n.now {
		return
	}
	stack := profile.NoStack
	if len(n.open) > 0 {
		stack = n.open[len(n.open)-1].stack
	}
	t := n.table
	t.Add(stack, at-n.now)
	t.Time = append(t.Time, n.now-n.earliest)
	t.Thread = append(t.Thread, n.thread)
	t.Bound(n.limits)
	n.now = at
}
