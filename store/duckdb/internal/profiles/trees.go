package profiles

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/bitset"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/encoding"
)

// vectors are those of the selected profiles, by position: cached, or encoded and
// decoded when they are read.
type vectors struct {
	ids   []int32
	limit int // size of the forest
	blob  [][]byte
	ready []*packedVector // where blob is nil
	modes [][]modeBlob
	keep  *cache // of decoded vectors, if they are still of that epoch; nil: no cache
	epoch int
}

type modeBlob struct {
	mode profile.FrameType
	blob []byte
}

// readVectors reads the trees of a selection from DuckDB, if they are not cached.
func (s *Store) readVectors(ctx context.Context, c *driver.Conn, sel *selection, modes bool) (*vectors, error) {
	n := len(sel.profiles)
	vs := &vectors{ids: sel.ids(), blob: make([][]byte, n), ready: make([]*packedVector, n), modes: make([][]modeBlob, n)}
	var missing []int32
	nodes := 0
	for i, id := range vs.ids {
		if vs.ready[i] = kept(&s.cache, &s.cache.vectors, id); vs.ready[i] != nil {
			continue
		}
		if vs.blob[i] = s.cache.takeBlob(id); vs.blob[i] == nil {
			missing = append(missing, int32(i))
			nodes += sel.profiles[i].Nodes
		}
	}
	if len(missing) > 0 {
		if !sel.once {
			if epoch, keep := s.cache.admit(bytesPerNode * nodes); keep {
				vs.keep, vs.epoch = &s.cache, epoch
			}
		}
		if err := s.part(sel, missing).readRows(ctx, c, "SELECT profile, paths FROM tree", "", vs.setBlobs); err != nil {
			return nil, err
		}
	}
	for _, i := range missing {
		if vs.blob[i] == nil {
			return nil, driver.Corruptf("the call tree of profile %s is missing", sel.profiles[i].ID)
		}
	}
	if !modes {
		return vs, nil
	}
	return vs, sel.readRows(ctx, c, "SELECT profile, paths, mode FROM tree_mode", " ORDER BY profile, mode", vs.setModes)
}

// preloadedNodes is the maximum number of call nodes of profiles that Preload reads. Their
// encoded vectors take up to a byte for each.
const preloadedNodes = 1 << 26

// Preload reads the vectors of many profiles in one statement.
func (s *Store) Preload(ctx context.Context, ids []store.ProfileID) (release func(), err error) {
	release = func() {}
	epoch, _ := s.cache.admit(0)
	_, err = s.withSelection(ctx, store.Query{Profiles: ids}, func(c *driver.Conn, sel *selection) error {
		if sel.nodes() > preloadedNodes {
			return nil
		}
		blobs := make(map[int32][]byte, len(sel.profiles))
		err := sel.readRows(ctx, c, "SELECT profile, paths FROM tree", "", func(ch driver.Chunk, _ func(int32) int32) {
			list := CopyBlobs(driver.Column[driver.Text](ch, 1))
			for i, id := range driver.Column[int32](ch, 0) {
				blobs[id] = list[i]
			}
		})
		if err == nil {
			release = s.cache.preload(epoch, blobs)
		}
		return err
	})
	return release, err
}

// readRows calls f with the rows of the selected profiles: chunks whose first columns
// are the id of the profile, whose position at returns, and a blob.
func (sel *selection) readRows(ctx context.Context, c *driver.Conn, sql, order string,
	f func(ch driver.Chunk, at func(id int32) int32)) error {
	pos := sel.positions()
	return sel.query(ctx, c, sql, order, func(ch driver.Chunk) error {
		f(ch, func(id int32) int32 { return pos[id-sel.lo] })
		return nil
	})
}

// query calls f with the result of a statement over the rows of the selected profiles in a
// table. The statement ends where its condition begins.
func (sel *selection) query(ctx context.Context, c *driver.Conn, sql, end string, f func(driver.Chunk) error) error {
	where, join := sel.condition()
	read := func() error { return c.Query(ctx, sql+" WHERE "+where+end, nil, f) }
	if !join {
		return read()
	}
	return c.ReadTx(func() error { return selectIDs(c, sel.ids()) }, read)
}

func (vs *vectors) setBlobs(ch driver.Chunk, at func(id int32) int32) {
	list := CopyBlobs(driver.Column[driver.Text](ch, 1))
	for i, id := range driver.Column[int32](ch, 0) {
		vs.blob[at(id)] = list[i]
	}
}

