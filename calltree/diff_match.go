package calltree

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// matchFunctions finds the functions that two profiles have in common. The result lists
// the functions of both in byte order of names, then of module, file and line; fa and
// fb are the positions of the functions of a and b in it.
//
// Only functions of the same name can be the same. Among those of one name, each step
// pairs functions that the steps before left over:
//
//  1. same module, file, line and column;
//  2. same module and file, in order of lines: functions that moved within their
//     file;
//  3. the only one of each side in the same place, apart from where it was built
//     (see place): another checkout, another version of a library;
//  4. the only two left, if they do not contradict each other: one of them has no
//     file or no module.
//
// So functions of one name in different files or modules stay apart. Modules are
// compared by their last path element, up to `.so`. The rules are symmetric. They cost
// time n log n in the functions of a name.
func matchFunctions(a, b []profile.Function) (functions []profile.Function, fa, fb []int32) {
	m := &matcher{a: a, b: b, partner: filled(len(a), -1), taken: make([]bool, len(b))}
	oa, ob := byIdentity(a), byIdentity(b)
	for len(oa) > 0 && len(ob) > 0 {
		switch c := strings.Compare(a[oa[0]].Name, b[ob[0]].Name); {
		case c < 0:
			oa = oa[1:]
		case c > 0:
			ob = ob[1:]
		default:
			na, nb := sameName(a, oa), sameName(b, ob)
			m.match(oa[:na], ob[:nb])
			oa, ob = oa[na:], ob[nb:]
		}
	}
	return m.union()
}

type matcher struct {
	a, b    []profile.Function
	partner []int32 // of each function of a: its partner in b, or -1
	taken   []bool  // of each function of b
}

func (m *matcher) pair(i, j int32) { m.partner[i], m.taken[j] = j, true }

// match pairs functions of one name; both lists are in order of byIdentity.
func (m *matcher) match(x, y []int32) {
	restA, restB := m.sameFile(x, y)
	if len(restA) == 0 || len(restB) == 0 {
		return
	}
	restA, restB = m.samePlace(restA, restB)
	if len(restA) == 1 && len(restB) == 1 && compatible(&m.a[restA[0]], &m.b[restB[0]]) {
		m.pair(restA[0], restB[0])
	}
}

// sameFile applies steps 1 and 2 and returns the functions left over.
func (m *matcher) sameFile(x, y []int32) (restA, restB []int32) {
	for len(x) > 0 && len(y) > 0 {
		switch c := compareFile(&m.a[x[0]], &m.b[y[0]]); {
		case c < 0:
			restA, x = append(restA, x[0]), x[1:]
		case c > 0:
			restB, y = append(restB, y[0]), y[1:]
		default:
			na, nb := 1, 1
			for na < len(x) && compareFile(&m.a[x[0]], &m.a[x[na]]) == 0 {
				na++
			}
			for nb < len(y) && compareFile(&m.b[y[0]], &m.b[y[nb]]) == 0 {
				nb++
			}
			leftA, leftB := m.byLine(x[:na], y[:nb])
			restA, restB = append(restA, leftA...), append(restB, leftB...)
			x, y = x[na:], y[nb:]
		}
	}
	return append(restA, x...), append(restB, y...)
}

// byLine pairs functions of one name and file: first those with the same line, then the
// others in order.
func (m *matcher) byLine(x, y []int32) (restA, restB []int32) {
	var movedA, movedB []int32
	for len(x) > 0 && len(y) > 0 {
		switch c := compareLine(&m.a[x[0]], &m.b[y[0]]); {
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

// samePlace applies step 3 and returns the functions left over.
func (m *matcher) samePlace(x, y []int32) (restA, restB []int32) {
	type only struct{ a, b []int32 }
	places := map[string]*only{}
	at := func(f *profile.Function) *only {
		key := place(f)
		if places[key] == nil {
			places[key] = &only{}
		}
		return places[key]
	}
	for _, i := range x {
		p := at(&m.a[i])
		p.a = append(p.a, i)
	}
	for _, j := range y {
		p := at(&m.b[j])
		p.b = append(p.b, j)
	}
	for _, i := range x {
		if p := at(&m.a[i]); len(p.a) == 1 && len(p.b) == 1 && m.a[i].File != "" {
			m.pair(i, p.b[0])
		} else {
			restA = append(restA, i)
		}
	}
	for _, j := range y {
		if !m.taken[j] {
			restB = append(restB, j)
		}
	}
	return restA, restB
}

// union lists the functions of both sides. A pair has the attributes of b, the newer
// one, completed from a.
func (m *matcher) union() (functions []profile.Function, fa, fb []int32) {
	for i, j := range m.partner {
		f := m.a[i]
		if j >= 0 {
			f = newer(f, m.b[j])
		}
		functions = append(functions, f)
	}
	fb = filled(len(m.b), -1)
	for j := range m.b {
		if !m.taken[j] {
			fb[j] = int32(len(functions))
			functions = append(functions, m.b[j])
		}
	}
	order := byIdentity(functions)
	rank := make([]int32, len(order))
	sorted := make([]profile.Function, len(order))
	for r, i := range order {
		rank[i], sorted[r] = int32(r), functions[i]
	}
	fa = rank[:len(m.a):len(m.a)]
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
	if b.Module == "" {
		b.Module = a.Module
	}
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
	order := make([]int32, len(functions))
	for i := range order {
		order[i] = int32(i)
	}
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
func sameName(functions []profile.Function, order []int32) int {
	n := 1
	for n < len(order) && functions[order[n]].Name == functions[order[0]].Name {
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

// place returns the part of a function's place that stays the same between builds: its
// module and the last two elements of its path, without versions (`bar@v1.2.3/x.go` is
// `bar/x.go`).
func place(f *profile.Function) string {
	elements := strings.FieldsFunc(f.File, func(r rune) bool { return r == '/' || r == '\\' })
	if len(elements) > 2 {
		elements = elements[len(elements)-2:]
	}
	for i, e := range elements {
		if at := strings.IndexByte(e, '@'); at > 0 {
			elements[i] = e[:at]
		}
	}
	return moduleName(f.Module) + "\x00" + strings.Join(elements, "/")
}

// compatible reports whether the known parts of the places of two functions agree.
func compatible(a, b *profile.Function) bool {
	agree := func(x, y string) bool { return x == "" || y == "" || x == y }
	return agree(moduleName(a.Module), moduleName(b.Module)) && agree(a.File, b.File)
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
				id, ok := ids[key]
				if !ok {
					id = int32(len(functions))
					ids[key] = id
					functions = append(functions, f)
				}
				out[i] = id
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

func filled(n int, v int32) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = v
	}
	return s
}
