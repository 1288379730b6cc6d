package gobench

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct{ line, pattern, flags, packages, fails string }{
		{"go test", ".", "", ".", ""},
		{"go test -bench Sort/n=10 -benchtime 2s -race ./...", "Sort/n=10", "-benchtime=2s -race", "./...", ""},
		{"/usr/bin/go test --benchtime=100x ./a ./b -run ^$ -tags=x", ".", "--benchtime=100x -tags=x", "./a ./b", ""},
		{"go build ./...", "", "", "", "is not a go test command"},
		{"go test -cpuprofile cpu.out .", "", "", "", "each benchmark gets one"},
		{"go test -count 3", "", "", "", "use --count"},
		{"go test -benchtime", "", "", "", "the value is missing"},
	} {
		c, err := Parse(strings.Fields(tt.line))
		if tt.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%s: %v", tt.line, err)
			}
			continue
		}
		if err != nil || c.Pattern != tt.pattern || strings.Join(c.flags, " ") != tt.flags || strings.Join(c.packages, " ") != tt.packages {
			t.Errorf("%s: %+v, %v", tt.line, c, err)
		}
	}
}

// module writes a module with two packages of benchmarks and one without.
func module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":         "module example.com/m\n\ngo 1.26\n",
		"a/a_test.go":    "package a\n\nimport \"testing\"\n\nfunc BenchmarkOne(b *testing.B) { for b.Loop() { work() } }\nfunc BenchmarkTwo(b *testing.B) { b.Run(\"x\", func(b *testing.B) { for b.Loop() { work() } }) }\nfunc TestNothing(t *testing.T) { t.Fatal(\"tests do not run\") }\nfunc work() (n int) { for i := range 1000 { n += i * i }; return n }\n",
		"b/b_test.go":    "package b\n\nimport \"testing\"\n\nfunc BenchmarkBroken(b *testing.B) { b.Fatal(\"out of luck\") }\n",
		"none/none.go":   "package none\n",
		"none/x_test.go": "package none\n\nimport \"testing\"\n\nfunc TestX(*testing.T) {}\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRun(t *testing.T) {
	c, err := Parse(strings.Fields("go test -bench One|Two|Broken -benchtime 100x ./..."))
	if err != nil {
		t.Fatal(err)
	}
	c.Dir = module(t)
	list, err := c.List(t.Context())
	want := []Benchmark{{"example.com/m/a", "BenchmarkOne"}, {"example.com/m/a", "BenchmarkTwo"}, {"example.com/m/b", "BenchmarkBroken"}}
	if err != nil || !slices.Equal(list, want) {
		t.Fatalf("%v, %v", list, err)
	}
	dir := t.TempDir()
	var out bytes.Buffer
	files, err := c.Run(t.Context(), list[1], Profiles{Memory: true}, dir, &out)
	if err != nil || len(files) != 2 || !strings.Contains(out.String(), "BenchmarkTwo/x") || strings.Contains(out.String(), "BenchmarkOne") {
		t.Fatalf("%v, %v: %s", files, err, &out)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := c.Run(t.Context(), list[2], Profiles{}, dir, &out); err == nil || !strings.Contains(err.Error(), "out of luck") {
		t.Errorf("a benchmark that fails: %v", err)
	}
}

// TestHostileProgram: a name is part of a path and an argument, and a test program may
// print anything in place of its list. It does not get the secrets of the store.
func TestHostileProgram(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module example.org/x\n\ngo 1.26\n",
		"x_test.go": "package x\n\nimport (\"fmt\"; \"os\"; \"testing\")\n\nfunc TestMain(*testing.M) {\n\tfmt.Println(\"Benchmark/../../../evil\\nBenchmark..\\nok -exec=evil 1s\\nBenchmarkÜ_1\")\n\tif os.Getenv(\"DENDRO_TOKEN\") != \"\" {\n\t\tfmt.Println(\"BenchmarkTakesTheToken\")\n\t}\n\tos.Exit(0)\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("DENDRO_TOKEN", "secret")
	list, err := (&Command{Dir: dir, Pattern: ".", packages: []string{"."}}).List(t.Context())
	if err != nil || len(list) != 1 || list[0] != (Benchmark{"example.org/x", "BenchmarkÜ_1"}) {
		t.Errorf("%q, %v", list, err)
	}
}
