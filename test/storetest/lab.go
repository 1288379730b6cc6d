package storetest

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dendroprof/dendro/store"
)

// opened is a store under test.
type opened[S any] struct {
	t      testing.TB
	ctx    context.Context
	engine EngineOf[S]
	s      S
}

func open[S any](t testing.TB, e EngineOf[S]) opened[S] {
	t.Helper()
	return opened[S]{t, context.Background(), e, e.Open(t)}
}

func (l *opened[S]) ok(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// reopen closes and opens the store, if the engine can.
func (l *opened[S]) reopen() {
	l.t.Helper()
	if l.engine.Reopen != nil {
		l.s = l.engine.Reopen(l.t, l.s)
	}
}

// same reports a difference between a result and the expected one.
func (l *opened[S]) same(what string, got, want any) {
	l.t.Helper()
	if reflect.DeepEqual(got, want) {
		return // much quicker than Diff
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), wholeBytes); d != "" {
		l.t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// wholeBytes compares bytes as one value: the edits between two raw segments take
// quadratic time to find and help nobody.
var wholeBytes = cmp.FilterValues(func(x, y []byte) bool { return len(x)+len(y) > 0 }, cmp.Comparer(bytes.Equal))

// lab is a store under test and the model of its expected content.
type lab struct {
	opened[store.Store]
	m *model
}

// newLab opens a store and makes sure that it is closed, reopened or not.
func newLab(t testing.TB, e Engine) *lab {
	t.Helper()
	l := &lab{open(t, e), newModel()}
	t.Cleanup(func() {
		if err := l.s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return l
}

// put stores files and checks that none is refused.
func (l *lab) put(files ...*store.File) {
	l.t.Helper()
	l.putAs(store.Refuse, files...)
	if l.t.Failed() {
		l.t.FailNow()
	}
}

// putAs puts files in one call, requires the outcomes that the model has, and
// returns them.
func (l *lab) putAs(c store.Conflict, files ...*store.File) []store.Outcome {
	l.t.Helper()
	opts := store.PutOptions{Conflict: c, Rules: Rules}
	got, err := l.s.Put(l.ctx, files, opts)
	if err != nil {
		l.t.Fatalf("Put: %v", err)
	}
	if len(got) != len(files) {
		l.t.Fatalf("Put of %d files has %d outcomes", len(files), len(got))
	}
	for i, f := range files {
		l.sameOutcome(f.Name, got[i], l.m.put(f, opts))
	}
	return got
}

func (l *lab) sameOutcome(file string, got, want store.Outcome) {
	l.t.Helper()
	switch {
	case want.Err == nil && got.Err != nil:
		l.t.Errorf("Put: %s: unexpected error: %v", file, got.Err)
	case want.Err != nil && got.Err == nil:
		l.t.Errorf("Put: %s: no error, want: %v", file, want.Err)
	case want.Err == store.ErrConflict && !errors.Is(got.Err, store.ErrConflict):
		l.t.Errorf("Put: %s: error %q is not an ErrConflict", file, got.Err)
	case want.Err != nil && got.Stored != 0:
		l.t.Errorf("Put: %s: %d profiles stored of a file that was refused", file, got.Stored)
	case want.Err == nil && (got.Stored != want.Stored || got.Unchanged != want.Unchanged):
		l.t.Errorf("Put: %s: stored %d, unchanged %d; want %d, %d", file, got.Stored, got.Unchanged, want.Stored, want.Unchanged)
	}
}

// delete deletes profiles and requires the model's count.
func (l *lab) delete(ids ...store.ProfileID) {
	l.t.Helper()
	got, err := l.s.Delete(l.ctx, ids)
	if err != nil {
		l.t.Fatalf("Delete: %v", err)
	}
	if want := l.m.delete(ids); got != want {
		l.t.Errorf("Delete of %d ids removed %d, want %d", len(ids), got, want)
	}
}

func (l *lab) compact() {
	l.t.Helper()
	if err := l.s.Compact(l.ctx); err != nil {
		l.t.Fatalf("Compact: %v", err)
	}
	l.m.leftovers = false
}

// profiles lists the selection.
func (l *lab) profiles(q store.Query) []store.Profile {
	l.t.Helper()
	list, err := l.s.Profiles(l.ctx, q)
	if err != nil {
		l.t.Fatalf("Profiles(%s): %v", q.String(), err)
	}
	return list
}

// only returns the one profile that the store holds.
func (l *lab) only() store.Profile {
	l.t.Helper()
	list := l.profiles(store.Query{})
	if len(list) != 1 {
		l.t.Fatalf("the store lists %d profiles, want 1", len(list))
	}
	return list[0]
}

// plain hides the optional interfaces of an engine, so that package store's
// fallbacks run.
type plain struct{ store.Store }
