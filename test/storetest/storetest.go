// Package storetest is the contract of package store as tests and benchmarks
// that every engine runs:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Engine{Open: func(t *testing.T) store.Store { … }})
//	}
//
// Run puts small, drawn profiles into a store and into a naive model of one (maps from
// call paths to values), and requires equal outcomes and results after every step.
// History does the same with a random sequence of calls, on several engines at once.
// Benchmark measures. File, Importer and the like build files, for other tests too.
//
// Where the contract is ambiguous, the suite requires:
//
//	R1   Files of one Put apply in order; a later one sees the effects of an earlier
//	     one. So do the records of one File. One conflict among them excludes the
//	     whole File, with its metrics and facts of the run.
//	R2   Facts of the run and metrics of a File are stored even if all its profiles
//	     are unchanged (else S5 would not hold).
//	R3   A File without records may come before the profiles of its benchmark
//	     and run; the metrics wait for them, whatever else is deleted.
//	R4   Metrics are listed primary first, then by name.
//	R5   Of two different attributes of a function the one stays that
//	     calltree.Merge keeps, in every order of Puts.
//	R6   FunctionSet.Functions, Table.Functions and FunctionSums.Rows may list
//	     functions that no selected profile has; consumers skip them.
//	     FunctionNames lists each function of a stored profile. It and the counts of
//	     functions and paths in Info may include those of deleted, replaced and
//	     refused profiles, until Compact.
//	R7   The rows of Functions are those of calltree.Tree.FunctionRows.
//	R8   After Add, values, Sum, Nodes, Samples and modes are those of the sum,
//	     Hash and Parts those of Profile.AddContent; the engine chooses File,
//	     Duration and the source. Adding a part of a sum again changes nothing;
//	     with Replace it replaces the sum. Values of types with different keys do
//	     not add, nor do sums outside of the int64 range: the File fails and
//	     nothing changes.
//	R9   Replace may give a profile a new Seq or keep the old one.
//	R10  A method whose context has ended returns an error. A stream whose
//	     context ends yields the error, unless it has delivered everything.
//	R11  Arguments of Put are not kept and results are not shared: callers may change
//	     both. (A chunk of a stream is valid until the next one.)
//	R12  An open stream, read or not, does not block other calls, Put included.
//	R13  Source of an unknown profile is ErrNoSource.
//
// RunTraces and TraceHistory are the same for traceprof.Store, RunWindows and WindowHistory
// for continuous.Store; these histories compare the
// results of several engines with each other.
//
// The package does not test speed, crashes or damaged files; engines have separate tests
// for these.
package storetest

import (
	"testing"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/traceprof"
)

// EngineOf opens stores of an engine for the suite of a contract.
type EngineOf[S any] struct {
	// Open returns a fresh empty store. The suite of store.Store closes it; others leave that to the engine's test.
	Open func(t testing.TB) S

	// Reopen closes s and opens the same store again. It is nil for an engine
	// that keeps nothing when it is closed.
	Reopen func(t testing.TB, s S) S
}

// The engines of the three contracts.
type (
	Engine       = EngineOf[store.Store]      // profiles of runs
	TraceEngine  = EngineOf[traceprof.Store]  // trace profiling
	WindowEngine = EngineOf[continuous.Store] // pushed profiles
)

// Rules is the version of the naming rules in the suite's Puts.
const Rules = "storetest/1"

// Run runs the suite.
func Run(t *testing.T, e Engine) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(newLab(t, e)) })
	}
}

// tests lists the suite, simple cases first: their failures are easier to read than
// those that they cause in later tests.
var tests = []struct {
	name string
	run  func(*lab)
}{
	{"Empty", testEmpty},
	{"One", testOne},
	{"Types", testTypes},
	{"Facts", testFacts},
	{"Accepted", testAccepted},
	{"Links", testLinks},
	{"Verdicts", testVerdicts},
	{"Code", testCode},
	{"Values", testValues},
	{"Names", testNames},
	{"Deep", testDeep},
	{"Many", testMany},
	{"SameContent", testSameContent},
	{"TwiceInOnePut", testTwiceInOnePut},
	{"Conflict", testConflict},
	{"AtomicFile", testAtomicFile},
	{"Replace", testReplace},
	{"Add", testAdd},
	{"AddRefused", testAddRefused},
	{"Periods", testPeriods},
	{"Runs", testRuns},
	{"Metrics", testMetrics},
	{"Operations", testOperations},
	{"Rules", testRules},
	{"NotShared", testNotShared},
	{"Queries", testQueries},
	{"Order", testOrder},
	{"Named", testNamed},
	{"Find", testFind},
	{"Attributes", testAttributes},
	{"AddAttributes", testAddAttributes},
	{"Modes", testModes},
	{"RawNames", testRawNames},
	{"Sources", testSources},
	{"Delete", testDelete},
	{"Compact", testCompact},
	{"Forests", testForests},
	{"Break", testBreak},
	{"Cancel", testCancel},
	{"Concurrent", testConcurrent},
	{"Contested", testContested},
	{"Pipeline", testPipeline},
}
