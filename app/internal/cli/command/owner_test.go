package command

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/store"
)

func TestOwnedBy(t *testing.T) {
	where := filepath.Join(t.TempDir(), "s.duckdb")
	locked := errors.New("s.duckdb: locked: process 17 (dendro) has it open")
	for _, test := range []struct{ note, want string }{
		{"", locked.Error()},
		{"no JSON", locked.Error()},
		{`{"pid":1,"address":"http://localhost:1"}`, locked.Error()}, // of a server that was killed
		{`{"pid":17,"address":"http://localhost:1"}`, "use --store http://localhost:1"},
		{`{"pid":17}`, "does not speak HTTP"},
	} {
		if test.note != "" {
			if err := os.WriteFile(ownerNote(where), []byte(test.note), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := ownedBy(where, locked)
		if !strings.Contains(err.Error(), test.want) || err != locked && !errors.Is(err, store.ErrLocked) {
			t.Errorf("note %s: %v", test.note, err)
		}
	}
}

// TestOwnerNoteFollowsNoLink: who may write beside a store cannot make the server overwrite
// a file elsewhere.
func TestOwnerNoteFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	precious, note := filepath.Join(dir, "precious"), filepath.Join(dir, "x.duckdb.serve")
	if err := errors.Join(os.WriteFile(precious, []byte("precious"), 0o644), os.Symlink(precious, note)); err != nil {
		t.Fatal(err)
	}
	if err := writeNote(note, []byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(precious); err != nil || string(text) != "precious" {
		t.Errorf("%q, %v", text, err)
	}
	info, err := os.Lstat(note)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := writeNote(note, []byte("{}\n")); err != nil { // left by a killed server
		t.Error(err)
	}
}
