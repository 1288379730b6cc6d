package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/gobench"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/internal/secret"
	"github.com/dendroprof/dendro/internal/words"
)

// benchOptions are the flags of `dendro bench`.
type benchOptions struct {
	importOptions
	count         int
	memory        bool
	asyncProfiler string
	keep          string
}

func newBench(e *env) *cobra.Command {
	var o benchOptions
	c := &cobra.Command{
		Use:   "bench [flags] -- go test [FLAGS] [PACKAGES] | java -jar BENCHMARKS.jar [FLAGS]",
		Short: "Run benchmarks under a profiler and import the profiles",
		Long: `Run benchmarks --count times and import each time as a test run, with one profile per
benchmark, its metrics, and the labels that "dendro import" finds (commit, branch, build).
Two runs or more let "dendro check" confirm a change.

  go test     each benchmark runs in a process of its own with -cpuprofile, and with
              --memory -memprofile; a plain "go test -bench . -cpuprofile" has one
              profile for all. Sub-benchmarks share the profile of their benchmark.
  java -jar   JMH with the profiler of the JDK (jfr), or --async-profiler; forks and
              iterations are those of the command

The results of the benchmarks go to stdout, so that benchstat can read them.`,
		Example: `  dendro bench -- go test -benchtime 2s ./...
  dendro bench --count 5 --memory -- go test -bench 'Sort|Parse' ./sorting
  dendro bench --async-profiler /opt/async-profiler/lib/libasyncProfiler.so -- java -jar target/benchmarks.jar -f 1`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), e, args) },
	}
	f := c.Flags()
	f.IntVar(&o.count, "count", 2, "number of test runs")
	f.BoolVar(&o.memory, "memory", false, "go test: record allocations too")
	f.StringVar(&o.asyncProfiler, "async-profiler", "", "java: `file` of async-profiler's library (libasyncProfiler.so)")
	f.StringVar(&o.keep, "keep", "", "`directory` to keep the profiles in (default: they are removed after the import)")
	o.addRunFlags(f)
	f.Lookup("run").Usage = "`key` of the test runs; -1, -2, … is added to it (default: the build of the CI, else the time)"
	return c
}

func (o *benchOptions) run(ctx context.Context, e *env, args []string) (err error) {
	if o.count < 1 {
		return usagef("--count %d: at least 1", o.count)
	}
	dir := o.keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "dendro-bench-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	var record func(ctx context.Context, e *env, dir string) ([]recorded, error)
	switch name := filepath.Base(args[0]); {
	case name == "go":
		command, err := gobench.Parse(args)
		if err != nil {
			return usageError{err}
		}
		list, err := command.List(ctx)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return fmt.Errorf("no benchmark matches -bench %s", command.Pattern)
		}
		record = func(ctx context.Context, e *env, dir string) ([]recorded, error) {
			return o.goTest(ctx, e, command, list, dir)
		}
	case name == "java" && slices.Contains(args, "-jar"):
		record = func(ctx context.Context, e *env, dir string) ([]recorded, error) { return o.jmh(ctx, e, args, dir) }
	default:
		return usagef("%q: give a go test or java -jar command", strings.Join(args, " "))
	}
	key := cmp.Or(o.label.Run.Key, ingest.FromCI(os.Getenv).Run.Key, time.Now().UTC().Format("2006-01-02T15:04:05Z"))
	for n := 1; n <= o.count; n++ {
		o.label.Run.Key = key
		if o.count > 1 {
			o.label.Run.Key += "-" + strconv.Itoa(n)
		}
		fmt.Fprintf(e.err, "run %s (%d of %d)\n", words.Clean(o.label.Run.Key), n, o.count)
		sets, err := record(ctx, e, filepath.Join(dir, strconv.Itoa(n)))
		if err != nil {
			return err
		}
		for _, s := range sets {
			if err := o.store(ctx, e, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// recorded are profiles of one package or program, with their results.
type recorded struct {
	dir     string
	metrics string                  // file
	labels  map[string]ingest.Label // by file in dir; of other files, those that an import finds
}

// store imports recorded profiles with their metrics.
func (o *benchOptions) store(ctx context.Context, e *env, r recorded) error {
	defer keepUmask()() // the benchmarks of the next run create their files as ever
	one := o.importOptions
	one.metricsFiles, one.progress, one.output = []string{r.metrics}, "none", "text"
	one.within, one.recorded = r.dir+string(filepath.Separator), r.labels
	quiet := *e
	quiet.out = e.err // results have stdout
	return one.run(ctx, &quiet, []string{r.dir})
}

// goTest records benchmarks of Go packages, in one folder per package.
func (o *benchOptions) goTest(ctx context.Context, e *env, command *gobench.Command, list []gobench.Benchmark, dir string) (sets []recorded, err error) {
	var results *os.File
	for i, b := range list {
		if i == 0 || b.Package != list[i-1].Package {
			s := recorded{dir: filepath.Join(dir, strconv.Itoa(len(sets)), "profiles"), labels: map[string]ingest.Label{}}
			s.metrics = filepath.Join(filepath.Dir(s.dir), "bench.txt")
			if err := os.MkdirAll(s.dir, 0o755); err != nil {
				return nil, err
			}
			if results, err = os.Create(s.metrics); err != nil {
				return nil, err
			}
			defer results.Close()
			sets = append(sets, s)
		}
		fmt.Fprintf(e.err, "%d of %d: %s\n", i+1, len(list), b.Name)
		s := &sets[len(sets)-1]
		files, err := command.Run(ctx, b, gobench.Profiles{Memory: o.memory}, s.dir, io.MultiWriter(results, e.out))
		if err != nil {
			return nil, err
		}
		for _, name := range files {
			s.labels[filepath.Base(name)] = ingest.Label{Group: b.Package, Benchmark: strings.TrimPrefix(b.Name, "Benchmark")}
		}
	}
	return sets, nil
}

// jmh records benchmarks of JMH, which makes one folder per benchmark.
func (o *benchOptions) jmh(ctx context.Context, e *env, args []string, dir string) ([]recorded, error) {
	r := recorded{dir: filepath.Join(dir, "profiles"), metrics: filepath.Join(dir, "jmh.json"), labels: map[string]ingest.Label{}}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return nil, err
	}
	profiler := "jfr:dir=" + r.dir
	if o.asyncProfiler != "" {
		library, err := filepath.Abs(o.asyncProfiler) // as JMH demands
		if err != nil {
			return nil, err
		}
		profiler = fmt.Sprintf("async:libPath=%s;output=jfr;dir=%s", library, r.dir)
	}
	cmd := exec.CommandContext(ctx, args[0], append(slices.Clone(args[1:]), "-prof", profiler, "-rf", "json", "-rff", r.metrics)...)
	cmd.Stdout, cmd.Stderr, cmd.Env = e.out, e.err, secret.Without(os.Environ())
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w", args[0], err)
	}
	return []recorded{r}, nil
}
