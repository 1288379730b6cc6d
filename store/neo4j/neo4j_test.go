package neo4j

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/test/storetest"
)

// server returns the address of the test server: DENDRO_TEST_NEO4J, a URL with a
// user, whose database these tests own; the password comes as for every user.
func server(t testing.TB) string {
	t.Helper()
	where := os.Getenv("DENDRO_TEST_NEO4J")
	switch {
	case where != "":
	case os.Getenv("DENDRO_TEST_REAL") != "":
		t.Fatal("DENDRO_TEST_REAL is set, but DENDRO_TEST_NEO4J names no server")
	default:
		t.Skip("needs a Neo4j server: set DENDRO_TEST_NEO4J (make test-real starts one)")
	}
	return where
}

// fresh empties the database of the test server and makes it ready.
func fresh(t testing.TB, m Model) string {
	t.Helper()
	where := server(t)
	g := dialed(t, where)
	wipe(t, g, m)
	if err := Init(context.Background(), where, InitOptions{Model: m}); err != nil {
		t.Fatal(err)
	}
	change(t, g, "MATCH (d:Dendro) SET d:"+testMark)
	return where
}

// dialed opens the bare database.
func dialed(t testing.TB, where string) *bolt.DB {
	t.Helper()
	g, err := bolt.Dial(context.Background(), where, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

// change runs a statement past the engine.
func change(t testing.TB, g *bolt.DB, statement string) {
	t.Helper()
	if err := g.Write(context.Background(), "a test", func(tx *bolt.Tx) error { return tx.Do(statement, nil) }); err != nil {
		t.Fatal(err)
	}
}

// long keeps a test out of `go test -short`, which asks whether a release of the
// server behaves as the others do: tests of size, of chance and of many processes
// say more about Dendro, and take their time.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long")
	}
}

// testMark is the label by which these tests know a database again as theirs.
const testMark = "DendroTest"

// wipe empties a database that was empty or marked. The schema goes too unless
// the model stays: each brings its own.
func wipe(t testing.TB, g *bolt.DB, next Model) {
	t.Helper()
	ctx := context.Background()
	var statements []string
	err := g.Read(ctx, func(tx *bolt.Tx) error {
		statements = nil
		r, err := tx.One("MATCH (n) RETURN count(n), count(CASE WHEN n:"+testMark+" THEN 1 END)", nil)
		if err != nil {
			return err
		}
		if r.Int(0) > 0 && r.Int(1) == 0 {
			t.Fatalf("the database %s holds something that these tests did not put there", g.Address)
		}
		if err := tx.Each("SHOW CONSTRAINTS YIELD name RETURN name", nil, func(r bolt.Row) error {
			statements = append(statements, "DROP CONSTRAINT "+r.Text(0))
			return nil
		}); err != nil {
			return err
		}
		if r, err = tx.One("OPTIONAL MATCH (d:Dendro) RETURN d.model", nil); err != nil || Model(r.Text(0)) == next {
			statements = nil
			return err
		}
		return tx.Each("SHOW INDEXES YIELD name, type, owningConstraint WHERE type <> 'LOOKUP' AND owningConstraint IS NULL RETURN name", nil, func(r bolt.Row) error {
			statements = append(statements, "DROP INDEX "+r.Text(0))
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	// Relationships first: a node may have more of them than fit into one transaction.
	for _, statement := range []string{
		"MATCH ()-[r]->() WITH r LIMIT 20000 DELETE r RETURN count(*)",
		"MATCH (n) WITH n LIMIT 20000 DELETE n RETURN count(*)",
	} {
		for left := int64(1); left > 0; {
			if err := g.Write(ctx, "wiping", func(tx *bolt.Tx) error {
				r, err := tx.One(statement, nil)
				if err == nil {
					left = r.Int(0)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, statement := range statements {
		if err := g.Schema(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
}

func opened(t testing.TB, where string) *Store {
	t.Helper()
	s, err := Open(context.Background(), where, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// engine is a Store of the model that is closed and opened again, and says to sent
// what it sends to the server.
func engine(m Model, sent *statements) storetest.Engine {
	return storetest.Engine{
		Open: func(t testing.TB) store.Store { return sent.of(opened(t, fresh(t, m))) },
		Reopen: func(t testing.TB, s store.Store) store.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return sent.of(opened(t, server(t)))
		},
	}
}

var bothModels = []Model{Shared, Thesis}

func TestStore(t *testing.T) {
	for _, m := range bothModels {
		t.Run(string(m), func(t *testing.T) {
			sent := newStatements()
			storetest.Run(t, engine(m, sent))
			sent.checkPlans(t, m, func(st *Store, stacks int) { mustPut(t, st, store.Refuse, millionFile(stacks, 2)) })
		})
	}
}

// TestSize asks a server on this machine. Its files grow only at a checkpoint.
func TestSize(t *testing.T) {
	s := opened(t, fresh(t, Shared))
	if info, err := s.Info(t.Context()); err != nil || info.Bytes == 0 {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestSizeOf(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"store": 3, "a/log": 4} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, make([]byte, size), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := sizeOf(dir); n != 7 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if n, err := sizeOf(filepath.Join(dir, "missing")); err == nil {
		t.Errorf("a missing directory has %d bytes", n)
	}
}
