package bench

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/testrun"
)

func TestParseGo(t *testing.T) {
	for _, tt := range []struct{ line, pattern, flags, packages, fails string }{
		{"go test", ".", "|", ".", ""},
		{"go test -bench Sort/n=10 -benchtime 2s -race ./...", "Sort/n=10", "-race|", "./...", ""},
		{"/usr/bin/go test --benchtime=100x ./a ./b -run ^$ -tags=x -test.short -own=1", ".", "-tags=x|-test.short -own=1", "./a ./b", ""},
		{"go build ./...", "", "", "", "is not a go test command"},
		{"go test -cpuprofile cpu.out .", "", "", "", "each benchmark gets one"},
		{"go test -count 3", "", "", "", "use --count"},
		{"go test -benchtime", "", "", "", "the value is missing"},
		{"go test -benchtime soon", "", "", "", "want a time like 2s"},
		{"go test -cpu 1,2", "", "", "", "give one number"},
	} {
		c, err := parseGo(strings.Fields(tt.line))
		if tt.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%s: %v", tt.line, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.line, err)
			continue
		}
		if flags := strings.Join(c.build, " ") + "|" + strings.Join(c.test, " "); c.pattern != tt.pattern || flags != tt.flags ||
			strings.Join(c.packages, " ") != tt.packages {
			t.Errorf("%s: %+v", tt.line, c)
		}
	}
}

// write writes files by name.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// open opens a session in dir that says and prints nothing.
func open(t *testing.T, dir, line string, o Options) (*Session, error) {
	t.Helper()
	if o.Results == nil {
		o.Results = io.Discard
	}
	o.Talk = io.Discard
	return Open(t.Context(), strings.Fields(line), Place{Dir: dir, Scratch: t.TempDir()}, o)
}

// TestGoOperations: benchmarks and sub-benchmarks are recorded alone, with a number of
// operations that is known, whether they loop over b.N, which the testing package first
// does once more, or with b.Loop.
func TestGoOperations(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod":         "module example.com/m\n\ngo 1.26\n",
		"a/a_test.go":    "package a\n\nimport \"testing\"\n\nfunc BenchmarkLoop(b *testing.B) { for b.Loop() { work() } }\nfunc BenchmarkN(b *testing.B) { for range b.N { work() } }\nfunc BenchmarkTwo(b *testing.B) {\n\tfor _, name := range []string{\"x-1\", \"y/size=2\"} {\n\t\tb.Run(name, func(b *testing.B) { for b.Loop() { work() } })\n\t}\n}\nfunc TestNothing(t *testing.T) { t.Fatal(\"tests do not run\") }\n\n//go:noinline\nfunc work() (n int) { for i := range 2000000 { n += i * i }; return n }\n",
		"none/none.go":   "package none\n",
		"none/x_test.go": "package none\n\nimport \"testing\"\n\nfunc TestX(*testing.T) {}\n",
	})
	var out bytes.Buffer
	s, err := open(t, dir, "go test -benchtime 300x ./...", Options{Memory: true, Results: &out})
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		name       string
		operations float64
	}{{"Loop", 300}, {"N", 301}, {"Two/x-1", 300}, {"Two/y/size=2", 300}}
	if len(s.Benchmarks) != len(want) {
		t.Fatalf("%+v", s.Benchmarks)
	}
	for i, w := range want {
		b := &s.Benchmarks[i]
		out.Reset()
		r, err := s.Record(t.Context(), b, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		n, estimated := testrun.Operations(r.Label.Metrics)
		if b.Group != "example.com/m/a" || b.Name != w.name || n != w.operations || estimated || len(r.Files) != 2 ||
			r.Label.Metrics[0].Unit != "ns/op" {
			t.Errorf("%+v: %+v", b, r)
		}
		if strings.Count(out.String(), "ns/op") != 1 || !strings.Contains(out.String(), "Benchmark"+w.name+"-") &&
			!strings.Contains(out.String(), "Benchmark"+w.name+" ") {
			t.Errorf("%s: %s", w.name, &out)
		}
	}
}

