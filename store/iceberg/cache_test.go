package iceberg

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/internal/bucket"
)

// TestEvict expects that the files that were not used for the longest time go, and only as
// many as needed.
func TestEvict(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for name, age := range map[string]time.Duration{"a/old": 4 * time.Hour, "b/older": 5 * time.Hour, "c": 3 * time.Hour,
		"d/new": time.Minute} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, 10), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		limit int64
		want  string
	}{{40, "a/old b/older c d/new"}, {25, "c d/new"}, {0, "d/new"}} {
		if err := evict(dir, c.limit, now.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, path := range files(t, dir) {
			left = append(left, path[len(dir)+1:])
		}
		if got := strings.Join(left, " "); got != c.want {
			t.Errorf("limit %d: %s, want %s", c.limit, got, c.want)
		}
	}
}

// TestPath expects that locations outside of the warehouse have no path in it.
func TestPath(t *testing.T) {
	file := &warehouse{url: "file:///data/a%20lake", dir: "/data/a lake"}
	s3 := &warehouse{url: "s3://bucket/team", dir: "/cache"}
	for _, c := range []struct {
		w              *warehouse
		location, want string
	}{
		{file, "file:///data/a%20lake/paths/x", "/data/a lake/paths/x"},
		{file, "file:/data/a%20lake/paths/x", "/data/a lake/paths/x"},
		{file, "/data/a lake/paths/x", "/data/a lake/paths/x"},
		{s3, "s3://bucket/team/paths/x", "/cache/paths/x"},
		{s3, "s3a://bucket/team/paths/x", "/cache/paths/x"},
	} {
		if got := c.w.path(c.location); got != c.want {
			t.Errorf("%s: %s, want %s", c.location, got, c.want)
		}
	}
	for _, outside := range []string{"s3://bucket/team/../../etc/passwd", "s3://other/team/x", "/etc/passwd", "s3://bucket/teams/x", ""} {
		if err := s3.fetch(t.Context(), s3.path(outside)); err == nil {
			t.Error("allowed:", outside)
		}
	}
}

// listed is a bucket whose listing has some keys.
type listed struct {
	bucket.Bucket
	keys []string
}

// List implements bucket.Bucket.
func (l listed) List(context.Context, string) iter.Seq2[bucket.Object, error] {
	return func(yield func(bucket.Object, error) bool) {
		for _, k := range l.keys {
			if !yield(bucket.Object{Key: k}, nil) {
				return
			}
		}
	}
}

// TestForeignKeys expects that objects whose keys lead out of the cache are no files of a
// table: what is removed from a lake is removed from the cache too.
func TestForeignKeys(t *testing.T) {
	w := &warehouse{url: "s3://bucket/team", dir: "/cache", prefix: "team/",
		bucket: listed{keys: []string{"team/paths/x", "team/paths/../../../etc/passwd", "team/paths/../profiles/y", "team/paths//z"}}}
	paths, err := w.before(t.Context(), "paths", time.Now())
	if got := strings.Join(paths, " "); err != nil || got != "/cache/paths/x" {
		t.Errorf("%s, %v", got, err)
	}
}
