package pipeline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/program"
	"github.com/dendroprof/dendro/test/readtest"
)

// TestUpgrade opens a store that v0.1.0 wrote, schema 1, with the program of today: it answers
// from its runs, windows and tasks as v0.1.0 did, takes another run, and answers once more
// after it was compacted. Later releases add their stores.
func TestUpgrade(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "store.duckdb")
	if err := os.WriteFile(at, readtest.File(t, "v0.1.0.duckdb.gz"), 0o600); err != nil {
		t.Fatal(err)
	}
	profile := filepath.Join(dir, "next.folded")
	if err := os.WriteFile(profile, []byte("main;load;parse 224\nmain;load;read 56\nmain;store 74\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		return program.Must(t, dir, append(args, "--store", at)...)
	}
	answers := func() {
		t.Helper()
		for _, x := range []struct {
			command string
			want    []string
		}{
			{"runs", []string{"run-1 ", "run-15 ", "cpu-samples"}},
			{"top --run run-15 --quiet", []string{"355 samples in total", "225 samples  63.4%"}},
			{"regressions", []string{"+252 ns/op", "main → load → parse", "run-5 (c5), last good run-4"}},
			{"history --benchmark checkout --function parse", []string{"run-6 ", "43.7%  43.7%"}},
			{"services", []string{"cart", "process_cpu:cpu:nanoseconds", "2026-11-28 13:26:59Z"}},
			{"top --service cart --since 2026-11-28 --quiet", []string{"1.80 s in total, 3 profiles", "parse"}},
			{"task list", []string{"cart", "/pay"}},
			{"export --run run-1 --format folded", []string{"main;load;parse 101"}},
		} {
			answer := run(strings.Fields(x.command)...)
			for _, want := range x.want {
				if !strings.Contains(answer, want) {
					t.Errorf("%s: no %q in\n%s", x.command, want, answer)
				}
			}
		}
	}
	answers()
	run("import", "--group", "shop", "--benchmark", "checkout", "--run", "run-16", "--date", "2026-10-16", "--branch", "main",
		"--metric", "time/op=1264ns/op", profile)
	if runs := run("runs"); !strings.Contains(runs, "run-16 ") {
		t.Error(runs)
	}
	run("prune", "--run", "run-16", "--older-than", "0d", "--yes")
	run("compact")
	answers()
}
