package diff

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree/internal/ranges"
	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/profile"
)

// matchFunctions finds the functions that two profiles have in common. The result lists
// the functions of both in byte order of names, then of module, file and line; fa and
// fb are the positions of the functions of a and b in it.
//
// Only functions of the same name can be the same; a file that is part of a name does not
// count (`render (src/cart.js)` is `render`). Among those of one name, each step pairs
// functions that the steps before left over:
//
//  1. same module, file, line and column;
//  2. same module and file, in order of lines: functions that moved within their file;
//  3. same path below the roots of the sources: another checkout, another version of a
//     library (see rootsOf), in order of lines;
//  4. the only two left, if they do not contradict each other: the name says package or
//     class, or one of them has no file.
//
// Modules are compared by their last path element, up to `.so`; a module of one side that
// the other lacks is the one there with the same functions: a program that was built under
// another name. So functions of one name in different files or modules stay apart. The
// rules are symmetric. They cost time n log n.
func matchFunctions(a, b []profile.Function) (functions []profile.Function, fa, fb []int32, seen matched) {
	m := &matcher{partner: slices.Repeat([]int32{-1}, len(a)), taken: make([]bool, len(b))}
	m.a, m.b = sideOf(a), sideOf(b)
	groups := m.groups()
	if m.alignModules(groups) {
		groups = m.groups()
	}
	rest := groups[:0]
	for _, g := range groups {
		if g[0], g[1] = m.sameFile(g[0], g[1]); len(g[0]) > 0 && len(g[1]) > 0 {
			rest = append(rest, g)
		}
	}
	roots := m.rootsOf(rest)
	for _, g := range rest {
		x, y := m.samePath(g[0], g[1], roots)
		switch {
		case len(x) == 1 && len(y) == 1 && m.compatible(x[0], y[0]):
			m.pair(x[0], y[0])
		case len(x) > 0 && len(y) > 0:
			seen.apart = append(seen.apart, [2]int32{x[0], y[0]})
		}
	}
	functions, fa, fb = m.union()
	for i, p := range seen.apart {
		seen.apart[i] = [2]int32{fa[p[0]], fb[p[1]]}
	}
	seen.bumps = m.bumps()
	return functions, fa, fb, seen
}

// matched is what a diff notes about the functions of its sides.
type matched struct {
	apart [][2]int32 // pairs of functions of one name that stayed apart, of each side one
	bumps []string   // packages whose version differs, `example.com/bar v1.2.3 → v1.3.0`
}

type matcher struct {
	a, b    matchSide
	partner []int32 // of each function of a: its partner in b, or -1
	taken   []bool  // of each function of b
}

// matchSide is the functions of one side, with what they are matched by.
type matchSide struct {
	functions []profile.Function
	name      []string // without file
	module    []string // last element; for a, the name on the other side
}

func sideOf(functions []profile.Function) matchSide {
	s := matchSide{functions, make([]string, len(functions)), make([]string, len(functions))}
	for i := range functions {
		f := &functions[i]
		s.name[i], s.module[i] = f.Name, moduleName(f.Module)
		if n := len(f.Name) - len(f.File) - len(" ()"); f.File != "" && n > 0 && f.Name[n:] == " ("+f.File+")" {
			s.name[i] = f.Name[:n]
		}
	}
	return s
}

// order returns the functions by name, then by module, file and line.
func (s *matchSide) order() []int32 {
	order := ranges.Numbers(len(s.functions))
	slices.SortStableFunc(order, func(i, j int32) int {
		if c := strings.Compare(s.name[i], s.name[j]); c != 0 {
			return c
		}
		x, y := &s.functions[i], &s.functions[j]
		return cmp.Or(strings.Compare(s.module[i], s.module[j]), strings.Compare(x.File, y.File), compareLine(x, y),
			strings.Compare(x.SystemName, y.SystemName), strings.Compare(x.Module, y.Module))
	})
	return order
}

// groups returns the functions of each name that both sides have.
func (m *matcher) groups() (groups [][2][]int32) {
	oa, ob := m.a.order(), m.b.order()
	for len(oa) > 0 && len(ob) > 0 {
		switch c := strings.Compare(m.a.name[oa[0]], m.b.name[ob[0]]); {
		case c < 0:
			oa = oa[1:]
		case c > 0:
			ob = ob[1:]
		default:
			na, nb := sameName(m.a.name, oa), sameName(m.b.name, ob)
			groups = append(groups, [2][]int32{oa[:na], ob[:nb]})
			oa, ob = oa[na:], ob[nb:]
		}
	}
	return groups
}

