package server

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/test/nightly"
	"github.com/dendroprof/dendro/test/program"
)

// TestKilledCopies kills `dendro copy` and `dendro publish` at any time. What the target has then
// is whole, what it once had stays, and the same command completes it; the source is unchanged.
func TestKilledCopies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source := filepath.Join(dir, "in")
	if err := os.Mkdir(source, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 120 {
		var b strings.Builder
		for l := range 300 {
			fmt.Fprintf(&b, "main;f%d;g%d;own%d_%d %d\n", l%7, l%31, i, l, 1+(i+l)%9)
		}
		writeOne(t, source, fmt.Sprintf("bench-%03d.folded", i), b.String())
	}
	program.Must(t, dir, "import", "--store", "s.duckdb", "--run", "r", "--date", "2026-01-01", "in")
	want := sumsOf(t, dir, "s.duckdb")
	for _, c := range []struct {
		name, target string
		args         []string
	}{
		{"copy", "t.duckdb", []string{"copy", "--from", "s.duckdb", "--to", "t.duckdb"}},
		{"publish", "lake:lake", []string{"publish", "--store", "s.duckdb", "--to", "lake"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			program.Must(t, dir, c.args...)
			whole := time.Since(began)
			clear := func() {
				for _, name := range []string{"t.duckdb", "t.duckdb.wal", "lake"} {
					if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
						t.Fatal(err)
					}
				}
			}
			tries := nightly.Or(6, 12)
			if testing.Short() {
				tries = 3
			}
			interrupted, had := 0, map[string]string{}
			clear()
			for n := range tries {
				command := program.Command(dir, c.args...)
				if err := command.Start(); err != nil {
					t.Fatal(err)
				}
				// At all times of the command, one after the other, and a bit beside.
				after := whole*time.Duration(n)/time.Duration(tries) + rand.N(whole/time.Duration(tries)+1)
				kill := time.AfterFunc(after, func() { _ = command.Process.Kill() })
				err := command.Wait()
				kill.Stop()
				if err != nil {
					interrupted++
				}
				if _, _, status := program.Run(t, dir, "runs", "--profiles", "--rows", "0", "--store", c.target); status != 0 && err != nil &&
					len(had) == 0 {
					continue // killed before there was a target
				}
				got := sumsOf(t, dir, c.target)
				for name, sum := range had {
					if got[name] != sum {
						t.Fatalf("after %v: %s had %s, now %q", after, name, sum, got[name])
					}
				}
				for name, sum := range got {
					if want[name] != sum {
						t.Fatalf("after %v: %s is %s, not %s", after, name, sum, want[name])
					}
				}
				if had = got; n%3 == 2 { // from the beginning again
					program.Must(t, dir, c.args...)
					if all := sumsOf(t, dir, c.target); len(all) != len(want) {
						t.Fatalf("completed: %d profiles of %d", len(all), len(want))
					}
					clear()
					had = map[string]string{}
				}
			}
			if interrupted < tries/3 {
				t.Errorf("only %d of %d were interrupted: the test does not test", interrupted, tries)
			}
			t.Logf("%d of %d interrupted", interrupted, tries)
			program.Must(t, dir, c.args...)
			if all := sumsOf(t, dir, c.target); len(all) != len(want) {
				t.Fatalf("completed: %d profiles of %d", len(all), len(want))
			}
		})
	}
	if after := sumsOf(t, dir, "s.duckdb"); len(after) != len(want) {
		t.Errorf("the source has %d profiles of %d", len(after), len(want))
	}
}

// sumsOf returns the sum of every profile of a store by its file.
func sumsOf(t *testing.T, dir, store string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	for _, row := range program.Rows(t, program.Must(t, dir, "runs", "--profiles", "--rows", "0", "-o", "json", "--store", store)) {
		sums[fmt.Sprint(row["file"])] = fmt.Sprint(row["sum"])
	}
	return sums
}
