// Command graph measures the graph engine at the size of real histories: it starts a
// Neo4j server of its own, imports profiles of the suite's Real shape, and runs Dendro's
// commands on them, each as a process of its own, as a user does.
//
//	go build -o /tmp/dendro ../../cmd/dendro
//	go run ./cmd/graph -dendro /tmp/dendro
//
// It prints Markdown tables to standard output. Imports are compared with the paper's
// final method on the same files, in interleaved rounds: cold, the first rounds of a
// server that has just started, and warm, the last ones. Every round imports four runs of
// all benchmarks. Sizes are those of the store files of the stopped server. The last table
// is of a smaller store in the model thesis, which takes ten times the space. On two quiet
// cores all of it is meant to end within twenty minutes; it needs 4 GB of disk.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/store/neo4j"
	"github.com/dendroprof/dendro/test/bench/suite"
	"github.com/dendroprof/dendro/test/neo4j/server"
	"github.com/dendroprof/dendro/testrun"
)

type bench struct {
	ctx      context.Context
	server   *server.Server
	suite    *suite.Suite
	programs []string // the first one also writes
	model    string
	profiles int
	repeats  int
	nodes    int
}

// The memory of each server, and the benchmarks of the suite: half of them are in each
// group.
const (
	heap, pageCache = "2g", "1g"
	benchmarks      = 8
)

func main() {
	b := &bench{suite: suite.New(suite.Config{Shape: suite.Real, Groups: 2, Benchmarks: benchmarks / 2})}
	programs := flag.String("dendro", "dendro", "the program to measure, or several, separated by commas, whose queries are compared")
	flag.StringVar(&b.model, "model", "shared", "model of the database: shared or thesis")
	flag.IntVar(&b.profiles, "profiles", 8680, "number of profiles")
	thesis := flag.Int("thesis", 1280, "number of profiles in the model thesis")
	flag.IntVar(&b.repeats, "repeats", 5, "how often each query runs; the median counts")
	rounds := flag.Int("rounds", 12, "rounds against the paper's method, of 32 profiles each, at either end; 0: none")
	skip := flag.String("skip", "", "parts to skip: prune, bulk, thesis")
	flag.Parse()
	b.programs = strings.Split(*programs, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	b.ctx = ctx
	os.Setenv(neo4j.PasswordEnv, server.Password) //nolint:errcheck // it is not empty
	err := b.run(*rounds, *skip)
	if err == nil && b.model == string(neo4j.Shared) && !strings.Contains(*skip, "thesis") {
		t := &bench{ctx: ctx, suite: b.suite, programs: b.programs, model: string(neo4j.Thesis), profiles: *thesis, repeats: b.repeats}
		err = t.run(0, "prune, bulk")
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "graph:", err)
		os.Exit(1)
	}
}

func (b *bench) run(rounds int, skip string) (err error) {
	if b.server, err = server.Start(b.ctx, server.Options{Heap: heap, PageCache: pageCache}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.server.Close()) }()
	if err := b.load(rounds); err != nil {
		return err
	}
	if err := b.size(); err != nil {
		return err
	}
	fmt.Printf("\n%d profiles, %d call nodes, model %s\n\n| command, median of %d | %s |\n|---|%s\n", b.profiles, b.nodes, b.model, b.repeats,
		strings.Join(b.programs, " | "), strings.Repeat("---|", len(b.programs)))
	one, last := b.suite.Meta(0), b.suite.Meta(b.profiles-1)
	for _, args := range [][]string{
		{"runs"},
		{"tree", "--run", last.Run, "--benchmark", one.Benchmark},
		{"find", "Compile::Compile"},
		{"bottlenecks", "--benchmark", one.Benchmark},
		{"bottlenecks", "--group", one.Group},
		{"tree", "--group", one.Group},
		{"regressions", "--method", "correlation", "--benchmark", one.Benchmark},
	} {
		if err := b.query(args...); err != nil {
			return err
		}
	}
	if !strings.Contains(skip, "bulk") {
		if err := b.bulk(); err != nil {
			return err
		}
	}
	if strings.Contains(skip, "prune") {
		return nil
	}
	runs := b.profiles / benchmarks
	return b.timed("prune", func() error {
		return b.command(b.programs[0], b.server.URL(), "prune", "--keep", fmt.Sprint(runs-runs*2/7))
	})
}

