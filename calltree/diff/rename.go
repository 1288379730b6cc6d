package diff

import (
	"math"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// Rename is a function with one name on the base side and another on the head side.
type Rename struct{ Base, Head profile.Function }

// The limits within which two functions are one that was renamed.
const (
	renameSamples  = 12  // that both sides miss of the other's function, at least: e^-12 is the chance
	renameShare    = 0.1 // percent of each side, at least, if the value of a sample is unknown
	renameChange   = 0.3 // of the larger side: the largest change of a call node
	renameSiblings = 500 // new and vanished callees of one caller; more are another program

	renamePairs = 1 << 23 // pairs of callees that are compared; beyond, renamed functions are vanished and new ones
)

// Renames finds functions that were renamed, as the values are compared: one has no
// samples on the head side, the other none on the base; the same callers call them; self
// and total of each call node changed by at most 30% or the sampling noise; package or
// class, or the name without them, is the same; and no other function fits. A caller that
// was renamed itself is the same caller. Of several functions that fit, the one with the same
// name in another package or class is taken.
//
// A function that replaces another of the same cost looks like a renamed one.
func (d *Diff) Renames() []Rename {
	m := d.newRenamer()
	if !slices.Contains(m.gone, true) || !slices.Contains(m.fresh, true) {
		return nil
	}
	m.callees(calltree.NoNode, calltree.NoNode)
	for n := range int32(d.Len()) {
		if p := d.Total(n); p.Base != 0 && p.Head != 0 {
			m.callees(n, n)
		}
	}
	for len(m.open) > 0 {
		last := m.open[len(m.open)-1]
		m.open = m.open[:len(m.open)-1]
		m.callees(last[0], last[1])
	}
	return m.renames()
}

// newRenamer tells which functions vanished and which are new.
func (d *Diff) newRenamer() *renamer {
	m := &renamer{Diff: d, root: d.RootTotal(), gone: make([]bool, len(d.Functions)), fresh: make([]bool, len(d.Functions)),
		partner: make(map[int32]int32), left: renamePairs}
	for n, fn := range d.Func {
		m.gone[fn] = m.gone[fn] || d.Base.Total[n] != 0
		m.fresh[fn] = m.fresh[fn] || d.Head.Total[n] != 0
	}
	for fn := range m.gone {
		m.gone[fn], m.fresh[fn] = m.gone[fn] && !m.fresh[fn], m.fresh[fn] && !m.gone[fn]
	}
	return m
}

type renamer struct {
	*Diff
	root        Pair
	gone, fresh []bool          // of each function: only the base has it, only the head side
	partner     map[int32]int32 // of each function: its other name, or NoNode if several fit
	open        [][2]int32      // nodes of renamed functions, whose callees are still to be compared
	left        int             // of renamePairs
	names       []names         // of each function; empty: not needed yet
}

// names are what functions are compared by.
type names struct{ pkg, short string }

// namesOf returns the names of the function of a node.
func (m *renamer) namesOf(n int32) *names {
	if m.names == nil {
		m.names = make([]names, len(m.Functions))
	}
	of, f := &m.names[m.Func[n]], &m.Functions[m.Func[n]]
	if *of == (names{}) {
		*of = names{f.Package(), shortName(f.Name)}
	}
	return of
}

// callees compares the callees of one caller: node x of the base and y of the head side.
func (m *renamer) callees(x, y int32) {
	var gone, fresh []int32
	for c := range m.ByFunction(x) {
		if m.gone[m.Func[c]] {
			gone = append(gone, c)
		}
	}
	for c := range m.ByFunction(y) {
		if m.fresh[m.Func[c]] {
			fresh = append(fresh, c)
		}
	}
	if x != y {
		m.shared(x, y)
	}
	pairs := 2 * len(gone) * len(fresh)
	if pairs == 0 || len(gone) > renameSiblings || len(fresh) > renameSiblings || pairs > m.left {
		return
	}
	m.left -= pairs
	for _, a := range gone {
		if b := m.only(a, fresh, m.fits); b != calltree.NoNode && m.only(b, gone, func(b, a int32) bool { return m.fits(a, b) }) == a {
			m.vote(m.Func[a], m.Func[b])
			m.open = append(m.open, [2]int32{a, b})
		}
	}
}

// shared continues with the callees that x and y have in common.
func (m *renamer) shared(x, y int32) {
	at := map[int32]int32{}
	for c := range m.ByFunction(y) {
		at[m.Func[c]] = c
	}
	for c := range m.ByFunction(x) {
		if other, ok := at[m.Func[c]]; ok {
			m.open = append(m.open, [2]int32{c, other})
		}
	}
}

// only returns the one node that fits a, or the one of those with the same short name.
func (m *renamer) only(a int32, list []int32, fits func(a, b int32) bool) int32 {
	found, named := []int32{}, []int32{}
	for _, b := range list {
		if fits(a, b) {
			found = append(found, b)
			if m.namesOf(a).short == m.namesOf(b).short {
				named = append(named, b)
			}
		}
	}
	switch {
	case len(named) == 1:
		return named[0]
	case len(found) == 1:
		return found[0]
	}
	return calltree.NoNode
}

// fits reports whether node b of the head side is about as large as node a of the base.
func (m *renamer) fits(a, b int32) bool {
	total := Pair{m.Base.Total[a], m.Head.Total[b]}
	if total.Base == 0 || total.Head == 0 || m.Functions[m.Func[a]].Kind != m.Functions[m.Func[b]].Kind || !m.enough(total) {
		return false
	}
	if f, g := m.namesOf(a), m.namesOf(b); f.pkg != g.pkg && f.short != g.short {
		return false
	}
	limit := max(renameChange*m.Larger(total), m.Noise(total))
	return math.Abs(m.Delta(total)) <= limit && math.Abs(m.Delta(Pair{m.Base.Self[a], m.Head.Self[b]})) <= limit
}

// enough reports whether it is no chance that each side misses the other's function; a value
// of 0 is no function.
func (m *renamer) enough(p Pair) bool {
	if m.sample[0] == 0 || m.sample[1] == 0 {
		large := func(value, root int64) bool {
			return value == 0 || math.Abs(float64(value))*100 >= renameShare*float64(root)
		}
		return large(p.Base, m.root.Base) && large(p.Head, m.root.Head)
	}
	base, head := m.Values(p)
	missed := math.Abs(base)*m.Head.Divisor/m.sample[1] + math.Abs(head)*m.Base.Divisor/m.sample[0]
	return missed >= renameSamples
}

func (m *renamer) vote(a, b int32) {
	for _, f := range [2][2]int32{{a, b}, {b, a}} {
		if other, ok := m.partner[f[0]]; ok && other != f[1] {
			m.partner[f[0]] = calltree.NoNode
		} else {
			m.partner[f[0]] = f[1]
		}
	}
}

// renames returns the pairs about which all callers agree, in order of functions.
func (m *renamer) renames() []Rename {
	var list []Rename
	for fn := range int32(len(m.Functions)) {
		if b, ok := m.partner[fn]; ok && m.gone[fn] && b != calltree.NoNode && m.partner[b] == fn {
			list = append(list, Rename{Base: m.Functions[fn], Head: m.Functions[b]})
		}
	}
	return list
}

// shortName returns a function's name without package, class and receiver.
func shortName(name string) string {
	name = profile.WithoutClone(name)
	return name[strings.LastIndexAny(name, "./:")+1:]
}

// WithNames returns trees of the base with the names of the head side, so that Compare
// sees one function where there are two names. It shares everything else with the trees.
func WithNames(trees []*calltree.Tree, renames []Rename) []*calltree.Tree {
	type identity struct{ name, module, file string }
	of := func(f *profile.Function) identity { return identity{f.Name, f.Module, f.File} }
	to := make(map[identity]*profile.Function, len(renames))
	for i := range renames {
		to[of(&renames[i].Base)] = &renames[i].Head
	}
	list := make([]*calltree.Tree, len(trees))
	for i, t := range trees {
		table := *t.Table
		table.Functions = slices.Clone(t.Functions)
		for k := range table.Functions {
			if f, ok := to[of(&table.Functions[k])]; ok {
				table.Functions[k] = *f
			}
		}
		list[i] = &calltree.Tree{Table: &table, Type: t.Type, Self: t.Self, Total: t.Total}
	}
	return list
}
