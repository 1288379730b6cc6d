package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// profiler records a command.
type profiler interface {
	// wrap returns the command, and variables, that make a command write its profile to a file
	// or, by the profiler's own names, below the directory of that file.
	wrap(args []string, file string) (command, env []string)
	// finish makes what was written a file that Dendro reads, with only those samples whose
	// stack, as text, keep wants (nil: all), and returns its name and the CPU time of the
	// samples; 0 is unknown.
	finish(ctx context.Context, s *Session, file string, keep func(stack string) bool) (string, time.Duration, error)
}

// tool is a row of the table of profilers.
type tool struct {
	name    string
	install string // the line that installs it
	open    func(ctx context.Context, s *Session, file string) (profiler, error)
}

// tools are all profilers that commands can be run under. Go has its own.
var tools = []tool{
	{"perf", "apt install linux-perf (Debian), apt install linux-tools-$(uname -r) (Ubuntu), dnf install perf (Fedora)", openPerf},
	{"py-spy", "pip install py-spy", openPySpy},
	{"cpu-prof", "node has it from version 12 on", func(context.Context, *Session, string) (profiler, error) { return cpuProf{}, nil }},
	{"async-profiler", "download it from https://github.com/async-profiler/async-profiler/releases, " +
		"or unzip tools.profiler:async-profiler of Maven Central, and name its library: " +
		"--profiler async-profiler=/opt/async-profiler/lib/libasyncProfiler.so", openAsync},
	{"jfr", "a JDK has it", func(context.Context, *Session, string) (profiler, error) { return jfr{}, nil }},
}

// Profilers returns the names of all profilers.
func Profilers() (names []string) {
	for _, t := range tools {
		names = append(names, t.name)
	}
	return names
}

// errMissing: a program or library is not installed.
var errMissing = errors.New("not found")

// choose opens the profiler that is asked for, or the first that there is.
func (s *Session) choose(ctx context.Context) error {
	name, file, _ := strings.Cut(s.Profiler, "=")
	if len(s.runner.profilers) == 0 {
		if name != "" {
			return UsageError(fmt.Sprintf("--profiler %s: %s has its own profiler", name, s.runner.name))
		}
		return nil
	}
	if name != "" && !slices.Contains(s.runner.profilers, name) {
		return UsageError(fmt.Sprintf("--profiler %s: %s can be recorded with %s", name, s.runner.name, strings.Join(s.runner.profilers, ", ")))
	}
	var missing []error
	for _, want := range s.runner.profilers {
		if name != "" && want != name {
			continue
		}
		t := &tools[slices.IndexFunc(tools, func(t tool) bool { return t.name == want })]
		p, err := t.open(ctx, s, file)
		if err == nil {
			s.profiler = p
			for _, why := range missing {
				fmt.Fprintf(s.Talk, "note: %s would tell more, but %s\n", s.runner.profilers[0], why)
			}
			fmt.Fprintf(s.Talk, "%s, recorded with %s\n", s.runner.name, want)
			isScript := func(arg string) bool { return filepath.Ext(arg) == ".py" || isPython([]string{arg}) }
			if s.runner.name == "command" && slices.ContainsFunc(s.args, isScript) {
				fmt.Fprintln(s.Talk, "note: perf names no functions of Python; py-spy does (pip install py-spy) if the command begins with python")
			}
			return nil
		}
		if errors.Is(err, errMissing) {
			err = fmt.Errorf("%w (%s)", err, t.install)
		}
		missing = append(missing, fmt.Errorf("%s: %w", want, err))
	}
	return errors.Join(missing...)
}

// profiled runs a process under the profiler, which writes below dir. It returns the profile, with only those samples
// that keep wants (nil: all), their CPU time (0: unknown), and what the process took.
func (s *Session) profiled(ctx context.Context, p process, dir string, keep func(stack string) bool) (file string,
	sampled time.Duration, took usage, err error) {
	file = filepath.Join(dir, "cpu")
	args, env := s.profiler.wrap(p.args, file)
	p.starts = p.followed && args[0] != p.args[0]
	p.args, p.env = args, append(p.env, env...)
	if took, err = s.run(ctx, p); err == nil {
		file, sampled, err = s.profiler.finish(ctx, s, file, keep)
	}
	return file, sampled, took, err
}

// find returns the path of a program: the given one, or the one that is installed.
func (s *Session) find(file, name string) (string, error) {
	file = cmp.Or(file, name)
	path, err := lookPath(file, s.dir, s.env)
	if err != nil {
		return "", errMissing
	}
	return path, nil
}

// perf is Linux's.
type perf struct{ path, event string }

