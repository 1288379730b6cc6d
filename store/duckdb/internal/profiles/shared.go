package profiles

import (
	"cmp"
	"context"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/cost"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/encoding"
)

// What follows shares the forest, its one writer and the encoding of vectors with package
// windows, whose vectors are over the same paths.

// Growth is the forest in a transaction that may add to it.
type Growth struct {
	s     *Store
	w     *writer
	other int32 // path of what has no room
}

// Grow runs f in one transaction, as the one call that changes profiles or windows, and
// writes the paths that f added. After the commit, and before anybody reads what was
// committed, it calls committed.
func Grow(ctx context.Context, s *Store, f func(c *driver.Conn, g *Growth) error, committed func()) error {
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.file.EnterToWrite(ctx); err != nil {
		return err
	}
	defer s.file.Leave()
	s.sweeper.reset()
	err := s.file.With(func(c *driver.Conn) error {
		w, err := s.dict.writer(ctx, c)
		if err != nil {
			return err
		}
		c.Begin()
		for _, step := range []func() error{
			func() error { return f(c, &Growth{s: s, w: w}) },
			func() error { return w.writeFunctions(ctx, c) },
			func() error { return w.writePaths(c) },
			ctx.Err,
		} {
			if err := step(); err != nil {
				c.Rollback()
				return err
			}
		}
		s.publish.Lock()
		defer s.publish.Unlock()
		if err := c.Commit(); err != nil {
			return err
		}
		s.dict.commit()
		committed()
		return nil
	})
	if err != nil && s.dict.grown() {
		s.dict.rollback()
	}
	return err
}

// grown reports whether the writer has what is not committed.
func (d *dictionary) grown() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.w
	return w != nil && (w.paths.Len() != w.committed || len(w.functions) != w.committedFns || len(w.changedFns) > 0)
}

// Paths returns the number of paths with those that were added.
func (g *Growth) Paths() int { return g.w.paths.Len() }

// Encode adds the paths of a vector over a forest to that of the store, and returns the vector
// over it as it is stored. Paths for which there is no room are together in the root path of the
// function other; folded is their number.
func (g *Growth) Encode(from *calltree.Forest, v calltree.Vector, room Room, other string) (blob []byte, folded int) {
	if v.Len() == 0 {
		return g.s.vectors.Encode(nil, nil), 0
	}
	g.w.room = room
	paths := g.w.translations.Of(from, g.w).Paths(from, v.Nodes, g.s.rows.paths)
	g.w.room = nil
	list := g.s.rows.values[:0]
	for i, p := range paths {
		if p == calltree.Refused {
			if folded == 0 {
				g.other = g.w.Path(calltree.NoNode, g.w.Function(profile.Function{Name: other, Kind: profile.KindLabel}))
			}
			p = g.other
			folded++
		}
		list = append(list, pathValue{p, v.Self[i]})
	}
	g.s.rows.paths, g.s.rows.values = paths, list
	slices.SortFunc(list, func(a, b pathValue) int { return cmp.Compare(a.path, b.path) })
	nodes, self := paths[:0], make([]int64, 0, len(list))
	for rest := list; len(rest) > 0; {
		path, sum := rest[0].path, int64(0)
		for ; len(rest) > 0 && rest[0].path == path; rest = rest[1:] {
			sum += rest[0].self
		}
		if sum != 0 {
			nodes, self = append(nodes, path), append(self, sum)
		}
	}
	return g.s.vectors.Encode(nodes, self), folded
}

// VectorSum adds encoded vectors over a forest. It needs no lock, and memory for the whole
// forest.
type VectorSum struct {
	sw    sweeper
	enc   encoding.Encoder
	paths int
}

// NewVectorSum returns one for vectors over the paths that the connection's snapshot has.
func NewVectorSum(ctx context.Context, c *driver.Conn) (*VectorSum, error) {
	n, err := c.Number(ctx, "SELECT count(*) FROM call_path")
	if err != nil {
		return nil, err
	}
	x := &VectorSum{paths: int(n)}
	x.sw.grow(x.paths)
	return x, nil
}

