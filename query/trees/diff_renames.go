package trees

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/calltree/diff"
	"github.com/dendroprof/dendro/store"
)

// mostSiblings is the maximum number of profiles of other benchmarks that are searched for
// renamed functions.
const mostSiblings = 400

// siblings compares all benchmarks of the two sides together, or returns nil where the
// comparison has them all, or they are too many. One benchmark alone may have too few samples
// to show what changed its functions' names.
func (c *comparison) siblings(ctx context.Context, st store.Store) (*diff.Diff, error) {
	r := c.r
	if r.inputs() || r.Against != "" || len(r.Benchmarks)+len(r.Params) == 0 || !r.Base.chosen() || !r.Head.chosen() {
		return nil, nil
	}
	q := r.Selection
	q.Benchmarks, q.Params, q.Types = nil, nil, []string{c.Type.Name}
	var side [2][]*calltree.Tree
	var count [2]int
	for i, q := range [2]store.Query{r.Base.narrow(q), r.Head.narrow(q)} {
		list, err := st.Profiles(ctx, q)
		if err != nil {
			return nil, err
		}
		count[i] = len(list)
		if len(list) == 0 || count[0]+count[1] > mostSiblings {
			return nil, nil
		}
		t, _, err := store.MergeTrees(ctx, st, q)
		if err != nil {
			return nil, err
		}
		side[i] = []*calltree.Tree{t}
	}
	wide, err := diff.Compare(side[0], side[1])
	if err == nil {
		wide.PerUnit(float64(count[0]), float64(count[1]))
	}
	return wide, err
}

// rename compares renamed functions with what they were, and notes inlined ones.
func (c *comparison) rename(ctx context.Context, st store.Store, trees [2][]*calltree.Tree, sides [2][]Input) error {
	if c.r.twoTypes() {
		return nil // a function that only waits is on one side only
	}
	wide, err := c.siblings(ctx, st)
	if err != nil {
		return err
	}
	if renames := c.renames(wide); len(renames) > 0 {
		if err := c.applyRenames(trees, sides, renames); err != nil {
			return err
		}
	}
	c.noteInlined(wide)
	return nil
}

// renames returns the functions that were renamed: those that the comparison shows, and those
// that all benchmarks together show.
func (c *comparison) renames(wide *diff.Diff) []diff.Rename {
	own := c.Renames()
	if wide == nil {
		return own
	}
	for _, x := range wide.Renames() {
		if c.onlyOn(x) && !slices.ContainsFunc(own, func(k diff.Rename) bool {
			return k.Base.Name == x.Base.Name || k.Head.Name == x.Head.Name
		}) {
			own = append(own, x)
		}
	}
	return own
}

// noteInlined notes the functions that were inlined: their rows have vanished, and the rise
// of their callers' own time is no cost.
func (c *comparison) noteInlined(wide *diff.Diff) {
	own := c.Inlined()
	if wide != nil {
		for _, x := range wide.Inlined() {
			if !slices.Contains(own, x) && c.only(x.Callee.Name, true) {
				own = append(own, x)
			}
		}
	}
	if len(own) > 0 {
		var names []string
		for _, x := range own {
			names = append(names, x.Callee.Name+" into "+x.Caller.Name)
		}
		c.note("inlined (vanished, and the caller's self rose by as much): %s", first(names))
	}
}

// first joins the first names, and the number of the others.
func first(names []string) string {
	const most = 3
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// onlyOn reports whether the comparison has the old name of a function on the base side only,
// and the new one on the head side only.
func (c *comparison) onlyOn(x diff.Rename) bool {
	return c.only(x.Base.Name, true) && c.only(x.Head.Name, false)
}

// only reports whether the base side alone, or the head side alone, has a function.
func (c *comparison) only(name string, base bool) bool {
	var sum diff.Pair
	for n := range int32(c.Len()) {
		if c.Name(n) == name {
			p := c.Total(n)
			sum.Base, sum.Head = sum.Base+p.Base, sum.Head+p.Head
		}
	}
	return (sum.Base != 0) == base && (sum.Head != 0) != base
}

// applyRenames compares the sides under the new names of functions, and notes them.
func (c *comparison) applyRenames(trees [2][]*calltree.Tree, sides [2][]Input, renames []diff.Rename) error {
	trees[0] = diff.WithNames(trees[0], renames)
	if err := c.compare(trees, sides); err != nil {
		return err
	}
	c.renamed = make(map[string]string, len(renames))
	var names []string
	for _, r := range renames {
		c.renamed[r.Head.Name] = r.Base.Name
		names = append(names, r.Base.Name+" → "+r.Head.Name)
	}
	c.note("renamed (same callers, similar values): %s", first(names))
	return nil
}
