package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dendroprof/dendro/test/neo4j/server"
	"github.com/dendroprof/dendro/test/program"
)

// with returns a call whose environment has further variables.
func with(c *exec.Cmd, env ...string) *exec.Cmd {
	c.Env = append(c.Env, env...)
	return c
}

func TestMistakesWithAddresses(t *testing.T) {
	needServer(t)
	dir := t.TempDir()
	where := place(t, "shared")
	refused(t, with(command(dir, "runs", "--store", where), "DENDRO_NEO4J_PASSWORD=not-"+server.Password+"!"), "password is wrong",
		"DENDRO_NEO4J_PASSWORD")
	refused(t, with(command(dir, "runs", "--store", strings.Replace(where, "neo4j@", "nobody@", 1))), `"nobody"`, "password is wrong")
	refused(t, command(dir, "runs", "--store", strings.Replace(where, "neo4j@", "neo4j:"+server.Password+"@", 1)), "contains a password",
		"DENDRO_NEO4J_PASSWORD")
	refused(t, command(dir, "runs", "--store", where+"/nowhere"), "no database", "nowhere")
	refused(t, command(dir, "runs", "--store", "neo4j://neo4j@127.0.0.1:1"), "no Neo4j server answers", "127.0.0.1:1")
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	refused(t, command(dir, "runs", "--store", "bolt://"+web.Listener.Addr().String()), "Bolt port")
	writeFile(t, dir, "password", server.Password+"\n")
	c := command(dir, "store", "info", "--store", where)
	c.Env = slices.DeleteFunc(c.Env, func(v string) bool { return strings.HasPrefix(v, "DENDRO_NEO4J_PASSWORD=") })
	refused(t, exec.Command("env", append([]string{"-u", "DENDRO_NEO4J_PASSWORD"}, c.Args...)...), "requires a password",
		"DENDRO_NEO4J_PASSWORD_FILE")
	if out, errOut, status := program.Finish(t, with(c, "DENDRO_NEO4J_PASSWORD_FILE=password")); status != 0 ||
		!strings.Contains(out, "model shared") {
		t.Errorf("with a password file: status %d\n%s%s", status, out, errOut)
	}
}

// TestPrompt gives the program a terminal and wants it to ask for the password,
// without showing it.
func TestPrompt(t *testing.T) {
	needServer(t)
	terminal, err := exec.LookPath("script")
	if err != nil {
		t.Skip("needs script(1), which makes a terminal")
	}
	where := place(t, "shared")
	c := command(t.TempDir())
	c.Path, c.Args = terminal, []string{"script", "-qec",
		fmt.Sprintf("env -u DENDRO_NEO4J_PASSWORD %s store info --store %s", program.Path(), where), "/dev/null"}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		time.Sleep(time.Second) // what comes before the question is shown
		fmt.Fprintln(in, server.Password)
	}()
	out, _, status := program.Finish(t, c)
	if status != 0 || !strings.Contains(out, "Password of neo4j at neo4j://127.0.0.1") || !strings.Contains(out, "model shared") ||
		strings.Contains(out, server.Password) {
		t.Errorf("status %d\n%s", status, out)
	}
}

