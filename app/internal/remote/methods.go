package remote

import (
	"context"
	"fmt"
	"io"
	"iter"
	"runtime"

	"github.com/dendroprof/dendro/app/internal/transfer"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// Info returns the server's store.
func (s *Store) Info(ctx context.Context) (store.Info, error) {
	h, err := s.hello(ctx)
	if err != nil {
		return store.Info{}, err
	}
	return h.Store, nil
}

// Profiles lists the selected profiles.
func (s *Store) Profiles(ctx context.Context, q store.Query) ([]store.Profile, error) {
	return call(ctx, s, transfer.Profiles, q)
}

// FunctionNames lists the functions of the store.
func (s *Store) FunctionNames(ctx context.Context) ([]profile.Function, error) {
	return call(ctx, s, transfer.FunctionNames, transfer.None{})
}

// RawNames returns examples of names before they were normalised.
func (s *Store) RawNames(ctx context.Context, group string, names []string) (map[string]string, error) {
	raw, err := call(ctx, s, transfer.RawNames, transfer.RawNamesQuery{Group: group, Names: names})
	if raw == nil {
		raw = map[string]string{}
	}
	return raw, err
}

// Source returns the original of a profile.
func (s *Store) Source(ctx context.Context, id store.ProfileID) ([]byte, error) {
	return call(ctx, s, transfer.Source, id)
}

// Waiting lists the metrics that wait for a profile.
func (s *Store) Waiting(ctx context.Context) ([]store.Measurement, error) {
	return call(ctx, s, transfer.Waiting, transfer.None{})
}

// Aggregates implements store.Aggregator.
func (s *Store) Aggregates() store.Aggregates {
	return store.Aggregates{SumFunctions: s.SumFunctions, FunctionMoments: s.FunctionMoments,
		MergeTrees: func(ctx context.Context, q store.Query, _ float64) (*calltree.Tree, []store.Profile, error) {
			return s.MergeTrees(ctx, q)
		}}
}

// SumFunctions lets the server add up functions.
func (s *Store) SumFunctions(ctx context.Context, q store.Query) (*store.FunctionSums, error) {
	sums, err := call(ctx, s, transfer.SumFunctions, q)
	if err != nil {
		return nil, err
	}
	return &sums.FunctionSums, nil
}

// FunctionMoments lets the server compute moments.
func (s *Store) FunctionMoments(ctx context.Context, q store.Query, m store.Measure) (*store.MomentSet, error) {
	set, err := call(ctx, s, transfer.FunctionMoments, transfer.MomentsQuery{Query: q, Measure: m})
	if err != nil {
		return nil, err
	}
	return &set.MomentSet, nil
}

// MergeTrees lets the server add up trees.
func (s *Store) MergeTrees(ctx context.Context, q store.Query) (*calltree.Tree, []store.Profile, error) {
	m, err := call(ctx, s, transfer.MergeTrees, q)
	if err != nil {
		return nil, nil, err
	}
	return m.Tree, m.Profiles, nil
}

// Functions streams self and total of functions. The stream can be read once.
func (s *Store) Functions(ctx context.Context, q store.Query, names []string) (*store.FunctionSet, error) {
	set, body, err := streamed(ctx, s, transfer.Functions, transfer.FunctionsQuery{Query: q, Names: names, All: names == nil}, transfer.ReadFunctions)
	if err == nil {
		closeUnread(set, body)
		set.Rows = placed(ctx, s, set.Rows)
	}
	return set, err
}

// Trees streams vectors over one table. The stream can be read once.
func (s *Store) Trees(ctx context.Context, q store.Query, opts store.TreeOptions) (*store.TreeSet, error) {
	set, body, err := streamed(ctx, s, transfer.Trees, transfer.TreesQuery{Query: q, Options: opts}, transfer.ReadTrees)
	if err == nil {
		closeUnread(set, body)
		set.Vectors = placed(ctx, s, set.Vectors)
	}
	return set, err
}

// SQL runs a user's query at the server, if its engine supports SQL and the server
// allows it.
func (s *Store) SQL(ctx context.Context, query string) (*store.SQLAnswer, error) {
	answer, body, err := streamed(ctx, s, transfer.SQL, query, transfer.ReadSQL)
	if err == nil {
		closeUnread(answer, body)
		answer.Rows = placed(ctx, s, answer.Rows)
	}
	return answer, err
}

// closeUnread closes the body of a result that is garbage collected: a stream that nobody
// reads must not hold its connection.
func closeUnread[T any](result *T, body io.Closer) {
	runtime.AddCleanup(result, func(body io.Closer) { body.Close() }, body)
}

// placed returns a stream with the errors of s.broken.
func placed[T any](ctx context.Context, s *Store, rows iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range rows {
			if !yield(v, s.broken(ctx, err)) {
				return
			}
		}
	}
}

// Put uploads files. If the answer is lost, the error says that nothing is known: the
// same files may then be put again, and those that are stored are unchanged (S4).
func (s *Store) Put(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
	outcomes, err := upload(ctx, s, transfer.Put, func(w io.Writer) error { return transfer.WriteFiles(w, files, opts) })
	if err == nil && len(outcomes) != len(files) {
		return nil, fmt.Errorf("%s returned the outcomes of %d files, not %d", s.base, len(outcomes), len(files))
	}
	return outcomes, err
}

// Delete removes profiles.
func (s *Store) Delete(ctx context.Context, ids []store.ProfileID) (int, error) {
	return call(ctx, s, transfer.Delete, ids)
}

// Compact lets the server optimise its store.
func (s *Store) Compact(ctx context.Context) error {
	_, err := call(ctx, s, transfer.Compact, transfer.None{})
	return err
}
