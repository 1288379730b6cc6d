//go:build linux

package e2e

import (
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/program"
)

// TestFullDisk runs the commands that write on a disk that is full: each reports it and
// what is safe, and the store answers as before. Once there is room, each succeeds.
func TestFullDisk(t *testing.T) {
	disk := program.NewDisk(t, "32m")
	in := t.TempDir()
	writeProfiles(t, in, 30, 2000)
	program.Must(t, disk.Dir, "import", "--store", "s.duckdb", "--run", "r", in)
	program.Must(t, disk.Dir, "publish", "--store", "s.duckdb", "--to", "lake", "--benchmark", "bench-001")
	before := program.Must(t, disk.Dir, "top", "--store", "s.duckdb", "-o", "json")
	commands := []struct{ args, want string }{
		{"import --store s.duckdb --run r2 " + writeOne(t, t.TempDir(), "more.folded", "main;more 1\n"), "what was committed is safe, nothing of the failed change was stored"},
		{"compact --store s.duckdb", "compact: the store is unchanged; it needs up to "},
		{"prune --store s.duckdb --older-than 0d --benchmark bench-000", "what was committed is safe, nothing of the failed change was stored"},
		{"publish --store s.duckdb --to lake", "what was committed is safe"},
		{"publish --store s.duckdb --to other", "what was committed is safe"},
	}
	for _, c := range commands {
		disk.Fill(t)
		out, errOut, status := program.Run(t, disk.Dir, strings.Fields(c.args)...)
		if status != 1 || !strings.Contains(errOut, "no space left on the disk of the store") || !strings.Contains(errOut, c.want) {
			t.Errorf("%s: status %d: %s%s", c.args, status, out, errOut)
		}
		if after := program.Must(t, disk.Dir, "top", "--store", "s.duckdb", "-o", "json"); after != before {
			t.Errorf("the answer after %s is another", c.args)
		}
	}
	disk.Free(t)
	published := program.Rows(t, program.Must(t, disk.Dir, "runs", "--store", "lake:lake", "--profiles", "-o", "json"))
	if len(published) != 1 {
		t.Errorf("%d profiles in the lake, one was published", len(published))
	}
	for _, c := range commands {
		program.Must(t, disk.Dir, strings.Fields(c.args)...)
	}
}
