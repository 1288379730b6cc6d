package trees

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
)

// mostSiblings is the maximum number of profiles of other benchmarks that are searched for
// renamed functions.
const mostSiblings = 400

// renames returns the functions that were renamed: those that the comparison shows, and those
// that all benchmarks of the two sides together show, of which one alone may have too few
// samples.
func (c *comparison) renames(ctx context.Context, st store.Store) ([]calltree.Rename, error) {
	own := c.Renames()
	r := c.r
	if r.inputs() || r.Against != "" || len(r.Benchmarks)+len(r.Params) == 0 || !r.Base.chosen() || !r.New.chosen() {
		return own, nil
	}
	q := r.Selection
	q.Benchmarks, q.Params, q.Types = nil, nil, []string{c.Type.Name}
	var side [2][]*calltree.Tree
	var count [2]int
	for i, q := range [2]store.Query{r.Base.narrow(q), r.New.narrow(q)} {
		list, err := st.Profiles(ctx, q)
		if err != nil {
			return nil, err
		}
		count[i] = len(list)
		if len(list) == 0 || count[0]+count[1] > mostSiblings {
			return own, nil
		}
		t, _, err := store.MergeTrees(ctx, st, q)
		if err != nil {
			return nil, err
		}
		side[i] = []*calltree.Tree{t}
	}
	wide, err := calltree.Compare(side[0], side[1])
	if err != nil {
		return nil, err
	}
	wide.PerUnit(float64(count[0]), float64(count[1]))
	for _, x := range wide.Renames() {
		if c.onlyOn(x) && !slices.ContainsFunc(own, func(k calltree.Rename) bool { return k.Base.Name == x.Base.Name || k.New.Name == x.New.Name }) {
			own = append(own, x)
		}
	}
	return own, nil
}

// onlyOn reports whether the comparison has the old name of a function on the base side only,
// and the new one on the new side only.
func (c *comparison) onlyOn(x calltree.Rename) bool {
	var old, fresh calltree.Pair
	for n := range int32(c.Len()) {
		switch p := c.Total(n); c.Name(n) {
		case x.Base.Name:
			old.Base, old.New = old.Base+p.Base, old.New+p.New
		case x.New.Name:
			fresh.Base, fresh.New = fresh.Base+p.Base, fresh.New+p.New
		}
	}
	return old.Base != 0 && old.New == 0 && fresh.New != 0 && fresh.Base == 0
}

// applyRenames compares the sides under the new names of functions, and notes them.
func (c *comparison) applyRenames(trees [2][]*calltree.Tree, sides [2][]Input, renames []calltree.Rename) error {
	trees[0] = calltree.WithNames(trees[0], renames)
	if err := c.compare(trees, sides); err != nil {
		return err
	}
	c.renamed = make(map[string]string, len(renames))
	var names []string
	for _, r := range renames {
		c.renamed[r.New.Name] = r.Base.Name
		names = append(names, r.Base.Name+" → "+r.New.Name)
	}
	const most = 3
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	c.note("renamed (same callers, similar values): %s", strings.Join(names, ", "))
	return nil
}