// perfRate is the number of samples per second of CPU time; odd, so that nothing periodic is met each time.
const perfRate = 499

func openPerf(ctx context.Context, s *Session, file string) (profiler, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("works on Linux only")
	}
	path, err := s.find(file, "perf")
	if err != nil {
		return nil, err
	}
	// The clock works where a virtual machine hides the counters, and its unit is time.
	for _, event := range []string{"cpu-clock", "cpu-clock:u"} {
		trial := filepath.Join(s.scratch, "perf.trial")
		var text strings.Builder
		c := exec.CommandContext(ctx, path, "record", "-q", "-e", event, "-o", trial, "--", "true")
		c.Stdout, c.Stderr = &text, &text
		err = c.Run()
		_ = os.Remove(trial) // of a trial that may have failed
		if err == nil {
			return perf{path, event}, nil
		}
		err = fmt.Errorf("may not record here: %w: %s\nallow it: sysctl kernel.perf_event_paranoid=1 (as root; in a container also --cap-add PERFMON)", err, strings.TrimSpace(text.String()))
	}
	return nil, err
}

func (p perf) wrap(args []string, file string) (command, env []string) {
	return append([]string{p.path, "record", "-q", "-N", "-B", "-e", p.event, "-F", strconv.Itoa(perfRate), "--call-graph", "dwarf,16384",
		"-o", file + ".data", "--"}, args...), nil
}

// finish writes the samples as text, which has the stacks unwound.
func (p perf) finish(ctx context.Context, s *Session, file string, keep func(string) bool) (string, time.Duration, error) {
	file += ".perf"
	out, err := os.Create(file)
	if err != nil {
		return "", 0, err
	}
	defer out.Close()
	w := &blocks{out: bufio.NewWriter(out), keep: keep}
	raw := strings.TrimSuffix(file, ".perf") + ".data"
	// Names of inlined functions would cost a process of addr2line for each address.
	if _, err = s.run(ctx, process{args: []string{p.path, "script", "--no-inline", "-i", raw, "-F",
		"comm,pid,tid,time,period,event,ip,sym,dso"}, out: w}); err != nil {
		return "", 0, err
	}
	w.end()
	return file, time.Duration(w.kept) * time.Second / perfRate, errors.Join(w.out.Flush(), out.Close(), os.Remove(raw))
}

// blocks passes on the blocks of lines that keep wants; an empty line ends a block.
type blocks struct {
	out  *bufio.Writer
	keep func(string) bool
	text strings.Builder
	kept int
}

func (b *blocks) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		at := bytes.IndexByte(p, '\n') + 1
		if at == 0 {
			at = len(p)
		}
		b.text.Write(p[:at])
		if text := b.text.String(); text == "\n" || strings.HasSuffix(text, "\n\n") {
			b.end()
		}
		p = p[at:]
	}
	return n, nil
}

func (b *blocks) end() {
	if text := b.text.String(); strings.TrimSpace(text) != "" && (b.keep == nil || b.keep(text)) {
		b.kept++
		b.out.WriteString(text) //nolint:errcheck // Flush returns it
	}
	b.text.Reset()
}

// pySpy samples programs in CPython.
type pySpy struct {
	path    string
	threads bool
}

const pySpyRate = 200 // samples per second

func openPySpy(_ context.Context, s *Session, file string) (profiler, error) {
	path, err := s.find(file, "py-spy")
	return pySpy{path, s.Threads}, err
}

func (p pySpy) wrap(args []string, file string) (command, env []string) {
	command = []string{p.path, "record", "-r", strconv.Itoa(pySpyRate), "-f", "speedscope", "-o", file + ".speedscope.json"}
	if p.threads {
		command = append(command, "--threads")
	}
	return append(append(command, "--"), args...), nil
}

// module matches a module of Python: its path from the packages of an environment, or from the standard library.
var module = regexp.MustCompile(`^.*/((?:site-packages|dist-packages|lib/python3\.\d+)/.*)$`)

// below returns the path of a file below a directory, or of a module of Python; false if it is elsewhere. Files are
// part of the names of functions, and a work tree and its environment are in other directories each time.
func below(root, file string) (string, bool) {
	name, ok := strings.CutPrefix(filepath.Clean(file), root+string(filepath.Separator))
	if name = filepath.ToSlash(name); module.MatchString(name) {
		return module.FindStringSubmatch(name)[1], true
	}
	return name, ok
}

