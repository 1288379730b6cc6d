// Package bench runs benchmarks under a profiler: each benchmark in a process of its own,
// with profiles of its own, and with the results that its framework prints.
//
//	command line ──Open──▶ Session: a row of runners, a profiler, benchmarks ──Record──▶ files, labels
//
// A row of the table of runners says how a command of its kind is recognised, which
// profilers it can use, how its benchmarks are listed and how one of them is recorded. The
// last row takes any command. Trees checks out the commits of both sides of a comparison.
//
// The package starts processes and writes files below the directories that it is given. It
// reads results of benchmarks, and of profiles only as much as filtering needs.
package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/app/internal/gitlog"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/testrun"
)

// Options say how to record.
type Options struct {
	Profiler string    // NAME or NAME=FILE; empty: the first of the runner's that is installed
	Memory   bool      // allocations too
	Threads  bool      // threads apart
	Results  io.Writer // gets what benchmarks print
	Talk     io.Writer // gets progress and what tools complain
}

// Benchmark has a process and profiles of its own.
type Benchmark struct {
	Group, Name string
	Operations  int64 // that each recording makes; 0: the results tell

	dir  string   // working directory; empty: the session's
	args []string // that select it

	settled bool // Operations stay
	table   bool // the last recording printed a table of tinybench
}

// Recorded are the profiles of one benchmark, or of several that only their files tell
// apart.
type Recorded struct {
	Files   []string        // paths below the directory of the recording
	Label   ingest.Label    // of each file; empty: the import finds the benchmark by the file's name
	Metrics *ingest.Metrics // results by name, of files without a label
	Types   []string        // value types to import; nil: all
}

// runner is a kind of command.
type runner struct {
	name      string                   // of the kind, for people
	detect    func(args []string) bool // reports whether a command is of the kind
	profilers []string                 // that can be used, the best first; none: its own
	prepare   func(context.Context, *Session) ([]Benchmark, error)
	record    func(ctx context.Context, s *Session, b *Benchmark, dir string) (Recorded, error)
	memory    bool // Options.Memory works
}

// runners are all kinds of commands, those with a framework before the plain ones. One of java may be jmh.
var runners = []*runner{&goTest, &pytest, &criterion, &googleBenchmark, &python, &node, &java, &command}

// Session is a command whose benchmarks can be recorded, any number of times.
type Session struct {
	Options
	Benchmarks []Benchmark
	Notes      []string // what a reader of the profiles should know

	dir      string   // working directory of the command
	root     string   // absolute; paths of files below it are relative in profiles
	origin   string   // Place.Origin
	env      []string // variables beside those of this process
	args     []string
	scratch  string // for what is built once, of the session
	like     *Session
	runner   *runner
	profiler profiler
	state    any // the runner's own
}

// Place is where a command runs.
type Place struct {
	Dir     string   // working directory
	Root    string   // of the work tree; empty: of the repository that Dir is in, or Dir
	Origin  string   // the work tree that Root is a copy of: what runs of it is of no commit; empty: none
	Env     []string // variables beside those of this process
	Scratch string   // an empty directory for what is built once; it lasts as long as the session
	Like    *Session // of the other side: its benchmarks repeat as often, where the runner decides that; may be nil
}

// Open finds the runner and the profiler of a command, builds what it needs and lists its
// benchmarks. A command that cannot be recorded as it is given is a UsageError.
func Open(ctx context.Context, args []string, at Place, o Options) (*Session, error) {
	s := &Session{Options: o, dir: at.Dir, root: at.Root, origin: at.Origin, env: at.Env, args: args, scratch: at.Scratch, like: at.Like}
	if s.root == "" {
		var err error
		if s.root, err = filepath.Abs(at.Dir); err != nil {
			return nil, err
		}
		if root, err := gitlog.Root(s.root); err == nil {
			s.root = root
		}
	}
	var err error
	if s.runner, err = runnerOf(at.Dir, args); err != nil {
		return nil, err
	}
	if o.Memory && !s.runner.memory {
		return nil, UsageError(fmt.Sprintf("--memory: %s records no allocations", s.runner.name))
	}
	if err := s.choose(ctx); err != nil {
		return nil, err
	}
	if s.Benchmarks, err = s.runner.prepare(ctx, s); err != nil {
		return nil, err
	}
	for i := range s.Benchmarks {
		if other := s.other(&s.Benchmarks[i]); other != nil {
			s.Benchmarks[i].Operations = other.Operations
		}
	}
	return s, nil
}

// runnerOf returns the kind of a command in a directory.
func runnerOf(dir string, args []string) (*runner, error) {
	r := runners[slices.IndexFunc(runners, func(r *runner) bool { return r.detect(args) })]
	if at, jar := javaMain(args); r == &java && jar {
		return ofJAR(dir, args[at])
	}
	return r, nil
}

// Record runs a benchmark and writes its profiles to dir, which must exist.
func (s *Session) Record(ctx context.Context, b *Benchmark, dir string) (Recorded, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Recorded{}, err
	}
	r, err := s.runner.record(ctx, s, b, dir)
	if err != nil {
		return r, err
	}
	switch s.profiler.(type) {
	case jfr, async: // a recording has waits, locks, native calls, …, of the harness and the JVM too
		r.Types = []string{profile.CPU, profile.CPUSamples}
		if s.Memory {
			r.Types = append(r.Types, profile.Alloc, profile.AllocSamples)
		}
	}
	for _, file := range r.Files {
		if info, err := os.Stat(file); err != nil || info.Size() == 0 {
			return r, fmt.Errorf("%s wrote no profile", strings.Join(s.args, " "))
		}
	}
	return r, nil
}

// other returns the benchmark of the other side; nil: it has none.
func (s *Session) other(b *Benchmark) *Benchmark {
	if s.like == nil {
		return nil
	}
	at := slices.IndexFunc(s.like.Benchmarks, func(x Benchmark) bool { return x.Group == b.Group && x.Name == b.Name })
	if at < 0 {
		return nil
	}
	return &s.like.Benchmarks[at]
}

// UsageError is a command that cannot be recorded as it is given, and why.
type UsageError string

// Error returns what is wrong with the command.
func (e UsageError) Error() string { return string(e) }

// timePerOp is the primary result of a benchmark: nanoseconds per operation, of n
// measurements.
func timePerOp(nanos float64, n int) testrun.Metric {
	return testrun.Metric{Name: "time/op", Mean: nanos, Unit: "ns/op", N: n, Better: testrun.Lower}
}

// label is the label of a benchmark with its results, the primary one first, and the
// number of operations that the profile covers; 0 is unknown.
func (b *Benchmark) label(n float64, estimated bool, metrics ...testrun.Metric) ingest.Label {
	metrics = slices.DeleteFunc(slices.Clone(metrics), func(m testrun.Metric) bool { return m.Name == testrun.OperationsMetric })
	for i := range metrics {
		metrics[i].Primary = i == 0
	}
	if n > 0 {
		metrics = append(metrics, testrun.NewOperations(n, estimated))
	}
	return ingest.Label{Group: b.Group, Benchmark: b.Name, Metrics: metrics}
}

// base returns the name of the program that a command starts.
func base(args []string) string { return strings.TrimSuffix(filepath.Base(args[0]), ".exe") }
