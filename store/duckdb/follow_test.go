package duckdb

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/storetest"
)

// TestFollow: how far a log was read is stored with its windows or not at all, and a record
// that is read again stores nothing.
func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.duckdb")
	s := mustOpen(t, path, Options{})
	m := storetest.NewWindowMaker()
	window := func(n int) []*continuous.Window {
		return []*continuous.Window{m.Window("shop", firstPush.Add(time.Duration(n)*time.Second), nil,
			storetest.Sample{Stack: []string{"main"}, Value: 1})}
	}
	read := func(next int64, from int) (at continuous.Position) {
		at.Next = next
		if from > 0 {
			at.From = firstPush.UTC().Add(time.Duration(from) * time.Hour)
		}
		return at
	}
	bad := window(9)
	bad[0].Length = -1
	for i, step := range []struct {
		list []*continuous.Window
		next continuous.Position
		want continuous.Position
		have int64 // windows
	}{{nil, read(0, 0), read(0, 0), 0}, {window(1), read(7, 0), read(7, 0), 1}, {nil, read(9, 0), read(9, 0), 1},
		{bad, read(12, 0), read(9, 0), 1},
		{window(1), read(10, 3), read(10, 3), 1}, {window(2), read(11, 3), read(11, 3), 2}} {
		follower, ok := store.As[continuous.Follower](s)
		if !ok {
			t.Fatal("it follows no log")
		}
		if _, err := follower.PutRead(t.Context(), step.list, step.next); (err != nil) != (len(step.list) > 0 && step.list[0].Length < 0) {
			t.Fatal(i, err)
		}
		s.Close()
		s = mustOpen(t, path, Options{})
		next, err := s.Position(t.Context())
		stats, statsErr := s.WindowStats(t.Context())
		if err != nil || statsErr != nil || next != step.want || stats.Windows[continuous.Raw] != step.have {
			t.Errorf("step %d: next %v, windows %d, %v, %v; want %v, %d", i, next, stats.Windows, err, statsErr, step.want, step.have)
		}
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if next, err := s.Position(t.Context()); err != nil || next != read(11, 3) {
		t.Errorf("after a compaction: %v, %v", next, err)
	}
	day := continuous.DayOf(firstPush.Add(72 * time.Hour))
	policy := continuous.Policy{Keep: [3]time.Duration{time.Hour, time.Hour, 24 * time.Hour}}
	if _, err := s.RollUp(t.Context(), day.Add(24*time.Hour), policy); err != nil {
		t.Fatal(err)
	}
	want := read(11, 3)
	want.Kept = day
	if next, err := s.Position(t.Context()); err != nil || next != want {
		t.Errorf("after windows were removed: %v, %v, want %v", next, err, want)
	}
}