// TestForeign wants a database that holds something else left as it is.
func TestForeign(t *testing.T) {
	needServer(t)
	dir := filepath.Dir(history(t, 1, 1, 1))
	where := place(t, "")
	cypher(t, graph, "CREATE (:Person {name: 'Ada'})-[:KNOWS]->(:Person {name: 'Grace'})")
	describe := func() string {
		return fmt.Sprint(cypher(t, graph, "MATCH (n) OPTIONAL MATCH (n)-[r]->() RETURN labels(n) AS l, properties(n) AS p, type(r) AS t ORDER BY n.name"),
			cypher(t, graph, "SHOW CONSTRAINTS YIELD name"), cypher(t, graph, "SHOW INDEXES YIELD name WHERE name STARTS WITH 'dendro'"))
	}
	before := describe()
	for _, args := range [][]string{{"import", "--manifest", "manifest.json"}, {"runs"}, {"store", "init"},
		{"store", "init", "--model", "thesis"}, {"prune", "--keep", "1"}, {"compact"}} {
		refused(t, command(dir, append(args, "--store", where)...), "2 nodes with the labels Person")
	}
	if after := describe(); after != before {
		t.Errorf("the database was\n%s\nand is\n%s", before, after)
	}
	must(t, dir, "store", "init", "--force", "--store", where)
	must(t, dir, "import", "--manifest", "manifest.json", "--store", where)
	if got := cypher(t, graph, "MATCH (:Person {name: 'Ada'})-[:KNOWS]->(p:Person) RETURN p.name AS name"); len(got) != 1 || got[0]["name"] != "Grace" {
		t.Errorf("beside the store: %v", got)
	}

	place(t, "")
	cypher(t, graph, "CREATE (:Function {name: 'sin'})")
	refused(t, command(dir, "store", "init", "--force", "--store", where), "needs the labels Function")
}

func TestOtherModelsAndVersions(t *testing.T) {
	needServer(t)
	dir := t.TempDir()
	where := place(t, "shared")
	must(t, dir, "store", "init", "--store", where, "--model", "shared")
	must(t, dir, "store", "init", "--store", where)
	refused(t, command(dir, "store", "init", "--store", where, "--model", "thesis"), "has the model shared, not thesis")
	cypher(t, graph, "MATCH (d:Dendro) SET d.schema = 99")
	refused(t, command(dir, "runs", "--store", where), "newer version", "99")
	refused(t, command(dir, "store", "init", "--store", where), "newer version", "99")
}

// TestReadOnly wants `dendro cypher` to change nothing and to reach no file.
func TestReadOnly(t *testing.T) {
	needServer(t)
	dir := filepath.Dir(history(t, 1, 1, 2))
	where := place(t, "shared")
	must(t, dir, "import", "--manifest", "manifest.json", "--store", where)
	for query, words := range map[string]string{
		"MATCH (n) DETACH DELETE n":                                   "cannot be written",
		"CREATE (n:X) RETURN n":                                       "cannot be written",
		"load /**/ csv FROM 'file:///etc/passwd' AS line RETURN line": "LOAD CSV",
		"MATCH (n RETURN n":                                           "Invalid input",
		"RETURN $nothing":                                             "nothing",
		"UNWIND [1, 0] AS i RETURN 1 / i":                             "/ by zero",
	} {
		refused(t, command(dir, "cypher", query, "--store", where), words)
	}
	if n := cypher(t, graph, "MATCH (p:Profile) RETURN count(p) AS n")[0]["n"]; n != int64(2) {
		t.Errorf("%v profiles are left", n)
	}
	out, errOut, _ := dendro(t, dir, "cypher", "UNWIND range(1, 2000000000) AS n RETURN n", "--rows", "3", "-o", "tsv", "--store", where)
	if out != "n\n1\n2\n3\n" || !strings.Contains(errOut, "stopped after 3 rows (--rows)") {
		t.Errorf("%q, %q", out, errOut)
	}
	out = must(t, dir, "cypher", "MATCH (:BenchmarkGroup)-[r:HAS_BENCHMARK]->(b:Benchmark) RETURN b, type(r) AS r, date('2026-01-02') AS d, [1.5, null] AS l", "-o", "json", "--store", where)
	if _, errOut, _ := dendro(t, dir, "cypher", "MATCH (n:Benchmrk) RETURN n", "--store", where); !strings.Contains(errOut, "Benchmrk") {
		t.Errorf("an unknown label: %q", errOut)
	}
	row := program.Rows(t, out)[0]
	if b, _ := row["b"].(map[string]any); fmt.Sprint(b["labels"]) != "[Benchmark]" || row["d"] != "2026-01-02" ||
		fmt.Sprint(row["l"]) != "[1.5 <nil>]" {
		t.Errorf("%s", out)
	}
}