func (vs *vectors) setModes(ch driver.Chunk, at func(id int32) int32) {
	list, mode := CopyBlobs(driver.Column[driver.Text](ch, 1)), driver.Column[uint8](ch, 2)
	for i, id := range driver.Column[int32](ch, 0) {
		vs.modes[at(id)] = append(vs.modes[at(id)], modeBlob{profile.FrameType(mode[i]), list[i]})
	}
}

// at returns the vector of the profile at a position, valid until buf is used again.
// Different positions may be read concurrently.
func (vs *vectors) at(i int, buf *calltree.Vector) (calltree.Vector, error) {
	if vs.blob[i] == nil {
		return vs.ready[i].vector(buf), nil
	}
	var err error
	if *buf, err = encoding.Decode(vs.blob[i], vs.limit, *buf); err != nil {
		return calltree.Vector{}, fmt.Errorf("call tree %d: %w", i, err)
	}
	if vs.keep != nil {
		vs.ready[i], vs.blob[i] = packed(*buf), nil
		keep(vs.keep, &vs.keep.vectors, vs.epoch, vs.ids[i], vs.ready[i])
	}
	return *buf, nil
}

// entries returns the number of entries of the vectors, which is large if any has to be
// decoded first.
func (vs *vectors) entries() (n int) {
	for i, v := range vs.ready {
		if vs.blob[i] != nil {
			return math.MaxInt
		}
		n += v.values.len()
	}
	return n
}

// addTo adds the vector of the profile at a position to a sum over the forest.
func (vs *vectors) addTo(sum *pathSum, i int) error {
	if vs.blob[i] == nil {
		vs.ready[i].addTo(sum)
		return nil
	}
	v, err := vs.at(i, &sum.buf)
	for k, n := range v.Nodes {
		sum.add(n, v.Self[k])
	}
	return err
}

// pathSum is a sum of vectors over the forest.
type pathSum struct {
	self []int64    // of each path
	has  bitset.Set // paths that any of the vectors has, be their sum zero
	buf  calltree.Vector
}

func (sum *pathSum) add(path int32, value int64) {
	x := sum.self[path]
	if x == 0 {
		sum.has.Add(path)
	}
	sum.self[path] = x + value
}

// CopyBlobs copies a column of blobs into one allocation.
func CopyBlobs(col []driver.Text) [][]byte {
	size := 0
	for i := range col {
		size += len(col[i].Bytes())
	}
	mem := make([]byte, 0, size)
	list := make([][]byte, len(col))
	for i := range col {
		from := len(mem)
		mem = append(mem, col[i].Bytes()...)
		list[i] = mem[from:len(mem):len(mem)]
	}
	return list
}

// spread calls f for each of n things, in runs of neighbours, on at most
// driver.Workers goroutines, which worker numbers.
func spread(n, perWorker int, f func(worker, i int) error) error {
	workers := max(1, min(driver.Workers, n/perWorker))
	run := func(w int) error {
		for i := w * n / workers; i < (w+1)*n/workers; i++ {
			if err := f(w, i); err != nil {
				return err
			}
		}
		return nil
	}
	var group errgroup.Group
	for w := range workers - 1 {
		group.Go(func() error { return run(w) })
	}
	err := run(workers - 1)
	return cmp.Or(group.Wait(), err)
}

// perWorker is the minimum number of profiles for another goroutine.
const perWorker = 16

