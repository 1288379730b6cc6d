// Command bench prints the tables that compare ways to store call trees: import
// rates, sizes and the times of the study's questions, as Markdown.
//
//	bench                     1,000 profiles of both shapes, five rounds
//	bench -full               10,000 large profiles, one round
//	bench -runs 10 -rounds 1  a quick look
//	bench -engines duckdb     only engines whose name contains this
//
// The engines are listed in engines.go. Progress goes to standard error.
// Exit status: 0 fine, 1 error, 2 usage, 3 engines gave different answers.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/test/bench"
	"github.com/dendroprof/dendro/test/bench/suite"
	duck "github.com/duckdb/duckdb-go-bindings"
)

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	var differ differError
	var usage usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.As(err, &differ):
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(3)
	case errors.As(err, &usage):
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// usageError is a command line that makes no sense.
type usageError struct{ message string }

// Error says what was wrong.
func (e usageError) Error() string { return e.message }

// differError says that engines disagree.
type differError struct{ questions []string }

// Error lists the questions.
func (e differError) Error() string {
	return "engines answer differently: " + strings.Join(e.questions, ", ")
}

// flags are the command line's values as given.
type flags struct {
	shape, parts, engines, names, order, dir  string
	cpuProfile                                string
	groups, benchmarks, runs, profiles        int
	rounds, repeats, alone, workers, batchMiB int
	scale                                     float64
	seed                                      uint64
	limit, budget                             time.Duration
	full, quiet, keep, reuse                  bool
}

func parse(args []string, errw io.Writer) (flags, error) {
	var f flags
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.SetOutput(errw)
	set.StringVar(&f.shape, "shape", "both", "large, real or both")
	set.StringVar(&f.parts, "parts", "import,question,alone", "what to measure")
	set.StringVar(&f.engines, "engines", "", "only engines whose name contains one of these, by comma")
	set.StringVar(&f.names, "names", "stable", "names that the engines are given: stable, or raw as in the text")
	set.StringVar(&f.order, "order", "sorted", "order of the lines: sorted or shuffled")
	set.StringVar(&f.dir, "dir", "", "folder for the stores, a temporary one by default")
	set.IntVar(&f.groups, "groups", 5, "benchmark groups")
	set.IntVar(&f.benchmarks, "benchmarks", 2, "benchmarks per group")
	set.IntVar(&f.runs, "runs", 100, "runs per benchmark")
	set.IntVar(&f.profiles, "profiles", 0, "profiles in all; sets the runs")
	set.IntVar(&f.rounds, "rounds", 5, "interleaved rounds of imports")
	set.IntVar(&f.repeats, "repeats", 5, "times that a question is asked after the first")
	set.IntVar(&f.alone, "alone", 50, "profiles to import one by one in the end")
	set.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0), "goroutines that an engine may use to import")
	set.IntVar(&f.batchMiB, "batch", 4096, "text rendered ahead, in MiB")
	set.Float64Var(&f.scale, "scale", 1, "size of a profile")
	set.Uint64Var(&f.seed, "seed", 0, "another number is another suite")
	set.DurationVar(&f.limit, "limit", 10*time.Second, "time for the repetitions of one question")
	set.DurationVar(&f.budget, "budget", 150*time.Second, "time after which no further round of imports begins, per shape")
	set.StringVar(&f.cpuProfile, "cpuprofile", "", "file for a profile of the whole run (generating the text is in it)")
	set.BoolVar(&f.full, "full", false, "10,000 large profiles of 100 benchmarks, one round; takes minutes and 3 GB of disk")
	set.BoolVar(&f.quiet, "quiet", !isTerminal(os.Stderr), "no progress")
	set.BoolVar(&f.keep, "keep", false, "leave the stores of the first round in -dir")
	set.BoolVar(&f.reuse, "reuse", false, "take the stores from -dir instead of importing")
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return f, err
		}
		return f, usageError{err.Error()}
	}
	if set.NArg() > 0 {
		return f, usageError{"unexpected argument " + set.Arg(0)}
	}
	if f.full {
		given := map[string]bool{}
		set.Visit(func(fl *flag.Flag) { given[fl.Name] = true })
		for name, value := range map[string]string{"groups": "10", "benchmarks": "10", "rounds": "1", "shape": "large", "limit": "30s"} {
			if !given[name] {
				if err := set.Set(name, value); err != nil {
					return f, err
				}
			}
		}
	}
	return f, nil
}

