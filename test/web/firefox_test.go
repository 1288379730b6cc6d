package web

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/readtest"
)

// TestRowsOfFirefoxProfiler compares every row of every thread of a recording with the rows
// that Firefox Profiler shows: all frames, JavaScript, native, and each of them inverted.
// The file of rows has a line "# thread tid filter[ invert]" before those of a view, and
// per row depth, total, self and function.
func TestRowsOfFirefoxProfiler(t *testing.T) {
	recording := filepath.Join("..", "..", "format", "firefox", "testdata", "firefox-153-raw")
	views := strings.Split(strings.TrimPrefix(string(readtest.File(t, "../"+recording+".rows.gz")), "# "), "\n# ")
	if len(views) != 18 {
		t.Fatalf("%d views of Firefox Profiler, want 18: 3 threads, 3 filters, inverted or not", len(views))
	}
	for _, view := range views {
		title, want, _ := strings.Cut(view, "\n")
		t.Run(title, func(t *testing.T) {
			upright, inverted := strings.CutSuffix(title, " invert")
			words := strings.Fields(upright)
			args := []string{"tree", recording + ".json.gz", "-o", "json", "--thread", words[len(words)-2]}
			if kind := words[len(words)-1]; kind != "combined" {
				args = append(args, "--kind", kind)
			}
			if inverted {
				args = append(args, "--invert")
			}
			var tree struct {
				Rows []struct {
					Depth, Total, Self int
					Function           string
				}
			}
			if err := json.Unmarshal(run(t, args), &tree); err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, r := range tree.Rows {
				if inverted && r.Depth > 40 {
					continue // the file ends there
				}
				fmt.Fprintf(&b, "%d\t%d\t%d\t%s\n", r.Depth, r.Total, r.Self, r.Function)
			}
			got, rows := strings.Split(b.String(), "\n"), strings.Split(strings.TrimSuffix(want, "\n")+"\n", "\n")
			if want == "" {
				rows = rows[1:]
			}
			for i := range min(len(got), len(rows)) {
				if got[i] != rows[i] {
					t.Fatalf("row %d is %q, in Firefox Profiler %q", i, got[i], rows[i])
				}
			}
			if len(got) != len(rows) {
				t.Errorf("%d rows, in Firefox Profiler %d", len(got)-1, len(rows)-1)
			}
		})
	}
}
