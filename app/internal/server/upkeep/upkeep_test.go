package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/test/storetest"
)

// TestRows: some time after an import, the server writes the rows of functions. Answers that
// clients have cached stay valid, so the version of the store does not change.
func TestRows(t *testing.T) {
	st, err := duckdb.Open(t.Context(), filepath.Join(t.TempDir(), "store.duckdb"), duckdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	part, ok := Part(st, slog.New(slog.DiscardHandler), time.Millisecond)
	if !ok {
		t.Fatal("the store writes no rows")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- part.Run(ctx) }()
	f := storetest.File("g", "b", "r", profile.CPUSamples, "×2  ×1\nA  A\nB  C")
	if _, err := st.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: "1"}); err != nil {
		t.Fatal(err)
	}
	version := st.Version()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		answer, err := st.SQL(t.Context(), "SELECT count(*) FROM fn_sample")
		if err != nil {
			t.Fatal(err)
		}
		count := int64(0)
		for row, err := range answer.Rows {
			if err != nil {
				t.Fatal(err)
			}
			count = row[0].(int64)
		}
		if count == 3 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d rows", count)
		}
	}
	if st.Version() != version {
		t.Error("the rows made answers old")
	}
	cancel()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