// hostile are names that are dangerous where a query is put together from texts.
var hostile = []string{"it's", `say "hi"`, "two\nlines", "`back`", `'}) MATCH (n) DETACH DELETE n //`, `\`, `\u0027`, "$param", "{}",
	"λ → ∀", "tab\there", " spaces ", strings.Repeat("long", 1200)}

// hostileFile writes p.speedscope.json, whose functions have the hostile names.
func hostileFile(t *testing.T, dir string) {
	t.Helper()
	type frame struct {
		Name string `json:"name"`
	}
	var frames []frame
	var stacks [][]int
	var weights []int
	for i, name := range hostile {
		frames, stacks, weights = append(frames, frame{name}), append(stacks, []int{0, i}), append(weights, i+1)
	}
	text, err := json.Marshal(map[string]any{"$schema": "https://www.speedscope.app/file-format-schema.json",
		"shared": map[string]any{"frames": frames},
		"profiles": []any{map[string]any{"type": "sampled", "name": "p", "unit": "none", "startValue": 0, "endValue": 100, "samples": stacks,
			"weights": weights}}})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, "p.speedscope.json", string(text))
}

func TestHostileNames(t *testing.T) {
	needServer(t)
	dir := t.TempDir()
	hostileFile(t, dir)
	for _, model := range models {
		where := place(t, model)
		for _, st := range []string{"embedded.duckdb", where} {
			for i, name := range hostile[:len(hostile)-1] { // the last one is too long for a benchmark
				must(t, dir, "import", "--store", st, "--run", fmt.Sprint(i, name), "--date", fmt.Sprintf("2026-01-%02d", i+1), "--group", name,
					"--benchmark", "b"+name,
					"--branch", name, "--commit", name, "--machine", name, "--attr", "k="+name, "--metric", name+"=1ms", "p.speedscope.json")
			}
		}
		for _, q := range [][]string{{"runs", "--profiles", "-o", "json"}, {"runs", "-o", "json"}, {"tree", "-o", "json", "--group", hostile[4]},
			{"find", "*back*", "-o", "json"}, {"top", "-o", "json", "--branch", hostile[0]}} {
			want := must(t, dir, append(slices.Clone(q), "--store", "embedded.duckdb")...)
			got := must(t, dir, append(slices.Clone(q), "--store", where)...)
			if want != got {
				t.Errorf("%s: dendro %q\n%s\nwant\n%s", model, q, got, want)
			}
		}
	}
}

// interrupted starts an import or a copy, calls f when the server has n profiles,
// and waits for the end. It returns the files that were reported as stored.
func interrupted(t *testing.T, c *exec.Cmd, s *server.Server, n int64, f func()) (reported []string) {
	t.Helper()
	c.Args = append(c.Args, "--progress", "json")
	var out, errOut bytes.Buffer
	c.Stdout, c.Stderr = &out, &errOut
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for stored := int64(0); stored < n; {
		select {
		case err := <-ended:
			t.Fatalf("it ended before %d profiles were there: %v\n%s%s", n, err, &out, &errOut)
		case <-time.After(5 * time.Millisecond):
			stored, _ = cypher(t, s, "MATCH (p:Profile) RETURN count(p) AS n")[0]["n"].(int64)
		}
	}
	f()
	t.Logf("%v %s", <-ended, &errOut)
	for line := range strings.Lines(out.String()) {
		var r struct{ File, Status string }
		if json.Unmarshal([]byte(line), &r) == nil && r.Status == "stored" {
			reported = append(reported, r.File)
		}
	}
	return reported
}

// storedFiles returns the files whose profiles a store has.
func storedFiles(t *testing.T, dir, where string) (files []string) {
	t.Helper()
	for _, r := range program.Rows(t, must(t, dir, "runs", "--profiles", "--store", where, "-o", "json")) {
		files = append(files, fmt.Sprint(r["file"]))
	}
	return files
}

// keptPromise demands that what was reported is there, but not all that there is.
func keptPromise(t *testing.T, reported, stored []string, all int) {
	t.Helper()
	if len(stored) == all {
		t.Errorf("all %d files are there: nothing was interrupted", all)
	}
	for _, f := range reported {
		if !slices.Contains(stored, f) {
			t.Errorf("%s was reported as stored and is not there", f)
		}
	}
}

// whole compares a store with an embedded one that has the same history, and
// looks for what must not be in a graph: anything twice, anything torn.
func whole(t *testing.T, dir, where string, s *server.Server) {
	t.Helper()
	for _, q := range [][]string{{"runs", "--profiles", "-o", "json"}, {"runs", "-o", "json"}, {"tree", "-o", "json"},
		{"find", "*", "-o", "json"},
		{"bottlenecks", "--by", "subtree", "-o", "json"}, {"regressions", "--method", "thesis", "--rows", "0", "-o", "json"}} {
		want := rowsInOrder(t, must(t, dir, append(slices.Clone(q), "--store", "embedded.duckdb")...))
		got := rowsInOrder(t, must(t, dir, append(slices.Clone(q), "--store", where)...))
		if !slices.Equal(want, got) {
			t.Errorf("dendro %s: %d rows, want %d", strings.Join(q, " "), len(got), len(want))
		}
	}
	for what, query := range map[string]string{
		"nodes with one key":          "MATCH (n) UNWIND [k IN ['id', 'key'] WHERE n[k] IS NOT NULL] AS k WITH labels(n) AS l, n[k] AS id, count(*) AS n WHERE n > 1 RETURN l, id",
		"paths without a function":    "MATCH (c:CallPath) WHERE COUNT { (c)-[:OF]->() } <> 1 RETURN c.id",
		"paths without their caller":  "MATCH (c:CallPath) WHERE COUNT { ()-[:CALLS]->(c) } <> CASE c.depth WHEN 0 THEN 0 ELSE 1 END RETURN c.id",
		"profiles of no benchmark":    "MATCH (p:Profile) WHERE COUNT { (:Benchmark)-[:HAS_PROFILE]->(p) } <> 1 OR COUNT { (:TestRun)-[:HAS_PROFILE]->(p) } <> 1 RETURN p.key",
		"paths that profiles lack":    "MATCH (:Dendro {model: 'shared'}) MATCH (p:Profile) UNWIND p.paths AS id WITH DISTINCT id WHERE NOT EXISTS { MATCH (c:CallPath) WHERE c.id = id } RETURN id",
		"tree nodes without a parent": "MATCH (f:Function) WHERE f.profileKey IS NOT NULL AND COUNT { (f)<-[:INVOKES|ROOT]-() } <> 1 RETURN f.key",
	} {
		if bad := cypher(t, s, query+" LIMIT 5"); len(bad) > 0 {
			t.Errorf("%s: %v", what, bad)
		}
	}
}

// rowsInOrder returns the rows of an answer without what depends on the order of
// import, sorted.
func rowsInOrder(t *testing.T, text string) []string {
	t.Helper()
	var out []string
	for _, r := range program.Rows(t, text) {
		for k, v := range r {
			if f, ok := v.(float64); ok {
				r[k] = rounded(f)
			}
		}
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(line))
	}
	if len(out) == 0 {
		t.Errorf("no rows in %s", text)
	}
	slices.Sort(out)
	return out
}

// An import commits 128 files or fewer before it reports them.
const (
	filesOfHistory  = 280
	inFirstBatch    = 30
	afterFirstBatch = 200
)

// longHistory writes a history of filesOfHistory files, imports it into an
// embedded store and returns the folder.
func longHistory(t *testing.T, seed uint64) string {
	t.Helper()
	dir := filepath.Dir(history(t, seed, 4, filesOfHistory/4))
	must(t, dir, "import", "--manifest", "manifest.json", "--store", "embedded.duckdb")
	return dir
}

// TestImporterKilled kills an importer in the middle, and wants what it reported
// to be there and the rest to come with the next import.
func TestImporterKilled(t *testing.T) {
	needServer(t)
	long(t)
	dir := longHistory(t, 3)
	for _, model := range models {
		t.Run(model, func(t *testing.T) {
			where := place(t, model)
			c := command(dir, "import", "--manifest", "manifest.json", "--store", where)
			reported := interrupted(t, c, graph, afterFirstBatch, func() { c.Process.Kill() })
			if len(reported) == 0 {
				t.Error("nothing was reported")
			}
			keptPromise(t, reported, storedFiles(t, dir, where), filesOfHistory)
			must(t, dir, "import", "--manifest", "manifest.json", "--store", where)
			whole(t, dir, where, graph)
		})
	}
}

// TestServerKilled kills the server in the middle of an import and starts it
// again: the import goes on, or the next one does.
func TestServerKilled(t *testing.T) {
	needServer(t)
	long(t)
	s, err := server.Start(t.Context(), server.Options{Release: graph.Release()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dir := longHistory(t, 4)
	for _, model := range models {
		t.Run(model, func(t *testing.T) {
			empty(t, s)
			must(t, dir, "store", "init", "--store", s.URL(), "--model", model)
			c := command(dir, "import", "--manifest", "manifest.json", "--store", s.URL())
			var stored []string
			reported := interrupted(t, c, s, inFirstBatch, func() {
				if err := errors.Join(s.Kill(), s.Restart(t.Context())); err != nil {
					t.Error(err)
				}
				stored = storedFiles(t, dir, s.URL())
			})
			t.Logf("%d files were stored when the server was back, %d were reported at the end", len(stored), len(reported))
			if len(stored) < inFirstBatch || len(stored) == filesOfHistory {
				t.Errorf("%d of %d files were stored when the server was back", len(stored), filesOfHistory)
			}
			after := storedFiles(t, dir, s.URL())
			for _, f := range reported {
				if !slices.Contains(after, f) {
					t.Errorf("%s was reported as stored and is not there", f)
				}
			}
			must(t, dir, "import", "--manifest", "manifest.json", "--store", s.URL())
			whole(t, dir, s.URL(), s)
		})
	}
}

// TestTwoImporters lets processes import the same and different files at once.
func TestTwoImporters(t *testing.T) {
	needServer(t)
	long(t)
	dir := longHistory(t, 5)
	for _, model := range models {
		t.Run(model, func(t *testing.T) {
			where := place(t, "")
			must(t, dir, "store", "init", "--store", where, "--model", model)
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					if out, err := command(dir, "import", "--manifest", "manifest.json", "--store", where).CombinedOutput(); err != nil {
						t.Errorf("%v: %s", err, out)
					}
				})
			}
			wg.Wait()
			whole(t, dir, where, graph)
		})
	}
}

// TestCopyKilled kills a copy in the middle and continues it.
func TestCopyKilled(t *testing.T) {
	needServer(t)
	long(t)
	dir := longHistory(t, 6)
	where := place(t, "shared")
	c := command(dir, "copy", "--from", "embedded.duckdb", "--to", where)
	reported := interrupted(t, c, graph, 80, func() { c.Process.Kill() }) // in the second batch of 64
	if len(reported) < 64 {
		t.Errorf("%d files were reported", len(reported))
	}
	keptPromise(t, reported, storedFiles(t, dir, where), filesOfHistory)
	if out := must(t, dir, "copy", "--from", "embedded.duckdb", "--to", where); strings.HasPrefix(out, fmt.Sprint(filesOfHistory)) {
		t.Errorf("it began anew: %s", out)
	}
	whole(t, dir, where, graph)
}
