package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/dendroprof/dendro/test/bench/suite"
)

// Config configures Run.
type Config struct {
	Suite   suite.Config
	Specs   []Spec
	Names   func(string) string // given to every engine, see Options
	Workers int                 // given to every engine, 1 by default
	Dir     string              // for the stores; emptied afterwards

	Rounds int // of imports, 1 by default
	// Budget is the time after which no further round begins; 0 is no bound.
	Budget  time.Duration
	Repeats int // of queries, 5 by default
	Alone   int // profiles to import one by one afterwards, 0 for none
	// BatchBytes bounds the text that is rendered ahead, 500 MB by default.
	BatchBytes int
	// Limit is how long the repetitions of a query may take per engine, 10 s
	// by default. A query that is expected to take ten times as long, by the
	// same query for one benchmark, is not run.
	Limit time.Duration

	NoImports   bool // leave the tables out; one round fills the stores all the same
	NoQuestions bool
	// Keep leaves the stores of the first round in Dir; Reuse takes them from
	// there instead of importing, to measure a process that only runs queries.
	Keep, Reuse bool
	Log         io.Writer
}

func (c Config) withDefaults() Config {
	c.Workers = max(c.Workers, 1)
	c.Rounds = max(c.Rounds, 1)
	if c.NoImports || c.Reuse {
		c.Rounds = 1
	}
	if c.Repeats <= 0 {
		c.Repeats = 5
	}
	if c.BatchBytes <= 0 {
		c.BatchBytes = 500e6
	}
	if c.Limit <= 0 {
		c.Limit = 10 * time.Second
	}
	if c.Log == nil {
		c.Log = io.Discard
	}
	return c
}

// maxBatch keeps batches of small profiles to a size that transactions like.
const maxBatch = 250

// runner is one Run under way.
type runner struct {
	Config
	suite  *suite.Suite
	result *Result
	buffer [][]byte // text of a batch, reused
}

// Run measures the engines on one suite.
func Run(c Config) (*Result, error) {
	c = c.withDefaults()
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	r := &runner{Config: c, suite: suite.New(c.Suite), result: &Result{Suite: c.Suite.Shape.String()}}
	for _, s := range c.Specs {
		r.result.Engines = append(r.result.Engines, &EngineResult{Spec: s})
	}
	defer func() {
		for round := range c.Rounds {
			if round > 0 || !c.Keep && !c.Reuse {
				os.RemoveAll(r.dir(round))
			}
		}
	}()
	start := time.Now()
	for round := range c.Rounds {
		if spent := time.Since(start); c.Reuse || round > 0 && c.Budget > 0 && spent+spent/time.Duration(round) > c.Budget {
			break
		}
		if err := r.importRound(round); err != nil {
			return nil, err
		}
		// The stores of the first round answer the queries.
		if round > 0 {
			os.RemoveAll(r.dir(round))
		}
	}
	if c.NoImports {
		for _, e := range r.result.Engines {
			e.Imports = nil
		}
	}
	r.result.ImportPeak = PeakRSS()
	if !c.NoQuestions {
		if err := r.runQueries(); err != nil {
			return nil, err
		}
		r.result.QuestionPeak = PeakRSS()
	}
	if c.Alone > 0 {
		if err := r.alone(); err != nil {
			return nil, err
		}
	}
	return r.result, nil
}

func (r *runner) dir(round int) string {
	return filepath.Join(r.Dir, fmt.Sprintf("%s-round%d", r.result.Suite, round+1))
}

func (r *runner) open(e *EngineResult, round int) (Engine, error) {
	dir := filepath.Join(r.dir(round), strings.ReplaceAll(e.Spec.Name, " ", "-"))
	engine, err := e.Spec.Open(Options{Dir: dir, Workers: r.Workers, Names: r.Names})
	if err != nil {
		return nil, fmt.Errorf("bench: opening %s: %w", e.Spec.Name, err)
	}
	return engine, nil
}

// batch is some profiles with their sizes.
type batch struct {
	profiles []Profile
	sizes    []suite.Size
}

// render renders profiles from index first on until the text is large enough.
func (r *runner) render(first, end int) batch {
	var b batch
	for i, bytes := first, 0; i < end && len(b.profiles) < maxBatch && bytes < r.BatchBytes; i++ {
		k := len(b.profiles)
		if k == len(r.buffer) {
			r.buffer = append(r.buffer, nil)
		}
		text, size := r.suite.AppendFolded(r.buffer[k][:0], i)
		r.buffer[k] = text
		b.profiles = append(b.profiles, Profile{r.suite.Meta(i), text})
		b.sizes = append(b.sizes, size)
		bytes += size.Bytes
	}
	return b
}

// part returns each n-th profile. The place moves on from one to the next, or
// it would be the same benchmark every time.
func (b batch) part(n int) batch {
	if n <= 1 {
		return b
	}
	var out batch
	for k, p := range b.profiles {
		if (p.Index+p.Index/n)%n == 0 {
			out.profiles = append(out.profiles, p)
			out.sizes = append(out.sizes, b.sizes[k])
		}
	}
	return out
}

