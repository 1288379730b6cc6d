package speedscope

import (
	"github.com/dendroprof/dendro/internal/jsonscan"
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
	*linker
	p        *oneProfile
	decimals int // of all times

	open   []int32       // nodes of the open frames, behind the root
	opened map[int32]int // how often a frame is open
	now    int64
}

func (k *linker) nest(p *oneProfile) error {
	n := nesting{linker: k, p: p, open: []int32{prefixtree.Root}, opened: map[int32]int{}}
	if n.decimals = units[p.unit].decimals; n.decimals == notTime {
		for _, e := range p.events {
			n.decimals = max(n.decimals, e.at.Decimals)
		}
	}
	for i, e := range p.events {
		at, err := e.at.Fixed(n.decimals)
		if err != nil {
			return p.malformed("event %d is at a time that does not fit 63 bits", i)
		}
		if i == 0 {
			// Nothing is open between the start of the profile and its first event.
			p.start, n.now = e.at, at
		}
		if at < n.now {
			k.backward++
		}
		n.advance(at)
		if err := n.event(e); err != nil {
			return err
		}
	}
	if k.left += len(n.open) - 1; len(n.open) > 1 {
		if end, err := p.end.Fixed(n.decimals); err == nil {
			n.advance(end)
		}
	}
	p.events, p.weighed = nil, true
	return nil
}

// advance ends the stretch of time up to now, if any time has passed.
func (n *nesting) advance(at int64) {
	if at <= n.now {
		return
	}
	n.p.nodes = append(n.p.nodes, n.open[len(n.open)-1])
	n.p.weights = append(n.p.weights, jsonscan.Decimal{Digits: at - n.now, Decimals: n.decimals})
	n.now = at
}

func (n *nesting) event(e event) error {
	tree := &n.file.tree
	switch {
	case e.open:
		if len(n.open) > n.file.depth {
			return &profile.ParseError{Offset: n.p.at, Err: profile.TooLarge("stack deeper", int64(n.file.depth), "--max-depth")}
		}
		n.opened[e.frame]++
		n.open = append(n.open, tree.Child(n.open[len(n.open)-1], e.frame))
	case n.opened[e.frame] == 0:
		n.ignored++
	default:
		for last := int32(-1); last != e.frame; n.closed++ {
			last = tree.Item[n.open[len(n.open)-1]]
			n.open = n.open[:len(n.open)-1]
			n.opened[last]--
		}
		n.closed-- // the frame itself
	}
	return nil
}
