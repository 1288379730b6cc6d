package trees

import (
	"slices"

	"github.com/dendroprof/dendro/analysis/own"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
)

// functionTable numbers the functions that columns refer to, in the order of the
// profile: it decides between rows of equal value.
type functionTable struct {
	all  []profile.Function
	used []int32 // of all
	at   []int32 // of each of all that is used: its number
	// Whose code each of all is; nil: unknown.
	own, runtime []bool

	renamed map[string]string // base names by name, of a diff
}

// tableOf returns the functions of n rows.
func tableOf(all []profile.Function, n int, of func(i int) int32) *functionTable {
	f := &functionTable{all: all, at: make([]int32, len(all))}
	for i := range n {
		f.at[of(i)] = 1
	}
	for fn := range f.at {
		if f.at[fn] != 0 {
			f.at[fn] = int32(len(f.used))
			f.used = append(f.used, int32(fn))
		}
	}
	return f
}

// tell finds out whose code the functions of a table are, which has all of them. Samples
// are the self values of every node, of one or two sides.
func (f *functionTable) tell(t *calltree.Table, samples ...[]int64) {
	f.own, f.runtime = own.Of(t, samples...), own.Runtime(t)
}

func (f *functionTable) number(fn int32) int64 { return int64(f.at[fn]) }

// write writes the functions.
func (f *functionTable) write(w *document.Writer) {
	w.Array("functions", len(f.used), func(i int) any {
		d := query.FunctionOf(&f.all[f.used[i]])
		d.Own = f.own != nil && f.own[f.used[i]]
		d.Runtime = f.runtime != nil && f.runtime[f.used[i]]
		d.BaseName = f.renamed[d.Function]
		return d
	})
}

// Category describes a category in a result in columns.
type Category struct {
	Name  string `json:"name"`
	Color string `json:"color"` // as the file names it: "yellow"
}

// writeCategories writes the categories of call nodes, without subcategories. Without
// categories it writes nothing.
func writeCategories(w *document.Writer, list []profile.Category, n int, of func(i int) profile.CategoryID) {
	if len(list) <= 1 || n > 0 && of(0) < 0 {
		return
	}
	number, groups := make([]int64, len(list)), []Category{}
	for i, c := range list {
		group := Category{c.Name, c.Color}
		at := slices.Index(groups, group)
		if at < 0 {
			at = len(groups)
			groups = append(groups, group)
		}
		number[i] = int64(at)
	}
	w.Numbers("category", n, func(i int) document.Number { return document.Whole(number[of(i)], 0) })
	w.Array("categories", len(groups), func(i int) any { return groups[i] })
}