// finish leaves out the samples that are not wanted; the file has them as lists of
// indices of frames, outermost first. Files below the work tree become paths below it.
func (p pySpy) finish(_ context.Context, s *Session, file string, keep func(string) bool) (string, time.Duration, error) {
	file += ".speedscope.json"
	data, err := os.ReadFile(file)
	if err != nil {
		return "", 0, err
	}
	var doc, shared map[string]json.RawMessage
	var frames, profiles []map[string]json.RawMessage
	if err = json.Unmarshal(data, &doc); err == nil {
		err = json.Unmarshal(doc["shared"], &shared)
	}
	if err == nil {
		err = errors.Join(json.Unmarshal(shared["frames"], &frames), json.Unmarshal(doc["profiles"], &profiles))
	}
	if err != nil {
		return "", 0, fmt.Errorf("%s: not what py-spy 0.3 and newer write: %w", file, err)
	}
	texts := make([]string, len(frames))
	for i, f := range frames {
		var name, path string
		err := json.Unmarshal(f["name"], &name)
		if text := f["file"]; text != nil {
			err = errors.Join(err, json.Unmarshal(text, &path))
		}
		if err != nil {
			return "", 0, fmt.Errorf("%s: frame %d: %w", file, i, err)
		}
		if name, ok := below(s.root, path); ok {
			f["file"], _ = json.Marshal(name) // of a text
		} else if _, ok := below(s.origin, path); ok && s.origin != "" {
			return "", 0, fmt.Errorf("%s ran, which is of no commit: Python found it before the commit's own file; install that, for example with --build 'pip install -e .'", path)
		}
		texts[i] = fmt.Sprintf("%s (%s);", name, path)
	}
	for _, one := range profiles {
		if err := keepSamples(one, texts, keep); err != nil {
			return "", 0, fmt.Errorf("%s: not what py-spy 0.3 and newer write: %w", file, err)
		}
	}
	// Encoding cannot fail: the values come from JSON.
	shared["frames"], _ = json.Marshal(frames)
	doc["shared"], _ = json.Marshal(shared)
	doc["profiles"], _ = json.Marshal(profiles)
	if data, err = json.Marshal(doc); err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	return file, 0, err
}

// keepSamples leaves out the samples of a profile of speedscope that keep (nil: all) does not want,
// and of others the frames above the function that runs rounds: how pytest calls it is no work of
// the benchmark's.
func keepSamples(profile map[string]json.RawMessage, frames []string, keep func(stack string) bool) error {
	if keep == nil {
		return nil
	}
	var samples [][]int
	var weights []float64
	if err := errors.Join(json.Unmarshal(profile["samples"], &samples), json.Unmarshal(profile["weights"], &weights)); err != nil {
		return err
	}
	if len(weights) != len(samples) {
		return fmt.Errorf("%d samples have %d weights", len(samples), len(weights))
	}
	n := 0
	for i, stack := range samples {
		var text strings.Builder
		from := 0
		for k, frame := range stack {
			if frame >= 0 && frame < len(frames) {
				text.WriteString(frames[frame])
				if pytestRounds.MatchString(frames[frame]) {
					from = k
				}
			}
		}
		if keep(text.String()) {
			samples[n], weights[n] = stack[from:], weights[i]
			n++
		}
	}
	profile["samples"], _ = json.Marshal(samples[:n]) // of numbers
	profile["weights"], _ = json.Marshal(weights[:n])
	return nil
}

// cpuProf is V8's, in Node.js.
type cpuProf struct{}

func (cpuProf) wrap(args []string, file string) (command, env []string) {
	return append([]string{args[0], "--cpu-prof", "--cpu-prof-dir=" + file + ".d"}, args[1:]...), nil
}

// finish takes the file of the main thread: names end in process, thread and number.
func (cpuProf) finish(_ context.Context, s *Session, file string, _ func(string) bool) (string, time.Duration, error) {
	found, err := filepath.Glob(file + ".d/*.cpuprofile")
	if err != nil || len(found) == 0 {
		return "", 0, errors.Join(fmt.Errorf("%s wrote no profile: it has to end by itself", s.args[0]), err)
	}
	if main := slices.DeleteFunc(slices.Clone(found), func(name string) bool { return !strings.Contains(name, ".0.0") }); len(main) > 0 {
		if len(main) < len(found) {
			fmt.Fprintf(s.Talk, "note: the profile has the main thread only, not %d workers\n", len(found)-len(main))
		}
		found = main
	}
	to := file + ".cpuprofile"
	return to, 0, errors.Join(fromTree(s.root, found[0], to), os.RemoveAll(file+".d"))
}

// scriptURL is the address of a script in a profile of V8, escaped a byte of it.
var (
	scriptURL = regexp.MustCompile(`"url":"(?:[^"\\]|\\.)*"`)
	escaped   = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
)

