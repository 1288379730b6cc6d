package remote

import (
	"context"
	"io"
	"net/http"
	"runtime"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/remote/transfer"
)

// Info asks the server what it keeps.
func (s *Store) Info(ctx context.Context) (store.Info, error) {
	h, err := s.hello(ctx)
	if err != nil {
		return store.Info{}, err
	}
	return h.Store, nil
}

// body asks a question and returns what answers it.
func (s *Store) body(ctx context.Context, what string, q transfer.Question) (io.ReadCloser, error) {
	message, err := q.Encode()
	if err != nil {
		return nil, err
	}
	resp, err := s.ask(ctx, http.MethodPost, "/api/v1/store/"+what, message)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// whole asks a question that is answered in one piece.
func (s *Store) whole(ctx context.Context, what string, q transfer.Question, into transfer.Answer) error {
	body, err := s.body(ctx, what, q)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := transfer.ReadAnswer(body, into); err != nil {
		return s.broken(ctx, err)
	}
	return nil
}

// streamed asks a question whose answer streams, and hands it to read.
func streamed[T any](ctx context.Context, s *Store, what string, q transfer.Question, read func(io.ReadCloser) (*T, error)) (*T, error) {
	body, err := s.body(ctx, what, q)
	if err != nil {
		return nil, err
	}
	set, err := read(body)
	if err != nil {
		body.Close()
		return nil, s.broken(ctx, err)
	}
	// A stream that nobody reads must not hold its connection for ever.
	runtime.AddCleanup(set, func(body io.Closer) { body.Close() }, io.Closer(body))
	return set, nil
}

// Profiles lists the selected profiles.
func (s *Store) Profiles(ctx context.Context, q store.Query) ([]store.Profile, error) {
	var list transfer.Profiles
	err := s.whole(ctx, "profiles", transfer.Question{Query: q}, &list)
	return list, err
}

// Functions streams self and total of functions. The stream can be read once.
func (s *Store) Functions(ctx context.Context, q store.Query, names []string) (*store.FunctionSet, error) {
	return streamed(ctx, s, "functions", transfer.Question{Query: q, Names: names, All: names == nil}, transfer.ReadFunctions)
}

// FunctionNames lists the functions of the store.
func (s *Store) FunctionNames(ctx context.Context) ([]profile.Function, error) {
	var list transfer.FunctionNames
	err := s.whole(ctx, "function-names", transfer.Question{}, &list)
	return list, err
}

// Trees streams vectors over one table. The stream can be read once.
func (s *Store) Trees(ctx context.Context, q store.Query, opts store.TreeOptions) (*store.TreeSet, error) {
	return streamed(ctx, s, "trees", transfer.Question{Query: q, Options: opts}, transfer.ReadTrees)
}

// RawNames returns examples of names before they were normalised.
func (s *Store) RawNames(ctx context.Context, group string, names []string) (map[string]string, error) {
	raw := transfer.RawNames{}
	err := s.whole(ctx, "raw-names", transfer.Question{Group: group, Names: names}, &raw)
	if raw == nil {
		raw = transfer.RawNames{}
	}
	return raw, err
}

// Source returns the original of a profile.
func (s *Store) Source(ctx context.Context, id store.ProfileID) ([]byte, error) {
	body, err := s.body(ctx, "source", transfer.Question{Profiles: []store.ProfileID{id}})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var source transfer.Source
	if err := transfer.ReadAnswer(body, &source); err != nil {
		return nil, s.broken(ctx, err)
	}
	return source, nil
}

// SumFunctions lets the server add up functions.
func (s *Store) SumFunctions(ctx context.Context, q store.Query) (*store.FunctionSums, error) {
	var sums transfer.Sums
	if err := s.whole(ctx, "function-sums", transfer.Question{Query: q}, &sums); err != nil {
		return nil, err
	}
	return (*store.FunctionSums)(&sums), nil
}

// FunctionMoments lets the server compute moments.
func (s *Store) FunctionMoments(ctx context.Context, q store.Query, m store.Measure) (*store.MomentSet, error) {
	var set transfer.Moments
	if err := s.whole(ctx, "function-moments", transfer.Question{Query: q, Measure: m}, &set); err != nil {
		return nil, err
	}
	return (*store.MomentSet)(&set), nil
}

// MergeTrees lets the server add up trees.
func (s *Store) MergeTrees(ctx context.Context, q store.Query) (*calltree.Tree, []store.Profile, error) {
	var m transfer.Merged
	if err := s.whole(ctx, "merged-tree", transfer.Question{Query: q}, &m); err != nil {
		return nil, nil, err
	}
	return m.Tree, m.Profiles, nil
}

// SQL runs a user's query at the server, if its engine speaks SQL and the server
// lets it.
func (s *Store) SQL(ctx context.Context, query string) (*store.SQLAnswer, error) {
	return streamed(ctx, s, "sql", transfer.Question{SQL: query}, transfer.ReadSQL)
}
