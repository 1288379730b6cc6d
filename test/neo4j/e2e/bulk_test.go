package e2e

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/dendroprof/dendro/test/neo4j/server"
)

// TestBulk makes a database with the server's own import tool and wants it to
// answer like the store that the files came from, also after a further import.
func TestBulk(t *testing.T) {
	needServer(t)
	dir, demo := embeddedDemo(t)
	manifest := history(t, 8, 2, 6)
	hostileFile(t, dir)
	s, err := server.Start(t.Context(), server.Options{Release: graph.Release()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, model := range models {
		t.Run(model, func(t *testing.T) {
			source := model + ".duckdb"
			must(t, dir, "import", "--manifest", demo, "--store", source)
			must(t, dir, "import", "--store", source, "--keep-source", "--run", "hostile", "--date", "2026-01-01", "--group", hostile[4], "--benchmark", "b_(k,"+hostile[0]+")",
				"--branch", hostile[2], "--attr", "a:b, \"c\"`="+hostile[1], "--metric", hostile[3]+"=1ms", "--metric", "other=2ms", "p.speedscope.json")
			bulk := filepath.Join(dir, "bulk-"+model)
			must(t, dir, "export", "--store", source, "--format", "neo4j-admin", "--model", model, "-o", bulk)
			if err := s.Stop(); err != nil {
				t.Fatal(err)
			}
			if err := s.Admin(t.Context(), bulk, "database", "import", "full", "neo4j", "--overwrite-destination", "@import.args"); err != nil {
				t.Fatal(err)
			}
			if err := s.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			must(t, dir, "store", "init", "--store", s.URL())
			sameAnswers(t, dir, source, s.URL())
			for _, q := range [][]string{{"runs", "--profiles", "-o", "json"}, {"runs", "-o", "json"}, {"export", "--source", "--run", "hostile"}} {
				if want, got := must(t, dir, append(slices.Clone(q), "--store", source)...), must(t, dir, append(slices.Clone(q), "--store", s.URL())...); want != got {
					t.Errorf("dendro %v: %q, want %q", q, got, want)
				}
			}
			for _, st := range []string{source, s.URL()} {
				must(t, dir, "import", "--manifest", manifest, "--store", st)
				must(t, dir, "import", "--manifest", demo, "--store", st)
			}
			sameAnswers(t, dir, source, s.URL())
		})
	}
}