// config turns flags into what Run takes, without the shape.
func (f flags) config(errw io.Writer) (bench.Config, error) {
	c := bench.Config{
		Suite:   suite.Config{Groups: f.groups, Benchmarks: f.benchmarks, Runs: f.runs, Scale: f.scale, Seed: f.seed},
		Workers: f.workers, Dir: f.dir, Rounds: f.rounds, Repeats: f.repeats, Limit: f.limit, Budget: f.budget,
		BatchBytes: f.batchMiB << 20, Log: errw, Keep: f.keep, Reuse: f.reuse,
	}
	if f.quiet {
		c.Log = io.Discard
	}
	if (f.keep || f.reuse) && f.dir == "" {
		return c, usageError{"keep and reuse need a dir"}
	}
	if f.groups < 1 || f.benchmarks < 1 || f.runs < 1 || f.rounds < 1 || f.batchMiB < 1 {
		return c, usageError{"groups, benchmarks, runs, rounds and batch must be positive"}
	}
	if f.profiles > 0 {
		c.Suite.Runs = max(2, f.profiles/(f.groups*f.benchmarks))
	}
	switch f.order {
	case "sorted":
	case "shuffled":
		c.Suite.Order = suite.Shuffled
	default:
		return c, usageError{"no order " + f.order}
	}
	switch f.names {
	case "stable":
		c.Names = suite.Memo(storedNames)
	case "raw":
	default:
		return c, usageError{"no names " + f.names}
	}
	parts := strings.Split(f.parts, ",")
	for _, p := range parts {
		if !slices.Contains([]string{"import", "question", "alone"}, p) {
			return c, usageError{"no part " + p}
		}
	}
	c.NoImports = !slices.Contains(parts, "import")
	c.NoQuestions = !slices.Contains(parts, "question")
	if slices.Contains(parts, "alone") {
		c.Alone = f.alone
	}
	for _, spec := range engines() {
		if f.full && spec.Part > 1 {
			continue // a tenth of the full suite takes it minutes
		}
		match := f.engines == ""
		for part := range strings.SplitSeq(strings.ToLower(f.engines), ",") {
			match = match || part != "" && strings.Contains(strings.ToLower(spec.Name), part)
		}
		if match {
			c.Specs = append(c.Specs, spec)
		}
	}
	if len(c.Specs) == 0 {
		return c, usageError{"no engine is called " + f.engines}
	}
	return c, nil
}

// isTerminal tells whether a person may be watching.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func run(args []string, out, errw io.Writer) error {
	f, err := parse(args, errw)
	if err != nil {
		return err
	}
	c, err := f.config(errw)
	if err != nil {
		return err
	}
	var shapes []suite.Shape
	for _, s := range []suite.Shape{suite.Large, suite.Real} {
		if f.shape == "both" || f.shape == s.String() {
			shapes = append(shapes, s)
		}
	}
	if shapes == nil {
		return usageError{"no shape " + f.shape}
	}
	if c.Dir == "" {
		if c.Dir, err = os.MkdirTemp("", "dendro-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(c.Dir)
	}
	if f.cpuProfile != "" {
		file, err := os.Create(f.cpuProfile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	fmt.Fprintf(out, "%s\n\n", bench.Machine("DuckDB "+duck.LibraryVersion(),
		fmt.Sprintf("%d workers", c.Workers), f.names+" names", f.order+" lines"))
	start := time.Now()
	var differ differError
	for _, s := range shapes {
		c.Suite.Shape = s
		result, err := bench.Run(c)
		if err != nil {
			return err
		}
		result.Print(out)
		differ.questions = append(differ.questions, result.Differences()...)
	}
	fmt.Fprintf(out, "\nTook %.0f s.\n", time.Since(start).Seconds())
	if differ.questions != nil {
		return differ
	}
	return nil
}
