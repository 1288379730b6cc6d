package neo4j

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/store/neo4j/internal/identity"
)

// Put implements store.Writer. Several small files are one transaction, a large one is a
// transaction of its own: if the server or the network fails, the files before are
// stored, and the outcomes of the others carry the error.
func (s *Store) Put(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.writable(); err != nil || len(files) == 0 {
		return nil, err
	}
	select {
	case <-s.putting:
		defer func() { s.putting <- struct{}{} }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	outcomes := make([]store.Outcome, len(files))
	var list []*filePut
	for i, f := range files {
		if err := checkFile(f); err != nil {
			outcomes[i].Err = err
			continue
		}
		list = append(list, newFilePut(f, &outcomes[i]))
	}
	stored := false
	for _, batch := range s.batches(list) {
		if err := s.putBatch(ctx, batch, opts); err != nil && !stored {
			return nil, err
		} else if err != nil {
			for _, p := range list {
				if !p.done {
					p.outcome.Err = &store.InterruptedError{Err: err}
				}
			}
			break
		}
		stored = stored || slices.ContainsFunc(batch, func(p *filePut) bool { return p.outcome.Err == nil })
	}
	return outcomes, nil
}

// The limits of one transaction of several files: its memory on the server, and their
// number.
const (
	batchMemory = 10 << 20
	batchFiles  = 64
)

// batches divides files, in their order, into those that one transaction stores. All
// files of a batch are of different benchmarks or runs.
func (s *Store) batches(list []*filePut) (batches [][]*filePut) {
	var memory int64
	seen := map[int64]bool{}
	for _, p := range list {
		var need int64
		for _, r := range p.file.Records {
			need += s.model.memory(nodesPerValue * r.Self.Len())
		}
		if last := len(batches) - 1; last < 0 || memory+need > batchMemory || len(batches[last]) == batchFiles || seen[p.measurement] {
			batches, memory = append(batches, nil), 0
			clear(seen)
		}
		last := len(batches) - 1
		batches[last] = append(batches[last], p)
		memory, seen[p.measurement] = memory+need, true
	}
	return batches
}

// nodesPerValue is about how many call nodes a recorded profile has for each one with a
// value of its own.
const nodesPerValue = 4

// refusal is an error that concerns one file only and belongs in its outcome.
type refusal struct {
	of *filePut
	error
}

func (r *refusal) Unwrap() error { return r.error }

// putBatch stores files in one transaction, or in several if they are too large for one.
// The error is one of the server, the network or the context, which other files would
// meet too.
func (s *Store) putBatch(ctx context.Context, files []*filePut, opts store.PutOptions) error {
	b := &batchPut{s: s, files: slices.Clone(files), opts: opts, slot: s.slot}
	what := fmt.Sprintf("the import of %q", files[0].file.Name)
	if len(files) > 1 {
		what += fmt.Sprintf(" and %d other files", len(files)-1)
	}
	err := bolt.Again(ctx, func() error {
		// Who repeats this met an importer of the same new paths. At one slot, those who do
		// wait for each other.
		defer func() { b.slot = 0 }()
		for len(b.files) > 0 {
			err := s.db.WriteOnce(ctx, what, b.place)
			var (
				ahead    *tooManyPaths
				refused  *refusal
				tooLarge *bolt.OutOfMemory
			)
			switch {
			case err == nil:
				b.commit()
				return nil
			case errors.As(err, &refused):
				refused.of.end(store.Outcome{Err: refused.error})
				b.files = slices.DeleteFunc(b.files, func(p *filePut) bool { return p == refused.of })
			case (errors.As(err, &ahead) || errors.As(err, &tooLarge)) && len(b.files) > 1:
				half := len(b.files) / 2
				if err := s.putBatch(ctx, b.files[:half], opts); err != nil {
					return err
				}
				return s.putBatch(ctx, b.files[half:], opts)
			case errors.As(err, &tooLarge):
				b.files[0].end(store.Outcome{Err: fmt.Errorf("%s: %w", s.db.Address, err)})
				return nil
			case errors.As(err, &ahead):
				if err := s.writeAhead(ctx, ahead); err != nil {
					return err
				}
			case errors.Is(err, errDoomed):
				if err := s.sweep(ctx); err != nil {
					return err
				}
			case bolt.UnknownCommit(err) && b.unknown < bolt.Tries:
				// If the commit succeeded, the next attempt finds the same content, and
				// reports it as stored.
				b.unknown++
			default:
				return err
			}
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
		}
		return nil
	})
	return s.db.Explain(err)
}

// checkFile returns an error for a file that this engine never stores. An index has no
// room for long keys.
func checkFile(f *store.File) error {
	for what, key := range map[string]string{"group": f.Benchmark.Group, "benchmark": identity.Benchmark(f.Benchmark), "run": f.Run.Key} {
		if len(key) > bolt.MaxName {
			return fmt.Errorf("the name of the %s is longer than %d bytes: %.60q…", what, bolt.MaxName, key)
		}
	}
	return f.Check()
}
