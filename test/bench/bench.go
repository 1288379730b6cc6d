// Package bench compares ways to store call trees: it imports one generated
// suite into several engines and runs the same queries on all of them.
//
// An Engine stores profiles and answers Questions. The baselines implement it
// with one row per call node per profile (package baseline); a product is
// plugged in by one more Spec in the list of cmd/bench. Answers carry a
// checksum, so that a fast engine with another answer is found out.
//
// Run imports in interleaved rounds: each batch of profiles is rendered once,
// outside the timer, and then given to one engine after the other, in an order
// that rotates. Machines with other work on them disturb all engines alike this
// way, and ratios of medians stay meaningful where seconds are not. Then it
// closes and opens the stores again and runs each query several times.
//
// What the package does not measure: concurrent readers and writers, a cold
// page cache, the loss of power, servers over a network, and the decoding of
// formats other than folded text.
package bench

import (
	"fmt"
	"math"

	"github.com/dendroprof/dendro/test/bench/suite"
)

// Profile is one profile to import: its identity and its folded text.
type Profile struct {
	suite.Meta
	Text []byte
}

// Engine stores profiles and answers queries about them. An engine is used
// by one goroutine at a time.
type Engine interface {
	// Import stores the profiles of a batch; when it returns they are durable.
	// It must not keep the text or change it. A batch of one is a profile that
	// arrives alone.
	Import(batch []Profile) error
	// Finish ends a bulk load: it checkpoints, so that Size is what stays.
	Finish() error
	// Size returns the bytes that the data takes on disk. Blocks that the
	// engine has allocated and freed again do not count: how many there are
	// depends on the order of commits.
	Size() (int64, error)
	// Answer answers one query. An engine that cannot answer returns
	// ErrNoAnswer.
	Answer(q Question) (Answer, error)
	Close() error
}

// ErrNoAnswer reports that an engine does not implement a query.
var ErrNoAnswer = fmt.Errorf("question not implemented by this engine")

// Options define how to open a store.
type Options struct {
	Dir     string // separate folder, created if missing; may contain a store
	Workers int    // goroutines that parse and write, at least 1
	// Names maps a frame as it is in the text to the name that is stored; nil
	// stores it as it is. Engines that normalise by themselves ignore it.
	Names func(string) string
}

// Spec names an engine and opens it.
type Spec struct {
	Name  string // of the column
	Model string // one line below the table
	Open  func(Options) (Engine, error)
	// Part is how much of the suite the engine gets: 1, or n for each n-th
	// profile, for engines that would take minutes. Its rates are per node.
	Part int
	// Rounds bounds the rounds of imports that the engine takes part in; 0 is
	// all of them.
	Rounds int
}

// Kind is the kind of a query.
type Kind int

// The queries of the storage study. Sums are in samples; profiles weigh by
// their samples.
const (
	// Potential: the self samples of every function (q1).
	Potential Kind = iota + 1
	// Tree: the call tree of one profile with self and total (q2).
	Tree
	// Merged: the merged call tree of the selection with self and total (q3).
	Merged
	// Above: the profiles in which Function's total is above one percent (q4).
	Above
	// Scores: for every function the z-score of its total in the newest run of
	// the selected benchmark against the Last runs before (q5).
	Scores
	// Correlation: for every function the Pearson correlation of its share
	// with the metric, the mean over the benchmarks in which at least two
	// profiles contain it (q6).
	Correlation
	// Subtree: the subtree potentials P0 to P5 of every function (q7).
	Subtree
	// Series: for every run of the selected benchmark the samples whose stack
	// has the functions of Chain one directly below the other (q8).
	Series
)

// Question is one query with its selection.
type Question struct {
	Label string // as it is called in the table, such as "q3-100"
	Kind  Kind
	// Group and Benchmark select profiles; empty means all.
	Group, Benchmark string
	Run              string // of Tree
	Last             int    // of Scores
	// Function and Chain are spelled as in the text, without annotation. An
	// engine maps them as it maps frames.
	Function string
	Chain    [3]string
}

// Answer is the result of a query. Rows is its size; Sum computes the checksum
// and is called outside the timer, so that an engine may keep its own columns
// and resolve names late.
type Answer struct {
	Rows int
	Sum  func() Checksum
}

// Checksum identifies an answer whatever the order of its rows.
type Checksum struct {
	Rows  int
	Exact uint64 // of keys and whole numbers
	// Approx is a weighted sum of the fractional numbers; Scale bounds it and
	// makes the tolerance.
	Approx, Scale float64
}

// tolerance is the relative error allowed for sums of fractional numbers that
// were added in another order.
const tolerance = 1e-9

// Equal reports whether two checksums are of the same answer.
func (c Checksum) Equal(d Checksum) bool {
	return c.Rows == d.Rows && c.Exact == d.Exact &&
		math.Abs(c.Approx-d.Approx) <= tolerance*(1+max(c.Scale, d.Scale))
}

// String shows the parts that must agree.
func (c Checksum) String() string {
	if c.Scale == 0 {
		return fmt.Sprintf("%d rows, %016x", c.Rows, c.Exact)
	}
	return fmt.Sprintf("%d rows, %016x, %.6g", c.Rows, c.Exact, c.Approx)
}