// Add adds a vector to the sum that Take returns.
func (x *VectorSum) Add(blob []byte) error {
	v, err := encoding.Decode(blob, x.paths, calltree.Vector{Nodes: x.sw.nodes, Self: x.sw.values})
	if err != nil {
		return err
	}
	x.sw.nodes, x.sw.values = v.Nodes, v.Self
	x.sw.add(v)
	return nil
}

// Take returns the encoded sum of what was added since the last call.
func (x *VectorSum) Take() []byte {
	x.sw.takeVector()
	return x.enc.Encode(x.sw.nodes, x.sw.values)
}

// Snapshot runs begin, which starts a transaction, while nobody commits.
func Snapshot(s *Store, begin func() error) error {
	s.publish.RLock()
	defer s.publish.RUnlock()
	return begin()
}

// PathSum is a sum of encoded vectors over the committed forest.
type PathSum struct {
	v   *view
	sum *pathSum
}

// NewSum returns a sum of nothing over all paths that a snapshot has which began before.
func NewSum(ctx context.Context, s *Store, c *driver.Conn) (*PathSum, error) {
	v, err := s.dict.reader(ctx, c)
	if err != nil {
		return nil, err
	}
	return &PathSum{v: v}, nil
}

// Add adds vectors on several goroutines.
func (p *PathSum) Add(ctx context.Context, blobs [][]byte) (err error) {
	p.sum, err = p.v.sum(ctx, &vectors{ids: make([]int32, len(blobs)), blob: blobs, ready: make([]*packedVector, len(blobs)),
		limit: len(p.v.rec)}, p.sum)
	return err
}

// Tree returns the sum as a tree, whose memory it counts before. It is called once.
func (p *PathSum) Tree(ctx context.Context, typ profile.ValueType) (*calltree.Tree, error) {
	if p.sum == nil {
		return calltree.NewTree(p.v.forest.Cut(nil).Table, typ, nil), nil
	}
	defer p.v.release(p.sum)
	if err := countNodes(ctx, p.sum.has.Len()); err != nil {
		return nil, err
	}
	return p.v.forest.Sum(typ, p.sum.has, p.sum.self), nil
}

// nodeBytes is about the memory of a node of a tree and of what is made from it.
const nodeBytes = 96

// countNodes counts the memory of a tree before it is made.
func countNodes(ctx context.Context, nodes int) error {
	return cost.Of(ctx).Spend(cost.Memory, int64(nodes)*nodeBytes)
}

// Forest returns the forest of the sum.
func (p *PathSum) Forest() *calltree.Forest { return p.v.forest }

// FunctionSum finds what a function took in encoded vectors. The caller releases it.
type FunctionSum struct {
	v   *view
	all *tallies // nil: no path has the function
	by  []functionWorker
}

// functionWorker belongs to one goroutine.
type functionWorker struct {
	buf  calltree.Vector
	rows columns
}

// NewFunctionSum returns one for the function of a name.
func NewFunctionSum(ctx context.Context, s *Store, c *driver.Conn, name string) (*FunctionSum, error) {
	v, err := s.dict.reader(ctx, c)
	if err != nil {
		return nil, err
	}
	f := &FunctionSum{v: v, by: make([]functionWorker, driver.Workers)}
	if found := v.find([]string{name}); len(found) > 0 {
		f.all = v.tallies(found)
	}
	return f, nil
}

// Add calls f with self and total of the vectors that have the function, on several goroutines.
func (s *FunctionSum) Add(ctx context.Context, blobs [][]byte, f func(i int, self, total int64)) error {
	if s.all == nil {
		return ctx.Err()
	}
	return spread(len(blobs), perWorker, func(w, i int) (err error) {
		x, t := &s.by[w], s.all.of(w)
		if x.buf, err = encoding.Decode(blobs[i], len(s.v.rec), x.buf); err != nil {
			return err
		}
		x.rows.reset()
		t.add(x.buf, 0)
		if t.rows(&x.rows, 0); len(x.rows.fn) > 0 {
			f(i, x.rows.self[0], x.rows.total[0])
		}
		return ctx.Err()
	})
}

// Release keeps its memory for the next one.
func (s *FunctionSum) Release() {
	if s.all != nil {
		s.all.release()
	}
}

// NoTree returns a tree of nothing.
func NoTree() *calltree.Tree {
	return calltree.NewTree(new(calltree.Forest).Cut(nil).Table, profile.ValueType{}, nil)
}
