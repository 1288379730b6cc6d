package transfer

import (
	"maps"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// forests are the forests of a message, each as far as it was sent: a function or a path
// goes once, before its first use.
type forests struct {
	list    []*forest
	written map[*calltree.Forest]*forest // by origin
	none    calltree.Forest              // of a record that has none
}

// forest is the part of a forest that is in the message, in the order of the message.
type forest struct {
	calltree.Forest
	sent struct{ functions, paths int }

	// When writing: the forest that is sent, its number, and the translation of its ids.
	from        *calltree.Forest
	number      int
	translation *calltree.Translation
}

// next codes which forest the following paths are of; when writing, it is from.
func (fs *forests) next(c *coder, from *calltree.Forest) *forest {
	if c.reading {
		var at int
		if code(c, &at); at == len(fs.list) {
			fs.list = append(fs.list, &forest{})
		}
		if at < 0 || at >= len(fs.list) {
			c.fail("forest %d of %d", at, len(fs.list))
			return &forest{}
		}
		return fs.list[at]
	}
	if from == nil {
		from = &fs.none
	}
	f := fs.written[from.Origin()]
	if f == nil {
		f = &forest{number: len(fs.list)}
		f.translation = calltree.NewTranslation(f)
		fs.list = append(fs.list, f)
		if fs.written == nil {
			fs.written = map[*calltree.Forest]*forest{}
		}
		fs.written[from.Origin()] = f
	}
	f.from = from
	code(c, &f.number)
	return f
}

// added codes the functions and paths that were not sent yet.
func (f *forest) added(c *coder) {
	functions, parents, items := f.Functions[f.sent.functions:], f.Paths.Parent[f.sent.paths:], f.Paths.Item[f.sent.paths:]
	code(c, &functions)
	column(c, &parents)
	if column(c, &items); c.reading && c.err == nil {
		f.add(c, functions, parents, items)
	}
	f.sent.functions, f.sent.paths = len(f.Functions), f.Paths.Len()
}

// add appends functions and paths that were read to the forest, and checks them.
func (f *forest) add(c *coder, functions []profile.Function, parents, items []int32) {
	for _, fn := range functions {
		if n := len(f.Functions); int(f.Function(fn)) != n {
			c.fail("function %q occurs twice", fn.Name)
			return
		}
	}
	if len(parents) != len(items) {
		c.fail("%d functions of %d paths", len(items), len(parents))
		return
	}
	for i, parent := range parents {
		n := f.Paths.Len()
		if parent < calltree.NoNode || int(parent) >= n {
			c.fail("path %d is called by path %d", n, parent)
			return
		}
		if fn := items[i]; fn < 0 || int(fn) >= len(f.Functions) {
			c.fail("function %d of %d", fn, len(f.Functions))
			return
		}
		if int(f.Path(parent, items[i])) != n {
			c.fail("path %d occurs twice", n)
			return
		}
	}
}

// vector codes self values of paths, which ascend and are not zero: engines rely on it.
func (f *forest) vector(c *coder, v *calltree.Vector) {
	var sent calltree.Vector
	if !c.reading {
		sent = f.translation.Vector(f.from, *v)
	}
	f.added(c)
	c.indexes(&sent.Nodes, f.Paths.Len())
	if column(c, &sent.Self); len(sent.Self) != len(sent.Nodes) {
		c.fail("%d values of %d nodes", len(sent.Self), len(sent.Nodes))
	}
	if !c.reading || c.err != nil {
		return
	}
	for i, n := range sent.Nodes {
		if i > 0 && n <= sent.Nodes[i-1] {
			c.fail("the paths of a vector do not ascend")
			return
		}
		if sent.Self[i] == 0 {
			c.fail("path %d has no value", n)
			return
		}
	}
	*v = sent
}

// rawNames codes examples of names of functions.
func (f *forest) rawNames(c *coder, v *map[int32]string) {
	var fns []int32
	var names []string
	for _, fn := range slices.Sorted(maps.Keys(*v)) { // none when reading
		fns, names = append(fns, f.Function(f.from.Functions[fn])), append(names, (*v)[fn])
	}
	f.added(c)
	c.indexes(&fns, len(f.Functions))
	if code(c, &names); len(names) != len(fns) {
		c.fail("%d examples of %d names", len(names), len(fns))
	}
	if !c.reading || c.err != nil || len(fns) == 0 {
		return
	}
	*v = make(map[int32]string, len(fns))
	for i, fn := range fns {
		(*v)[fn] = names[i]
	}
}
