// Package suite generates the profiles that the benchmarks import: a
// deterministic stand-in for a benchmark suite that ran many times under a
// profiler.
//
// A suite has groups, a group has benchmarks, and every benchmark has one
// profile per test run. For profile i the package gives its metadata and its
// folded text ("frame;frame;frame count" lines). Everything follows from
// Config: the same Config gives the same bytes on every run, in any order of
// calls and from any number of goroutines.
//
// # How a profile comes about
//
// The shapes and names are grafted from recorded stacks (see seeds/README.md).
// Pieces of recorded call trees are hung below each other until a tree of the
// wanted size and depth stands; the names of a piece are kept or moved into a
// package of the group or the benchmark, so that benchmarks share some of
// their paths and functions and not others. A node's expected self weight is
// lognormal. A run draws its counts from Poisson distributions with these
// means; one subtree per benchmark grows and shrinks with a latent factor that
// also moves the benchmark's metric, and one run in twenty has some subtree
// two to four times as heavy.
//
// # The two shapes
//
// Large is the data set of the storage study: 1,000 profiles of 10 benchmarks
// (or 10,000 of 100), each of thousands of stacks with a mean depth of 50. A
// run sees nearly all of its benchmark's paths again.
//
// Real is shaped like histories that were recorded with async-profiler and
// runtime/pprof, 35 process starts each. There every second path of a run is
// new to the second run, frames carry their compile state, and text is small.
// Measured on those seven histories (names normalised, raw in brackets; the
// program in ../cmd/shape prints such a row):
//
//	history              text kB  lines   nodes per run   depth mean/max  self>0  paths of run 2 seen in 1  nodes per path, 35 runs  functions
//	code.highlight            80    228     654   (654)     11.4 / 28       .35        .48  (.48)             5.8  (5.8)         277 per run, 610
//	json.orders              112    272     647   (647)     15.0 / 33       .42        .54  (.54)             7.6  (7.6)         305 per run, 645
//	http.codec             2,661  1,598   2,589 (5,142)     28.0 / 74       .41        .36  (.13)             4.8  (2.3)       1,011 per run, 2,201
//	json.parse_catalog       938    803   1,408 (1,906)     19.1 / 49       .40        .53  (.34)             5.0  (3.7)         521 per run, 1,514
//	text.dedup               103    250     659   (786)     11.9 / 37       .32        .53  (.21)             4.9  (1.9)         325 per run, 1,150
//	lucene.search_bool       860    974   2,767 (4,120)     17.6 / 59       .28        .44  (.22)             3.9  (1.7)         826 per run, 2,008
//	sql.join                 593    672   1,367 (1,899)     21.3 / 53       .36        .47  (.37)             5.0  (2.4)         596 per run, 1,673
//
// # What it does not model
//
// Threads, times, several value types, allocation sizes and the drift of a
// program over months are omitted: none of them changes what an import or the
// benchmark's queries cost. The planted effects are there to give correlation
// and z-score queries something to find, not to measure how well an analysis
// finds it.
package suite

import (
	"fmt"
	"sync"
	"time"
)

// Shape selects which kind of profiles a suite holds.
type Shape int

const (
	// Large is the data set of the storage study: deep, broad, recurring.
	Large Shape = iota
	// Real is shaped like recorded histories: shallow, annotated, volatile.
	Real
)

// String returns the name that the command line uses.
func (s Shape) String() string {
	if s == Real {
		return "real"
	}
	return "large"
}

// Order is the order of the lines of a profile.
type Order int

const (
	// Sorted writes a tree depth first, children by name, as profilers that
	// keep a tree do.
	Sorted Order = iota
	// Shuffled writes the same lines in random order, as profilers that keep a
	// hash table of stacks do.
	Shuffled
)

// Config selects the suite to generate. The zero value is the Large suite of
// the 1,000-profile table.
type Config struct {
	Shape      Shape
	Groups     int     // 5 by default
	Benchmarks int     // per group, 2 by default
	Runs       int     // per benchmark, 100 by default
	Order      Order   // of the lines
	Seed       uint64  // another seed is another suite of the same shape
	Scale      float64 // call nodes per profile relative to the shape's own size, 1 by default
}

