package bench

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dendroprof/dendro/ingest"
)

// goTest runs benchmarks of Go packages. One `go test -bench . -cpuprofile` would mix all of
// a package in one profile, with the rounds in which the testing package looks for a number
// of operations. Here a first, short run lists benchmarks and sub-benchmarks and finds the
// number; then each is recorded alone with -benchtime Nx.
var goTest = runner{
	name:   "go test",
	detect: func(args []string) bool { return base(args) == "go" },
	prepare: func(ctx context.Context, s *Session) ([]Benchmark, error) {
		c, err := parseGo(s.args)
		if err != nil {
			return nil, err
		}
		s.state = c
		return c.prepare(ctx, s)
	},
	record: func(ctx context.Context, s *Session, b *Benchmark, dir string) (Recorded, error) {
		return s.state.(*goCommand).record(ctx, s, b, dir)
	},
	memory: true,
}

// goCommand is a `go test` command line, taken apart.
type goCommand struct {
	pattern  string        // of -bench; default "."
	time     time.Duration // of -benchtime
	rounds   int64         // of -benchtime Nx; 0: as many as take that time
	build    []string      // flags of the go command
	test     []string      // flags of the test program
	exec     []string      // program that starts it
	packages []string
	programs map[string]string // test programs by package
}

// Flags of go test: those of the go command with a value, and without; those of test
// programs. Others belong to the tests themselves.
var (
	buildValues = words("asmflags buildmode buildvcs compiler covermode coverpkg gccgoflags gcflags installsuffix ldflags mod modfile overlay p pgo pkgdir tags toolexec vet")
	buildFlags  = words("a asan cover linkshared modcacherw msan race trimpath work x")
	testValues  = words("blockprofile blockprofilerate coverprofile cpu memprofilerate mutexprofile mutexprofilefraction outputdir parallel shuffle skip timeout trace")
	testFlags   = words("benchmem failfast fullpath short v")
)

func words(text string) []string { return strings.Fields(text) }

// goOwn are flags that recording sets, or whose output it could not use.
var goOwn = map[string]string{"run": "only benchmarks run", "cpuprofile": "each benchmark gets one", "memprofile": "use --memory",
	"count": "use --count of dendro bench",
	"o":     "test programs are temporary", "json": "results are read as text", "c": "benchmarks are run", "n": "benchmarks are run",
	"list": "benchmarks are run",
	"C":    "change the directory before", "args": "flags of the tests go before the packages"}

// parseGo takes a command line apart: "go", "test", flags and packages.
func parseGo(args []string) (*goCommand, error) {
	if len(args) < 2 || args[1] != "test" {
		return nil, UsageError(fmt.Sprintf("%q is not a go test command; a program that is built runs by its name", strings.Join(args, " ")))
	}
	c := &goCommand{pattern: ".", time: time.Second, programs: map[string]string{}}
	for rest := args[2:]; len(rest) > 0; rest = rest[1:] {
		arg := rest[0]
		if !strings.HasPrefix(arg, "-") {
			c.packages = append(c.packages, arg)
			continue
		}
		name, value, has := strings.Cut(strings.TrimPrefix(strings.TrimLeft(arg, "-"), "test."), "=")
		if why, ok := goOwn[name]; ok && !(name == "run" && (has || len(rest) > 1)) {
			return nil, UsageError(fmt.Sprintf("go test %s: %s", arg, why))
		}
		if !has && !slices.Contains(buildFlags, name) && !slices.Contains(testFlags, name) {
			if len(rest) < 2 {
				return nil, UsageError(fmt.Sprintf("go test %s: the value is missing", arg))
			}
			rest = rest[1:]
			value, has = rest[0], true
		}
		if err := c.flag(name, value, has); err != nil {
			return nil, err
		}
	}
	if len(c.packages) == 0 {
		c.packages = []string{"."}
	}
	return c, nil
}

func (c *goCommand) flag(name, value string, has bool) (err error) {
	text := "-" + name
	if has {
		text += "=" + value
	}
	switch {
	case name == "bench":
		c.pattern = value
	case name == "benchtime":
		if n, ok := strings.CutSuffix(value, "x"); ok {
			c.rounds, err = strconv.ParseInt(n, 10, 64)
		} else {
			c.time, err = time.ParseDuration(value)
		}
		if err != nil || c.rounds < 0 || c.time <= 0 {
			return UsageError(fmt.Sprintf("go test %s: want a time like 2s, or a number of operations like 1000x", text))
		}
	case name == "cpu" && strings.Contains(value, ","):
		return UsageError(fmt.Sprintf("go test %s: give one number; each makes another benchmark", text))
	case name == "run": // people write -run '^$' to run no tests, which happens anyway
	case name == "exec":
		c.exec = strings.Fields(value)
		c.build = append(c.build, text)
	case slices.Contains(buildValues, name), slices.Contains(buildFlags, name):
		c.build = append(c.build, text)
	case slices.Contains(testValues, name), slices.Contains(testFlags, name):
		c.test = append(c.test, "-test."+text[1:])
	default:
		c.test = append(c.test, text)
	}
	return nil
}

