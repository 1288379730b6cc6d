package record

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"testing"
	"time"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/ingest"
)

// TestStoreThatCannotBeOpened ends an import whose first file is still read.
func TestStoreThatCannotBeOpened(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	pipe, _ := io.Pipe()
	defer pipe.Close()
	var out bytes.Buffer
	e := &command.Env{Out: &out, Err: &out, Store: t.TempDir() + "/missing/s.duckdb"}
	err := (&importOptions{}).importInto(ctx, e, []ingest.Source{ingest.ReaderSource("a.folded", pipe)}, ingest.Options{}, false)
	if !errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil || out.Len() > 0 {
		t.Errorf("%v, %v, %q", err, ctx.Err(), out.String())
	}
}
