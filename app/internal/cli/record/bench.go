package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/bench"
	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/internal/secret"
	"github.com/dendroprof/dendro/internal/words"
)

// benchOptions are the flags of `dendro bench`.
type benchOptions struct {
	importOptions
	bench.Options
	count             int
	keep              string
	base, head, build string
}

func newBench(e *command.Env) *cobra.Command {
	var o benchOptions
	c := &cobra.Command{
		Use:   "bench [flags] -- COMMAND",
		Short: "Run benchmarks under a profiler and import the profiles",
		Long: `Run benchmarks --count times and import each time as a test run, with one profile per
benchmark, its metrics, and the labels that "dendro import" finds (commit, branch, build).
Two runs or more let "dendro check" confirm a change against a history; two commits alone
need three runs of each, unless the change leaves no doubt. Each benchmark runs in a
process of its own, and the number of operations that its profile covers is stored with it.

  go test ...            -cpuprofile, and with --memory -memprofile; sub-benchmarks too
                         have a process each, with a fixed number of operations
  pytest ...             the tests that use pytest-benchmark, under py-spy
  cargo bench ...        benchmarks of criterion, under perf
  ./prog --benchmark_... Google Benchmark, under perf
  java -jar ...          JMH: async-profiler where it is found, otherwise JFR; forks and
                         iterations are those of the command
  python, node, java ... one benchmark: py-spy, --cpu-prof, async-profiler or JFR; the
                         results of tinybench are read
  any other command      one benchmark, under perf, with its CPU time and wall time

With --base, compare two commits: both are checked out into work trees, built, and
recorded in turns (base, head, base, head, ...), so that a machine that slows down
meanwhile affects both. The base is the merge base of --base and --head. The last
line is the command that compares exactly these runs. Changes that are not committed are
not recorded.

The results of the benchmarks go to stdout, so that benchstat can read them.`,
		Example: `  dendro bench --base main -- go test -benchtime 2s ./...
  dendro bench -- go test -benchtime 2s ./...
  dendro bench --base main --count 6 --build 'pip install -e .[test]' -- pytest --benchmark-only
  dendro bench --base v1.2 --head v1.3 -- cargo bench
  dendro bench --count 5 --memory -- go test -bench 'Sort|Parse' ./sorting
  dendro bench --profiler async-profiler=/opt/async-profiler/lib/libasyncProfiler.so -- java -jar target/benchmarks.jar
  dendro bench --benchmark compress --keep-source -- ./compress big.txt`,
		Args: command.Takes(1, command.Unlimited),
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w; the command to run stands behind --, for example: dendro bench -- go test -bench Sort ./sorting", c.Root().FlagErrorFunc()(c, err))
	})
	f := c.Flags()
	f.IntVar(&o.count, "count", 0, "number of test runs per commit (default 2, with --base 4)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if !f.Changed("count") {
			o.count = o.usualCount()
		}
		return o.run(c.Context(), e, args)
	}
	f.StringVar(&o.base, "base", "", "`commit`, branch or tag to compare with, in turns")
	f.StringVar(&o.head, "head", "HEAD", "`commit`, branch or tag to compare, with --base")
	f.StringVar(&o.build, "build", "", "shell `command` that builds each commit (default: by the files at its top: go build, cargo build --release, pip install -e ., mvn package, npm ci)")
	f.StringVar(&o.Profiler, "profiler", "", "`name` of the profiler, or name=FILE: "+strings.Join(bench.Profilers(), ", ")+
		" (default: the best one that is found)")
	f.BoolVar(&o.Memory, "memory", false, "go test, java: record allocations too")
	f.BoolVar(&o.Threads, "threads", false, "keep threads apart: the thread name becomes the outermost function")
	f.StringVar(&o.Benchmark, "benchmark", "", "`name` of the benchmark of a plain command (default: the name of the program)")
	f.BoolVar(&o.KeepSource, "keep-source", false, "also store the recorded files, compressed, for \"dendro list\"")
	f.BoolVar(&o.replace, "replace", false, "replace runs that are stored under the same keys, as those of a job that a CI repeats")
	f.StringVar(&o.keep, "keep", "", "`directory` to keep the profiles in (default: they are removed after the import)")
	command.AddRequest(c, &o.RunRequest)
	f.Lookup("run").Usage = "`key` of the test runs; -1, -2, … is added to it (default: the build of the CI with --machine, else the time)"
	return c
}

// usualCount is the default of --count: two runs confirm a change against a history; two commits
// alone need three of each side, and a fourth makes up for one that was disturbed.
func (o *benchOptions) usualCount() int {
	if o.base == "" {
		return 2
	}
	return 4
}