// Trees implements store.Reader. It reads the encoded vectors during the call; the
// stream decodes them.
func (s *Store) Trees(ctx context.Context, q store.Query, opts store.TreeOptions) (*store.TreeSet, error) {
	var b *vectors
	var v *view
	sel, err := s.withSelection(ctx, q, func(c *driver.Conn, sel *selection) (err error) {
		if b, err = s.readVectors(ctx, c, sel, opts.Modes); err != nil {
			return err
		}
		if v, err = s.dict.reader(ctx, c); err == nil {
			b.limit = len(v.rec)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if v == nil {
		return &store.TreeSet{Profiles: sel.profiles, Table: &calltree.Table{}, Vectors: func(func(store.TreeVector, error) bool) {}}, nil
	}
	paths, err := v.union(b)
	if err != nil {
		return nil, err
	}
	cut := v.forest.Cut(paths)
	return &store.TreeSet{Profiles: sel.profiles, Table: cut.Table, Vectors: streamVectors(ctx, v, b, cut)}, nil
}

// union returns the distinct paths of all vectors, ascending.
func (v *view) union(b *vectors) ([]int32, error) {
	seen := newMarks(len(v.rec))
	bufs := make([]calltree.Vector, driver.Workers)
	err := spread(len(b.ids), perWorker, func(w, i int) error {
		buf := &bufs[w]
		self, err := b.at(i, buf)
		seen.add(w, self)
		for _, m := range b.modes[i] {
			if err == nil {
				*buf, err = encoding.Decode(m.blob, b.limit, *buf)
				seen.add(w, *buf)
			}
		}
		return err
	})
	return seen.all().Members(), err
}

// marks are the sets of paths that each worker finds in vectors.
type marks struct {
	paths int          // of the forest
	by    []bitset.Set // of each worker; nil when it met none
}

func newMarks(paths int) *marks { return &marks{paths, make([]bitset.Set, driver.Workers)} }

func (m *marks) add(worker int, v calltree.Vector) {
	if m.by[worker] == nil {
		m.by[worker] = bitset.New(m.paths)
	}
	for _, p := range v.Nodes {
		m.by[worker].Add(p)
	}
}

// all returns the paths that any worker found.
func (m *marks) all() bitset.Set {
	all := bitset.New(m.paths)
	for _, set := range m.by {
		all.Unite(set)
	}
	return all
}

func streamVectors(ctx context.Context, v *view, b *vectors, cut *calltree.Cut) iter.Seq2[store.TreeVector, error] {
	return func(yield func(store.TreeVector, error) bool) {
		var buf calltree.Vector
		var values []int64 // the consumer's: it may change them
		for i := range b.ids {
			out, err := store.TreeVector{Profile: i}, ctx.Err()
			var self calltree.Vector
			if err == nil {
				self, err = b.at(i, &buf)
			}
			if err == nil {
				out.Vector = cut.Vector(self)
				values = append(values[:0], self.Self...)
				out.Vector.Self = values
				out.Modes, err = decodeModes(v, b.modes[i], cut)
			}
			if err != nil {
				yield(store.TreeVector{}, err)
				return
			}
			if !yield(out, nil) {
				return
			}
		}
	}
}

func decodeModes(v *view, list []modeBlob, cut *calltree.Cut) ([]store.ModeVector, error) {
	var modes []store.ModeVector
	for _, m := range list {
		vector, err := encoding.Decode(m.blob, len(v.rec), calltree.Vector{})
		if err != nil {
			return nil, err
		}
		modes = append(modes, store.ModeVector{Mode: m.mode, Vector: cut.Vector(vector)})
	}
	return modes, nil
}

// MergeTreesAbove adds up trees, as store.MergeTreesAbove has it: it decodes and adds the vectors on
// all processors over the whole forest, and cuts the result out of it.
func (s *Store) MergeTreesAbove(ctx context.Context, q store.Query, percent float64) (*calltree.Tree, []store.Profile, error) {
	var b *vectors
	var v *view
	var before *pathSum // of the parts of a large selection but the last one, which is b
	sel, err := s.withSelection(ctx, q, func(c *driver.Conn, sel *selection) (err error) {
		if err := store.OneType(sel.profiles, q); err != nil {
			return err
		}
		if err := store.CheckSum(sel.profiles); err != nil {
			return err
		}
		if v, err = s.dict.reader(ctx, c); err != nil {
			return err
		}
		for part := range s.parts(sel) {
			if b != nil {
				if before, err = v.sum(ctx, b, before); err != nil {
					return err
				}
			}
			if b, err = s.readVectors(ctx, c, part, false); err != nil {
				return err
			}
			b.limit = len(v.rec)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if err := store.OneType(sel.profiles, q); err != nil {
		return nil, nil, err
	}
	if len(sel.profiles) == 1 { // nothing to add: no array over the forest
		var buf calltree.Vector
		vector, err := b.at(0, &buf)
		if err != nil {
			return nil, nil, err
		}
		if err := countNodes(ctx, max(sel.profiles[0].Nodes, len(vector.Nodes))); err != nil {
			return nil, nil, err
		}
		cut := v.forest.Cut(vector.Nodes)
		return calltree.NewTree(cut.Table, store.SumType(sel.profiles), cut.Self(vector)), sel.profiles, nil
	}
	sum, err := v.sum(ctx, b, before)
	if err != nil {
		return nil, nil, err
	}
	defer v.release(sum)
	used, values := sum.has, sum.self
	if percent > 0 {
		used, values = v.above(sum, percent)
	}
	if err := countNodes(ctx, used.Len()); err != nil {
		return nil, nil, err
	}
	return v.forest.Sum(store.SumType(sel.profiles), used, values), sel.profiles, nil
}

// above returns the paths, and their values, of a sum without what is below paths with a
// total of less than a percentage of the whole. It returns all if values are negative or
// cancel.
func (v *view) above(sum *pathSum, percent float64) (used bitset.Set, values []int64) {
	for p := range sum.has.All() {
		if sum.self[p] <= 0 {
			return sum.has, sum.self
		}
	}
	parent, whole := v.forest.Paths.Parent, int64(0)
	values = slices.Clone(sum.self) // totals at first
	for p, up := range slices.Backward(parent) {
		if up == calltree.NoNode {
			whole += values[p]
		} else {
			values[up] += values[p]
		}
	}
	used = bitset.New(len(parent))
	large := bitset.New(len(parent))
	for p, up := range parent {
		if values[p] == 0 || up != calltree.NoNode && !large.Has(up) {
			continue
		}
		used.Add(int32(p))
		if float64(values[p])*100 >= percent*float64(whole) {
			large.Add(int32(p))
			values[p] = sum.self[p]
		}
	}
	return used, values
}

// parts yields a selection, or parts of it in the order of the file if it is large, and where
// their profiles stand in it.
func (s *Store) parts(sel *selection) iter.Seq2[*selection, []int32] {
	return func(yield func(*selection, []int32) bool) {
		list := column.Places[int32](len(sel.profiles))
		if sel.nodes() < manyNodes {
			yield(sel, list)
			return
		}
		slices.SortFunc(list, func(a, b int32) int { return cmp.Compare(sel.profiles[a].Seq, sel.profiles[b].Seq) })
		once := sel.once || !s.cache.keeps(bytesPerNode*sel.nodes())
		for len(list) > 0 {
			n, nodes := 0, 0
			for ; n < len(list) && nodes < manyNodes/2; n++ {
				nodes += sel.profiles[list[n]].Nodes
			}
			part := s.selectionOf(column.Pick(sel.profiles, list[:n]))
			part.once = once
			if !yield(part, list[:n]) {
				return
			}
			list = list[n:]
		}
	}
}

// sum adds all vectors to a sum, which may be nil. The caller releases the result.
func (v *view) sum(ctx context.Context, b *vectors, to *pathSum) (*pathSum, error) {
	parts := make([]*pathSum, driver.Workers)
	parts[0] = to
	alone := perWorker
	if b.entries() < len(v.rec)/2 {
		alone = len(b.ids) // another sum over the forest costs more than it saves
	}
	err := spread(len(b.ids), alone, func(w, i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if parts[w] == nil {
			parts[w] = v.newSum()
		}
		return b.addTo(parts[w], i)
	})
	if err != nil {
		return nil, err
	}
	sum := parts[0]
	for _, p := range parts[1:] {
		if p != nil {
			err = spread(len(p.has), wordsPerWorker, func(_, w int) error {
				if p.has[w] != 0 {
					from, to := 64*w, min(64*w+64, len(p.self))
					for i, x := range p.self[from:to] {
						sum.self[from+i] += x
					}
				}
				return nil
			})
			sum.has.Unite(p.has)
			v.release(p)
		}
	}
	return sum, err
}

// wordsPerWorker is the minimum number of words of a set of paths for another goroutine.
const wordsPerWorker = 1 << 10

// newSum returns a sum of nothing, release keeps it for the next query.
func (v *view) newSum() *pathSum {
	if p, ok := v.pathSums.Get().(*pathSum); ok {
		return p
	}
	return &pathSum{self: make([]int64, len(v.rec)), has: bitset.New(len(v.rec))}
}

func (v *view) release(p *pathSum) {
	for w, word := range p.has {
		if word != 0 {
			clear(p.self[64*w : min(64*w+64, len(p.self))])
		}
	}
	clear(p.has)
	v.pathSums.Put(p)
}
