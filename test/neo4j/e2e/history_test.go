package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// history writes a history of folded files with recursion, metrics and functions
// that come and go, and returns its manifest. It is the same for the same seed.
func history(t *testing.T, seed uint64, benchmarks, runs int) string {
	t.Helper()
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(seed, 1))
	var manifest []string
	for b := range benchmarks {
		for run := range runs {
			name := fmt.Sprintf("b%d-%d.folded", b, run)
			writeFile(t, dir, name, stacks(r, 60))
			manifest = append(manifest, fmt.Sprintf(`{"file": %q, "group": "suite", "benchmark": "b%d", "run": "night-%03d", "date": "2026-03-01T%02d:%02d:00Z",
				"branch": "main", "machine": "m", "metric": {"name": "time", "mean": %d, "unit": "ms"}}`,
				name, b, run, run/60, run%60, 1000*(b+1)+run+50*r.IntN(20)))
		}
	}
	writeFile(t, dir, "manifest.json", "["+strings.Join(manifest, ",\n")+"]")
	return filepath.Join(dir, "manifest.json")
}

// stacks returns lines of folded stacks, of few functions so that they recur.
func stacks(r *rand.Rand, lines int) string {
	var b strings.Builder
	for range lines {
		b.WriteString("app.Main.run")
		for range r.IntN(7) {
			fmt.Fprintf(&b, ";app.F%d.call", r.IntN(1+r.IntN(12)))
		}
		fmt.Fprintf(&b, " %d\n", 1+r.IntN(30))
	}
	return b.String()
}

func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
