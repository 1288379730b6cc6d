package speedscope

import (
	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/internal/prefixtree"
	"github.com/dendroprof/dendro/profile"
)

// nesting turns the events of a profile into samples: a node of the tree and a
// weight for each stretch of time in which the stack stays the same.
//
// A close of a frame that is not the innermost closes all that are open inside of
// it; a close of one that is not open is left out. What is open at the end is
// closed there. Time never goes back.
type nesting struct {
	*file
	p        *oneProfile
	decimals int // of all times

	timed  bool // the unit is one of time
	begun  bool
	first  jsonscan.Decimal // time of the first event
	open   []int32          // nodes of the open frames, behind the root
	opened map[int32]int    // how often a frame is open
	now    int64
}

// repairs counts what an exporter got wrong.
type repairs struct{ closed, ignored, left, backward int }

func newNesting(f *file, p *oneProfile, decimals int) *nesting {
	_, timed := timeUnit(p.unit)
	return &nesting{file: f, p: p, decimals: decimals, timed: timed, open: []int32{prefixtree.Root}, opened: map[int32]int{}}
}

// nest makes the samples of an evented profile.
func (f *file) nest(p *oneProfile) error {
	n := p.nesting
	if n == nil {
		decimals, timed := timeUnit(p.unit)
		if !timed {
			decimals = 0
			for _, e := range p.events {
				decimals = max(decimals, e.at.Decimals)
			}
		}
		n = newNesting(f, p, decimals)
		for _, e := range p.events {
			if err := n.add(e); err != nil {
				return err
			}
		}
	}
	if n.begun {
		p.start = n.first
	}
	if f.repairs.left += len(n.open) - 1; len(n.open) > 1 {
		if end, err := n.clock.Nanos(p.end, n.decimals); err == nil {
			n.advance(end)
		}
	}
	p.events, p.nesting, p.weighed = nil, nil, true
	return nil
}

// add adds an event and the stretch of time before it.
func (n *nesting) add(e event) *profile.ParseError {
	at, err := n.clock.Nanos(e.at, n.decimals)
	if err != nil {
		return n.p.malformed("an event is at a time that does not fit 63 bits")
	}
	if !n.begun {
		// Nothing is open between the start of the profile and its first event.
		n.begun, n.first, n.now = true, e.at, at
	}
	if at < n.now {
		n.repairs.backward++
	}
	n.advance(at)
	return n.event(e)
}

// advance ends the stretch of time up to now, if any time has passed.
func (n *nesting) advance(at int64) {
	if at <= n.now {
		return
	}
	n.p.nodes = append(n.p.nodes, n.open[len(n.open)-1])
	if n.timed {
		n.p.times = append(n.p.times, at-n.now)
	} else {
		n.p.weights = append(n.p.weights, jsonscan.Decimal{Digits: at - n.now, Decimals: n.decimals})
	}
	n.now = at
}

func (n *nesting) event(e event) *profile.ParseError {
	tree := &n.tree
	switch {
	case e.open:
		if len(n.open) > n.depth {
			return &profile.ParseError{Offset: n.p.at, Err: profile.TooDeep(n.depth)}
		}
		n.opened[e.frame]++
		n.open = append(n.open, tree.Child(n.open[len(n.open)-1], e.frame))
	case n.opened[e.frame] == 0:
		n.repairs.ignored++
	default:
		for last := int32(-1); last != e.frame; n.repairs.closed++ {
			last = tree.Item[n.open[len(n.open)-1]]
			n.open = n.open[:len(n.open)-1]
			n.opened[last]--
		}
		n.repairs.closed-- // the frame itself
	}
	return nil
}
