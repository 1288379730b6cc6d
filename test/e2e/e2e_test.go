package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/test/nightly"
	"github.com/dendroprof/dendro/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m.Run)) }

// writeProfiles writes n folded files of some size and returns the total of
// each by name.
func writeProfiles(t *testing.T, dir string, n, lines int) map[string]int64 {
	t.Helper()
	totals := map[string]int64{}
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range n {
		name := fmt.Sprintf("bench-%03d.folded", i)
		var b bytes.Buffer
		for l := range lines {
			v := 1 + r.IntN(9)
			totals[name] += int64(v)
			fmt.Fprintf(&b, "main;f%d;g%d;h%d;own%d_%d %d\n", l%7, l%31, l%101, i, l, v)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return totals
}

// TestKill kills an import at random points. Every file that was acknowledged
// must be there, whole; every other one whole or not at all; and the import can
// be repeated.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	if err := os.Mkdir(in, 0o700); err != nil {
		t.Fatal(err)
	}
	totals := writeProfiles(t, in, 400, 150)
	tries := nightly.Or(4, 12)
	if testing.Short() {
		tries = 3
	}
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	interrupted := 0
	for i := range tries {
		db := fmt.Sprintf("kill-%d.duckdb", i)
		acked, killed := killedImport(t, dir, db, time.Duration((700*i+r.IntN(700))/tries)*time.Millisecond) // at all times of it
		if killed {
			interrupted++
		}
		checkStore(t, dir, db, acked, totals)
		program.Must(t, dir, "import", "--store", db, "--run", "r", "in")
		checkStore(t, dir, db, totals, totals)
		if got := len(program.Rows(t, program.Must(t, dir, "runs", "--profiles", "--store", db, "-o", "json"))); got != len(totals) {
			t.Fatalf("after the repeated import: %d profiles of %d", got, len(totals))
		}
	}
	if interrupted < tries/4 {
		t.Errorf("only %d of %d imports were interrupted: the test does not test", interrupted, tries)
	}
}

// killedImport starts an import, kills it with SIGKILL after a while and
// returns the files that it acknowledged.
func killedImport(t *testing.T, dir, db string, after time.Duration) (acked map[string]int64, killed bool) {
	t.Helper()
	c := program.Command(dir, "import", "--store", db, "--run", "r", "--progress", "json", "in")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { c.Process.Kill() })
	defer timer.Stop()
	acked = map[string]int64{}
	for scan := bufio.NewScanner(out); scan.Scan(); {
		var line struct{ File, Status string }
		if json.Unmarshal(scan.Bytes(), &line) != nil {
			break // cut by the kill
		}
		if line.Status == "stored" {
			acked[filepath.Base(line.File)] = 0
		}
	}
	return acked, c.Wait() != nil
}

// checkStore demands that the acknowledged files are stored and every stored
// profile is whole.
func checkStore(t *testing.T, dir, db string, acked, totals map[string]int64) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, db)); err != nil {
		if len(acked) > 0 {
			t.Fatalf("%d files acknowledged and no store", len(acked))
		}
		return
	}
	out, errOut, status := program.Run(t, dir, "runs", "--profiles", "--store", db, "-o", "json")
	if status != 0 {
		if len(acked) == 0 && strings.Contains(errOut, "there is no store at") {
			return // killed before the schema was made
		}
		t.Fatalf("the store does not open after the kill: %s", errOut)
	}
	stored := map[string]int64{}
	for _, r := range program.Rows(t, out) {
		stored[filepath.Base(r["file"].(string))] = int64(r["sum"].(float64))
	}
	for name := range acked {
		if stored[name] == 0 {
			t.Fatalf("%s was acknowledged and is lost", name)
		}
	}
	for name, sum := range stored {
		if sum != totals[name] {
			t.Fatalf("%s: %d of %d samples", name, sum, totals[name])
		}
	}
	// The trees themselves, not only what is said of them.
	if len(stored) > 0 {
		var doc struct {
			RootTotal int64 `json:"rootTotal"`
		}
		if err := json.Unmarshal([]byte(program.Must(t, dir, "tree", "--store", db, "-o", "json", "--depth", "1")), &doc); err != nil {
			t.Fatal(err)
		}
		var want int64
		for name := range stored {
			want += totals[name]
		}
		if doc.RootTotal != want {
			t.Fatalf("the merged tree has %d of %d samples", doc.RootTotal, want)
		}
	}
}

