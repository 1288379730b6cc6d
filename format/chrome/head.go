package chrome

import (
	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/profile"
)

// readHead reads a tree whose nodes lie inside each other: that of a sampling heap
// profile, or of a CPU profile of an old version.
func (f *file) readHead() {
	s, v := f.scanner, &f.profile
	v.at = s.Offset()
	// A node is added when it begins, so that parents come before children; its
	// fields may come behind these.
	// Functions are interned in the order in which nodes begin.
	h := head{file: f, index: map[profile.Function]int32{}}
	jsonscan.Tree(s, func(parent *openNode) openNode {
		n := node{id: none, parent: none}
		if parent != nil {
			n.parent = parent.index
		}
		v.nodes = append(v.nodes, n)
		return openNode{fields: nodeFields{line: -1, column: -1, id: none}, index: int32(len(v.nodes) - 1)}
	}, func(n *openNode, key string) {
		n.fields.field(s, key)
	}, func(n *openNode) {
		h.close(&n.fields, n.index)
	})
	h.intern()
}

// openNode is a node that is being read.
type openNode struct {
	fields nodeFields
	index  int32
}

// head keeps the functions of the nodes of a tree, each once, until all are read.
type head struct {
	*file
	functions []profile.Function
	index     map[profile.Function]int32
}

// close fills in a node that was read to its end. Its function is a number of
// h.functions for now.
func (h *head) close(n *nodeFields, index int32) {
	v := &h.profile
	nd := &v.nodes[index]
	nd.id, nd.value = n.id, n.value
	v.setIndex(h.scanner, n.id, index)
	h.heap = h.heap || n.size
	if nd.root = n.name == "(root)" && n.url == ""; nd.root {
		return
	}
	fn := n.function()
	nd.function = profile.FunctionID(intern.Number(h.index, &h.functions, fn, fn))
}

// intern interns the functions of all nodes.
func (h *head) intern() {
	for i := range h.profile.nodes {
		if nd := &h.profile.nodes[i]; !nd.root && int(nd.function) < len(h.functions) {
			nd.function = h.p.Symbols.Function(h.functions[nd.function])
		}
	}
}
