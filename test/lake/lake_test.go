package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/test/postgres"
	"github.com/dendroprof/dendro/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m.Run)) }

// halves are parts of the demo's runs that overlap.
var halves = [][]string{{"--until", "2026-11-21T12:20:00Z"}, {"--since", "2026-11-21T12:16:00Z"}}

// calls are lines of calls in findings: a lake has no original files to read them from.
var calls = regexp.MustCompile(`"call":\d+,`)

// TestMachines lets processes publish overlapping stores to a new lake with a catalog in
// PostgreSQL at once, and expects the answers of one store with all runs.
func TestMachines(t *testing.T) {
	if os.Getenv("DENDRO_TEST_REAL") == "" {
		t.Skip("needs PostgreSQL: DENDRO_TEST_REAL=1 runs it, as make smoke-servers does")
	}
	p, err := postgres.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	b, err := startBucket()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	t.Run("directory", func(t *testing.T) { machines(t, p, "shared", "files", 4, nil) })
	t.Run("bucket", func(t *testing.T) { machines(t, p, "bucket", "s3://dendro/team/lake", 2, b.env) })
}

func machines(t *testing.T, p *postgres.Server, database, warehouse string, publishers int, env []string) {
	url, err := p.Database(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	dir, lake := t.TempDir(), "lake:"+url
	command := func(machine string, args ...string) *exec.Cmd {
		c := program.Command(dir, args...)
		c.Env = append(append(os.Environ(), env...), "XDG_CACHE_HOME="+filepath.Join(dir, "cache-"+machine))
		return c
	}
	must := func(args ...string) string {
		t.Helper()
		return program.Succeed(t, command("reader", args...))
	}
	must("demo", "--store", "all.duckdb")
	type result struct {
		out, err string
		status   int
	}
	results := make(chan result)
	for i := range publishers {
		name := fmt.Sprint(i)
		must(append([]string{"copy", "--from", "all.duckdb", "--to", name}, halves[i%2]...)...)
		go func() {
			var r result
			r.out, r.err, r.status = program.Finish(t, command(name, "publish", "--store", name, "--to", url, "--warehouse", warehouse))
			results <- r
		}()
	}
	for range publishers {
		if r := <-results; r.status != 0 {
			t.Error(r)
		}
	}
	same := func() {
		t.Helper()
		for _, question := range []string{"top --benchmark checkout --type cpu --rows 0", "tree --benchmark checkout --type cpu", "regressions",
			"runs"} {
			args := append(strings.Fields(question), "-o", "json", "--store")
			want := calls.ReplaceAllString(must(append(args, "all.duckdb")...), "")
			if diff := cmp.Diff(want, must(append(args, lake)...)); diff != "" {
				t.Errorf("%s: %s", question, diff)
			}
		}
	}
	same()
	if out := must("publish", "--store", "all.duckdb", "--to", url); !strings.HasPrefix(out, "0 profiles published") {
		t.Error(out)
	}
	for _, store := range []string{"all.duckdb", lake} {
		must("prune", "--store", store, "--keep", "3", "--yes")
		must("compact", "--store", store)
	}
	same()
	for _, c := range []struct {
		text string
		args []string
	}{
		{"leave out --warehouse", []string{"publish", "--store", "all.duckdb", "--to", url, "--warehouse", "elsewhere"}},
		{"there is no lake (dendro publish creates one)", []string{"top", "--store", strings.Replace(lake, "/"+database, "/template1", 1)}},
		{"say where its files are to be", []string{"publish", "--store", "all.duckdb", "--to",
			strings.Replace(url, "/"+database, "/template1", 1)}},
		{"a lake is named by its catalog", []string{"top", "--store", "lake:s3://bucket/lake"}},
	} {
		if _, text, status := program.Finish(t, command("reader", c.args...)); status != 1 || !strings.Contains(text, c.text) {
			t.Errorf("%v: status %d, %s, want %q", c.args, status, text, c.text)
		}
	}
}
