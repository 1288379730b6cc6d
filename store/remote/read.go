package remote

import (
	"context"
	"io"
	"iter"
	"runtime"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/transfer"
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

// streamed runs a query whose answer streams, and passes it to read.
func streamed[T any](ctx context.Context, s *Store, method string, q transfer.Question, read func(io.ReadCloser) (*T, error)) (*T, error) {
	resp, err := s.query(ctx, method, &q)
	if err != nil {
		return nil, err
	}
	set, err := read(resp.Body)
	if err != nil {
		resp.Body.Close()
		return nil, s.broken(ctx, err)
	}
	// A stream that nobody reads must not hold its connection for ever.
	runtime.AddCleanup(set, func(body io.Closer) { body.Close() }, io.Closer(resp.Body))
	return set, nil
}

// placed returns a stream whose errors say what s.broken says.
func placed[T any](ctx context.Context, s *Store, rows iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range rows {
			if !yield(v, s.broken(ctx, err)) {
				return
			}
		}
	}
}

// Profiles lists the selected profiles.
func (s *Store) Profiles(ctx context.Context, q store.Query) ([]store.Profile, error) {
	var list transfer.Profiles
	err := s.whole(ctx, s.query, "profiles", &transfer.Question{Query: q}, &list)
	return list, err
}

// Functions streams self and total of functions. The stream can be read once.
func (s *Store) Functions(ctx context.Context, q store.Query, names []string) (*store.FunctionSet, error) {
	set, err := streamed(ctx, s, "functions", transfer.Question{Query: q, Names: names, All: names == nil}, transfer.ReadFunctions)
	if err == nil {
		set.Rows = placed(ctx, s, set.Rows)
	}
	return set, err
}

// FunctionNames lists the functions of the store.
func (s *Store) FunctionNames(ctx context.Context) ([]profile.Function, error) {
	var list transfer.FunctionNames
	err := s.whole(ctx, s.query, "function-names", &transfer.Question{}, &list)
	return list, err
}

// Trees streams vectors over one table. The stream can be read once.
func (s *Store) Trees(ctx context.Context, q store.Query, opts store.TreeOptions) (*store.TreeSet, error) {
	set, err := streamed(ctx, s, "trees", transfer.Question{Query: q, Options: opts}, transfer.ReadTrees)
	if err == nil {
		set.Vectors = placed(ctx, s, set.Vectors)
	}
	return set, err
}

// RawNames returns examples of names before they were normalised.
func (s *Store) RawNames(ctx context.Context, group string, names []string) (map[string]string, error) {
	raw := transfer.RawNames{}
	err := s.whole(ctx, s.query, "raw-names", &transfer.Question{Group: group, Names: names}, &raw)
	if raw == nil {
		raw = transfer.RawNames{}
	}
	return raw, err
}

// Source returns the original of a profile.
func (s *Store) Source(ctx context.Context, id store.ProfileID) ([]byte, error) {
	var source transfer.Source
	err := s.whole(ctx, s.query, "source", &transfer.Question{Profiles: []store.ProfileID{id}}, &source)
	return source, err
}

// Waiting lists the metrics that wait for a profile.
func (s *Store) Waiting(ctx context.Context) ([]store.Measurement, error) {
	var list transfer.Measurements
	err := s.whole(ctx, s.query, "waiting", &transfer.Question{}, &list)
	return list, err
}

// SumFunctions lets the server add up functions.
func (s *Store) SumFunctions(ctx context.Context, q store.Query) (*store.FunctionSums, error) {
	var sums transfer.Sums
	if err := s.whole(ctx, s.query, "function-sums", &transfer.Question{Query: q}, &sums); err != nil {
		return nil, err
	}
	return (*store.FunctionSums)(&sums), nil
}

// FunctionMoments lets the server compute moments.
func (s *Store) FunctionMoments(ctx context.Context, q store.Query, m store.Measure) (*store.MomentSet, error) {
	var set transfer.Moments
	if err := s.whole(ctx, s.query, "function-moments", &transfer.Question{Query: q, Measure: m}, &set); err != nil {
		return nil, err
	}
	return (*store.MomentSet)(&set), nil
}

// MergeTrees lets the server add up trees.
func (s *Store) MergeTrees(ctx context.Context, q store.Query) (*calltree.Tree, []store.Profile, error) {
	var m transfer.Merged
	if err := s.whole(ctx, s.query, "merged-tree", &transfer.Question{Query: q}, &m); err != nil {
		return nil, nil, err
	}
	return m.Tree, m.Profiles, nil
}

// SQL runs a user's query at the server, if its engine speaks SQL and the server
// lets it.
func (s *Store) SQL(ctx context.Context, query string) (*store.SQLAnswer, error) {
	answer, err := streamed(ctx, s, "sql", transfer.Question{SQL: query}, transfer.ReadSQL)
	if err == nil {
		answer.Rows = placed(ctx, s, answer.Rows)
	}
	return answer, err
}
