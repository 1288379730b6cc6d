package profiles

import (
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/bitset"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// tally computes what functions take from the vectors of one profile, or of up to tallied
// profiles together. Totals are linear: it adds up the vectors first and walks up the tree
// once for all of them. The nodes stay for the next profiles, which mostly have the same: then
// an entry of a vector costs a look-up and an addition, and the rest depends on the nodes, and not
// on the forest. It belongs to one goroutine.
type tally struct {
	v      *view
	wanted bitset.Set // functions; nil: all

	// place is of each path the number, plus one, of the nearest node at or above it; 0 if
	// that is not known yet. Entered are the paths with one.
	place, entered []int32
	placeOf        []int32 // of each function the number, plus one, in fns; 0: it has no node

	// nodes are paths of wanted functions, callers before callees. The first node stands for the
	// paths above all of them. The rest of a node stands for the paths of other functions below it.
	nodes   []tallyNode
	amounts []amount // of nodes, without totals until walk
	n       int      // profiles
	before  int      // nodes when the first of them was added
	met     int      // nodes of the profiles before

	fns       []int32  // functions that have a node
	functions []amount // of fns; zero between calls of each
}

type tallyNode struct {
	path  int32
	up    int32 // the nearest node above
	fn    int32 // place in fns; -1: of no wanted function
	rest  int32 // 0: there is none
	inner bool  // below a node of the same function: its total is in that one's
}

// value is what some profiles have.
type value struct {
	sum      int64
	share    float64 // sum of the shares of the profiles
	profiles uint64  // that have some of it, a bit for each
}

// add adds what the same profiles have elsewhere.
func (a *value) add(b *value) {
	a.sum += b.sum
	a.share += b.share
	a.profiles |= b.profiles
}

// amount is what a node or function takes.
type amount struct{ self, total value }

// tallied is the number of profiles that a tally adds up together: the bits of value.profiles.
const tallied = 64

// tallyNodes is the number of new nodes from which on a tally is full, so that they fit into a
// processor's cache.
const tallyNodes = 1 << 15

// tallies are those of the workers of a query.
type tallies struct {
	v      *view
	wanted bitset.Set
	list   []*tally
}

// tallies returns those for the functions of some ids, or for all.
func (v *view) tallies(fns []int32) *tallies {
	all := &tallies{v: v, list: make([]*tally, driver.Workers)}
	if fns != nil {
		all.wanted = bitset.New(len(v.functions))
		for _, fn := range fns {
			all.wanted.Add(fn)
		}
	}
	return all
}

// of returns that of a worker.
func (all *tallies) of(worker int) *tally {
	if all.list[worker] == nil {
		t, ok := all.v.tallyPool.Get().(*tally)
		if !ok {
			t = &tally{v: all.v, place: make([]int32, len(all.v.rec)), placeOf: make([]int32, len(all.v.functions))}
			t.forget()
		}
		t.wanted, all.list[worker] = all.wanted, t
	}
	return all.list[worker]
}

// release keeps the tallies for the next query.
func (all *tallies) release() {
	for _, t := range all.list {
		if t != nil {
			t.forget()
			all.v.tallyPool.Put(t)
		}
	}
}

// forget drops the nodes.
func (t *tally) forget() {
	for _, p := range t.entered {
		t.place[p] = 0
	}
	for _, fn := range t.fns {
		t.placeOf[fn] = 0
	}
	t.entered, t.fns, t.functions, t.n = t.entered[:0], t.fns[:0], t.functions[:0], 0
	t.nodes, t.amounts = append(t.nodes[:0], tallyNode{fn: -1}), append(t.amounts[:0], amount{})
}

// full reports whether the profiles are to be read before another one is added.
func (t *tally) full() bool { return t.n == tallied || len(t.nodes) > t.before+tallyNodes }

// add adds a profile. Of several, only values that are not negative may be added together.
func (t *tally) add(v calltree.Vector, inverse float64) {
	if t.n == 0 {
		if len(t.nodes) > 2*t.met+64 {
			t.forget() // walking over nodes of other profiles costs more than making them
		}
		t.before = len(t.nodes)
	}
	profile := uint64(1) << t.n
	t.n++
	for i, p := range v.Nodes {
		at := t.place[p]
		if at == 0 {
			at = t.enter(p)
		}
		if at == 1 {
			continue
		}
		a, self := &t.amounts[at-1].self, v.Self[i]
		a.sum += self
		a.share += float64(self) * inverse
		a.profiles |= profile
	}
}

// enter makes the nodes at and above a path, and returns its place.
func (t *tally) enter(p int32) int32 {
	parent, item, from := t.v.forest.Paths.Parent, t.v.forest.Paths.Item, len(t.entered)
	for ; p != calltree.NoNode && t.place[p] == 0; p = parent[p] {
		t.entered = append(t.entered, p)
	}
	at := int32(0)
	if p != calltree.NoNode {
		at = t.place[p] - 1
	}
	for _, p := range slices.Backward(t.entered[from:]) {
		switch {
		case t.wanted == nil || t.wanted.Has(item[p]):
			at = t.node(tallyNode{path: p, up: at, fn: t.function(item[p]), inner: t.v.rec[p] != calltree.NoNode})
		case t.nodes[at].fn < 0:
		default:
			if t.nodes[at].rest == 0 {
				t.nodes[at].rest = t.node(tallyNode{up: at, fn: -1})
			}
			at = t.nodes[at].rest
		}
		t.place[p] = at + 1
	}
	return at + 1
}

func (t *tally) node(n tallyNode) int32 {
	t.nodes, t.amounts = append(t.nodes, n), append(t.amounts, amount{})
	return int32(len(t.nodes) - 1)
}

// function returns the place of a function.
func (t *tally) function(fn int32) int32 {
	if t.placeOf[fn] == 0 {
		t.fns, t.functions = append(t.fns, fn), append(t.functions, amount{})
		t.placeOf[fn] = int32(len(t.fns))
	}
	return t.placeOf[fn] - 1
}

// walk calls f with the nodes of the profiles, callees before callers, and with what these
// take. It removes the profiles.
func (t *tally) walk(f func(n *tallyNode, a *amount)) {
	met := 0
	for i := len(t.nodes) - 1; i > 0; i-- {
		n, a := &t.nodes[i], &t.amounts[i]
		if a.total.add(&a.self); a.total.profiles == 0 {
			continue
		}
		met++
		t.amounts[n.up].total.add(&a.total)
		if n.fn >= 0 {
			f(n, a)
		}
		*a = amount{}
	}
	t.amounts[0], t.n, t.met = amount{}, 0, met
}

// each calls f with what each function takes that is listed, as calltree's FunctionRows lists
// them: those of which an outermost node has a total. It removes the profiles.
func (t *tally) each(f func(fn int32, a *amount)) {
	t.walk(func(n *tallyNode, a *amount) {
		of := &t.functions[n.fn]
		of.self.add(&a.self)
		if !n.inner && a.total.sum != 0 {
			of.total.add(&a.total)
		}
	})
	for i, fn := range t.fns {
		if a := &t.functions[i]; a.total.profiles != 0 {
			f(fn, a)
		}
	}
	clear(t.functions)
}

// rows appends the rows of the one profile that was added, which stands at a position.
func (t *tally) rows(r *columns, profile int32) {
	t.each(func(fn int32, a *amount) { r.add(profile, fn, a.self.sum, a.total.sum) })
}
