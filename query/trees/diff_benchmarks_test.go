package trees

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/runtest"
)

// TestDiffBenchmarksOfTwoLanguages: two commits of a store of several value types have one table, in
// which each benchmark has its own type and its level, also what one side did not run.
func TestDiffBenchmarksOfTwoLanguages(t *testing.T) {
	var runs []runtest.Run
	for _, x := range []struct {
		benchmark, typ string
		base, head     int // samples of a function; 0: not run
	}{
		{"go-slow", "cpu-samples", 6000, 12000}, {"go-fast", "cpu-samples", 12000, 6000}, {"go-same", "cpu-samples", 6000, 6010},
		{"java", "wall-samples", 6000, 12000}, {"gone", "cpu-samples", 6000, 0}, {"new", "wall-samples", 0, 6000},
	} {
		for i, n := range []int{x.base, x.head} {
			if n > 0 {
				runs = append(runs, runtest.Run{Benchmark: x.benchmark, Type: x.typ, Operations: 100, Key: fmt.Sprint("run-", i),
					Commit: []string{"aaaaaaaa", "bbbbbbbb"}[i], Stacks: fmt.Sprintf("main;work %d, main;rest 1000", n)})
			}
		}
	}
	r := &DiffRequest{}
	r.Base.Commits, r.Head.Commits = []string{"aaaaaaaa"}, []string{"bbbbbbbb"}
	st := runtest.Store(t, runs...)
	got, err := DiffBenchmarks(t.Context(), st, r)
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for i := range got.Rows {
		b := &got.Rows[i]
		rows = append(rows, strings.Join([]string{b.Benchmark, b.Type, string(b.Level), b.Function}, " "))
	}
	want := "gone cpu-samples not run \nnew wall-samples new \ngo-slow cpu-samples slower work\njava wall-samples slower work\n" +
		"go-fast cpu-samples faster work\ngo-same cpu-samples unchanged "
	if text := strings.Join(rows, "\n"); text != want || got.Type != "cpu-samples" ||
		got.Headline != "2 slower, 1 faster, 1 unchanged, 1 not run, 1 new" {
		t.Errorf("%s\n%s, %s", text, got.Type, got.Headline)
	}
	r.Benchmarks = []string{"java"} // one alone has a row too
	if got, err = DiffBenchmarks(t.Context(), st, r); err != nil || got.Headline != "1 slower" || len(got.Rows) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
