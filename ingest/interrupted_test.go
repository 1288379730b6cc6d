package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/testrun"
)

// failing stores the first file of a Put, then its server fails.
type failing struct{ *mem.Store }

func (f failing) Put(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
	outcomes, err := f.Store.Put(ctx, files[:1], opts)
	for range files[1:] {
		outcomes = append(outcomes, store.Outcome{Err: &store.InterruptedError{Err: errors.New("no server answers")}})
	}
	return outcomes, err
}

// TestInterrupted reports the files that were stored, and one error for all others.
func TestInterrupted(t *testing.T) {
	im := New(failing{mem.New()}, Options{Workers: 1})
	var list []Source
	for i := range 5 {
		s := MemorySource(fmt.Sprint("run", i), []byte("main;f 1\n"))
		s.Label = Label{Benchmark: "b"}
		s.Label.Run.Key = fmt.Sprint("run", i)
		list = append(list, s)
	}
	var reported []Result
	_, err := im.Import(t.Context(), list, func(r Result) { reported = append(reported, r) })
	if err == nil || !strings.Contains(err.Error(), "no server answers; ") ||
		!strings.Contains(err.Error(), "are not stored: repeat the import") {
		t.Errorf("%v", err)
	}
	if len(reported) != 1 || reported[0].Status != Stored {
		t.Errorf("%+v were reported", reported)
	}
}

// panicsOnRead is content whose reading is a defect.
type panicsOnRead struct{}

func (panicsOnRead) Read([]byte) (int, error) { panic("index out of range") }

// TestPanickingReader: a reader that panics fails its file; the others are stored.
func TestPanickingReader(t *testing.T) {
	got := run(t, mem.New(), Options{Workers: 1, Defaults: Label{Run: testrun.Run{Key: "r"}}}, text("g/a.folded", "main 1\n"),
		ReaderSource("g/b.folded", panicsOnRead{}), text("g/c.folded", "main 1\n"))
	if len(got) != 3 || got[0] != "g/a.folded stored" || !strings.Contains(got[1], "the reader panicked") || got[2] != "g/c.folded stored" {
		t.Errorf("%q", got)
	}
}
