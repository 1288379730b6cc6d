package neo4j

import (
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store/neo4j/internal/csv"
	"github.com/dendroprof/dendro/store/neo4j/internal/identity"
)

// How the models lay trees out in CSV files.

var (
	pathTypes = csv.Columns{{"id", "ID(CallPath){id-type:long}"}, {"depth", "long"}}
	treeTypes = csv.Columns{{"", "ID(Function){id-type:long}"}, {"key", "string"}, {"profileKey", "string"}, {"codePath", "string"},
		{"depth", "long"},
		{"baseSamples", "long"}, {"totalSamples", "long"}, {"base", "double"}, {"total", "double"}}
	distance = csv.Column{"distance", "long"}

	potentialTypes = csv.Columns{{"p", "double[]"}, {"c", "double[]"}}
)

func (shared) bulk(b *Bulk, profile int64, c *content) error {
	recursion := c.recursion()
	for n, id := range c.paths {
		fn := c.functions[c.cut.Func[n]]
		if have, ok := b.paths[id]; ok {
			if have != fn {
				return identity.Collision(id, c.spell(int32(n)), "a path to "+b.functions[have].Name)
			}
			continue
		}
		b.paths[id] = fn
		b.files.Nodes("CallPath", pathTypes).Row(id, int64(c.cut.Depth[n]))
		b.files.Link("OF", "CallPath", "Function", id, fn)
		if c.cut.Parent[n] != calltree.NoNode {
			b.files.Link("CALLS", "CallPath", "CallPath", c.parent(n), id)
		}
		if up := recursion[n]; up != calltree.NoNode {
			b.files.Links("RECURS", "CallPath", "CallPath", distance).Row(c.paths[up], id, int64(c.cut.Depth[n]-c.cut.Depth[up]))
		}
	}
	if b.potentials > 0 {
		p, corrections := c.potentials(recursion, b.potentials)
		w := b.files.Links("SAMPLED", "Profile", "CallPath", slices.Concat(csv.Columns{{"self", "long"}, {"total", "long"}}, potentialTypes)...)
		for n, id := range c.paths {
			w.Row(profile, id, c.tree.Self[n], c.tree.Total[n], p[n+1], corrections[n+1])
		}
	}
	for _, r := range c.rows {
		w := b.files.Links("RAN", "Profile", "Function", csv.Column{"self", "long"}, csv.Column{"total", "long"})
		w.Row(profile, c.functions[r.Func], r.Self, r.Total)
	}
	return nil
}

func (thesis) bulk(b *Bulk, profile int64, c *content) error {
	recursion := c.recursion()
	number := make([]int64, c.cut.Len())
	root := b.number()
	arrays := func(n int) []any { return nil }
	types := treeTypes
	if b.potentials > 0 {
		p, corrections := c.potentials(recursion, b.potentials)
		arrays = func(n int) []any { return []any{p[n], corrections[n]} } // 0 is the root
		types = slices.Concat(treeTypes, potentialTypes)
	}
	w := b.files.Nodes("Function", types)
	whole := c.whole()
	w.Row(append([]any{root, nodeKey(c.key, -1), c.key, rootName, int64(0), int64(0), whole, 0.0, c.share(whole)}, arrays(0)...)...)
	b.files.Link("ROOT", "Profile", "Function", profile, root)
	for n := range number {
		number[n] = b.number()
		self, total := c.tree.Self[n], c.tree.Total[n]
		w.Row(append([]any{number[n], nodeKey(c.key, n), c.key, c.names[c.cut.Func[n]], int64(c.cut.Depth[n]) + 1, self, total, c.share(self),
			c.share(total)}, arrays(n+1)...)...)
		caller := root
		if up := c.cut.Parent[n]; up != calltree.NoNode {
			caller = number[up]
		}
		b.files.Link("INVOKES", "Function", "Function", caller, number[n])
		if up := recursion[n]; up != calltree.NoNode {
			b.files.Links("RECURS", "Function", "Function", distance).Row(number[up], number[n], int64(c.cut.Depth[n]-c.cut.Depth[up]))
		}
	}
	return nil
}