// benchSide is what one test run after the other is recorded of: the working directory, or
// the work tree of a commit.
type benchSide struct {
	name    string      // base or head; empty: the working directory
	tree    *bench.Tree // nil: the working directory
	session *bench.Session
	options importOptions
}

// in does something where the benchmarks of the side run.
func (s *benchSide) in(do func() error) error {
	if s.tree == nil {
		return do()
	}
	return s.tree.In(do)
}

func (o *benchOptions) run(ctx context.Context, e *command.Env, args []string) (err error) {
	switch {
	case o.count < 1:
		return command.Usagef("--count %d: at least 1", o.count)
	case o.base == "" && (o.head != "HEAD" || o.build != ""):
		return command.Usagef("--head and --build need --base, the commit to compare with")
	case o.base != "" && (o.RunRequest.Commit != "" || o.RunRequest.Branch != ""):
		return command.Usagef("--commit and --branch are those of --base and --head")
	}
	o.Results, o.Talk, o.ByThread = e.Out, e.Err, o.Threads
	if err := secret.Hide(); err != nil { // the benchmarks run as this user
		fmt.Fprintf(e.Err, "note: the variables of this process are readable for the benchmarks: %v\n", err)
	}
	scratch, remove, err := bench.Scratch()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	build := ingest.FromCI(os.Getenv)
	key := cmp.Or(o.Run, build.Key(o.Machine), time.Now().UTC().Format("2006-01-02T15:04:05Z"))
	sides, err := o.sides(ctx, e, args, key, scratch)
	if err != nil {
		if errors.As(err, new(bench.UsageError)) {
			return command.Misuse(err)
		}
		return err
	}
	for _, note := range sides[0].session.Notes {
		fmt.Fprintf(e.Talk(), "note: %s\n", note)
	}
	if o.base != "" && o.count < leastSide {
		fmt.Fprintf(e.Err, "note: --count %d: dendro check needs %d runs of each side for a verdict on any but a change that leaves no doubt\n", o.count, leastSide)
	}
	dir := cmp.Or(o.keep, filepath.Join(scratch, "profiles"))
	if err := o.record(ctx, e, sides, key, dir); err != nil {
		return err
	}
	if o.base != "" {
		fmt.Fprintf(e.Talk(), "compare these runs: dendro check --base %s --head %s%s\n", shellWord(o.sideOf(key, "base")),
			shellWord(o.sideOf(key, "head")), storeFlag(e))
	}
	return nil
}

// sideOf returns the attribute of the runs of one side, which check selects them by.
func (o *benchOptions) sideOf(key, side string) string {
	return "attr.side=" + key + "-" + side
}

// shellWord writes a text as one word of a shell, and for a terminal.
func shellWord(text string) string {
	if text = words.Clean(text); !strings.ContainsFunc(text, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_=.:/@+,", r))
	}) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// storeFlag is the flag by which another command finds the same store.
func storeFlag(e *command.Env) string {
	if e.Store == "" || os.Getenv("DENDRO_STORE") == e.Store {
		return ""
	}
	return " --store " + shellWord(e.Store)
}

