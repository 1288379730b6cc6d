package profiles

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/internal/prefixtree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// dictionary is the store's forest: functions and call paths by their ids in the file.
// Readers get a view of the committed state. The one writer has the same columns with
// hash tables and appends to them behind the end of every view. Everything is loaded
// when it is first needed.
type dictionary struct {
	mu    sync.Mutex
	names *names // committed functions; nil: not loaded
	view  *view  // committed functions and paths; nil: not loaded or outdated

	parent, item, rec []int32 // committed paths; nil: not loaded
	loaded            bool

	w *writer // nil: to be made of the committed columns
}

// names are the committed functions.
type names struct {
	functions []profile.Function

	once   sync.Once
	sorted []int32 // in byte order of names
}

// view is the committed forest for readers.
type view struct {
	*names
	forest   *calltree.Forest // without hash tables: it can be cut, not grown
	rec      []int32
	pathSums sync.Pool // of *pathSum over this forest

	tallyPool sync.Pool // of *tally over this forest
}

// index sorts the functions at the first call.
func (n *names) index() {
	n.once.Do(func() {
		n.sorted = column.Places[int32](len(n.functions))
		n.sortByName(n.sorted)
	})
}

// find returns the known functions of some names, each once.
func (n *names) find(list []string) []int32 {
	if len(list) == 0 {
		return nil
	}
	n.index()
	var fns []int32
	for _, name := range list {
		at, ok := slices.BinarySearchFunc(n.sorted, name, func(id int32, name string) int {
			return strings.Compare(n.functions[id].Name, name)
		})
		if ok {
			fns = append(fns, n.sorted[at])
		}
	}
	slices.Sort(fns)
	return slices.Compact(fns)
}

func (n *names) sortByName(ids []int32) {
	slices.SortFunc(ids, func(a, b int32) int { return strings.Compare(n.functions[a].Name, n.functions[b].Name) })
}

// reset drops everything.
func (d *dictionary) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names, d.view, d.parent, d.item, d.rec, d.loaded, d.w = nil, nil, nil, nil, nil, false, nil
}

// functionNames returns the committed functions.
func (d *dictionary) functionNames(ctx context.Context, c *driver.Conn) (*names, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.loadNames(ctx, c)
}

// reader returns the committed forest.
func (d *dictionary) reader(ctx context.Context, c *driver.Conn) (*view, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.loadView(ctx, c)
}