func (c Config) withDefaults() Config {
	if c.Groups <= 0 {
		c.Groups = 5
	}
	if c.Benchmarks <= 0 {
		c.Benchmarks = 2
	}
	if c.Runs <= 0 {
		c.Runs = 100
	}
	if c.Scale <= 0 {
		c.Scale = 1
	}
	return c
}

// Meta describes one profile of a suite.
type Meta struct {
	Index      int    // place in the suite: all benchmarks of run 0 come first
	Group      string // benchmark group
	Benchmark  string // full name with parameters, unique in its group
	Run        string // test run key, the same for all benchmarks of a run
	RunIndex   int    // runs in the order of their dates
	Date       time.Time
	MetricMean float64 // mean execution time; lower is better
	MetricUnit string  // always "ms"
}

// Suite is a generated benchmark suite. It is safe for concurrent use.
type Suite struct {
	config     Config
	funcs      *funcTable
	benchmarks []*benchmark // group by group
	scratch    sync.Pool    // of *scratch
}

// benchmark is one row of a suite: a tree of paths with expected weights.
type benchmark struct {
	group, name string
	seed        uint64
	tree        *template
	metric      float64   // expected milliseconds
	work        *workload // of a Real benchmark
}

var epoch = time.Date(2024, 3, 4, 2, 30, 0, 0, time.UTC)

// New builds the call trees of a suite. That takes some milliseconds per
// benchmark; profiles are drawn on demand.
func New(c Config) *Suite {
	c = c.withDefaults()
	s := &Suite{config: c, funcs: newFuncTable(loadSeeds(), c.Shape == Large)}
	switch c.Shape {
	case Real:
		s.benchmarks = growReal(c, s.funcs)
	default:
		s.benchmarks = growLarge(c, s.funcs)
	}
	s.funcs.freeze()
	s.scratch.New = func() any { return new(scratch) }
	return s
}

// Config returns the configuration with its defaults filled in.
func (s *Suite) Config() Config { return s.config }

// Len returns the number of profiles.
func (s *Suite) Len() int { return len(s.benchmarks) * s.config.Runs }

// Meta returns the description of profile i.
func (s *Suite) Meta(i int) Meta {
	run := i / len(s.benchmarks)
	b := s.benchmarks[i%len(s.benchmarks)]
	e := b.effects(run)
	return Meta{
		Index:      i,
		Group:      b.group,
		Benchmark:  b.name,
		Run:        fmt.Sprintf("run-%04d", run),
		RunIndex:   run,
		Date:       epoch.AddDate(0, 0, run),
		MetricMean: e.metric,
		MetricUnit: "ms",
	}
}

// Size counts the content of a profile.
type Size struct {
	Bytes int // of text
	Lines int
	// Nodes counts the call nodes, ancestors included, by stable names: what
	// only differs in annotation is one node.
	Nodes int
}

// AppendFolded appends the folded text of profile i to dst and returns the
// extended slice, as append does. Give the same buffer again to avoid
// allocation. Indexes from Len on are further runs of the same benchmarks.
func (s *Suite) AppendFolded(dst []byte, i int) ([]byte, Size) {
	run := i / len(s.benchmarks)
	b := s.benchmarks[i%len(s.benchmarks)]
	sc := s.scratch.Get().(*scratch)
	defer s.scratch.Put(sc)
	sc.draw(b, run, s.config.Shape)
	size := Size{Nodes: sc.countNodes(b.tree)}
	from := len(dst)
	if s.config.Order == Sorted {
		dst = sc.render(dst, b, run, s.funcs, s.config.Shape)
	} else {
		sc.text = sc.render(sc.text[:0], b, run, s.funcs, s.config.Shape)
		dst = sc.shuffle(dst, newRand(b.seed, uint64(run), saltOrder))
	}
	size.Bytes, size.Lines = len(dst)-from, len(sc.starts)
	return dst, size
}