// sides opens a session per side: of the working directory, or of base and head.
func (o *benchOptions) sides(ctx context.Context, e *command.Env, args []string, key, scratch string) ([]*benchSide, error) {
	if o.base == "" {
		session, err := bench.Open(ctx, args, bench.Place{Scratch: scratch}, o.Options)
		return []*benchSide{{session: session, options: o.importOptions}}, err
	}
	fmt.Fprintf(e.Talk(), "checking out %s and %s …\n", words.Clean(o.base), words.Clean(o.head))
	trees, err := bench.Trees(ctx, o.base, o.head, scratch)
	if err != nil {
		return nil, err
	}
	var sides []*benchSide
	var like *bench.Session
	for i, name := range []string{"base", "head"} {
		s := &benchSide{name: name, tree: trees[i], options: o.importOptions}
		run := &s.options.RunRequest
		run.Commit, run.Branch = s.tree.Commit, s.tree.Branch
		run.Repository = cmp.Or(run.Repository, s.tree.Repository)
		run.Attributes = maps.Clone(o.Attributes)
		if run.Attributes == nil {
			run.Attributes = map[string]string{}
		}
		run.Attributes["side"] = key + "-" + name
		s.options.environment = &ingest.Environment{}
		fmt.Fprintf(e.Talk(), "%s: %.12s %s\n", name, s.tree.Commit, words.Clean(s.tree.Branch))
		if s.tree.Dirty {
			fmt.Fprintln(e.Err, "note: this work tree has changes that are not committed: they are not recorded")
		}
		err := s.in(func() (err error) {
			if err = s.tree.Build(ctx, o.build, args, e.Err); err != nil {
				return err
			}
			own := filepath.Join(scratch, name+"-session")
			if err = os.Mkdir(own, 0o755); err == nil {
				s.session, err = bench.Open(ctx, args, s.tree.Place(own, like), o.Options)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		like = s.session
		sides = append(sides, s)
	}
	return sides, nil
}

// record records the test runs of all sides in turns, and imports each when it is complete.
func (o *benchOptions) record(ctx context.Context, e *command.Env, sides []*benchSide, key, dir string) error {
	p, fewest := &benchProgress{e: e, began: time.Now()}, int64(fewSamples)
	for _, s := range sides {
		p.all += o.count * len(s.session.Benchmarks)
	}
	for n := 1; n <= o.count; n++ {
		for _, s := range sides {
			run := strings.Trim(key+"-"+s.name, "-")
			if o.count > 1 {
				run += "-" + strconv.Itoa(n)
			}
			s.options.Run = run
			fmt.Fprintf(e.Talk(), "run %s (%d of %d)\n", words.Clean(run), n, o.count)
			folder := filepath.Join(dir, s.name, strconv.Itoa(n))
			var list []bench.Recorded
			err := s.in(func() error {
				for i := range s.session.Benchmarks {
					b := &s.session.Benchmarks[i]
					p.start(b)
					one := filepath.Join(folder, strconv.Itoa(i+1))
					if err := os.MkdirAll(one, 0o755); err != nil {
						return err
					}
					r, err := s.session.Record(ctx, b, one)
					if err != nil {
						return err
					}
					list = append(list, r)
				}
				return nil
			})
			if err != nil {
				return err
			}
			if err := s.store(ctx, e, folder, list, &fewest); err != nil {
				return err
			}
		}
	}
	if fewest < fewSamples {
		fmt.Fprintf(e.Talk(), "note: a profile has %s samples; below %d only large changes show: record longer (-benchtime 5s, a larger input), or more runs (--count)\n", words.Count(fewest), fewSamples)
	}
	return nil
}

// store imports what was recorded of a test run.
func (s *benchSide) store(ctx context.Context, e *command.Env, dir string, list []bench.Recorded, fewest *int64) error {
	defer command.KeepUmask()() // the benchmarks of the next run create their files as ever
	o := s.options
	o.progress, o.output = "none", "text"
	o.within, o.recorded = dir+string(filepath.Separator), map[string]ingest.Label{}
	var files []string
	for _, r := range list {
		for _, file := range r.Files {
			file, err := inFolder(dir, file)
			if err != nil {
				return err
			}
			label := r.Label
			if o.Benchmark != "" && len(list) == 1 {
				label.Benchmark = o.Benchmark
			}
			files, o.recorded[file] = append(files, filepath.Join(dir, file)), label
		}
		o.results, o.Types = r.Metrics.Join(o.results), r.Types
	}
	o.Benchmark = ""
	least, most := int64(0), int64(0)
	o.each = func(r ingest.Result) {
		if least == 0 || r.Taken < least {
			least = r.Taken
		}
		most = max(most, r.Taken)
	}
	quiet := *e
	quiet.Out = e.Err // results have stdout
	if err := o.run(ctx, &quiet, files); err != nil {
		return err
	}
	fmt.Fprintf(e.Talk(), "samples per profile: %s\n", strings.Join(slices.Compact([]string{words.Count(least), words.Count(most)}), " to "))
	*fewest = min(*fewest, least)
	return nil
}

// leastSide is the number of runs of each of two commits below which a check has a verdict only
// on changes that leave no doubt.
const leastSide = 3

// fewSamples is the number of samples below which a run shows only large changes.
const fewSamples = 50

// inFolder returns the name of a file below a directory.
func inFolder(dir, file string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.Rel(dir, file)
}

// benchProgress says what is recorded, and how long the rest will take.
type benchProgress struct {
	e         *command.Env
	began     time.Time
	done, all int
}

func (p *benchProgress) start(b *bench.Benchmark) {
	left := ""
	if p.done > 0 {
		rest := time.Since(p.began) / time.Duration(p.done) * time.Duration(p.all-p.done)
		left = ", about " + rest.Round(time.Second).String() + " left"
	}
	p.done++
	fmt.Fprintf(p.e.Talk(), "%d of %d: %s%s\n", p.done, p.all, words.Clean(b.Name), left)
}
