package ghcprof

import (
	"math"
	"strings"
	"time"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/profile"
)

// node is a cost centre in the tree. Parents come before their children.
type node struct {
	parent       int32 // index; -1 for the root
	id           int64
	ticks, bytes int64
}

// openNode is a node that is being read.
type openNode struct {
	index int32
	depth int // cost centres from the root to it
}

func readJSON(s *jsonscan.Scanner, p *profile.Profile, l profile.Limits) error {
	c := newCosts(p, l)
	var nodes []node
	frames := map[int64]profile.FrameID{}
	for key := range s.Object() {
		switch string(key) {
		case "arguments":
			var words []string
			for range s.Array() {
				words = append(words, s.Scalar())
			}
			p.Comments = append(p.Comments, strings.Join(words, " "))
		case "tick_interval":
			if v := s.Int(); v > 0 && v <= math.MaxInt32 {
				c.tick = time.Duration(v) * time.Microsecond
			}
		case "cost_centres":
			for range s.Array() {
				id := int64(0)
				var name, module, place string
				for key := range s.Object() {
					switch string(key) {
					case "id":
						id = s.Int()
					case "label":
						name = s.Scalar()
					case "module":
						module = s.Scalar()
					case "src_loc":
						place = s.Scalar()
					}
				}
				frames[id] = c.frame(name, module, place)
			}
		case "profile":
			nodes = readTree(s, l.Depth)
		}
	}
	if err := s.End(); err != nil {
		return err
	}
	if nodes == nil || len(frames) == 0 {
		return &profile.ParseError{Offset: -1, Err: profile.Malformed("no tree, or no list, of cost centres")}
	}
	stacks, unknown := make([]profile.StackID, len(nodes)), 0
	for i, n := range nodes {
		parent := profile.NoStack
		if n.parent >= 0 {
			parent = stacks[n.parent]
		}
		fr, ok := frames[n.id]
		if !ok {
			unknown++
			fr = p.Symbols.Frame(profile.Frame{Function: p.Symbols.Function(profile.Function{Name: profile.NoName})})
		}
		stacks[i] = p.Symbols.Stack(parent, fr)
		if !c.add(stacks[i], n.ticks, n.bytes) {
			return &profile.ParseError{Offset: -1, Err: profile.Malformed("%s", tooMuch)}
		}
	}
	p.WarnCount(unknown, "%d nodes are of cost centres that are not in the list of %d; they count as %s", len(frames), profile.NoName)
	c.fill()
	return nil
}

func readTree(s *jsonscan.Scanner, maxDepth int) (nodes []node) {
	jsonscan.Tree(s, func(parent *openNode) openNode {
		n, o := node{parent: -1}, openNode{index: int32(len(nodes)), depth: 1}
		if parent != nil {
			n.parent, o.depth = parent.index, parent.depth+1
		}
		nodes = append(nodes, n)
		if o.depth > maxDepth {
			s.TooDeep(maxDepth)
		}
		return o
	}, func(o *openNode, key string) {
		n := &nodes[o.index]
		switch key {
		case "id":
			n.id = s.Int()
		case "ticks":
			n.ticks = s.Int()
		case "alloc":
			n.bytes = s.Int()
		}
	}, func(*openNode) {})
	return nodes
}
