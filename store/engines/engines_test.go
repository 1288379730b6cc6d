package engines

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/storetest"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.duckdb")
	if _, err := Open(t.Context(), file, Read); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing store to be read: %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("asking made a store")
	}
	for _, where := range []string{file, "mem:", "mem"} {
		st, err := Open(t.Context(), where, Write)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if info, err := st.Info(t.Context()); err != nil || info.Profiles != 0 {
			t.Errorf("%s: %+v, %v", where, info, err)
		}
		if err := st.Close(); err != nil {
			t.Errorf("%s: %v", where, err)
		}
	}
	if _, err := Open(t.Context(), "gopher://host/db", Write); err == nil || !strings.Contains(err.Error(), "gopher://host/db") {
		t.Errorf("an unknown scheme: %v", err)
	}
}

// TestOpenGraph takes every scheme of a graph database to its engine, which finds
// nobody there.
func TestOpenGraph(t *testing.T) {
	for _, scheme := range []string{"neo4j", "bolt", "neo4j+s", "neo4j+ssc", "bolt+s", "bolt+ssc"} {
		st, err := Open(t.Context(), scheme+"://user@127.0.0.1:1/db", Write)
		if st != nil || err == nil || !strings.Contains(err.Error(), "no Neo4j server answers") {
			t.Errorf("%s: %v, %v", scheme, st, err)
		}
	}
	if _, err := Open(t.Context(), "neo4j://user:secret@127.0.0.1:1", Write); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a password in the address: %v", err)
	}
}

// fill makes a store of two profiles.
func fill(t *testing.T, where string) {
	t.Helper()
	st, err := Open(t.Context(), where, Write)
	if err != nil {
		t.Fatal(err)
	}
	im := storetest.NewImporter()
	files := []*store.File{im.File("g", "a", "r1", profile.CPUSamples, "A\nB"), im.File("g", "a", "r2", profile.CPUSamples, "A\nC")}
	if _, err := st.Put(t.Context(), files, store.PutOptions{Rules: "old"}); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

func rules(t *testing.T, where string) (string, int64) {
	t.Helper()
	st, err := Open(t.Context(), where, Read)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	info, err := st.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info.Rules, info.Profiles
}

func TestRewrite(t *testing.T) {
	where := filepath.Join(t.TempDir(), "x.duckdb")
	fill(t, where)
	if err := os.WriteFile(where+".rewrite", []byte("left by a process that died"), 0o666); err != nil {
		t.Fatal(err)
	}
	copyAll := func(from store.Reader, to store.Destination) error {
		return store.Copy(context.Background(), to, from, store.CopyOptions{Rules: "new"})
	}
	if err := Rewrite(t.Context(), where, copyAll); err != nil {
		t.Fatal(err)
	}
	if r, n := rules(t, where); r != "new" || n != 2 {
		t.Errorf("afterwards the rules are %q and there are %d profiles", r, n)
	}

	// What fails leaves the old store, and nothing beside it.
	broken := errors.New("broken")
	err := Rewrite(t.Context(), where, func(from store.Reader, to store.Destination) error {
		return errors.Join(store.Copy(context.Background(), to, from, store.CopyOptions{Rules: "newest"}), broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if r, n := rules(t, where); r != "new" || n != 2 {
		t.Errorf("after a failure the rules are %q and there are %d profiles", r, n)
	}
	if left, _ := filepath.Glob(where + ".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := Rewrite(t.Context(), "mem:", copyAll); err == nil {
		t.Error("a store in memory was rewritten")
	}
	if err := Rewrite(t.Context(), "neo4j://user@127.0.0.1:1", copyAll); err == nil || !strings.Contains(err.Error(), "cannot be rewritten") {
		t.Errorf("a graph database: %v", err)
	}
}

// TestRewriteThroughLink expects the file replaced, not the link.
func TestRewriteThroughLink(t *testing.T) {
	dir := t.TempDir()
	where, link := filepath.Join(dir, "x.duckdb"), filepath.Join(dir, "link.duckdb")
	fill(t, where)
	if err := os.Symlink(where, link); err != nil {
		t.Skip(err)
	}
	err := Rewrite(t.Context(), link, func(from store.Reader, to store.Destination) error {
		return store.Copy(context.Background(), to, from, store.CopyOptions{Rules: "new"})
	})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	if r, _ := rules(t, where); r != "new" {
		t.Errorf("the file behind the link has the rules %q", r)
	}
}
