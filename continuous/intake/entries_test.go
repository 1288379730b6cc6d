package intake_test

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/format/pprof"
	"github.com/dendroprof/dendro/profile"
)

// TestEmptyEntries: a profile of millions of entries that say nothing, of two bytes each, is refused,
// and its worker keeps no room for as many.
func TestEmptyEntries(t *testing.T) {
	in := open(t, accepting{}, intake.Options{Workers: 1})
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for _, tag := range []string{"\x1a", "\x22", "\x2a"} { // mappings, locations, functions
		content := append([]byte("\x0a\x04\x08\x01\x10\x02\x32\x00\x32\x03cpu"), bytes.Repeat([]byte(tag+"\x00"), 15<<20)...)
		err := in.Push(t.Context(), "", func(w *intake.Worker) error {
			_, err := w.Decode("pprof", content, func() profile.Decoder { return new(pprof.Decoder) })
			return err
		})
		if !errors.Is(err, profile.ErrTooLarge) {
			t.Errorf("entries %x: %v", tag, err)
		}
	}
	runtime.GC()
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	if kept := after.HeapAlloc - before.HeapAlloc; after.HeapAlloc > before.HeapAlloc && kept > 16<<20 {
		t.Errorf("%d MB are kept", kept>>20)
	}
	runtime.KeepAlive(in)
}
