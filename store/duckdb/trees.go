package duckdb

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// blobs are the encoded vectors of the selected profiles, by their place.
type blobs struct {
	self  [][]byte
	modes [][]modeBlob
}

type modeBlob struct {
	mode profile.FrameType
	blob []byte
}

// readBlobs copies the encoded trees of a selection out of DuckDB.
func readBlobs(ctx context.Context, c *conn, sel *selection, modes bool) (*blobs, error) {
	b := &blobs{self: make([][]byte, len(sel.profiles)), modes: make([][]modeBlob, len(sel.profiles))}
	pos := sel.positions()
	where, join := sel.condition(false, false)
	read := func() error {
		if err := c.query(ctx, "SELECT profile, paths FROM tree WHERE "+where, nil, func(ch chunk) error {
			list := copyBlobs(column[text](ch, 1))
			for i, id := range column[int32](ch, 0) {
				b.self[pos[id-sel.lo]] = list[i]
			}
			return nil
		}); err != nil || !modes {
			return err
		}
		return c.query(ctx, "SELECT profile, mode, paths FROM tree_mode WHERE "+where+" ORDER BY profile, mode", nil, func(ch chunk) error {
			mode, list := column[uint8](ch, 1), copyBlobs(column[text](ch, 2))
			for i, id := range column[int32](ch, 0) {
				k := pos[id-sel.lo]
				b.modes[k] = append(b.modes[k], modeBlob{profile.FrameType(mode[i]), list[i]})
			}
			return nil
		})
	}
	var err error
	if join {
		err = c.joined(func() error { return selectIDs(c, sel.ids(), false) }, read)
	} else {
		err = read()
	}
	if err != nil {
		return nil, err
	}
	for i, blob := range b.self {
		if blob == nil {
			return nil, corruptf("the call tree of profile %s is missing", sel.profiles[i].ID)
		}
	}
	return b, nil
}

// copyBlobs copies a column of blobs into one piece of memory.
func copyBlobs(col []text) [][]byte {
	size := 0
	for i := range col {
		size += int(col[i].length)
	}
	mem := make([]byte, 0, size)
	list := make([][]byte, len(col))
	for i := range col {
		from := len(mem)
		mem = append(mem, col[i].bytes()...)
		list[i] = mem[from:len(mem):len(mem)]
	}
	return list
}

