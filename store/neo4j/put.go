package neo4j

import (
	"context"
	"errors"
	"fmt"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
)

// Put implements store.Writer. Each file is a transaction of its own: if the server or
// the network fails, the files before are stored, and the outcomes of the others carry
// the error.
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
	stored := false
	for i, f := range files {
		out, err := s.putFile(ctx, f, opts)
		switch {
		case err == nil:
			outcomes[i] = out
			stored = stored || out.Err == nil
		case !stored:
			return nil, err
		default:
			for k := i; k < len(files); k++ {
				outcomes[k].Err = err
			}
			return outcomes, nil
		}
	}
	return outcomes, nil
}

// refusal is an error that concerns one file only and belongs in its outcome.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// putFile stores one file. The error is one of the server, the network or the context,
// which the other files would meet too.
func (s *Store) putFile(ctx context.Context, f *store.File, opts store.PutOptions) (store.Outcome, error) {
	if err := checkFile(f); err != nil {
		return store.Outcome{Err: err}, nil
	}
	p := &filePut{s: s, file: f, opts: opts, contents: make([]*content, len(f.Records))}
	err := bolt.Again(ctx, func() error {
		for {
			err := s.db.WriteOnce(ctx, fmt.Sprintf("the import of %q", f.Name), p.place)
			var ahead *tooManyPaths
			switch {
			case err == nil:
				p.added.commit()
				return nil
			case errors.As(err, &ahead):
				if err := s.writeAhead(ctx, ahead); err != nil {
					return err
				}
			case errors.Is(err, errDoomed):
				if err := s.sweep(ctx); err != nil {
					return err
				}
			case bolt.UnknownCommit(err) && p.unknown < bolt.Tries:
				// If the commit succeeded, the next attempt finds the same content, and
				// reports it as stored.
				p.unknown++
			default:
				return err
			}
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
		}
	})
	var refused refusal
	switch {
	case err == nil:
		return p.out, nil
	case errors.As(err, &refused):
		return store.Outcome{Err: refused.error}, nil
	}
	var tooLarge *bolt.OutOfMemory
	if errors.As(err, &tooLarge) {
		return store.Outcome{Err: fmt.Errorf("%s: %w", s.db.Address, err)}, nil
	}
	return store.Outcome{}, s.db.Explain(err)
}

// checkFile returns an error for a file that this engine never stores. An index has no
// room for long keys.
func checkFile(f *store.File) error {
	for what, key := range map[string]string{"group": f.Benchmark.Group, "benchmark": benchmarkKey(f.Benchmark), "run": f.Run.Key} {
		if len(key) > bolt.MaxName {
			return fmt.Errorf("the name of the %s is longer than %d bytes: %.60q…", what, bolt.MaxName, key)
		}
	}
	return f.Check()
}
