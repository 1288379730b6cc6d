package remote_test

import (
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/dendroprof/dendro/app/internal/remote"
	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/api"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
)

// serve serves a store and returns a client of it, which closes both.
func serve(t testing.TB, st store.Store) *served {
	t.Helper()
	s, err := server.New(server.Options{HTTPToken: "secret-0123456789"}, api.Part(api.Options{Store: st, SQL: true}))
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(s.Handler())
	client, err := remote.Open(t.Context(), ts.URL, remote.Options{Token: "secret-0123456789"})
	if err != nil {
		t.Fatal(err)
	}
	return &served{Store: client, behind: st, server: ts}
}

// served is a client whose server and engine end with it.
type served struct {
	*remote.Store
	behind store.Store
	server *httptest.Server
}

func (s *served) Close() error {
	err := s.Store.Close()
	s.server.CloseClientConnections()
	s.server.Close()
	if closeErr := s.behind.Close(); err == nil {
		err = closeErr
	}
	return err
}

func ofMem() storetest.Engine {
	return storetest.Engine{Open: func(t testing.TB) store.Store { return serve(t, mem.New()) }}
}

func ofDuckDB() storetest.Engine {
	open := func(t testing.TB, path string) *duckdb.Store {
		st, err := duckdb.Open(t.Context(), path, duckdb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	paths := map[store.Store]string{}
	return storetest.Engine{
		Open: func(t testing.TB) store.Store {
			path := filepath.Join(t.TempDir(), "s.duckdb")
			s := serve(t, open(t, path))
			paths[s] = path
			return s
		},
		Reopen: func(t testing.TB, s store.Store) store.Store {
			path := paths[s]
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			again := serve(t, open(t, path))
			paths[again] = path
			return again
		},
	}
}

func TestStoreOfMem(t *testing.T) { storetest.Run(t, ofMem()) }

func TestStoreOfDuckDB(t *testing.T) { storetest.Run(t, ofDuckDB()) }

// TestHistory expects the same answers with and without a server between, after any
// sequence of calls.
func TestHistory(t *testing.T) {
	for seed := range uint64(6) {
		storetest.History(t, seed, storetest.Engine{Open: func(testing.TB) store.Store { return mem.New() }}, ofMem())
	}
}
