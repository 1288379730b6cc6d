package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m.Run)) }

// halves are parts of the demo's runs that overlap.
var halves = [][]string{{"--until", "2026-11-21T12:20:00Z"}, {"--since", "2026-11-21T12:16:00Z"}}

// TestMachines lets four processes publish overlapping stores to a new lake with a
// catalog in PostgreSQL at once, and expects the answers of one store with all runs.
func TestMachines(t *testing.T) {
	if os.Getenv("DENDRO_TEST_REAL") == "" {
		t.Skip("needs PostgreSQL: DENDRO_TEST_REAL=1 runs it, as make smoke-servers does")
	}
	p, err := startPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	dir := t.TempDir()
	program.Must(t, dir, "demo", "--store", "all.duckdb")
	type result struct {
		out, err string
		status   int
	}
	results := make(chan result)
	const publishers = 4
	for i := range publishers {
		name := fmt.Sprint(i)
		program.Must(t, dir, append([]string{"copy", "--from", "all.duckdb", "--to", name}, halves[i%2]...)...)
		go func() {
			var r result
			r.out, r.err, r.status = program.Run(t, dir, "publish", "--store", name, "--to", p.url, "--warehouse", "files")
			results <- r
		}()
	}
	for range publishers {
		if r := <-results; r.status != 0 {
			t.Error(r)
		}
	}
	lake := "lake:" + p.url
	same := func() {
		t.Helper()
		for _, command := range []string{"top --benchmark checkout --type cpu --rows 0", "tree --benchmark checkout --type cpu", "regressions", "runs"} {
			args := append(strings.Fields(command), "-o", "json", "--store")
			want, got := program.Must(t, dir, append(args, "all.duckdb")...), program.Must(t, dir, append(args, lake)...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", command, diff)
			}
		}
	}
	same()
	if out := program.Must(t, dir, "publish", "--store", "all.duckdb", "--to", p.url); !strings.HasPrefix(out, "0 profiles published") {
		t.Error(out)
	}
	if _, err := os.Stat(filepath.Join(dir, "files", "profiles", "data")); err != nil {
		t.Error(err)
	}
	for _, store := range []string{"all.duckdb", lake} {
		program.Must(t, dir, "prune", "--store", store, "--keep", "3")
		program.Must(t, dir, "compact", "--store", store)
	}
	same()
	for _, c := range []struct {
		text string
		args []string
	}{
		{"leave out --warehouse", []string{"publish", "--store", "all.duckdb", "--to", p.url, "--warehouse", "elsewhere"}},
		{"there is no lake (dendro publish creates one)", []string{"top", "--store", strings.Replace(lake, "/postgres", "/template1", 1)}},
		{"say where its files are to be", []string{"publish", "--store", "all.duckdb", "--to", strings.Replace(p.url, "/postgres", "/template1", 1)}},
		{"give the URL of its catalog", []string{"top", "--store", "lake:s3://bucket/lake"}},
	} {
		if _, text, status := program.Run(t, dir, c.args...); status != 1 || !strings.Contains(text, c.text) {
			t.Errorf("%v: status %d, %s, want %q", c.args, status, text, c.text)
		}
	}
}
