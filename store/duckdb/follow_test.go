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
	bad := window(9)
	bad[0].Length = -1
	for i, step := range []struct {
		list []*continuous.Window
		next int64
		want int64 // next to read, and windows
		have int64
	}{{nil, 0, 0, 0}, {window(1), 7, 7, 1}, {nil, 9, 9, 1}, {bad, 12, 9, 1}, {window(1), 10, 10, 1}, {window(2), 11, 11, 2}} {
		follower, ok := store.As[continuous.Follower](s)
		if !ok {
			t.Fatal("it follows no log")
		}
		if _, err := follower.PutRead(t.Context(), step.list, step.next); (err != nil) != (len(step.list) > 0 && step.list[0].Length < 0) {
			t.Fatal(i, err)
		}
		s.Close()
		s = mustOpen(t, path, Options{})
		next, err := s.Next(t.Context())
		stats, statsErr := s.WindowStats(t.Context())
		if err != nil || statsErr != nil || next != step.want || stats.Windows[continuous.Raw] != step.have {
			t.Errorf("step %d: next %d, windows %d, %v, %v; want %d, %d", i, next, stats.Windows, err, statsErr, step.want, step.have)
		}
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if next, err := s.Next(t.Context()); err != nil || next != 11 {
		t.Errorf("after a compaction: %d, %v", next, err)
	}
}
