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
