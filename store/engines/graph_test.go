package engines

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
)

// failing is a store that cannot say which profiles it has.
type failing struct {
	*mem.Store
	err error
}

func (f failing) Profiles(context.Context, store.Query) ([]store.Profile, error) { return nil, f.err }

// TestExportGraph expects a script where everything was written, and none where not.
func TestExportGraph(t *testing.T) {
	dir := t.TempDir()
	whole, part := filepath.Join(dir, "whole"), filepath.Join(dir, "part")
	if err := ExportGraph(t.Context(), mem.New(), whole, "", 0, store.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(whole, GraphScript)); err != nil {
		t.Error(err)
	}
	broken := errors.New("broken")
	if err := ExportGraph(t.Context(), failing{mem.New(), broken}, part, "", 0, store.CopyOptions{}); !errors.Is(err, broken) ||
		!strings.Contains(err.Error(), part+" are not whole") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(part, GraphScript)); err == nil {
		t.Error("a script would make a database of a part")
	}
}
