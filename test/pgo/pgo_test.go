// Package pgo shows that profiles which a program pushed are of use to Go's compiler: what it
// inlines with one from Dendro, and what the program's benchmark gains. With DENDRO_TEST_REAL=1
// only, because Go's whole library is built twice.
package pgo

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m.Run)) }

// gained are the calls that the compiler does not inline without a profile.
var gained = []string{"inlining call to price", "PGO devirtualizing interface call r.of to (*country).of"}

func TestPGO(t *testing.T) {
	if os.Getenv("DENDRO_TEST_REAL") == "" {
		t.Skip("set DENDRO_TEST_REAL=1 to build a program with its profiles")
	}
	dir := t.TempDir()
	shop := filepath.Join(dir, "shop")
	if err := os.CopyFS(shop, os.DirFS("testdata/shop")); err != nil {
		t.Fatal(err)
	}
	if said := compile(t, shop, "off"); len(said) > 0 {
		t.Fatalf("without a profile the compiler does this already: %q", said)
	}

	server, err := program.StartServer(dir, "--continuous")
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	defer func() {
		if !ended {
			server.Kill()
		}
	}()
	for _, file := range []string{"1.pb.gz", "2.pb.gz", "3.pb.gz"} {
		run(t, shop, "./shop", "-cpuprofile", file, "-for", "2s")
		content, err := os.ReadFile(filepath.Join(shop, file))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.Post(server.HTTP+"/ingest?format=pprof&name=shop%7Bversion=1.0%7D", "", bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status)
		}
	}
	server.Process.Signal(os.Interrupt) // lines are stored when the server ends, at the latest
	if err := server.Wait(); err != nil {
		t.Fatal(err)
	}
	ended = true

	program.Must(t, dir, "export", "--store", "s.duckdb", "--service", "shop", "-o", "shop/pushed.pgo")
	program.Must(t, dir, "import", "--store", "runs.duckdb", "--keep-source", "--run", "1", "--benchmark", "shop", "shop/1.pb.gz")
	program.Must(t, dir, "export", "--store", "runs.duckdb", "--benchmark", "shop", "-o", "shop/run.pgo")
	for _, profile := range []string{"pushed.pgo", "run.pgo"} {
		if said := compile(t, shop, profile); !slices.Equal(said, gained) {
			t.Errorf("with %s the compiler says %q", profile, said)
		}
	}
	listed := program.Must(t, dir, "list", "--store", "s.duckdb", "--service", "shop", "main.price", "--source-root", "shop")
	if !strings.Contains(listed, "sum += r.of(sum)") {
		t.Errorf("the lines of price:\n%s", listed)
	}
	without, with := benchmark(t, shop, "off"), benchmark(t, shop, "pushed.pgo")
	t.Logf("BenchmarkOrder: %.0f ns without a profile, %.0f ns with that of Dendro, %+.0f %%", without, with, 100*(with/without-1))
}

// compile builds the program and returns which of the gained calls its compiler reports.
func compile(t *testing.T, dir, profile string) (said []string) {
	t.Helper()
	out := run(t, dir, "go", "build", "-pgo="+profile, "-gcflags=-m", "-o", "shop", ".")
	for _, text := range gained {
		if strings.Contains(out, text) {
			said = append(said, text)
		}
	}
	return said
}

var perOperation = regexp.MustCompile(`([0-9.]+) ns/op`)

// benchmark returns the least time of an operation of the program's benchmark.
func benchmark(t *testing.T, dir, profile string) (least float64) {
	t.Helper()
	out := run(t, dir, "go", "test", "-pgo="+profile, "-bench", "Order", "-count", "8", "-benchtime", "200ms")
	for _, m := range perOperation.FindAllStringSubmatch(out, -1) {
		ns, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		if least == 0 || ns < least {
			least = ns
		}
	}
	return least
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}
