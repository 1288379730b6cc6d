package calltree

import (
	"cmp"
	"slices"
)

// FunctionRow is one line of a function list.
type FunctionRow struct {
	Func  int32 // index in Table.Functions
	Self  int64
	Total int64 // every sample counts once, however often the function recurs
}

// FunctionRows returns the function list of the tree: by absolute total
// descending, ties by function. Self is the sum over the function's nodes;
// total the sum over its outermost nodes, those without an ancestor of the same
// function. Nodes whose total is zero are skipped, so a function whose nodes
// all cancel is not listed.
func (t *Tree) FunctionRows() []FunctionRow {
	rows := make([]FunctionRow, len(t.Functions))
	listed := make([]bool, len(t.Functions))
	outermost := newOutermost(len(t.Functions))
	for n, fn := range t.Func {
		out := outermost.enter(int32(n), fn, t.End[n])
		if t.Total[n] == 0 {
			continue
		}
		listed[fn] = true
		rows[fn].Self += t.Self[n]
		if out {
			rows[fn].Total += t.Total[n]
		}
	}
	list := rows[:0]
	for fn := range listed {
		if listed[fn] {
			r := rows[fn]
			r.Func = int32(fn)
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b FunctionRow) int {
		return cmp.Or(cmp.Compare(abs(b.Total), abs(a.Total)), cmp.Compare(a.Func, b.Func))
	})
	return list
}

// outermost tells, in a pass over the rows of a Table, which nodes have no
// ancestor of the same key: it remembers where the open subtree of each ends.
type outermost []int32

func newOutermost(keys int) outermost { return make(outermost, keys) }

// enter visits node n, whose subtree ends at end.
func (o outermost) enter(n, key, end int32) bool {
	if n < o[key] {
		return false
	}
	o[key] = end
	return true
}
