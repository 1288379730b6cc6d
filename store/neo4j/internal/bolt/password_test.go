package bolt

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestMissingPasswordFile: the error names the file, and is none of a missing store.
func TestMissingPasswordFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	_, _, err := Address{user: "neo4j"}.password(t.Context(), Options{PasswordFile: file})
	if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), file) {
		t.Errorf("%v", err)
	}
}

// TestNoPasswordInClear: the driver sends a password as it is, unless the scheme encrypts.
func TestNoPasswordInClear(t *testing.T) {
	t.Setenv("DENDRO_CLEARTEXT_HOSTS", "mesh")
	for where, want := range map[string]bool{
		"neo4j://graph.example.org": false, "bolt://10.0.0.7:7687/db": false, "bolt://me@graph": false,
		"neo4j+s://graph.example.org": true, "bolt+ssc://graph": true, "neo4j://localhost": true, "bolt://[::1]:7687": true,
		"neo4j://mesh:7687": true,
	} {
		a, err := parseAddress(where)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.inClear(); (err == nil) != want {
			t.Errorf("%s: %v", where, err)
		}
	}
	t.Setenv(PasswordEnv, "secret")
	if _, err := Dial(t.Context(), "bolt://graph.invalid", Options{}); err == nil || !strings.Contains(err.Error(), "in clear text") ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}