// prepare lists the benchmarks that match the pattern, in the order of go test, with the
// number of operations to record, and builds the test programs.
func (c *goCommand) prepare(ctx context.Context, s *Session) ([]Benchmark, error) {
	if _, err := regexp.Compile(c.pattern); err != nil {
		return nil, UsageError("-bench: " + err.Error())
	}
	trial := max(c.time/5, 20*time.Millisecond)
	text := trial.String()
	if c.rounds > 0 || s.like != nil {
		text = "1x"
	}
	fmt.Fprintf(s.Talk, "building, and finding numbers of operations …\n")
	var out bytes.Buffer
	args := slices.Concat([]string{"go", "test", "-run=^$", "-bench=" + c.pattern, "-benchtime=" + text, "-v"}, c.build, c.test, c.packages)
	if _, err := s.run(ctx, process{args: args, out: io.MultiWriter(&out, &counter{talk: s.Talk})}); err != nil {
		return nil, err
	}
	list := readGoResults(out.String())
	if len(list) == 0 {
		return nil, fmt.Errorf("no benchmark matches -bench %s", c.pattern)
	}
	var benchmarks []Benchmark
	for _, r := range list {
		n := c.rounds
		if n == 0 && r.nanos > 0 {
			n = round(float64(c.time) / r.nanos)
		} else if n == 0 {
			n = round(float64(r.rounds) * float64(c.time) / float64(trial))
		}
		benchmarks = append(benchmarks, Benchmark{Group: r.pkg, Name: strings.TrimPrefix(r.name, "Benchmark"), Operations: n,
			args: []string{r.name}, settled: c.rounds > 0})
	}
	return benchmarks, c.compile(ctx, s, benchmarks)
}

// round rounds to two digits, so that equal code gets equal numbers more often.
func round(n float64) int64 {
	unit := math.Pow(10, max(0, math.Floor(math.Log10(max(n, 1)))-1))
	return max(1, int64(math.Ceil(n/unit)*unit))
}

// counter says how many benchmarks have run: a line every few seconds.
type counter struct {
	talk io.Writer
	n    int
	said time.Time
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += bytes.Count(p, []byte("/op"))
	if now := time.Now(); c.n > 0 && now.Sub(c.said) > 5*time.Second {
		if !c.said.IsZero() {
			fmt.Fprintf(c.talk, "  … %d benchmarks\n", c.n)
		}
		c.said = now
	}
	return len(p), nil
}

// compile builds the test program of each package once, and finds the directory of each.
func (c *goCommand) compile(ctx context.Context, s *Session, list []Benchmark) error {
	for i := range list {
		b := &list[i]
		if c.programs[b.Group] == "" {
			program := filepath.Join(s.scratch, strconv.Itoa(len(c.programs))+".test")
			if _, err := s.run(ctx, process{args: slices.Concat([]string{"go", "test", "-c", "-o", program}, c.build, []string{b.Group}),
				out: io.Discard}); err != nil {
				return err
			}
			c.programs[b.Group] = program
		}
		var out bytes.Buffer
		if i > 0 && list[i-1].Group == b.Group {
			b.dir = list[i-1].dir
		} else if _, err := s.run(ctx, process{args: []string{"go", "list", "-f", "{{.Dir}}", b.Group}, out: &out}); err != nil {
			return err
		} else {
			b.dir = strings.TrimSpace(out.String())
		}
	}
	return nil
}

// goResult is a line of results.
type goResult struct {
	pkg, name string // without the suffix of GOMAXPROCS
	line      string // the name and its results
	rounds    int64
	nanos     float64 // per operation; 0: not said
}

// goName is the name of a benchmark. What a test program prints may look like a list of
// them.
var goName = regexp.MustCompile(`^Benchmark[\pL\pN_]*(?:/\S+)*$`)

// goProcs is the suffix of a name in a result: GOMAXPROCS.
var goProcs = regexp.MustCompile(`-\d+$`)

