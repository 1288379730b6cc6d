package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestStoresArePrivate: the file of a new store, and what belongs to it.
func TestStoresArePrivate(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	defer syscall.Umask(syscall.Umask(0o022)) // which is the process's, and so that of all tests
	if err := os.WriteFile("x.folded", []byte("main;f 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		t.Helper()
		var out, errOut strings.Builder
		if status := Main(args, strings.NewReader(""), &out, &errOut); status != 0 {
			t.Fatalf("%q: status %d: %s", args, status, &errOut)
		}
	}
	modes := func(want os.FileMode) {
		t.Helper()
		names, _ := filepath.Glob("x.duckdb*")
		for _, name := range names {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, %v", name, info.Mode(), err)
			}
		}
	}
	run("import", "--store", "x.duckdb", "--run", "1", "x.folded")
	modes(0o600)
	run("compact", "--store", "x.duckdb")
	modes(0o600)
	if err := os.Chmod("x.duckdb", 0o644); err != nil {
		t.Fatal(err)
	}
	run("compact", "--store", "x.duckdb")
	modes(0o644)
	if err := os.WriteFile("report.md", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat("report.md"); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the process creates private files for good: %v, %v", info, err)
	}
}
