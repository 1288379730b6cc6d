package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/store"
)

func TestConflictError(t *testing.T) {
	var err error = &store.ConflictError{ID: "0123456789abcdef", Identity: "g/b, r1, cpu", Old: "old.pb", New: "new.pb"}
	if !errors.Is(err, store.ErrConflict) {
		t.Error("a ConflictError is not an ErrConflict")
	}
	for _, part := range []string{"g/b, r1, cpu", "old.pb", "new.pb", "--replace", "--add"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

// TestConflictOfOneFile reads the reasons why a file may differ from what was imported of it.
func TestConflictOfOneFile(t *testing.T) {
	err := &store.ConflictError{Identity: "g/b, r1, cpu", Old: "a.jfr", New: "a.jfr"}
	for _, part := range []string{"g/b, r1, cpu", `"a.jfr" has changed`, "this version of Dendro reads it otherwise",
		"samples without a stack", "settings of JFR", "--replace stores it anew"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "--add") {
		t.Errorf("%q advises to add a file to itself", err)
	}
}

// broken is a store whose streams end in an error after half of their chunks.
type broken struct{ store.Store }

var errBroken = errors.New("broken")

func (s broken) Functions(ctx context.Context, q store.Query, names []string) (*store.FunctionSet, error) {
	set, err := s.Store.Functions(ctx, q, names)
	if err != nil {
		return nil, err
	}
	whole := set.Rows
	set.Rows = func(yield func(store.FunctionRows, error) bool) {
		for rows := range whole {
			yield(rows, nil)
			break
		}
		yield(store.FunctionRows{}, errBroken)
	}
	return set, nil
}

func (s broken) Trees(ctx context.Context, q store.Query, opts store.TreeOptions) (*store.TreeSet, error) {
	set, err := s.Store.Trees(ctx, q, opts)
	if err != nil {
		return nil, err
	}
	whole := set.Vectors
	set.Vectors = func(yield func(store.TreeVector, error) bool) {
		for v := range whole {
			yield(v, nil)
			break
		}
		yield(store.TreeVector{}, errBroken)
	}
	return set, nil
}

// TestStreamErrors expects no answer from half of a stream.
func TestStreamErrors(t *testing.T) {
	s := broken{stocked(t)}
	for name, ask := range map[string]func() error{
		"SumFunctions":    func() error { _, err := store.SumFunctions(ctx, s, store.Query{}); return err },
		"FunctionMoments": func() error { _, err := store.FunctionMoments(ctx, s, store.Query{}, store.Measure{}); return err },
		"MergeTrees":      func() error { _, _, err := store.MergeTrees(ctx, s, store.Query{}); return err },
		"Find A":          func() error { _, err := store.Find(ctx, s, store.Query{}, pattern("A"), false); return err },
		"Find main;A":     func() error { _, err := store.Find(ctx, s, store.Query{}, pattern("main;A"), false); return err },
	} {
		if err := ask(); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v, want the stream's error", name, err)
		}
	}
}
