package pushes

import (
	"context"
	"testing"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store"
)

// forest is a store whose forest has paths of no use.
type forest struct {
	continuous.Store
	store.Writer
	paths, unused, looks, compactions int64
}

func (f *forest) Limit(continuous.Room)                      {}
func (f *forest) HasRoom(continuous.Key, string, int64) bool { return true }
func (f *forest) Forest(context.Context) (continuous.Forest, error) {
	return continuous.Forest{Paths: f.paths}, nil
}
func (f *forest) Unused(context.Context) (int64, error) { f.looks++; return f.unused, nil }
func (f *forest) Compact(context.Context) error {
	f.compactions++
	f.paths, f.unused = f.paths-f.unused, 0
	return nil
}

// TestReclaim: a store is compacted if many paths are of no use, which is looked at only after
// windows were removed, at most once an hour.
func TestReclaim(t *testing.T) {
	f := &forest{paths: 1000, unused: 200}
	r := newReclaimer(f, f)
	r.least = 100
	now := time.Unix(1795622400, 0)
	step := func(what string, after time.Duration, expired, looks, compactions int64) {
		t.Helper()
		now = now.Add(after)
		r.expired += expired
		if _, err := r.reclaim(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		if f.looks != looks || f.compactions != compactions {
			t.Errorf("%s: %d looks, %d compactions", what, f.looks, f.compactions)
		}
	}
	step("nothing was removed", 0, 0, 0, 0)
	step("few are of no use", 0, 5, 1, 0)
	f.unused = 300
	step("looked lately", time.Minute, 5, 1, 0)
	step("many are of no use", time.Hour, 0, 2, 1)
	step("nothing more was removed", time.Hour, 0, 2, 1)
	f.paths = 50
	step("a small store", time.Hour, 5, 2, 1)
}