func (d *dictionary) loadNames(ctx context.Context, c *driver.Conn) (*names, error) {
	if d.names != nil {
		return d.names, nil
	}
	var list []functionRow
	var row functionRow
	err := c.Rows(ctx, "FROM fn", nil, row.fields(), func() error {
		list = append(list, row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	functions := make([]profile.Function, len(list))
	for _, row := range list {
		if row.id < 0 || int(row.id) >= len(list) || functions[row.id].Name != "" {
			return nil, driver.Corruptf("function %d of %d", row.id, len(list))
		}
		functions[row.id] = row.Function
	}
	d.names = &names{functions: functions}
	return d.names, nil
}

func (d *dictionary) loadView(ctx context.Context, c *driver.Conn) (*view, error) {
	if d.view != nil {
		return d.view, nil
	}
	n, err := d.loadNames(ctx, c)
	if err != nil {
		return nil, err
	}
	if !d.loaded {
		if err := d.loadPaths(ctx, c, len(n.functions)); err != nil {
			return nil, err
		}
	}
	d.view = &view{names: n, rec: d.rec, forest: &calltree.Forest{
		Functions: n.functions,
		Paths:     prefixtree.Tree{Parent: d.parent, Item: d.item},
	}}
	return d.view, nil
}

// loadPaths reads call_path chunk by chunk straight into columns.
func (d *dictionary) loadPaths(ctx context.Context, c *driver.Conn, functions int) error {
	count, err := c.Number(ctx, "SELECT count(*) FROM call_path")
	if err != nil {
		return err
	}
	parent, item, rec := make([]int32, count), make([]int32, count), make([]int32, count)
	for p := range item {
		item[p] = -1
	}
	err = c.Query(ctx, "SELECT id, parent, fn, rec FROM call_path", nil, func(ch driver.Chunk) error {
		up, fn, r := driver.Column[int32](ch, 1), driver.Column[int32](ch, 2), driver.Column[int32](ch, 3)
		for i, id := range driver.Column[int32](ch, 0) {
			if id < 0 || int64(id) >= count || item[id] >= 0 || up[i] < -1 || up[i] >= id || fn[i] < 0 || int(fn[i]) >= functions || r[i] < -1 ||
				r[i] >= id {
				return driver.Corruptf("call path %d of %d: parent %d, function %d", id, count, up[i], fn[i])
			}
			parent[id], item[id], rec[id] = up[i], fn[i], r[i]
		}
		return nil
	})
	if err != nil {
		return err
	}
	if slices.Contains(item, -1) {
		return driver.Corruptf("call paths are missing")
	}
	d.parent, d.item, d.rec, d.loaded = parent, item, rec, true
	return nil
}

// writer appends to the dictionary in one transaction after the other. It belongs to
// the holder of Store.write.
type writer struct {
	functions []profile.Function
	ids       intern.Index // of functions, by name
	paths     prefixtree.Tree
	rec       []int32

	committed, committedFns int // what of it is in the file
	changedFns              map[int32]bool
	otherCode               bool // of one of them, see store.OtherCode
	shared                  bool // functions is read by views: copy before a change

	raw map[string]map[int32]bool // group: functions with an example of a raw name

	translations calltree.Translations // of importers' forests

	room Room // of what is being added; nil: there is no limit
}

// Room reports whether so many paths and bytes of text may be added, and counts them. What does
// not fit is calltree.Refused.
type Room func(paths int, text int64) bool

func (r Room) full(paths int, text int64) bool { return r != nil && !r(paths, text) }

// textOf returns the bytes of what a function is called and where it is.
func textOf(fn *profile.Function) int64 {
	return int64(len(fn.Name) + len(fn.Module) + len(fn.File) + len(fn.Language) + len(fn.SystemName))
}

// writer returns the writer, at first made of the committed columns.
func (d *dictionary) writer(ctx context.Context, c *driver.Conn) (*writer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.w != nil {
		return d.w, nil
	}
	v, err := d.loadView(ctx, c)
	if err != nil {
		return nil, err
	}
	w := &writer{functions: slices.Clip(v.functions), rec: slices.Clip(v.rec),
		committed: len(d.item), committedFns: len(v.functions), shared: true,
		changedFns: map[int32]bool{}}
	for id := range w.functions {
		w.ids.Add(intern.String(w.functions[id].Name), int32(id))
	}
	w.paths.Load(slices.Clip(d.parent), slices.Clip(d.item))
	d.w = w
	return w, nil
}

// commit makes the writer's additions visible.
func (d *dictionary) commit() {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.w
	if len(w.functions) != w.committedFns || len(w.changedFns) > 0 {
		d.names, d.view = &names{functions: slices.Clip(w.functions)}, nil
		w.committedFns, w.shared, w.otherCode = len(w.functions), true, false
		clear(w.changedFns)
	}
	if n := w.paths.Len(); n != w.committed {
		d.parent, d.item, d.rec, d.view = w.paths.Parent[:n:n], w.paths.Item[:n:n], w.rec[:n:n], nil
		w.committed = n
	}
}

// rollback drops the writer's additions.
func (d *dictionary) rollback() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.w = nil
}

// Path implements calltree.Interner.
func (w *writer) Path(parent, fn int32) int32 {
	if w.room != nil {
		if id, ok := w.paths.Find(parent, fn); ok {
			return id
		}
		if w.room.full(1, 0) {
			return calltree.Refused
		}
	}
	n := w.paths.Len()
	id := w.paths.Child(parent, fn)
	if int(id) == n {
		w.rec = append(w.rec, w.recursion(parent, fn))
	}
	return id
}

// recursion returns the nearest path at or above p with the function.
func (w *writer) recursion(p, fn int32) int32 {
	for ; p != calltree.NoNode && w.paths.Item[p] != fn; p = w.paths.Parent[p] {
	}
	return p
}

func (w *writer) depth(p int32) int32 {
	d := int32(-1)
	for ; p != calltree.NoNode; p = w.paths.Parent[p] {
		d++
	}
	return d
}

// Function implements calltree.Interner. It merges new attributes with known ones.
func (w *writer) Function(fn profile.Function) int32 {
	h := intern.String(fn.Name)
	id, ok := w.ids.Find(h, func(id int32) bool { return w.functions[id].Name == fn.Name })
	if !ok {
		if w.room.full(0, textOf(&fn)) {
			return calltree.Refused
		}
		id = int32(len(w.functions))
		fn.Name = strings.Clone(fn.Name)
		w.functions = append(w.functions, fn)
		w.ids.Add(h, id)
	} else if merged := calltree.MergeAttributes(w.functions[id], fn); merged != w.functions[id] &&
		!w.room.full(0, max(0, textOf(&merged)-textOf(&w.functions[id]))) {
		if w.shared {
			w.functions, w.shared = slices.Clone(w.functions), false
		}
		w.otherCode = w.otherCode || int(id) < w.committedFns && store.OtherCode(w.functions[id], merged)
		w.functions[id] = merged
		w.changedFns[id] = true
	}
	return id
}