func (m *matcher) pair(i, j int32) { m.partner[i], m.taken[j] = j, true }

// aliasFunctions is how many functions two libraries of different names have in common if they
// are one that was renamed. Of two programs one is enough.
const aliasFunctions = 3

// alignModules gives modules of a that b lacks their name in b, and reports whether there
// are any.
func (m *matcher) alignModules(groups [][2][]int32) bool {
	of := [2]map[string]bool{{}, {}}
	for side, s := range []*matchSide{&m.a, &m.b} {
		for _, name := range s.module {
			of[side][name] = true
		}
	}
	common := map[[2]string]int{}
	for _, g := range groups {
		x, y := m.a.module[g[0][0]], m.b.module[g[1][0]] // of several, the first is enough
		if x != y && x != "" && y != "" && !of[1][x] && !of[0][y] {
			common[[2]string{x, y}]++
		}
	}
	best := map[string]int{}
	for pair, n := range common {
		best[pair[0]], best[pair[1]] = max(best[pair[0]], n), max(best[pair[1]], n)
	}
	alias := map[string]string{}
	for pair, n := range common {
		x, y := pair[0], pair[1]
		if n == best[x] && n == best[y] && (n >= aliasFunctions || !isLibrary(x) && !isLibrary(y)) {
			alias[x] = y
		}
	}
	for i, name := range m.a.module {
		if y, ok := alias[name]; ok {
			m.a.module[i] = y
		}
	}
	return len(alias) > 0
}

// isLibrary reports whether a module is a library rather than a program.
func isLibrary(name string) bool {
	return profile.IsSharedLibrary(name) || strings.HasSuffix(name, ".jar")
}

// sameFile applies steps 1 and 2 to functions of one name and returns those left over.
func (m *matcher) sameFile(x, y []int32) (restA, restB []int32) {
	for len(x) > 0 && len(y) > 0 {
		switch c := m.compareFile(x[0], y[0]); {
		case c < 0:
			restA, x = append(restA, x[0]), x[1:]
		case c > 0:
			restB, y = append(restB, y[0]), y[1:]
		default:
			na, nb := m.a.sameFile(x), m.b.sameFile(y)
			a, b := m.byLine(x[:na], y[:nb])
			restA, restB = append(restA, a...), append(restB, b...)
			x, y = x[na:], y[nb:]
		}
	}
	return append(restA, x...), append(restB, y...)
}

func (m *matcher) compareFile(i, j int32) int {
	return cmp.Or(strings.Compare(m.a.module[i], m.b.module[j]), strings.Compare(m.a.functions[i].File, m.b.functions[j].File))
}

// sameFile returns how many functions at the beginning of a list have the same module and
// file.
func (s *matchSide) sameFile(list []int32) int {
	n := 1
	for n < len(list) && s.module[list[n]] == s.module[list[0]] && s.functions[list[n]].File == s.functions[list[0]].File {
		n++
	}
	return n
}

// byLine pairs functions of one name, module and file: those with the same line, then the
// others in order.
func (m *matcher) byLine(x, y []int32) (restA, restB []int32) {
	var movedA, movedB []int32
	for len(x) > 0 && len(y) > 0 {
		switch c := compareLine(&m.a.functions[x[0]], &m.b.functions[y[0]]); {
		case c < 0:
			movedA, x = append(movedA, x[0]), x[1:]
		case c > 0:
			movedB, y = append(movedB, y[0]), y[1:]
		default:
			m.pair(x[0], y[0])
			x, y = x[1:], y[1:]
		}
	}
	movedA, movedB = append(movedA, x...), append(movedB, y...)
	n := min(len(movedA), len(movedB))
	for i := range n {
		m.pair(movedA[i], movedB[i])
	}
	return movedA[n:], movedB[n:]
}

// compatible reports whether two functions of one name may be one: their modules agree as
// far as they are known, and their files do or the name says package or class.
func (m *matcher) compatible(i, j int32) bool {
	agree := func(x, y string) bool { return x == "" || y == "" || x == y }
	return agree(m.a.module[i], m.b.module[j]) &&
		(agree(m.a.functions[i].File, m.b.functions[j].File) || isQualified(m.a.name[i]))
}

