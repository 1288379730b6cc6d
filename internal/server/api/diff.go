package api

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
)

// sides reads which part of the store stands on each side: what base-run,
// base-commit and base-branch, new-run and so on choose of the selection.
func (p *params) sides() (queries [2]store.Query, chosen bool) {
	q := p.selection()
	queries = [2]store.Query{q, q}
	var has [2]bool
	for i, side := range []string{"base", "new"} {
		for name, to := range map[string]*[]string{"run": &queries[i].Runs, "commit": &queries[i].Commits, "branch": &queries[i].Branches} {
			if v := p.texts(side + "-" + name); len(v) > 0 {
				*to, has[i] = v, true
			}
		}
	}
	switch {
	case has[0] != has[1]:
		p.fail("both sides are chosen, or none: base-run and new-run, -commit or -branch")
	case !has[0] && q.Last == 0:
		p.fail("say what to compare: base-run and new-run (-commit, -branch), or last=n against the runs before")
	}
	return queries, has[0]
}

// diff answers with the difference of two parts of the store in columns.
func (a *api) diff(w http.ResponseWriter, r *http.Request) error {
	p := paramsOf(r)
	sides, chosen := p.sides()
	by, s := p.choice("by", "profile", "value", "share"), p.sight()
	if err := p.finish(); err != nil {
		return err
	}
	if !chosen {
		now, before, err := store.NewestAndBefore(r.Context(), a.Store, sides[0])
		if err != nil {
			return err
		}
		if len(before) == 0 {
			return mistakef("there is no run before the last %d to compare with", sides[0].Last)
		}
		sides = [2]store.Query{{Profiles: store.IDs(before)}, {Profiles: store.IDs(now)}}
	}
	var trees [2]*calltree.Tree
	var count [2]int
	for i := range sides {
		var err error
		if trees[i], count[i], err = a.merged(r, sides[i], s); err != nil {
			return fmt.Errorf("%s: %w", [2]string{"base", "new"}[i], err)
		}
	}
	c, err := calltree.Compare(trees[:1], trees[1:])
	if err != nil {
		return mistake(err)
	}
	switch by {
	case "share":
		c.ByShare()
	case "profile":
		c.PerUnit(float64(count[0]), float64(count[1]))
	}
	writeDiff(w, c, s, by, count)
	return nil
}

// writeDiff writes a diff.
func writeDiff(w http.ResponseWriter, c *calltree.Diff, s *sight, by string, count [2]int) {
	var v outline[calltree.DiffRow] = c
	switch {
	case s.callers != "":
		v = c.Callers(s.named(c.Table, s.callers))
	case s.invert:
		v = c.Invert()
	}
	root := c.Larger(c.RootTotal())
	list := visible(s, v, func(r calltree.DiffRow) (int32, float64) {
		if root == 0 {
			return r.Depth, 1
		}
		return r.Depth, c.Larger(r.Total) / root
	})
	functions := tableOf(c.Functions)
	d := newDocument(w)
	d.member("type", c.Type)
	d.member("unit", c.Type.Unit)
	d.member("scale", c.Type.Scale)
	d.member("by", by)
	d.member("profiles", map[string]int{"base": count[0], "new": count[1]})
	d.member("divisor", map[string]float64{"base": c.Base.Divisor, "new": c.New.Divisor})
	whole := c.RootTotal()
	d.member("root_total", map[string]int64{"base": whole.Base, "new": whole.New})
	d.member("notes", append(append([]string{}, c.Notes...), unique(s.warnings)...))
	d.object("nodes", func() {
		n := len(list.rows)
		at := func(i int) *calltree.DiffRow { return &list.rows[i] }
		d.numbers("parent", n, func(i int) int64 { return int64(list.parent[i]) })
		d.numbers("depth", n, func(i int) int64 { return int64(at(i).Depth) })
		d.numbers("function", n, func(i int) int64 { return functions.number(at(i).Func) })
		d.numbers("baseSelf", n, func(i int) int64 { return at(i).Self.Base })
		d.numbers("newSelf", n, func(i int) int64 { return at(i).Self.New })
		d.numbers("baseTotal", n, func(i int) int64 { return at(i).Total.Base })
		d.numbers("newTotal", n, func(i int) int64 { return at(i).Total.New })
		d.list("delta", n, func(i int) any { return c.Delta(at(i).Total) })
		d.list("noise", n, func(i int) any { return c.Noise(at(i).Total) })
	})
	functions.write(d)
	d.member("leftOut", list.left)
	d.close()
}

// unique drops what was said of both sides.
func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