// load imports all profiles.
func (b *bench) load(rounds int) (err error) {
	if err := neo4j.Init(b.ctx, b.server.URL(), neo4j.InitOptions{Model: neo4j.Model(b.model)}); err != nil {
		return err
	}
	st, err := neo4j.Open(b.ctx, b.server.URL(), neo4j.Options{})
	if err != nil {
		return err
	}
	defer st.Close()
	im := ingest.New(st, ingest.Options{})
	var p *paper
	if rounds > 0 {
		if p, err = newPaper(b.ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.close()) }()
	}
	const perRound = 4 * benchmarks
	type rate struct{ ours, paper []float64 } // seconds per call node
	var cold, warm rate
	var all time.Duration
	for from := 0; from < b.profiles; from += perRound {
		batch, nodes := b.batch(from, min(from+perRound, b.profiles))
		b.nodes += nodes
		began := time.Now()
		if err := put(b.ctx, im, batch); err != nil {
			return err
		}
		took := time.Since(began)
		all += took
		of := &warm
		switch left := (b.profiles - from - 1) / perRound; {
		case from/perRound < rounds:
			of = &cold
		case left >= rounds:
			continue
		}
		began = time.Now()
		if err := p.put(batch); err != nil {
			return err
		}
		of.ours = append(of.ours, took.Seconds()/float64(nodes))
		of.paper = append(of.paper, time.Since(began).Seconds()/float64(nodes))
		p.nodes += nodes
	}
	fmt.Printf("\n| import, model %s | nodes/s | the paper's method | ratio |\n|---|---|---|---|\n| all, %d profiles | %.0f | | |\n",
		b.model, b.profiles, float64(b.nodes)/all.Seconds())
	for _, r := range []struct {
		name string
		rate
	}{{"cold", cold}, {"warm", warm}} {
		if len(r.ours) > 0 {
			ours, paper := median(r.ours), median(r.paper)
			fmt.Printf("| %s, median of %d rounds | %.0f | %.0f | %.1f × |\n", r.name, len(r.ours), 1/ours, 1/paper, paper/ours)
		}
	}
	if p != nil {
		bytes, err := storeBytes(p.server)
		if err != nil {
			return err
		}
		fmt.Printf("\nthe paper's store files: %.1f bytes for each of %d call nodes\n", float64(bytes)/float64(p.nodes), p.nodes)
	}
	return nil
}

// batch renders profiles and returns them with the number of their call nodes.
func (b *bench) batch(from, to int) (list []ingest.Source, nodes int) {
	for i := from; i < to; i++ {
		m := b.suite.Meta(i)
		text, size := b.suite.AppendFolded(nil, i)
		nodes += size.Nodes
		s := ingest.MemorySource(fmt.Sprintf("%s/%s/%s", m.Run, m.Group, m.Benchmark), text)
		s.Label = ingest.Label{Group: m.Group, Benchmark: m.Benchmark, Run: testrun.Run{Key: m.Run, Date: m.Date},
			Metrics: []testrun.Metric{{Name: "time", Mean: m.MetricMean, Unit: m.MetricUnit, Better: testrun.Lower, Primary: true}}}
		list = append(list, s)
	}
	return list, nodes
}

func put(ctx context.Context, im *ingest.Importer, batch []ingest.Source) error {
	var failed error
	_, err := im.Import(ctx, batch, func(r ingest.Result) { failed = errors.Join(failed, r.Err) })
	return errors.Join(err, failed)
}

// size prints the bytes of the store files for each call node.
func (b *bench) size() error {
	bytes, err := storeBytes(b.server)
	if err != nil {
		return err
	}
	fmt.Printf("\nstore files: %d MB, %.1f bytes for each call node\n", bytes>>20, float64(bytes)/float64(b.nodes))
	return b.server.Restart(b.ctx)
}

// storeBytes stops a server and returns the size of its store files.
func storeBytes(s *server.Server) (bytes int64, err error) {
	if err := s.Stop(); err != nil {
		return 0, err
	}
	err = filepath.WalkDir(s.DatabaseDir(), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}

// query runs a command of all programs in turn, first without counting, and prints the
// median times.
func (b *bench) query(args ...string) error {
	times := make([][]float64, len(b.programs))
	for round := range b.repeats + warmUp {
		for i, program := range b.programs {
			began := time.Now()
			if err := b.command(program, b.server.URL(), args...); err != nil {
				return err
			}
			if round >= warmUp {
				times[i] = append(times[i], time.Since(began).Seconds())
			}
		}
	}
	fmt.Printf("| %s |", strings.Join(args, " "))
	for _, list := range times {
		fmt.Printf(" %.2f s |", median(list))
	}
	fmt.Println()
	return nil
}

// warmUp is the number of rounds in which the server makes and compiles its plans.
const warmUp = 2

// bulk writes the store as files and makes a database of them in another server.
func (b *bench) bulk() error {
	dir, err := os.MkdirTemp("", "graph-bulk-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	files := filepath.Join(dir, "files")
	if err := b.timed("export", func() error {
		return b.command(b.programs[0], b.server.URL(), "export", "--format", "neo4j-admin", "--model", b.model, "-o", files)
	}); err != nil {
		return err
	}
	other, err := server.Start(b.ctx, server.Options{Heap: heap, PageCache: pageCache})
	if err != nil {
		return err
	}
	defer other.Close() //nolint:errcheck // its folder is removed
	if err := other.Stop(); err != nil {
		return err
	}
	if err := b.timed("neo4j-admin database import", func() error {
		return other.Admin(b.ctx, files, "database", "import", "full", "neo4j", "--overwrite-destination", "@import.args")
	}); err != nil {
		return err
	}
	if err := other.Restart(b.ctx); err != nil {
		return err
	}
	return b.timed("store init", func() error { return b.command(b.programs[0], other.URL(), "store", "init") })
}

// timed prints how long something took, and call nodes per second.
func (b *bench) timed(name string, f func() error) error {
	began := time.Now()
	if err := f(); err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	fmt.Printf("| %s | %.1f s | %.0f nodes/s |\n", name, took, float64(b.nodes)/took)
	return nil
}

// command runs a program on a store.
func (b *bench) command(program, store string, args ...string) error {
	c := exec.CommandContext(b.ctx, program, args...)
	c.Env = append(os.Environ(), "DENDRO_STORE="+store)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, stderr.Bytes())
	}
	return nil
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}
