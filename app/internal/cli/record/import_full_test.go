package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
)

// fullStore has room for some calls of Put.
type fullStore struct {
	store.Store
	room int
}

func (s *fullStore) Put(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
	if s.room--; s.room < 0 {
		return nil, store.ErrNoSpace
	}
	return s.Store.Put(ctx, files, opts)
}

// TestImportOnFullDisk ends with the error, behind how many profiles are stored.
func TestImportOnFullDisk(t *testing.T) {
	st, err := engines.Open(context.Background(), "mem:", engines.Write)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	const files = 300
	for i := range files {
		text := fmt.Sprintf("main;f%d 1\n", i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("b%d.folded", i)), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	sources, err := ingest.Expand([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	e := &command.Env{Out: &out, Err: &errOut}
	opts := ingest.Options{Normalizer: normalize.New(nil), Workers: 1}
	err = (&importOptions{}).importAll(context.Background(), e, &fullStore{st, 1}, sources, opts, false)
	list, listErr := st.Profiles(context.Background(), store.Query{})
	if listErr != nil {
		t.Fatal(listErr)
	}
	want := fmt.Sprintf("%d profile", len(list))
	if !errors.Is(err, store.ErrNoSpace) || len(list) == 0 || len(list) == files || !strings.HasPrefix(out.String(), want) {
		t.Errorf("%d profiles are stored; %v, %q", len(list), err, out.String())
	}
}