// importRound fills new stores of all engines side by side.
func (r *runner) importRound(round int) (err error) {
	engines := make([]Engine, len(r.result.Engines))
	defer func() {
		for _, e := range engines {
			if e != nil {
				err = errors.Join(err, e.Close())
			}
		}
	}()
	for k, e := range r.result.Engines {
		if e.Spec.Rounds > 0 && round >= e.Spec.Rounds {
			continue
		}
		if engines[k], err = r.open(e, round); err != nil {
			return err
		}
		e.Imports = append(e.Imports, Import{})
	}
	for first, n := 0, 0; first < r.suite.Len(); n++ {
		whole := r.render(first, r.suite.Len())
		first += len(whole.profiles)
		for j := range engines {
			k := (j + n + round) % len(engines)
			e := r.result.Engines[k]
			part := whole.part(e.Spec.Part)
			if engines[k] == nil || len(part.profiles) == 0 {
				continue
			}
			if err := e.Imports[len(e.Imports)-1].add(engines[k], part); err != nil {
				return fmt.Errorf("bench: %s: %w", e.Spec.Name, err)
			}
		}
		fmt.Fprintf(r.Log, "\r%s round %d: %d of %d profiles ", r.result.Suite, round+1, first, r.suite.Len())
	}
	fmt.Fprintln(r.Log)
	for k, e := range engines {
		if e == nil {
			continue
		}
		imp := &r.result.Engines[k].Imports[len(r.result.Engines[k].Imports)-1]
		start, cpu := time.Now(), CPUTime()
		if err := e.Finish(); err != nil {
			return fmt.Errorf("bench: %s: %w", r.result.Engines[k].Spec.Name, err)
		}
		imp.Finish = time.Since(start)
		imp.FinishCPU = CPUTime() - cpu
		if imp.Size, err = e.Size(); err != nil {
			return err
		}
	}
	return nil
}

// add imports a batch and adds its time and size.
func (i *Import) add(e Engine, b batch) error {
	// What one engine left to collect is not the next one's cost.
	runtime.GC()
	start, cpu := time.Now(), CPUTime()
	if err := e.Import(b.profiles); err != nil {
		return err
	}
	i.Load += time.Since(start)
	i.LoadCPU += CPUTime() - cpu
	i.Profiles += len(b.profiles)
	for _, size := range b.sizes {
		i.Nodes += size.Nodes
		i.Bytes += size.Bytes
	}
	return nil
}

// runQueries runs all queries on the engines that hold the whole suite.
func (r *runner) runQueries() (err error) {
	engines := make([]Engine, len(r.result.Engines))
	defer func() {
		for _, e := range engines {
			if e != nil {
				err = errors.Join(err, e.Close())
			}
		}
	}()
	for k, e := range r.result.Engines {
		if e.Spec.Part > 1 {
			continue
		}
		start := time.Now()
		if engines[k], err = r.open(e, 0); err != nil {
			return err
		}
		e.Open = time.Since(start)
	}
	small := map[Kind][]time.Duration{} // by engine, the query for one benchmark
	for _, q := range Questions(r.suite) {
		fmt.Fprintf(r.Log, "\r%s %-28s", r.result.Suite, q.Label)
		row := &QuestionResult{Question: q, Times: make([][]time.Duration, len(engines)), Sums: make([]*Checksum, len(engines))}
		r.result.Questions = append(r.result.Questions, row)
		ask := make([]bool, len(engines))
		for k := range engines {
			ask[k] = engines[k] != nil
			if s := small[q.Kind]; ask[k] && q.Benchmark == "" && s != nil {
				ask[k] = s[k]*time.Duration(r.suite.Benchmarks()) <= 10*r.Limit
			}
		}
		if err := r.repeat(row, engines, ask); err != nil {
			return err
		}
		if q.Benchmark != "" {
			small[q.Kind] = make([]time.Duration, len(engines))
			for k, times := range row.Times {
				small[q.Kind][k] = median(times)
			}
		}
	}
	fmt.Fprintln(r.Log)
	return nil
}

// repeat runs one query in interleaved rounds. The first call of each engine
// is its warm-up and kept apart, unless it is the only one that the limit
// allows.
func (r *runner) repeat(row *QuestionResult, engines []Engine, ask []bool) error {
	row.First = make([]time.Duration, len(engines))
	spent := make([]time.Duration, len(engines))
	for n := range r.Repeats + 1 {
		for j := range engines {
			k := (j + n) % len(engines)
			if !ask[k] || len(row.Times[k]) > 0 && spent[k] > r.Limit {
				continue
			}
			runtime.GC()
			start := time.Now()
			answer, err := engines[k].Answer(row.Question)
			took := time.Since(start)
			if errors.Is(err, ErrNoAnswer) {
				ask[k] = false
				continue
			}
			if err != nil {
				return fmt.Errorf("bench: %s, %s: %w", r.result.Engines[k].Spec.Name, row.Question.Label, err)
			}
			spent[k] += took
			if n == 0 {
				row.First[k] = took
				sum := answer.Sum()
				row.Sums[k] = &sum
				if took < r.Limit {
					continue
				}
			}
			row.Times[k] = append(row.Times[k], took)
		}
	}
	return nil
}

// alone imports further runs one profile at a time into the full stores, as a
// benchmark that finishes does.
func (r *runner) alone() (err error) {
	engines := make([]Engine, len(r.result.Engines))
	defer func() {
		for _, e := range engines {
			if e != nil {
				err = errors.Join(err, e.Close())
			}
		}
	}()
	for k, e := range r.result.Engines {
		if engines[k], err = r.open(e, 0); err != nil {
			return err
		}
	}
	for i := range r.Alone {
		at := r.suite.Len() + i
		one := r.render(at, at+1)
		for j := range engines {
			k := (j + i) % len(engines)
			start := time.Now()
			if err := engines[k].Import(one.profiles); err != nil {
				return fmt.Errorf("bench: %s: %w", r.result.Engines[k].Spec.Name, err)
			}
			r.result.Engines[k].Alone = append(r.result.Engines[k].Alone, time.Since(start))
		}
	}
	return nil
}
