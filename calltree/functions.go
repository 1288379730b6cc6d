package calltree

import (
	"cmp"
	"slices"

	"github.com/dendroprof/dendro/calltree/internal/ranges"
)

// FunctionRow is one line of a function list.
type FunctionRow struct {
	Func  int32 // index in Table.Functions
	Self  int64
	Total int64 // every sample counts once, however often the function recurs
}

// FunctionRows returns the function list of the tree: by absolute total descending,
// ties by function. Self is the sum over the function's nodes, total the sum over its
// outermost nodes, those without an ancestor of the same function. A function is listed
// if one of its outermost nodes has a total; a function whose nodes all cancel is not,
// whatever its self values.
func (t *Tree) FunctionRows() []FunctionRow {
	list := ranges.Parts(t.Len())
	sums := make([]functionSums, len(list))
	ranges.Each(list, func(i int, p ranges.Part) { sums[i] = t.sumFunctions(int32(p.Lo), int32(p.Hi)) })
	var rows []FunctionRow
	for fn := range t.Functions {
		row := FunctionRow{Func: int32(fn)}
		listed := false
		for _, s := range sums {
			row.Self += s.rows[fn].Self
			row.Total += s.rows[fn].Total
			listed = listed || s.listed[fn]
		}
		if listed {
			rows = append(rows, row)
		}
	}
	SortFunctionRows(rows)
	return rows
}

// SortFunctionRows puts rows into the order of FunctionRows: by total, then by number of
// the function.
func SortFunctionRows(rows []FunctionRow) {
	slices.SortFunc(rows, func(a, b FunctionRow) int {
		return cmp.Or(cmp.Compare(abs(b.Total), abs(a.Total)), cmp.Compare(a.Func, b.Func))
	})
}

// functionSums are the sums per function over some nodes.
type functionSums struct {
	rows   []FunctionRow
	listed []bool
}

// sumFunctions adds up the nodes from lo up to hi.
func (t *Tree) sumFunctions(lo, hi int32) functionSums {
	s := functionSums{make([]FunctionRow, len(t.Functions)), make([]bool, len(t.Functions))}
	if lo == hi {
		return s
	}
	outermost := NewOutermost(len(t.Functions))
	above := t.ancestors(lo)
	for _, n := range above {
		outermost.Enter(n, t.Func[n], t.End[n])
	}
	for n := lo; n < hi; n++ {
		fn := t.Func[n]
		row := &s.rows[fn]
		row.Self += t.Self[n]
		if outermost.Enter(n, fn, t.End[n]) && t.Total[n] != 0 {
			row.Total += t.Total[n]
			s.listed[fn] = true
		}
	}
	return s
}

// ancestors returns the nodes above n, the root first.
func (t *Table) ancestors(n int32) []int32 {
	list := make([]int32, t.Depth[n])
	for p := t.Parent[n]; p != NoNode; p = t.Parent[p] {
		list[t.Depth[p]] = p
	}
	return list
}

// Outermost finds, in one pass over the rows of a Table, the nodes without an ancestor
// of the same key: it stores where the current subtree of each key ends.
type Outermost []int32

// NewOutermost returns one for keys below a number, before the first row.
func NewOutermost(keys int) Outermost { return make(Outermost, keys) }

// Enter visits node n, whose subtree ends at end, and reports whether it is outermost.
func (o Outermost) Enter(n, key, end int32) bool {
	if n < o[key] {
		return false
	}
	o[key] = end
	return true
}
