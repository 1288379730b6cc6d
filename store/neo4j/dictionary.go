package neo4j

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/store/neo4j/internal/identity"
)

// dictionary holds the functions and paths that were read, as one forest that only
// grows. The id of a path defines the path, so an entry never becomes wrong;
// attributes of functions can change, and are read again when the database counts such
// a change.
type dictionary struct {
	mu         sync.Mutex
	forest     *calltree.Forest
	functions  map[int64]int32 // by id: the forest's
	paths      map[int64]int32
	attributes int64 // the database's count of changes to attributes, as of the forest's
	view       *calltree.Forest
}

func (d *dictionary) reset() {
	d.forest, d.functions, d.paths = new(calltree.Forest), map[int64]int32{}, map[int64]int32{}
}

// snapshot returns the current forest for readers without the lock: the same one as
// before if nothing was added, because it keeps its layout.
func (d *dictionary) snapshot() *calltree.Forest {
	if d.view == nil || d.view.Paths.Len() != d.forest.Paths.Len() || len(d.view.Functions) != len(d.forest.Functions) {
		d.view = d.forest.Snapshot()
	}
	return d.view
}

// load makes sure that d has the paths of values, and functions with their current
// attributes. The caller holds the lock.
func (d *dictionary) load(t *bolt.Tx, m model, values []sparse, functions []int64) error {
	if err := d.refresh(t, m); err != nil {
		return err
	}
	links := map[int64]link{}
	need := func(id int64) bool { _, known := d.paths[id]; return !known }
	if err := m.structure(t, values, need, func(ids, parents, fns []int64) {
		for i, id := range ids {
			if need(id) {
				links[id] = link{parent: parents[i], function: fns[i]}
			}
		}
	}); err != nil {
		return err
	}
	wanted, err := d.wanted(values, links)
	if err != nil {
		return err
	}
	for _, id := range wanted {
		functions = append(functions, links[id].function)
	}
	if err := d.loadFunctions(t, m, functions); err != nil {
		return err
	}
	for _, id := range wanted {
		l, parent := links[id], calltree.NoNode
		if l.parent != identity.Root {
			parent = d.paths[l.parent]
		}
		d.paths[id] = d.forest.Path(parent, d.functions[l.function])
	}
	return nil
}

// link is where a path belongs: the path that calls it, or rootPath, and its function.
type link struct {
	parent, function int64
	wanted           bool
}

// wanted returns the paths of values that d does not have and those that lead to them,
// parents before children. They must be among the links.
func (d *dictionary) wanted(values []sparse, links map[int64]link) (list []int64, err error) {
	var up []int64
	for _, v := range values {
		for _, id := range v.paths {
			for up = up[:0]; id != identity.Root; {
				if _, known := d.paths[id]; known {
					break
				}
				l, ok := links[id]
				switch {
				case !ok:
					return nil, bolt.Changed("a path is gone")
				case identity.Path(l.parent, l.function) != id: // another transaction's commit is being carried out
					return nil, bolt.Changed("a path is there without its caller")
				}
				if l.wanted {
					break
				}
				l.wanted = true
				links[id] = l
				up, id = append(up, id), l.parent
			}
			slices.Reverse(up)
			list = append(list, up...)
		}
	}
	return list, nil
}

// missing returns the distinct ids that m does not have.
func missing(ids []int64, m map[int64]int32) []int64 {
	var list []int64
	for _, id := range ids {
		if _, ok := m[id]; !ok {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// loadFunctions reads functions that d does not have.
func (d *dictionary) loadFunctions(t *bolt.Tx, m model, ids []int64) error {
	want := missing(ids, d.functions)
	for part := range slices.Chunk(want, 20_000) {
		n := 0
		if err := readFunctions(t, m, part, func(id int64, f profile.Function) {
			d.functions[id] = d.forest.Function(f)
			n++
		}); err != nil {
			return err
		}
		if n < len(part) {
			return bolt.Changed("a function is gone")
		}
	}
	return nil
}

// readFunctions calls f with the functions of the ids, or with all (nil).
func readFunctions(t *bolt.Tx, m model, ids []int64, f func(id int64, fn profile.Function)) error {
	statement := "MATCH (f:" + m.functions() + ") RETURN collect(f {.*})"
	if ids != nil {
		statement = "UNWIND $ids AS id MATCH (f:" + m.functions() + " {id: id}) RETURN collect(f {.*})"
	}
	r, err := t.One(statement, map[string]any{"ids": ids})
	if err != nil {
		return err
	}
	for _, n := range r.PropsList(0) {
		f(n.Int("id"), readFunction(n))
	}
	return nil
}

// refresh reads the attributes of the known functions again if any have changed. It
// writes to a copy, because others read snapshots of the forest.
func (d *dictionary) refresh(t *bolt.Tx, m model) error {
	r, err := t.One("MATCH (d:Dendro {id: 'dendro'}) RETURN d.attributes", nil)
	if err != nil || r.Int(0) == d.attributes {
		return err
	}
	if len(d.functions) == 0 { // none to read again
		d.attributes = r.Int(0)
		return nil
	}
	fresh := slices.Clone(d.forest.Functions)
	if err := readFunctions(t, m, nil, func(id int64, f profile.Function) {
		if at, ok := d.functions[id]; ok {
			fresh[at] = f
		}
	}); err != nil {
		return err
	}
	d.forest.Functions, d.attributes, d.view = fresh, r.Int(0), nil
	return nil
}

// vector translates values into a vector over the forest, without ancestors whose own
// value is zero. Every path must be known.
func (d *dictionary) vector(of sparse) calltree.Vector {
	var v calltree.Vector
	for i, id := range of.paths {
		if of.selfs[i] != 0 {
			v.Nodes, v.Self = append(v.Nodes, d.paths[id]), append(v.Self, of.selfs[i])
		}
	}
	return calltree.AddVectors(v)
}

// FunctionNames implements store.Reader.
func (s *Store) FunctionNames(ctx context.Context) (list []profile.Function, err error) {
	err = s.db.Read(ctx, func(t *bolt.Tx) error {
		list = nil
		return readFunctions(t, s.model, nil, func(_ int64, f profile.Function) { list = append(list, f) })
	})
	slices.SortFunc(list, byName)
	return list, err
}

func byName(a, b profile.Function) int { return strings.Compare(a.Name, b.Name) }