// spread calls f for each of n things on all processors, in runs of neighbours;
// worker is less than the number that it returns first.
func spread(n, perWorker int, f func(worker, i int) error) error {
	workers := max(1, min(runtime.GOMAXPROCS(0), n/perWorker))
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		run := func() {
			for i := w * n / workers; i < (w+1)*n/workers && errs[w] == nil; i++ {
				errs[w] = f(w, i)
			}
		}
		if w == workers-1 {
			run()
		} else {
			wg.Go(run)
		}
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// perWorker is how many profiles make another goroutine worth while.
const perWorker = 16

// Trees implements store.Reader. The encoded vectors are fetched during the
// call and decoded when they are asked for.
func (s *Store) Trees(ctx context.Context, q store.Query, opts store.TreeOptions) (*store.TreeSet, error) {
	var b *blobs
	var v *view
	sel, err := s.ask(ctx, q, func(c *conn, sel *selection) (err error) {
		if b, err = readBlobs(ctx, c, sel, opts.Modes); err != nil {
			return err
		}
		v, err = s.dict.reader(c)
		return err
	})
	if err != nil {
		return nil, err
	}
	if v == nil {
		return &store.TreeSet{Profiles: sel.profiles, Table: &calltree.Table{}, Vectors: func(func(store.TreeVector, error) bool) {}}, nil
	}
	if len(b.self) == 1 && !opts.Modes {
		return oneTree(ctx, v, b, sel)
	}
	paths, err := v.union(b)
	if err != nil {
		return nil, err
	}
	cut := v.forest.Cut(paths)
	return &store.TreeSet{Profiles: sel.profiles, Table: cut.Table, Vectors: streamVectors(ctx, v, b, cut)}, nil
}

// oneTree decodes the vector once, for the table and for the stream.
func oneTree(ctx context.Context, v *view, b *blobs, sel *selection) (*store.TreeSet, error) {
	self, err := decodeVector(b.self[0], len(v.rec), calltree.Vector{})
	if err != nil {
		return nil, err
	}
	cut := v.forest.Cut(self.Nodes)
	return &store.TreeSet{Profiles: sel.profiles, Table: cut.Table, Vectors: func(yield func(store.TreeVector, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(store.TreeVector{}, err)
			return
		}
		w := cut.Vector(self)
		w.Self = slices.Clone(w.Self)
		yield(store.TreeVector{Vector: w}, nil)
	}}, nil
}

// union returns the distinct paths of all vectors, ascending.
func (v *view) union(b *blobs) ([]int32, error) {
	parts := make([]struct {
		seen []bool
		buf  calltree.Vector
	}, runtime.GOMAXPROCS(0))
	err := spread(len(b.self), perWorker, func(w, i int) (err error) {
		p := &parts[w]
		if p.seen == nil {
			p.seen = make([]bool, len(v.rec))
		}
		mark := func(blob []byte) {
			if err != nil {
				return
			}
			if p.buf, err = decodeVector(blob, len(v.rec), p.buf); err == nil {
				for _, n := range p.buf.Nodes {
					p.seen[n] = true
				}
			}
		}
		mark(b.self[i])
		for _, m := range b.modes[i] {
			mark(m.blob)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var paths []int32
	for n := range int32(len(v.rec)) {
		for w := range parts {
			if parts[w].seen != nil && parts[w].seen[n] {
				paths = append(paths, n)
				break
			}
		}
	}
	return paths, nil
}

func streamVectors(ctx context.Context, v *view, b *blobs, cut *calltree.Cut) iter.Seq2[store.TreeVector, error] {
	return func(yield func(store.TreeVector, error) bool) {
		var buf calltree.Vector
		for i := range b.self {
			out, err := store.TreeVector{Profile: i}, ctx.Err()
			if err == nil {
				buf, err = decodeVector(b.self[i], len(v.rec), buf)
			}
			if err == nil {
				out.Vector = cut.Vector(buf)
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
		vector, err := decodeVector(m.blob, len(v.rec), calltree.Vector{})
		if err != nil {
			return nil, err
		}
		modes = append(modes, store.ModeVector{Mode: m.mode, Vector: cut.Vector(vector)})
	}
	return modes, nil
}

// MergeTrees implements store.TreeMerger: the vectors are decoded and added on
// all processors over the whole forest, of which the result is cut out.
func (s *Store) MergeTrees(ctx context.Context, q store.Query) (*calltree.Tree, []store.Profile, error) {
	var b *blobs
	var v *view
	sel, err := s.ask(ctx, q, func(c *conn, sel *selection) (err error) {
		if err := store.OneType(sel.profiles, q); err != nil {
			return err
		}
		if err := store.CheckSum(sel.profiles); err != nil {
			return err
		}
		if b, err = readBlobs(ctx, c, sel, false); err != nil {
			return err
		}
		v, err = s.dict.reader(c)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if err := store.OneType(sel.profiles, q); err != nil {
		return nil, nil, err
	}
	if len(b.self) == 1 { // nothing to add: no array over the forest
		vector, err := decodeVector(b.self[0], len(v.rec), calltree.Vector{})
		if err != nil {
			return nil, nil, err
		}
		cut := v.forest.Cut(vector.Nodes)
		return calltree.NewTree(cut.Table, sel.profiles[0].Type, cut.Self(vector)), sel.profiles, nil
	}
	self, paths, err := v.sum(ctx, b)
	if err != nil {
		return nil, nil, err
	}
	cut := v.forest.Cut(paths)
	values := make([]int64, cut.Len())
	for n, p := range cut.Paths {
		values[n] = self[p]
	}
	return calltree.NewTree(cut.Table, sel.profiles[0].Type, values), sel.profiles, nil
}

// sum adds up all vectors. Paths lists, ascending, the paths that any of them
// has, be their sum zero.
func (v *view) sum(ctx context.Context, b *blobs) (self []int64, paths []int32, err error) {
	type part struct {
		self []int64
		zero []int32 // paths whose sum was zero in between
		buf  calltree.Vector
	}
	parts := make([]part, runtime.GOMAXPROCS(0))
	err = spread(len(b.self), perWorker, func(w, i int) (err error) {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := &parts[w]
		if p.self == nil {
			p.self = make([]int64, len(v.rec))
		}
		if p.buf, err = decodeVector(b.self[i], len(v.rec), p.buf); err != nil {
			return fmt.Errorf("call tree %d: %w", i, err)
		}
		for k, n := range p.buf.Nodes {
			sum := p.self[n] + p.buf.Self[k]
			if sum == 0 {
				p.zero = append(p.zero, n)
			}
			p.self[n] = sum
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	self = make([]int64, len(v.rec))
	cancelled := make(map[int32]bool)
	for _, p := range parts {
		for n, x := range p.self {
			if x != 0 {
				if self[n] += x; self[n] == 0 {
					cancelled[int32(n)] = true
				}
			}
		}
		for _, n := range p.zero {
			cancelled[n] = true
		}
	}
	for n, x := range self {
		if x != 0 || len(cancelled) > 0 && cancelled[int32(n)] {
			paths = append(paths, int32(n))
		}
	}
	return self, paths, nil
}
