package e2e

import (
	"path/filepath"
	"slices"
	"strings"
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
			must(t, dir, "import", "--store", source, "--keep-source", "--run", "hostile", "--date", "2026-01-01", "--group", hostile[4],
				"--benchmark", "b_(k,"+hostile[0]+")",
				"--branch", hostile[2], "--attr", "a:b, \"c\"`="+hostile[1], "--metric", hostile[3]+"=1ms", "--metric", "other=2ms",
				"p.speedscope.json")
			bulk := filepath.Join(dir, "bulk-"+model)
			must(t, dir, "export", "--store", source, "--format", "neo4j-admin", "--model", model, "--potentials", "3", "-o", bulk)
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
			samePotentials(t, dir, model, s.URL())
			sameAnswers(t, dir, source, s.URL())
			for _, q := range [][]string{{"runs", "--profiles", "-o", "json"}, {"runs", "-o", "json"}, {"export", "--source", "--run", "hostile"}} {
				if want, got := must(t, dir, append(slices.Clone(q), "--store", source)...),
					must(t, dir, append(slices.Clone(q), "--store", s.URL())...); want != got {
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

// samePotentials wants the arrays p and c of bulk files to be those that a running server
// gets: in the model shared by `store expand`, in the model thesis as the paper defines p.
func samePotentials(t *testing.T, dir, model, url string) {
	t.Helper()
	ask := func(query string) string {
		t.Helper()
		return must(t, dir, "cypher", "--store", url, "-o", "csv", query)
	}
	if model == "thesis" {
		const wrong = `MATCH (f:Function) OPTIONAL MATCH (f)-[:INVOKES]->(g) WITH f, sum(g.p[2]) AS below
			RETURN count(f) > 100 AS some, sum(CASE WHEN f.p[0] = f.base AND abs(f.p[3] - f.base - below) < 1e-9 THEN 0 ELSE 1 END) AS wrong`
		if got := ask(wrong); got != "some,wrong\ntrue,0\n" {
			t.Errorf("potentials of bulk files: %s", got)
		}
		return
	}
	const sums = "MATCH (p:Profile)-[s:SAMPLED]->(c) RETURN p.key, p.expanded, p.potentials, count(s), sum(s.self), sum(s.total), round(sum(s.p[3] * (c.id % 97)), 6), round(sum(s.c[3] * (c.id % 97)), 6) ORDER BY p.key"
	before := ask(sums)
	keys := strings.Fields(ask("MATCH (p:Profile) RETURN p.key"))[1:]
	if len(keys) == 0 || strings.Count(before, "\n") != len(keys)+1 {
		t.Fatalf("%d profiles, of bulk files expanded:\n%s", len(keys), before)
	}
	expand := append([]string{"store", "expand", "--store", url}, keys...)
	must(t, dir, append(slices.Clone(expand), "--undo")...)
	if left := ask("MATCH (:Profile)-[s:SAMPLED]->() RETURN count(s)"); left != "count(s)\n0\n" {
		t.Errorf("left after --undo: %s", left)
	}
	must(t, dir, append(slices.Clone(expand), "--potentials", "3")...)
	if after := ask(sums); after != before {
		t.Errorf("bulk files:\n%s\nstore expand:\n%s", before, after)
	}
	must(t, dir, append(slices.Clone(expand), "--undo")...)
}
