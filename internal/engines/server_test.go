package engines

import (
	"context"
	"errors"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/internal/server"
	"github.com/dendroprof/dendro/internal/server/api"
	"github.com/dendroprof/dendro/store"
)

// TestOpenServer opens the store of another Dendro by its address.
func TestOpenServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.duckdb")
	fill(t, file)
	behind, err := Open(t.Context(), file, Write)
	if err != nil {
		t.Fatal(err)
	}
	defer behind.Close()
	s, err := server.New(server.Options{HTTPToken: "secret"}, api.Part(api.Options{Store: behind}))
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(s.Handler())
	defer ts.Close()

	if st, err := Open(t.Context(), ts.URL, Read); err == nil || st != nil || !strings.Contains(err.Error(), tokenVariable) {
		t.Errorf("without the token: %v, %v", st, err)
	}
	t.Setenv(tokenVariable, "secret")
	if r, n := rules(t, ts.URL); r != "old" || n != 2 {
		t.Errorf("there are the rules %q and %d profiles", r, n)
	}
	err = Rewrite(t.Context(), ts.URL, func(store.Reader, store.Destination) error { return errors.New("copied") })
	if err == nil || !strings.Contains(err.Error(), "on the server's machine") {
		t.Errorf("Rewrite: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, ts.URL, Read); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}
