package calltree

import (
	"slices"
	"weak"

	"github.com/dendroprof/dendro/profile"
)

// Interner is a growing dictionary of functions and call node paths, such as a Forest. One of
// limited size returns Refused for what it does not add.
type Interner interface {
	// Function returns the id of the function of that name.
	Function(fn profile.Function) int32
	// Path returns the id of the path that calls function fn from parent (NoNode: a
	// root).
	Path(parent, fn int32) int32
}

// Refused is the translation of what has no room in the other dictionary. It is not remembered.
const Refused = int32(-2)

// Translation maps the functions and paths of a forest to those of another dictionary,
// to which it adds missing ones with their ancestors. Ids of a forest never change
// their meaning, so each is looked up once. A Translation belongs to one goroutine.
type Translation struct {
	to               Interner
	functions, paths []int32 // plus one; 0: not known yet
	pending          []int32
}

// NewTranslation returns an empty translation of a forest into to.
func NewTranslation(to Interner) *Translation { return &Translation{to: to} }

// Paths translates paths of from, which must be the same forest in every call, or a
// snapshot of it. NoNode stays. The result reuses buf if it is large enough; buf may be
// paths.
func (t *Translation) Paths(from *Forest, paths, buf []int32) []int32 {
	t.fit(from)
	buf = slices.Grow(buf[:0], len(paths))[:len(paths)]
	for i, p := range paths {
		buf[i] = t.of(from, p)
	}
	return buf
}

// Path translates one path.
func (t *Translation) Path(from *Forest, p int32) int32 {
	t.fit(from)
	return t.of(from, p)
}

func (t *Translation) of(from *Forest, p int32) int32 {
	if p == NoNode {
		return p
	}
	if t.paths[p] == 0 {
		return t.learn(from, p)
	}
	return t.paths[p] - 1
}

// Vector translates a vector over from. The result ascends.
func (t *Translation) Vector(from *Forest, v Vector) Vector {
	w := Vector{Nodes: t.Paths(from, v.Nodes, nil), Self: slices.Clone(v.Self)}
	if len(w.Nodes) > 0 {
		sortWith(w.Nodes, w.Self, int(slices.Max(w.Nodes))+1)
	}
	return w
}

// Function returns the translation of function fn, if a path with it was translated.
func (t *Translation) Function(fn int32) (id int32, ok bool) {
	if int(fn) >= len(t.functions) {
		return 0, false
	}
	return t.functions[fn] - 1, t.functions[fn] != 0
}

// fit makes room for the current size of a forest.
func (t *Translation) fit(from *Forest) {
	t.paths = append(t.paths, make([]int32, max(0, from.Paths.Len()-len(t.paths)))...)
	t.functions = append(t.functions, make([]int32, max(0, len(from.Functions)-len(t.functions)))...)
}

// learn translates a path and its unknown ancestors.
func (t *Translation) learn(from *Forest, p int32) int32 {
	t.pending = t.pending[:0]
	for ; p != NoNode && t.paths[p] == 0; p = from.Paths.Parent[p] {
		t.pending = append(t.pending, p)
	}
	here := NoNode
	if p != NoNode {
		here = t.paths[p] - 1
	}
	for _, p := range slices.Backward(t.pending) {
		fn := from.Paths.Item[p]
		if t.functions[fn] == 0 {
			id := t.to.Function(from.Functions[fn])
			if id == Refused {
				return Refused
			}
			t.functions[fn] = id + 1
		}
		if here = t.to.Path(here, t.functions[fn]-1); here == Refused {
			return Refused
		}
		t.paths[p] = here + 1
	}
	return here
}

// Translations caches the translations of forests into one dictionary. It does not keep
// the forests alive. The zero value is empty.
type Translations struct {
	of map[weak.Pointer[Forest]]*Translation // by origin
}

// Of returns the translation of a forest into to, which must be the same dictionary in
// every call. Adding one drops those of collected forests.
func (ts *Translations) Of(from *Forest, to Interner) *Translation {
	key := weak.Make(from.Origin())
	t := ts.of[key]
	if t == nil {
		for k := range ts.of {
			if k.Value() == nil {
				delete(ts.of, k)
			}
		}
		if ts.of == nil {
			ts.of = map[weak.Pointer[Forest]]*Translation{}
		}
		t = NewTranslation(to)
		ts.of[key] = t
	}
	return t
}

// Size returns the number of functions and paths for which the translations have room.
func (ts *Translations) Size() int {
	n := 0
	for _, t := range ts.of {
		n += len(t.functions) + len(t.paths)
	}
	return n
}
