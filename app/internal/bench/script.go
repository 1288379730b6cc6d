package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/testrun"
)

// Commands without a framework are one benchmark each: the run of the process is the
// operation. They differ in the profilers that know their language.
var (
	python  = plain("python", isPython, "py-spy", "perf")
	node    = plain("node", func(args []string) bool { return base(args) == "node" }, "cpu-prof", "perf")
	java    = plain("java", func(args []string) bool { return base(args) == "java" }, "async-profiler", "jfr", "perf")
	command = plain("command", func([]string) bool { return true }, "perf")
)

func plain(name string, detect func([]string) bool, profilers ...string) runner {
	return runner{name: name, detect: detect, profilers: profilers, record: recordPlain, memory: name == "java",
		prepare: func(_ context.Context, s *Session) ([]Benchmark, error) {
			_, err := lookPath(s.args[0], s.dir, s.env) // a profiler would not say it
			return []Benchmark{{Group: name, Name: commandName(s.args)}}, err
		}}
}

var pythonName = regexp.MustCompile(`^(?:python|pypy)[\d.]*$`)

func isPython(args []string) bool { return pythonName.MatchString(base(args)) }

// commandName names a command by the script of an interpreter, by the main class or the JAR of
// java, or by its program.
func commandName(args []string) string {
	if at, _ := javaMain(args); base(args) == "java" && at > 0 {
		name := filepath.Base(args[at]) // of a module its class, if it is named
		return javaSuffix.ReplaceAllString(name, "")
	}
	interpreted := isPython(args) || base(args) == "node" ||
		slices.Contains(words("sh bash ruby perl php Rscript"), base(args))
	for i, arg := range args[1:] {
		if !interpreted {
			break
		}
		if arg == "-m" && i+2 < len(args) {
			return args[i+2]
		}
		if ext := filepath.Ext(arg); !strings.HasPrefix(arg, "-") && len(ext) > 1 {
			return strings.TrimSuffix(filepath.Base(arg), ext)
		}
	}
	return base(args)
}

// javaSuffix ends the names of the files that java runs.
var javaSuffix = regexp.MustCompile(`\.(?:jar|java|class)$`)

// javaValues are the options of java whose value is the next argument.
var javaValues = words("-cp -classpath --class-path -p --module-path --upgrade-module-path --add-modules --limit-modules " +
	"--add-exports --add-opens --add-reads --enable-native-access --source")

// javaMain returns where a command of java names what it runs, 0 if nowhere, and whether that is a JAR.
func javaMain(args []string) (at int, jar bool) {
	for i := 1; i < len(args); i++ {
		switch arg := args[i]; {
		case slices.Contains(javaValues, arg):
			i++
		case (arg == "-jar" || arg == "-m" || arg == "--module") && i+1 < len(args):
			return i + 1, arg == "-jar"
		case !strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "@"):
			return i, false
		}
	}
	return 0, false
}

// googleTable is the head of what programs with Google Benchmark print.
var googleTable = regexp.MustCompile(`(?m)^Benchmark +Time +CPU +Iterations`)

func recordPlain(ctx context.Context, s *Session, b *Benchmark, dir string) (r Recorded, err error) {
	var out bytes.Buffer
	file, _, took, err := s.profiled(ctx, process{args: s.args, out: io.MultiWriter(&limited{&out}, s.Results), followed: true}, dir, nil)
	if err != nil {
		return r, err
	}
	if googleTable.Match(out.Bytes()) {
		return r, UsageError(fmt.Sprintf("%s is a program of Google Benchmark, which runs a fixed time: give it one of its flags, as in %[1]s --benchmark_min_time=1s, and each benchmark is recorded alone, with its iterations", s.args[0]))
	}
	fmt.Fprint(s.Talk, took.starved())
	r.Files = []string{file}
	tasks, rounds := tinybench(out.String())
	b.table = len(tasks) > 0
	if other := s.other(b); other != nil && other.table != b.table {
		fmt.Fprintf(s.Talk, "note: only one side prints a table of tinybench: the numbers of operations do not compare\n")
		r.Label = b.label(0, false)
		return r, nil
	}
	if b.table {
		if len(tasks) > 1 {
			rounds = 0 // the profile is of all of them
		}
		r.Label = b.label(rounds, false, tasks...)
		if _, ok := s.profiler.(cpuProf); ok {
			err = cutStart(file)
		}
		return r, err
	}
	r.Label = b.label(1, false,
		testrun.Metric{Name: "CPU time", Mean: took.cpu.Seconds(), Unit: "s", Better: testrun.Lower},
		testrun.Metric{Name: "wall time", Mean: took.wall.Seconds(), Unit: "s", Better: testrun.Lower})
	return r, nil
}

// limited keeps the beginning of what a program prints.
type limited struct{ *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := 1<<20 - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// tinybench reads the table that programs print with tinybench: the median latency of each
// task, and how often the last one ran. These programs run for a given time, so that the
// time of the process says nothing.
func tinybench(text string) (tasks []testrun.Metric, rounds float64) {
	var head []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "│") {
			continue
		}
		cells := strings.Split(line, "│")
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "'")
		}
		if slices.Contains(cells, "Task name") {
			head = cells
			continue
		}
		cell := func(names ...string) string {
			at := slices.IndexFunc(head, func(title string) bool { return slices.Contains(names, title) })
			if at < 0 || at >= len(cells) {
				return ""
			}
			text, _, _ := strings.Cut(cells[at], " ±")
			return text
		}
		if v, err := strconv.ParseFloat(cell("Latency med (ns)", "Latency median (ns)"), 64); err == nil {
			m := timePerOp(v, 0)
			m.Name += " " + cell("Task name")
			tasks = append(tasks, m)
			rounds, _ = strconv.ParseFloat(cell("Samples"), 64) // 0 is unknown
		}
	}
	return tasks, rounds
}