// readGoResults reads what go test -v -bench prints: each name before it runs, alone in a
// line, and then its result, behind what the benchmark has printed without a line break.
func readGoResults(text string) (list []goResult) {
	pkg, from := "", 0
	var begun []string // without a result so far
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 1 && goName.MatchString(f[0]):
			begun = append(begun, f[0])
			continue
		case len(f) == 2 && f[0] == "pkg:":
			pkg = f[1]
			continue
		case len(f) >= 2 && f[0] == "ok" && !strings.HasPrefix(f[1], "-"):
			for i := range list[from:] {
				list[from+i].pkg = f[1]
			}
			from, pkg, begun = len(list), "", nil
			continue
		}
		for at := 0; at+3 < len(f) && begun != nil; at++ {
			n, err := strconv.ParseInt(f[at+1], 10, 64)
			if err != nil || n < 1 {
				continue
			}
			which, word := endsWith(f[at], begun)
			if which < 0 {
				continue
			}
			r := goResult{pkg: pkg, name: begun[which], rounds: n, line: word + " " + strings.Join(f[at+1:], " ")}
			for i := at + 2; i+1 < len(f); i += 2 {
				if f[i+1] == "ns/op" {
					r.nanos, _ = strconv.ParseFloat(f[i], 64) // 0 is unknown
				}
			}
			list, begun = append(list, r), slices.Delete(begun, which, which+1)
			break
		}
	}
	return list[:from] // of packages that passed
}

// endsWith returns which of the names a word ends with, the last one of several, and that end of the word; -1: none.
func endsWith(word string, names []string) (which int, end string) {
	bare := goProcs.ReplaceAllString(word, "")
	for i, name := range slices.Backward(names) {
		for _, w := range []string{bare, word} {
			if strings.HasSuffix(w, name) {
				return i, word[len(w)-len(name):]
			}
		}
	}
	return -1, ""
}

// mostLonger is the maximum factor by which a benchmark gets more operations than its wall time asks
// for: one that sleeps never uses the CPU time.
const mostLonger = 4

// settle returns the number of operations that take the CPU time wanted, if n took so little of it.
func settle(n int64, wanted, took time.Duration) int64 {
	if 4*took > 3*wanted { // it was found by a trial, and is about right
		return n
	}
	return round(float64(n) * min(mostLonger, float64(wanted)/float64(max(took, 1))))
}

// record runs a benchmark with its number of operations. The trial that found it measures wall
// time, of which a busy machine gives most to others: the first recording, which has too few samples
// then, is made again.
func (c *goCommand) record(ctx context.Context, s *Session, b *Benchmark, dir string) (r Recorded, err error) {
	if other := s.other(b); other != nil {
		b.Operations, b.settled = other.Operations, true
	}
	var out bytes.Buffer
	r, took, err := c.run(ctx, s, b, dir, &out)
	if n := settle(b.Operations, c.time, took); err == nil && !b.settled && n > b.Operations {
		b.Operations = n
		out.Reset()
		r, _, err = c.run(ctx, s, b, dir, &out)
	}
	b.settled = true
	if err != nil {
		return r, err
	}
	if _, err = s.Results.Write(out.Bytes()); err != nil {
		return r, err
	}
	found := readGoResults(out.String() + "\nok " + b.Group + "\n")
	if len(found) != 1 || found[0].name != b.args[0] {
		return r, fmt.Errorf("%s has no result: does it run under this name each time?", b.args[0])
	}
	results, err := ingest.ReadMetrics(b.Name, strings.NewReader(found[0].line))
	if err != nil {
		return r, err
	}
	metrics, _ := results.Of("", b.Name)
	n, err := operationsOf(r.Files[0], b.Operations)
	r.Label = b.label(n, false, metrics...)
	return r, err
}

// run runs a benchmark once, and returns its CPU time.
func (c *goCommand) run(ctx context.Context, s *Session, b *Benchmark, dir string, out io.Writer) (r Recorded, cpu time.Duration,
	err error) {
	r.Files = []string{filepath.Join(dir, "cpu.pb.gz")}
	elements := strings.Split(b.args[0], "/")
	for i := range elements {
		elements[i] = "^" + regexp.QuoteMeta(elements[i]) + "$"
	}
	args := slices.Concat(c.exec, []string{c.programs[b.Group], "-test.v", "-test.run=^$", "-test.bench=" + strings.Join(elements, "/"),
		fmt.Sprintf("-test.benchtime=%dx", b.Operations), "-test.cpuprofile=" + r.Files[0]})
	if s.Memory {
		r.Files = append(r.Files, filepath.Join(dir, "mem.pb.gz"))
		args = append(args, "-test.benchmem", "-test.memprofile="+r.Files[1])
	}
	took, err := s.run(ctx, process{dir: b.dir, args: append(args, c.test...), out: out})
	return r, took.cpu, err
}

// operationsOf returns how many operations a profile covers if the benchmark was asked for
// n. The testing package runs a benchmark once with b.N = 1, and one without b.Loop again
// with n: then its function launch is in the profile.
func operationsOf(file string, n int64) (float64, error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", file, err)
	}
	text, err := io.ReadAll(io.LimitReader(z, 256<<20))
	if bytes.Contains(text, []byte("testing.(*B).launch")) {
		n++
	}
	return float64(n), err
}
