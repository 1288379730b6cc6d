package store_test

import (
	"context"
	"testing"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
)

// able is an engine with every optional interface.
type able struct {
	store.Store
	store.Aggregator
	store.Versioned
	store.Accepter
	store.VerdictKeeper
	store.LinkKeeper
	store.SQLSpeaker
	store.CypherSpeaker
	windows
}

// windows counts as continuous.Limited.
type windows struct{ continuous.Limited }

// outer changes nothing of a store.
type outer struct{ store.Reader }

func (o outer) Unwrap() store.Reader { return o.Reader }

// TestAs: what wraps a store, and what wraps that, has its optional interfaces; an interface of
// the wrapper counts before that of the store.
func TestAs(t *testing.T) {
	engine := &able{Store: mem.New()}
	for _, s := range []any{engine, outer{engine}, outer{outer{engine}}, store.Here(outer{engine})} {
		found[store.Aggregator](t, s, engine)
		found[store.Versioned](t, s, engine)
		found[store.Accepter](t, s, engine)
		found[store.VerdictKeeper](t, s, engine)
		found[store.LinkKeeper](t, s, engine)
		found[store.SQLSpeaker](t, s, engine)
		found[store.CypherSpeaker](t, s, engine)
		found[continuous.Limited](t, s, engine)
	}
	if s, ok := store.As[store.CypherSpeaker](outer{mem.New()}); ok || s != nil {
		t.Errorf("the engine in memory speaks Cypher: %v", s)
	}
	released := false
	own := preloading{outer{engine}, &released}
	if release, err := store.Preload(t.Context(), own, nil); err != nil {
		t.Fatal(err)
	} else if release(); !released {
		t.Error("the wrapper's own answer does not count")
	}
}

// found expects that s has an interface of the engine.
func found[T comparable](t *testing.T, s any, engine T) {
	t.Helper()
	if got, ok := store.As[T](s); !ok || got != engine {
		t.Errorf("%T as %T: %v", s, *new(T), got)
	}
}

// preloading is a wrapper that computes an answer itself.
type preloading struct {
	outer
	released *bool
}

func (p preloading) Aggregates() store.Aggregates {
	return store.Aggregates{Preload: func(context.Context, []store.ProfileID) (func(), error) {
		return func() { *p.released = true }, nil
	}}
}