// TestLocked asks a store that an import holds: the error names the process and its
// command.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	program.Must(t, dir, "import", "--store", "s.duckdb", "--run", "r", writeOne(t, dir, "a.folded", "a;b 1\n"))
	// An import that waits for its stdin holds the store.
	pid := program.Waiting(t, dir, "import", "--store", "s.duckdb", "--run", "r2", "-")
	deadline := time.Now().Add(40 * time.Second)
	for {
		time.Sleep(300 * time.Millisecond) // let the import in
		_, errOut, status := program.Run(t, dir, "runs", "--store", "s.duckdb")
		if status == 1 && strings.Contains(errOut, "in use by another process") && strings.Contains(errOut, fmt.Sprint(pid)) {
			if !strings.Contains(errOut, "waiting for another process that uses the store, at most 10s") {
				t.Errorf("it did not say that it waits: %s", errOut)
			}
			if !strings.Contains(errOut, "import --store s.duckdb --run r2 -)") {
				t.Errorf("the error does not have the command: %s", errOut)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("status %d: %s", status, errOut)
		}
	}

	// A command that waits for the store goes on when its holder is killed.
	reading := program.Command(dir, "runs", "--store", "s.duckdb")
	var out bytes.Buffer
	reading.Stdout, reading.Stderr = &out, &out
	if err := reading.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond) // let it find the lock; it waits for 10 s
	holder, err := os.FindProcess(pid)
	if err == nil {
		err = holder.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := reading.Wait(); err != nil {
		t.Errorf("the holder was killed: %v: %s", err, &out)
	}
}

func writeOne(t *testing.T, dir, name, content string) string {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPipes: commands compose, and a reader that stops early is no error.
func TestPipes(t *testing.T) {
	dir := t.TempDir()
	writeProfiles(t, dir, 3, 2000)
	sh := func(script string) string {
		c := exec.Command("sh", "-c", script)
		c.Dir = dir
		c.Env = append(os.Environ(), "DENDRO="+program.Path())
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
		return string(out)
	}
	if out := sh(`"$DENDRO" merge *.folded | "$DENDRO" top - -o tsv | wc -l`); strings.TrimSpace(out) == "1" {
		t.Errorf("nothing came through the pipe: %s", out)
	}
	sh(`"$DENDRO" merge *.folded | head -n 1`)
	sh(`gzip -c bench-000.folded | "$DENDRO" import --run r --benchmark b -`)
	if out := program.Must(t, dir, "runs", "--profiles", "-o", "tsv"); !strings.Contains(out, "\tb\t") {
		t.Errorf("stdin was not imported: %s", out)
	}
}

// TestMemory imports a file whose text is much larger than its tree: memory
// follows the tree.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 300 MB through a pipe")
	}
	dir := t.TempDir()
	c := program.Command(dir, "merge", "-", "-o", "out.folded")
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var block bytes.Buffer
	for i := range 2000 {
		fmt.Fprintf(&block, "main;%s;leaf%d 1\n", strings.Repeat("frame;", 80), i)
	}
	for range 300 {
		if _, err := stdin.Write(block.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	stdin.Close()
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	peak := program.PeakMemory(c.ProcessState)
	t.Logf("%d MB of text, peak memory %d MB", 300*block.Len()>>20, peak>>20)
	if peak > 400<<20 {
		t.Errorf("peak memory %d MB for a tree of 2,000 leaves", peak>>20)
	}
}