// TestGoCalibrates: the number of operations takes about as long as -benchtime.
func TestGoCalibrates(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod":    "module example.com/m\n\ngo 1.26\n",
		"a_test.go": "package a\n\nimport (\"testing\"; \"time\")\n\nfunc BenchmarkSleep(b *testing.B) { for b.Loop() { time.Sleep(10*time.Millisecond) } }\n",
	})
	s, err := open(t, dir, "go test -benchtime 1s .", Options{})
	if err != nil || len(s.Benchmarks) != 1 {
		t.Fatal(s, err)
	}
	if n := s.Benchmarks[0].Operations; n < 10 || n > 100 {
		t.Errorf("%d operations of 10 ms for 1 s", n)
	}
	again, err := Open(t.Context(), s.args, Place{Dir: dir, Scratch: t.TempDir(), Like: s}, s.Options)
	if err != nil || again.Benchmarks[0].Operations != s.Benchmarks[0].Operations {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestGoSettles: a benchmark that gets little CPU time, as on a busy machine, is recorded with more
// operations from the first run on, and so is the other side.
func TestGoSettles(t *testing.T) {
	for n, want := range map[time.Duration]int64{time.Second: 100, 800 * time.Millisecond: 100, 500 * time.Millisecond: 200,
		time.Millisecond: 400, 0: 400} {
		if got := settle(100, time.Second, n); got != want {
			t.Errorf("100 operations in %v: %d, want %d", n, got, want)
		}
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod":    "module example.com/m\n\ngo 1.26\n",
		"a_test.go": "package a\n\nimport (\"testing\"; \"time\")\n\nfunc BenchmarkSleep(b *testing.B) { for b.Loop() { time.Sleep(10*time.Millisecond) } }\n",
	})
	var out bytes.Buffer
	s, err := open(t, dir, "go test -benchtime 200ms .", Options{Results: &out})
	if err != nil {
		t.Fatal(err)
	}
	head, err := Open(t.Context(), s.args, Place{Dir: dir, Scratch: t.TempDir(), Like: s}, s.Options)
	if err != nil {
		t.Fatal(err)
	}
	before := s.Benchmarks[0].Operations
	for range 2 {
		for _, side := range []*Session{s, head} {
			r, err := side.Record(t.Context(), &side.Benchmarks[0], t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if n, _ := testrun.Operations(r.Label.Metrics); n != float64(round(float64(mostLonger*before))) {
				t.Errorf("%v operations, of %d by wall time", n, before)
			}
		}
	}
	if n := strings.Count(out.String(), "ns/op"); n != 4 {
		t.Errorf("%d results of 4 runs", n)
	}
}

func TestGoFails(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n",
		"b/b_test.go": "package b\n\nimport \"testing\"\n\nfunc BenchmarkBroken(b *testing.B) { b.Fatal(\"out of luck\") }\n"})
	if _, err := open(t, dir, "go test ./...", Options{}); err == nil || !strings.Contains(err.Error(), "out of luck") {
		t.Errorf("a benchmark that fails: %v", err)
	}
	if _, err := open(t, dir, "go test -bench Missing ./...", Options{}); err == nil ||
		!strings.Contains(err.Error(), "no benchmark matches") {
		t.Errorf("a pattern without a benchmark: %v", err)
	}
}

// TestHostileProgram: a name is part of an argument, and a test program may print anything
// in place of its list. It does not get the secrets of the store.
func TestHostileProgram(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod":    "module example.org/x\n\ngo 1.26\n",
		"x_test.go": "package x\n\nimport (\"fmt\"; \"os\"; \"testing\")\n\nfunc TestMain(*testing.M) {\n\tfor _, name := range []string{\"-evil\", \"../../evil\", \"Benchmark../evil\", \"BenchmarkÜ_1\"} {\n\t\tfmt.Printf(\"%s\\n%s-2 1 1 ns/op\\n\", name, name)\n\t}\n\tif os.Getenv(\"DENDRO_TOKEN\") != \"\" {\n\t\tfmt.Println(\"BenchmarkTakesTheToken\\nBenchmarkTakesTheToken 1 1 ns/op\")\n\t}\n\tfmt.Println(\"ok -exec=evil 1s\")\n\tos.Exit(0)\n}\n",
	})
	t.Setenv("DENDRO_TOKEN", "secret")
	s, err := open(t, dir, "go test .", Options{})
	if err != nil || len(s.Benchmarks) != 1 || s.Benchmarks[0].Name != "Ü_1" || s.Benchmarks[0].Group != "example.org/x" {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestGoPrints: a benchmark that prints is recorded like others, and one that does not run under its name again is an
// error: without its result the profile of nothing would seem to be fast.
func TestGoPrints(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"a_test.go": "package a\n\nimport (\"fmt\"; \"os\"; \"testing\")\n\nfunc BenchmarkPlain(b *testing.B) { for b.Loop() {} }\n" +
			"func BenchmarkLoud(b *testing.B) { fmt.Print(\"loading\"); for b.Loop() {} }\n" +
			"func BenchmarkLines(b *testing.B) { fmt.Println(\"BenchmarkLoud\\n7\"); b.Run(\"ä-1\", func(b *testing.B) { fmt.Print(\"1 2 \"); for b.Loop() {} }) }\n" +
			"func BenchmarkEach(b *testing.B) { b.Run(fmt.Sprint(os.Getpid()), func(b *testing.B) { for b.Loop() {} }) }\n",
	})
	var out bytes.Buffer
	s, err := open(t, dir, "go test -benchtime 2x .", Options{Results: &out})
	if err != nil || len(s.Benchmarks) != 4 {
		t.Fatalf("%+v, %v", s, err)
	}
	for i, name := range []string{"Plain", "Loud", "Lines/ä-1", "Each/"} {
		b := &s.Benchmarks[i]
		r, err := s.Record(t.Context(), b, t.TempDir())
		if fails := name == "Each/"; !strings.HasPrefix(b.Name, name) || fails != (err != nil) ||
			!fails && (len(r.Label.Metrics) < 2 || r.Label.Metrics[0].Unit != "ns/op") {
			t.Errorf("%s: %+v, %v", b.Name, r, err)
		}
	}
}
