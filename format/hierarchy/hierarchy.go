// Package hierarchy reads trees of nodes with a name, a value and children, the JSON that
// d3-flame-graph and many other flame graph widgets take:
//
//	{"name": "root", "value": 10, "children": [{"name": "main", "value": 10}]}
//
// There is no specification: d3-hierarchy names the fields, d3-flame-graph also takes their
// first letters. Several roots are a list. The value of a node includes
// those of its children; where that cannot be, because they have more, it is the node's own,
// as some writers mean it, and a warning says so. Other fields are skipped. Names are kept as
// they are, the root's too. Time and memory are linear in the file, and nothing recurses.
package hierarchy

import (
	"bytes"
	"cmp"
	"math"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "hierarchy"

// NewDecoder returns a decoder.
func NewDecoder() profile.Decoder { return jsonscan.NewDecoder(Name, read) }

// Sniff reports whether content that begins with prefix is such a tree.
func Sniff(prefix []byte) bool {
	long := bytes.Contains(prefix, []byte(`"children"`)) && bytes.Contains(prefix, []byte(`"value"`))
	if short := bytes.Contains(prefix, []byte(`"c"`)) && bytes.Contains(prefix, []byte(`"v"`)); !long && !short {
		return false
	}
	o := jsonscan.NewOutline(prefix)
	return o.Has("name") && o.Has("value", "children[].value") && o.Has("children") ||
		o.Has("[].name") && o.Has("[].value") && o.Has("[].children") ||
		o.Has("n") && o.Has("v", "c[].v") && o.Has("c")
}

// node is one node. Parents come before their children.
type node struct {
	parent   int32 // -1 for the root
	name     string
	value    jsonscan.Decimal
	children int64 // the sum of their values, at the scale of all
}

func read(s *jsonscan.Scanner, p *profile.Profile, l profile.Limits) error {
	var nodes []node
	at := s.Offset()
	enter := func(parent *int32) int32 {
		n := node{parent: -1}
		if parent != nil {
			n.parent = *parent
		}
		nodes = append(nodes, n)
		if s.Depth() > 2*l.Depth+1 { // an object and a list for each frame
			s.TooDeep(l.Depth)
		}
		return int32(len(nodes) - 1)
	}
	field := func(i *int32, key string) {
		switch key {
		case "name", "n":
			nodes[*i].name = s.Scalar()
		case "value", "v":
			nodes[*i].value = s.Decimal()
		}
	}
	tree := func() { jsonscan.Tree(s, enter, field, func(*int32) {}) }
	if s.Kind() == jsonscan.Array {
		for range s.Array() {
			tree()
		}
	} else {
		tree()
	}
	if err := s.End(); err != nil {
		return err
	}
	table, err := link(nodes, p)
	if err != nil {
		return &profile.ParseError{Offset: at, Err: err}
	}
	p.Tables = []profile.Samples{table}
	return nil
}

// link makes the samples of the nodes.
func link(nodes []node, p *profile.Profile) (profile.Samples, error) {
	t := jsonscan.Samples{Samples: profile.Samples{Type: profile.ValueType{Name: "samples", Unit: "count", Original: "value"}}}
	scale := 0
	for i := range nodes {
		scale = max(scale, nodes[i].value.Decimals)
	}
	values := make([]int64, len(nodes))
	for i := range nodes {
		v, err := nodes[i].value.Fixed(scale)
		if err != nil {
			return t.Samples, err
		}
		values[i] = v
		if up := nodes[i].parent; up >= 0 {
			if v > 0 && nodes[up].children > math.MaxInt64-v {
				return t.Samples, profile.Malformed("the values add up to more than 63 bits")
			}
			nodes[up].children += v
		}
	}
	stacks, own := make([]profile.StackID, len(nodes)), 0
	for i := range nodes {
		parent := profile.NoStack
		if up := nodes[i].parent; up >= 0 {
			parent = stacks[up]
		}
		name := cmp.Or(nodes[i].name, profile.NoName)
		stacks[i] = p.Symbols.Stack(parent, p.Symbols.Frame(profile.Frame{Function: p.Symbols.Function(profile.Function{Name: name})}))
		self := values[i] - nodes[i].children
		if self < 0 {
			self = values[i]
			own++
		}
		if self == 0 {
			continue
		}
		t.Stack = append(t.Stack, stacks[i])
		if err := t.Values.Add(jsonscan.Decimal{Digits: self, Decimals: scale}); err != nil {
			return t.Samples, profile.Malformed("%v", err)
		}
	}
	p.WarnCount(own, "%d nodes have a value below the sum of their children's, which was taken as their own")
	return t.Done(), nil
}
