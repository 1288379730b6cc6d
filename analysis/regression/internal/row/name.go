package row

import "github.com/dendroprof/dendro/calltree"

// Name names a row in every matrix: a function (Caller and Path are empty), calls of it from one caller, or
// one call path.
type Name struct {
	Total    bool     `json:"total,omitempty"` // with all callees
	Function string   `json:"function"`
	Caller   string   `json:"caller,omitempty"`
	Path     []string `json:"path,omitempty"` // root to function
}

// Name returns the name of a slot.
func (s *Space) Name(slot int32) Name {
	t, item := s.Table, s.Item[slot]
	r := Name{Total: s.Kind[slot].Total()}
	switch s.Kind[slot] {
	case FunctionSelf, FunctionTotal:
		r.Function = t.Functions[item].Name
	case EdgeSelf, EdgeTotal:
		n := s.EdgeNode[item]
		r.Function, r.Caller = t.Name(n), t.Name(t.Parent[n])
	default:
		r.Function, r.Path = t.Name(item), t.Path(item)
	}
	return r
}

// Named returns the slot of a name, or None.
func (s *Space) Named(r *Name) int32 {
	kind := func(self, total Kind) Kind {
		if r.Total {
			return total
		}
		return self
	}
	t := s.Table
	for fn := range t.Functions {
		if t.Functions[fn].Name != r.Function {
			continue
		}
		if r.Caller == "" && len(r.Path) == 0 {
			return s.At(kind(FunctionSelf, FunctionTotal), int32(fn))
		}
		for _, n := range s.Functions[fn] {
			switch {
			case len(r.Path) > 0:
				if s.isAt(n, r.Path) {
					return s.At(kind(NodeSelf, NodeTotal), n)
				}
			case t.Parent[n] != calltree.NoNode && t.Name(t.Parent[n]) == r.Caller:
				return s.At(kind(EdgeSelf, EdgeTotal), s.EdgeOf[n])
			}
		}
	}
	return None
}

// isAt reports whether a path leads to a node.
func (s *Space) isAt(n int32, path []string) bool {
	for i := len(path) - 1; i >= 0; i-- {
		if n == calltree.NoNode || s.Table.Name(n) != path[i] {
			return false
		}
		n = s.Table.Parent[n]
	}
	return n == calltree.NoNode
}