// fromTree copies a profile of V8. Addresses of scripts below a directory become paths below it.
func fromTree(root, from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	text = scriptURL.ReplaceAllFunc(text, func(field []byte) []byte {
		var file string
		if json.Unmarshal(field[len(`"url":`):], &file) != nil {
			return field
		}
		if module, ok := strings.CutPrefix(file, "file://"); ok { // that of an ES module is a URL
			file = escaped.ReplaceAllStringFunc(module, func(x string) string {
				b, _ := hex.DecodeString(x[1:])
				return string(b)
			})
		}
		name, ok := below(root, file)
		if !ok {
			return field
		}
		quoted, _ := json.Marshal(name) // of a text
		return append([]byte(`"url":`), quoted...)
	})
	return os.WriteFile(to, text, 0o600)
}

// cutStart leaves out the samples of a profile of V8 before the first function of tinybench: the
// start of the program is no cost per operation. Without such a function all stay.
func cutStart(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var doc map[string]json.RawMessage
	var nodes []struct {
		ID        int
		CallFrame struct{ FunctionName, URL string }
		Children  []int
	}
	var samples []int
	var deltas []int64
	var start int64
	if err = json.Unmarshal(text, &doc); err == nil {
		err = errors.Join(json.Unmarshal(doc["nodes"], &nodes), json.Unmarshal(doc["samples"], &samples),
			json.Unmarshal(doc["timeDeltas"], &deltas), json.Unmarshal(doc["startTime"], &start))
	}
	if err == nil && len(samples) != len(deltas) {
		err = fmt.Errorf("%d samples with %d times", len(samples), len(deltas))
	}
	if err != nil {
		return fmt.Errorf("%s: not what node --cpu-prof writes: %w", file, err)
	}
	runs := map[int]bool{}
	for _, n := range nodes { // callers come first
		runs[n.ID] = runs[n.ID] || n.CallFrame.FunctionName != "" && strings.Contains(n.CallFrame.URL, "node_modules/tinybench/")
		for _, c := range n.Children {
			runs[c] = runs[c] || runs[n.ID]
		}
	}
	from := slices.IndexFunc(samples, func(id int) bool { return runs[id] })
	if from <= 0 {
		return nil
	}
	for _, d := range deltas[:from] {
		start += d
	}
	// Encoding cannot fail: the values come from JSON.
	doc["samples"], _ = json.Marshal(samples[from:])
	doc["timeDeltas"], _ = json.Marshal(deltas[from:])
	doc["startTime"], _ = json.Marshal(start)
	if text, err = json.Marshal(doc); err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	return err
}

// jfr is the profiler of a JDK, async the one of async-profiler in the same format.
type (
	jfr   struct{}
	async struct {
		jfr
		library string
		memory  bool
	}
)

func (jfr) wrap(args []string, file string) (command, env []string) {
	return append([]string{args[0], "-XX:StartFlightRecording=settings=profile,dumponexit=true,filename=" + file + ".jfr"}, args[1:]...), nil
}

func (a async) wrap(args []string, file string) (command, env []string) {
	more := ""
	if a.memory {
		more = ",alloc=" + allocInterval
	}
	return append([]string{args[0], "-agentpath:" + a.library + "=start,event=cpu" + more + ",file=" + file + ".jfr"}, args[1:]...), nil
}

// allocInterval is how many bytes are allocated per sample of allocations.
const allocInterval = "524288"

func (jfr) finish(_ context.Context, _ *Session, file string, _ func(string) bool) (string, time.Duration, error) {
	return file + ".jfr", 0, nil
}

// openAsync finds async-profiler's library: the given one, beside the program asprof, or
// where people unpack it.
func openAsync(_ context.Context, s *Session, file string) (profiler, error) {
	if file != "" {
		library, err := filepath.Abs(file) // as JMH demands
		if err == nil {
			_, err = os.Stat(library)
		}
		return async{library: library, memory: s.Memory}, err
	}
	places := []string{os.Getenv("ASYNC_PROFILER_HOME"), "/opt/async-profiler", "/usr/local/async-profiler"}
	if program, err := s.find("", "asprof"); err == nil {
		if program, err = filepath.EvalSymlinks(program); err == nil {
			places = append(places, filepath.Dir(filepath.Dir(program)))
		}
	}
	for _, home := range places {
		library := filepath.Join(home, "lib", "libasyncProfiler.so")
		if _, err := os.Stat(library); home != "" && err == nil {
			return async{library: library, memory: s.Memory}, nil
		}
	}
	return nil, errMissing
}