// isQualified reports whether a name says the package or class of its function.
func isQualified(name string) bool {
	i := strings.IndexAny(name, ".:/")
	return i > 0 && name[0] != '(' && name[0] != '<' && name[0] != '['
}

// union lists the functions of both sides. A pair has the attributes of b, the newer
// one, completed from a.
func (m *matcher) union() (functions []profile.Function, fa, fb []int32) {
	for i, j := range m.partner {
		f := m.a.functions[i]
		if j >= 0 {
			f = newer(f, m.b.functions[j])
		}
		functions = append(functions, f)
	}
	fb = slices.Repeat([]int32{-1}, len(m.b.functions))
	for j := range m.b.functions {
		if !m.taken[j] {
			fb[j] = int32(len(functions))
			functions = append(functions, m.b.functions[j])
		}
	}
	order := byIdentity(functions)
	rank := make([]int32, len(order))
	sorted := make([]profile.Function, len(order))
	for r, i := range order {
		rank[i], sorted[r] = int32(r), functions[i]
	}
	fa = rank[:len(m.a.functions):len(m.a.functions)]
	for j := range fb {
		if fb[j] >= 0 {
			fb[j] = rank[fb[j]]
		}
	}
	for i, j := range m.partner {
		if j >= 0 {
			fb[j] = fa[i]
		}
	}
	return sorted, fa, fb
}

// newer returns b with missing attributes taken from a.
func newer(a, b profile.Function) profile.Function {
	b.Module = cmp.Or(b.Module, a.Module)
	if b.File == "" {
		b.File, b.StartLine, b.Column = a.File, a.StartLine, a.Column
	}
	b.SystemName = cmp.Or(b.SystemName, a.SystemName)
	b.Language = cmp.Or(b.Language, a.Language)
	b.Kind = cmp.Or(b.Kind, a.Kind)
	return b
}

// byIdentity returns the indices of functions in the order of their identities.
func byIdentity(functions []profile.Function) []int32 {
	order := ranges.Numbers(len(functions))
	slices.SortStableFunc(order, func(i, j int32) int {
		x, y := &functions[i], &functions[j]
		if c := strings.Compare(x.Name, y.Name); c != 0 {
			return c
		}
		return cmp.Or(compareFile(x, y), compareLine(x, y), strings.Compare(x.SystemName, y.SystemName), strings.Compare(x.Module, y.Module))
	})
	return order
}

// sameName returns how many functions at the beginning of order have the same name.
func sameName(name []string, order []int32) int {
	n := 1
	for n < len(order) && name[order[n]] == name[order[0]] {
		n++
	}
	return n
}

func compareFile(a, b *profile.Function) int {
	return cmp.Or(strings.Compare(moduleName(a.Module), moduleName(b.Module)), strings.Compare(a.File, b.File))
}

func compareLine(a, b *profile.Function) int {
	return cmp.Or(cmp.Compare(a.StartLine, b.StartLine), cmp.Compare(a.Column, b.Column))
}

// moduleName returns the part of a module path that stays the same between builds: its
// last element, for shared objects up to `.so`.
func moduleName(path string) string {
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	if i := strings.Index(name, ".so."); i > 0 {
		return name[:i+3]
	}
	return name
}

// identicalFunctions unites functions that agree in everything but their kind, in
// order of first appearance. Those that stand for collapsed modules come last.
func identicalFunctions(a, b []profile.Function) (functions []profile.Function, fa, fb []int32) {
	ids := make(map[profile.Function]int32, len(a))
	fa, fb = make([]int32, len(a)), make([]int32, len(b))
	for _, modules := range []bool{false, true} {
		for side, list := range [][]profile.Function{a, b} {
			out := [][]int32{fa, fb}[side]
			for i, f := range list {
				if standsForModule(&f) != modules {
					continue
				}
				key := f
				key.Kind = profile.KindUnknown
				out[i] = intern.Number(ids, &functions, key, f)
			}
		}
	}
	return functions, fa, fb
}

// standsForModule reports whether a function is one of those that CollapseResource
// puts in place of a module's.
func standsForModule(f *profile.Function) bool {
	return f.Name == f.Module && *f == profile.Function{Name: f.Name, Module: f.Module, Kind: f.Kind}
}
