package ingest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/dendroprof/dendro/profile"
)

// TestLinks finds a symbolic link in a walk: it is a source that is no profile.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.folded")
	if err := os.WriteFile(file, []byte("a;b 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, filepath.Join(dir, "link.folded")); err != nil {
		t.Skip(err)
	}
	sources, err := Expand([]string{dir}, nil)
	if err != nil || len(sources) != 2 || sources[1].Named {
		t.Fatalf("%d sources, %v", len(sources), err)
	}
	in, err := sources[1].Open()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := in.Read(make([]byte, 1)); !errors.Is(err, profile.ErrUnrecognized) {
		t.Error(err)
	}
}
