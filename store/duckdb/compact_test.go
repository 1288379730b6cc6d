package duckdb

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// TestQueriesWhileCompacting expects answers while the new file is written. A change waits
// and is in the file that stays.
func TestQueriesWhileCompacting(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
	made := newSynthetic(2)
	put := func(f *store.File) error {
		_, err := s.Put(t.Context(), []*store.File{f}, rules)
		return err
	}
	const runs = 40
	for run := range runs {
		if err := put(made.file(run%2, run)); err != nil {
			t.Fatal(err)
		}
	}
	late := made.file(0, runs)
	want := dump(t, s)["sums"].([]store.FunctionSum)
	writing := func() bool {
		_, err := os.Stat(driver.Spare(s.file.Path))
		return err == nil
	}
	compacted, changed := make(chan error, 1), make(chan error, 1)
	go func() { compacted <- s.Compact(t.Context()) }()
	for !writing() {
		select {
		case err := <-compacted:
			t.Fatalf("compacted before a query could be asked: %v", err)
		default:
		}
	}
	go func() { changed <- put(late) }()
	answers := 0
	for writing() {
		sums, err := store.SumFunctions(t.Context(), s, store.Query{Until: late.Run.Date})
		if err != nil || len(sums.Rows) != len(want) {
			t.Fatalf("%d functions, not %d: %v", len(sums.Rows), len(want), err)
		}
		if writing() {
			answers++
		}
	}
	if err := <-compacted; err != nil || answers == 0 {
		t.Errorf("%d answers while the file was written; %v", answers, err)
	}
	if err := <-changed; err != nil {
		t.Error(err)
	}
	if list, err := s.Profiles(t.Context(), store.Query{}); err != nil || len(list) != runs+1 {
		t.Errorf("%d profiles, %v", len(list), err)
	}
}
