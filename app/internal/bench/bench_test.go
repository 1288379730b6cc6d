package bench

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/testrun"
)

func TestRunnerOf(t *testing.T) {
	dir := t.TempDir()
	jar := func(name, file string) string {
		name = filepath.Join(dir, name)
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		if _, err := z.Create(file); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(z.Close(), os.WriteFile(name, b.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for line, want := range map[string]*runner{
		"go test ./...":            &goTest,
		"/usr/local/go/bin/go run": &goTest, // an error that says so
		"java -Xmx1g -jar " + jar("benchmarks.jar", "META-INF/BenchmarkList") + " -f 1": &jmh,
		"java -jar " + jar("app.jar", "Main.class"):                                     &java,
		"java -cp classes Main":               &java,
		"java Main -jar none.jar":             &java, // an argument of the program
		"pytest --benchmark-only":             &pytest,
		"python3.11 -m pytest tests":          &pytest,
		"python3 -m shop":                     &python,
		"python bench.py":                     &python,
		"cargo bench --bench prices":          &criterion,
		"cargo +nightly bench":                &criterion,
		"cargo run --release":                 &command,
		"./bench --benchmark_filter=BM_Parse": &googleBenchmark,
		"./bench":                             &command,
		"node b.mjs":                          &node,
		"pythonic":                            &command,
	} {
		args := strings.Fields(line)
		if got, err := runnerOf("", args); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %s", line, got, err, want.name)
		}
	}
	// The JAR is that of the work tree, not one that the user has built.
	args := words("java -jar benchmarks.jar")
	if got, err := runnerOf(dir, args); err != nil || got != &jmh {
		t.Errorf("in the directory of the JAR: %v, %v", got, err)
	}
	const missing = "benchmarks.jar: no such file or directory: build it first; with --base, give the command that builds each commit, for example --build 'mvn package'"
	if got, err := runnerOf(t.TempDir(), args); err == nil || err.Error() != missing || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a JAR of another directory decides: %v, %v", got, err)
	}
	_, err := runnerOf(t.TempDir(), words("java -jar build/libs/shop-jmh.jar"))
	if err == nil || !strings.HasSuffix(err.Error(), "--build './gradlew jmhJar'") {
		t.Errorf("a JAR of Gradle: %v", err)
	}
	const table = "-----\nBenchmark           Time             CPU   Iterations\n-----\nBM_Make     90.1 us\n"
	if !googleTable.MatchString("run on 2 CPUs\n"+table) || googleTable.MatchString("Benchmark Time\n") {
		t.Error("programs of Google Benchmark are not known by what they print")
	}
}

// TestBuild: files at the top of a tree, or in the directory of the command, select how it is built. Python
// packages are installed into the environment of the tree.
func TestBuild(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	log := filepath.Join(bin, "log")
	for _, name := range []string{"npm", "python3"} {
		script := "#!/bin/sh\necho " + name + " $1 $2 in $(basename $PWD) >> " + log + "\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	tree := &Tree{work: dir, below: "web"}
	write(t, dir, map[string]string{"web/package-lock.json": "{}"})
	for command, line := range map[string]string{"": "node bench.js", "echo npm build >> " + log: "pytest --benchmark-only"} {
		if err := tree.Build(t.Context(), command, words(line), io.Discard); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(log)
		want := "npm ci --no-audit in web\n"
		if command != "" {
			want = "python3 -m venv in " + filepath.Base(dir) + "\npython3 -c import"
		}
		if err != nil || !strings.HasPrefix(string(text), want) || command != "" && !strings.HasSuffix(string(text), "npm build\n") {
			t.Errorf("%s: %q, %v", line, text, err)
		}
		if err := os.Remove(log); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCommandName(t *testing.T) {
	for line, want := range map[string]string{"python3 -X dev bench/sort.py 10": "sort", "python -m shop.prices x": "shop.prices",
		"./bin/compress big.txt": "compress",
		"node --expose-gc b.mjs": "b", "java -cp x Main": "Main", "sh run.sh": "run",
		"java -Xmx1g -cp shop.jar com.acme.One 3 a.txt": "com.acme.One", "java -classpath shop.jar com.acme.Two": "com.acme.Two",
		"java -jar target/shop.jar x": "shop", "java -p mods -m shop/com.acme.Main": "com.acme.Main", "java src/Shop.java 1": "Shop",
		"java @options": "java"} {
		if got := commandName(strings.Fields(line)); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func TestCargoArgs(t *testing.T) {
	cargo, own := cargoArgs(strings.Fields("--bench prices -q sizes -- --warm-up-time 1"))
	if strings.Join(cargo, " ") != "--bench prices -q" || strings.Join(own, " ") != "sizes --warm-up-time 1" {
		t.Error(cargo, own)
	}
	if got := strings.Join(options(own), " "); got != "--warm-up-time 1" {
		t.Errorf("without the filter: %s", got)
	}
}

func TestTinybench(t *testing.T) {
	tasks, n := tinybench("hello\n" +
		"│ (index) │ Task name   │ Latency avg (ns)   │ Latency med (ns) │ Samples │\n" +
		"├─────────┼─────────────┼────────────────────┼──────────────────┼─────────┤\n" +
		"│ 0       │ 'small'     │ '269509 ± 64.40%'  │ '15990 ± 792.00' │ 1241    │\n" +
		"│ 1       │ 'large one' │ '2195570 ± 37.99%' │ '252451 ± 28973' │ 139     │\n")
	if len(tasks) != 2 || tasks[0].Mean != 15990 || tasks[1].Name != "time/op large one" || n != 139 {
		t.Error(tasks, n)
	}
	if tasks, _ := tinybench("│ no │ table │\n"); tasks != nil {
		t.Error(tasks)
	}
}

// TestCutStart: what a program does before tinybench runs is not in the profile, and its time is
// not in the time of the first sample.
func TestCutStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.cpuprofile")
	const nodes = `"nodes":[{"id":1,"callFrame":{"functionName":"(root)","url":""},"children":[2,3]},` +
		`{"id":2,"callFrame":{"functionName":"","url":"node_modules/tinybench/dist/index.js"}},` +
		`{"id":3,"callFrame":{"functionName":"run","url":"node_modules/tinybench/dist/index.js"},"children":[4]},` +
		`{"id":4,"callFrame":{"functionName":"work","url":"b.mjs"}}]`
	for before, want := range map[string]string{
		`"samples":[2,1,4,1],"startTime":100,"timeDeltas":[5,6,7,8]`: `"samples":[4,1],"startTime":111,"timeDeltas":[7,8]`,
		`"samples":[2,1,1],"startTime":100,"timeDeltas":[5,6,7]`:     `"samples":[2,1,1],"startTime":100,"timeDeltas":[5,6,7]`,
	} {
		write(t, filepath.Dir(file), map[string]string{"x.cpuprofile": "{" + nodes + "," + before + "}"})
		if err := cutStart(file); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != "{"+nodes+","+want+"}" {
			t.Errorf("%s, %v", got, err)
		}
	}
	write(t, filepath.Dir(file), map[string]string{"x.cpuprofile": "{" + nodes + `,"samples":[1],"timeDeltas":[],"startTime":1}`})
	if err := cutStart(file); err == nil {
		t.Error("samples without times")
	}
}

// TestTableOfOneSide: a side without the table of the other one counts other operations.
func TestTableOfOneSide(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"b.mjs": "console.log(`│ (index) │ Task name │ Latency med (ns) │ Samples │\n│ 0 │ 'a' │ '15 ± 7' │ 70 │`)\n"})
	base, err := open(t, dir, "node b.mjs", Options{})
	if err != nil {
		t.Fatal(err)
	}
	head, err := Open(t.Context(), base.args, Place{Dir: dir, Scratch: t.TempDir(), Like: base}, base.Options)
	if err != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct {
		side *Session
		want float64
	}{{base, 70}, {head, 70}, {head, 0}} {
		if i == 2 {
			write(t, dir, map[string]string{"b.mjs": "console.log('no table')\n"})
		}
		r, err := tt.side.Record(t.Context(), &tt.side.Benchmarks[0], t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := testrun.Operations(r.Label.Metrics); n != tt.want || tt.want == 0 && len(r.Label.Metrics) > 0 {
			t.Errorf("%d: %+v", i, r.Label.Metrics)
		}
	}
}

// TestBlocks: samples of perf's text are whole whatever the pieces in which it comes.
func TestBlocks(t *testing.T) {
	const text = "a 1 cpu-clock:\n\tf\n\tmain\n\nb 2 cpu-clock:\n\twarm_up\n\n\nc 3 cpu-clock:\n\tg\n"
	for size := 1; size < len(text); size++ {
		var out bytes.Buffer
		b := &blocks{out: bufio.NewWriter(&out), keep: func(s string) bool { return !strings.Contains(s, "warm_up") }}
		for part := range slices.Chunk([]byte(text), size) {
			if _, err := b.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		b.end()
		if b.out.Flush(); out.String() != "a 1 cpu-clock:\n\tf\n\tmain\n\nc 3 cpu-clock:\n\tg\n" || b.kept != 2 {
			t.Fatalf("pieces of %d: %d samples: %q", size, b.kept, &out)
		}
	}
}

// TestPySpyKeeps: samples that are not wanted leave with their weights, and functions of Python are
// named alike in every work tree.
func TestPySpyKeeps(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cpu")
	write(t, filepath.Dir(file), map[string]string{"cpu.speedscope.json": `{"exporter":"py-spy@0.4","shared":{"frames":[{"name":"main","file":"/tmp/tree/bench/../a.py","line":1},{"name":"round","file":"/tmp/treeother/b.py"},{"name":"native"},{"name":"_multicall","file":"/x/pluggy/_callers.py"},{"name":"runner","file":"/x/pytest_benchmark/fixture.py"},
		{"name":"dumps","file":"/opt/lib/python3.11/json/__init__.py"},
		{"name":"parse","file":"/tmp/tree/.venv/lib/python3.11/site-packages/tomlkit/api.py"}]},
		"profiles":[{"type":"sampled","unit":"seconds","startValue":0.0,"endValue":0.3,"samples":[[0],[0,1],[0],[3,4,0,1]],"weights":[1,2,3,4]}]}`})
	got, _, err := pySpy{}.finish(t.Context(), &Session{root: "/tmp/tree"}, file, func(stack string) bool {
		return strings.HasSuffix(stack, "main (/tmp/tree/bench/../a.py);round (/tmp/treeother/b.py);")
	})
	if err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(got)
	for _, want := range []string{`"samples":[[0,1],[4,0,1]]`, `"weights":[2,4]`, `"exporter":"py-spy@0.4"`, `"line":1`, `"file":"a.py"`,
		`"file":"/tmp/treeother/b.py"`, `{"name":"native"}`, `"endValue":0.3`, `"file":"lib/python3.11/json/__init__.py"`,
		`"file":"site-packages/tomlkit/api.py"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in %s", want, data)
		}
	}
	// A package that is installed from the user's work tree is of neither commit.
	write(t, filepath.Dir(file), map[string]string{"cpu.speedscope.json": string(data)})
	s := &Session{root: "/tmp/tree", origin: "/tmp/treeother"}
	_, _, err = pySpy{}.finish(t.Context(), s, file, nil)
	if err == nil || !strings.Contains(err.Error(), "/tmp/treeother/b.py ran, which is of no commit") {
		t.Error(err)
	}
	s.origin = "/opt" // its environment is no part of a commit
	if _, _, err := (pySpy{}).finish(t.Context(), s, file, nil); err != nil {
		t.Error(err)
	}
}

// TestMissing: what is not installed is said with the line that installs it, and a
// profiler that the kind of command cannot use with those that it can.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for line, want := range map[string]string{"pytest": "pip install py-spy", "./x --benchmark_filter=a": "apt install linux-perf",
		"./x": "apt install linux-perf"} {
		if _, err := open(t, t.TempDir(), line, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	if _, err := lookPath("./bench", t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "--build") {
		t.Errorf("a program that is not built: %v", err)
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if err := os.WriteFile(filepath.Join(dir, "perf"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{"python3 x.py": "py-spy: not found (pip install py-spy)",
		"./x.py 3":         "py-spy does (pip install py-spy)",
		"env python3 -m x": "py-spy does", "./x 3": ""} {
		var talk strings.Builder
		s := &Session{Options: Options{Talk: &talk}, runner: &command, args: words(line), scratch: dir, env: os.Environ()}
		if isPython(s.args) {
			s.runner = &python
		}
		err := s.choose(t.Context())
		if got := talk.String(); err != nil || !strings.Contains(got, want) || strings.Contains(got, "py-spy") != (want != "") {
			t.Errorf("%s: %q, %v, want %q", line, got, err, want)
		}
	}
	var usage UsageError
	if _, err := open(t, t.TempDir(), "node x.js", Options{Profiler: "jfr"}); !errors.As(err, &usage) ||
		!strings.Contains(err.Error(), "cpu-prof") {
		t.Error(err)
	}
	if _, err := open(t, t.TempDir(), "node x.js", Options{Memory: true}); !errors.As(err, &usage) {
		t.Error(err)
	}
}

// TestStarts: the work of a profiler is not that of the program that it starts. Here it is all there is.
func TestStarts(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("the kernel tells no CPU time of children")
	}
	var took [2]usage
	for i, starts := range []bool{false, true} {
		var out bytes.Buffer
		p := process{dir: t.TempDir(), out: &out, followed: true, starts: starts,
			args: []string{"sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; sh -c 'j=0; while [ $j -lt 20000 ]; do j=$((j+1)); done'"}}
		var err error
		if took[i], err = run(t.Context(), p, nil); err != nil {
			t.Fatal(err)
		}
	}
	if took[1].cpu*2 > took[0].cpu || took[1].cpu <= 0 {
		t.Errorf("of %s of CPU time, %s are the program's: want a sixth", took[0].cpu, took[1].cpu)
	}
	for _, x := range []struct {
		s         cpuSplit
		all, want time.Duration
	}{
		{cpuSplit{}, 77 * time.Millisecond, 77 * time.Millisecond},
		{cpuSplit{500 * time.Millisecond, 400 * time.Millisecond}, 915 * time.Millisecond, 407500 * time.Microsecond},
		{cpuSplit{10 * time.Millisecond, 280 * time.Millisecond}, 299 * time.Millisecond, 284500 * time.Microsecond},
	} {
		if got := x.s.ofChildren(x.all); got != x.want {
			t.Errorf("%+v of %s: %s, want %s", x.s, x.all, got, x.want)
		}
	}
}

// TestStarved: bench prints a note about a run that waited for a processor for more than half of its time.
func TestStarved(t *testing.T) {
	for waited, want := range map[time.Duration]string{49 * time.Second: "",
		80 * time.Second: "note: this run waited 80% of its time for a processor: "} {
		u := usage{wall: 100 * time.Second, waited: waited}
		if got := u.starved(); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", waited, got, want)
		}
	}
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		t.Skip("the kernel tells nobody how long threads wait")
	}
	var out bytes.Buffer
	took, err := run(t.Context(), process{dir: t.TempDir(), out: &out, followed: true,
		args: []string{"sh", "-c", "i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done"}}, nil)
	if err != nil || took.waited < 0 || took.waited > took.wall {
		t.Errorf("waited %s of %s, %v", took.waited, took.wall, err)
	}
}

// TestEndTogether: when a command is interrupted, what it has started ends too.
func TestEndTogether(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	mark := filepath.Join(t.TempDir(), "mark")
	var out bytes.Buffer
	if _, err := run(ctx, process{dir: t.TempDir(), args: []string{"sh", "-c", "(sleep 4; touch " + mark + ") & wait"}, out: &out},
		nil); err == nil {
		t.Fatal("not interrupted")
	}
	time.Sleep(4500 * time.Millisecond)
	if exists(mark) {
		t.Error("a child of the command went on")
	}
}

// TestTrees: both commits are built and run at the same path, and nothing of the
// repository's own directory is changed.
func TestTrees(t *testing.T) {
	repo := t.TempDir()
	t.Chdir(repo)
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main", ".")
	write(t, repo, map[string]string{"sub/version": "1"})
	git("add", ".")
	git("commit", "-q", "-m", "one")
	git("checkout", "-q", "-b", "topic")
	write(t, repo, map[string]string{"sub/version": "2"})
	git("commit", "-q", "-a", "-m", "two")
	git("checkout", "-q", "main")
	write(t, repo, map[string]string{"other": "main goes on"})
	git("add", ".")
	git("commit", "-q", "-m", "three")
	git("checkout", "-q", "topic")
	t.Chdir("sub")
	dir := t.TempDir()
	trees, err := Trees(t.Context(), "main", "HEAD", t.TempDir())
	if err != nil || trees[0].Dirty || trees[1].Dirty {
		t.Fatalf("nothing is changed: %+v, %v", trees, err)
	}
	write(t, repo, map[string]string{"sub/version": "not committed"})
	trees, err = Trees(t.Context(), "main", "HEAD", dir)
	if err != nil || len(trees) != 2 || trees[0].Branch != "main" || trees[1].Branch != "topic" || trees[0].Dirty || !trees[1].Dirty {
		t.Fatal(trees, err)
	}
	var seen []string
	for _, tree := range trees {
		err := tree.In(func() error {
			var out bytes.Buffer
			if err := tree.Build(t.Context(), "cat version > built; pwd >> built", []string{"./built"}, &out); err != nil {
				return err
			}
			at := tree.Place(t.TempDir(), nil)
			text, err := os.ReadFile(filepath.Join(at.Dir, "built"))
			if exists(filepath.Join(at.Dir, "..", "other")) {
				t.Error("the base is the tip of main, not the commit at which the branch left it")
			}
			seen = append(seen, string(text))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if want := filepath.Join(dir, "tree", "sub"); seen[0] != "1"+want+"\n" || seen[1] != "2"+want+"\n" {
		t.Errorf("%q", seen)
	}
	if exists("built") {
		t.Error("built in the user's directory")
	}
	var usage UsageError
	if _, err := Trees(t.Context(), "topic", "HEAD", t.TempDir()); !errors.As(err, &usage) {
		t.Errorf("equal commits: %v", err)
	}
}

func TestLabel(t *testing.T) {
	b := Benchmark{Group: "g", Name: "n"}
	l := b.label(7, true, timePerOp(3, 1), testrun.NewOperations(9, false))
	if n, estimated := testrun.Operations(l.Metrics); n != 7 || !estimated || len(l.Metrics) != 2 || !l.Metrics[0].Primary || l.Group != "g" {
		t.Errorf("%+v", l)
	}
}

// TestScriptsOfTree wants functions of Node named alike in every work tree.
func TestScriptsOfTree(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	const text = `{"nodes":[{"callFrame":{"url":"file:///tmp/my%20tree/lib/shop.js"}},{"callFrame":{"url":"/tmp/my tree/src/../a \"b\".js"}},` +
		`{"callFrame":{"url":"node:internal/x"}},{"callFrame":{"url":"file:///tmp/my%20treeother/b.js"}}]}`
	write(t, dir, map[string]string{"from": text})
	if err := fromTree("/tmp/my tree", from, to); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(to)
	const want = `{"nodes":[{"callFrame":{"url":"lib/shop.js"}},{"callFrame":{"url":"a \"b\".js"}},` +
		`{"callFrame":{"url":"node:internal/x"}},{"callFrame":{"url":"file:///tmp/my%20treeother/b.js"}}]}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}
