// Package store is the contract of storage engines: queries and results as plain
// data, the rules of Put, errors, and results that are computed alike over every
// engine.
//
// A store holds profiles. A profile belongs to one benchmark, one test run and
// one value type, and is a sparse vector of self values over call node paths.
// How an engine keeps them (one forest in a file, a graph, rows behind HTTP) is not
// visible here. Profiles, runs, benchmarks, functions and paths are named by stable
// keys; the integers in a result index the tables of that result only.
//
// Rules for engines, all tested by package storetest:
//
//	S1  A Query is plain data. Its meaning is Query.Filter; an engine may be
//	    faster but not different.
//	S2  No transaction spans two calls.
//	S3  Put stores each File completely or not at all. When Put returns without an
//	    error, the files that its outcomes report as stored survive a crash.
//	S4  The same profile (identity and content hash) twice is stored once, and
//	    added once: a sum remembers the parts it was made of.
//	S5  Answers are the same whatever the order of the Puts that led to them,
//	    but for ties that Query.Filter breaks by import order.
//	S6  Methods are safe for concurrent use. Streams end at the first error and
//	    when the context ends.
//
// Engines count and add; statistics belong to package analysis.
//
// # Why the contract is as it is
//
// Analyses must not depend on the engine, and no engine may be slow because of another
// one's data structure. So an engine answers a few primitive queries with plain data
// (Reader) and stores whole files (Writer), and everything is computed above. The number
// of selected profiles is small (thousands): engines hold or fetch the list and push down
// the resulting conditions. Large results are streams: function rows as columns, trees as
// one shared table and a sparse vector per profile, the matrix of a regression analysis.
// What some engines compute faster is one optional interface (Aggregator), with a fallback
// that gives the same answer; storetest compares both. Accepted changes (Accepter),
// short links (LinkKeeper) and verdicts (VerdictKeeper) are optional too: they refer to no profile, and an engine only
// removes verdicts with their benchmark; who reads one compares its stamp.
//
// A record points into a growing Forest: an importer keeps its path dictionary over
// thousands of files, and an engine translates each new path once. Rejected: a tree per
// record (11,000 look-ups per profile in the writer, the only part that is not parallel);
// ids in the contract (two engines cannot agree on them, and a graph has none); an iterator
// of profiles with their trees (every analysis would merge the trees again).
//
// # Identity
//
// Between profiles a function is its normalised name; module, file, line, language and kind
// are attributes, so that a function that moved, or whose library has a new version, keeps
// its history. A path is its list of names. The id of a profile (IDOf) is made of group,
// benchmark, run and value type and is the same in every engine; the content hash
// (profile.Hash) of the decoded samples before names are normalised. The same identity and
// hash is the same profile, another hash a conflict. A value is an int64 in the unit and
// scale of its type; readers refuse sums beyond 63 bits, so no sum of a tree overflows.
package store

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/testrun"
)

// Store is an engine.
type Store interface {
	Reader
	Writer
	io.Closer
}

// Reader runs queries.
type Reader interface {
	// Info describes the store and counts its content.
	Info(ctx context.Context) (Info, error)

	// Profiles lists the selected profiles in the order of Query.Filter. Requests share the
	// list and what it holds: who wants to change some copies it before.
	Profiles(ctx context.Context, q Query) ([]Profile, error)

	// Functions streams, for every selected profile, self and total of its
	// functions: of all, or of those named (names that are not known are no
	// error). Total counts recursion once.
	Functions(ctx context.Context, q Query, names []string) (*FunctionSet, error)

	// FunctionNames lists the distinct functions of the store in byte order of
	// names, so that callers can resolve patterns.
	FunctionNames(ctx context.Context) ([]profile.Function, error)

	// Trees returns one table for the whole selection and streams one sparse
	// vector of self values over it per profile.
	Trees(ctx context.Context, q Query, opts TreeOptions) (*TreeSet, error)

	// RawNames returns, for each named function that has one, an example of the
	// name that profiles of the group had before it was normalised; from any
	// group when group is empty or has none.
	RawNames(ctx context.Context, group string, names []string) (map[string]string, error)

	// Source returns the original file of a profile that was put with one, or
	// ErrNoSource.
	Source(ctx context.Context, id ProfileID) ([]byte, error)

	// Waiting lists, in no order, the measurements of benchmarks and runs that have
	// no profile yet.
	Waiting(ctx context.Context) ([]Measurement, error)
}

// Measurement holds the metrics of a benchmark in a run.
type Measurement struct {
	Benchmark testrun.Benchmark
	Run       testrun.Run
	Metrics   []testrun.Metric // in no order
}

// Writer changes the store.
type Writer interface {
	// Put stores files in one transaction and returns an outcome for each. It skips
	// a File that conflicts with what is stored; its outcome has the error. An error
	// of Put itself means that nothing was stored.
	Put(ctx context.Context, files []*File, opts PutOptions) ([]Outcome, error)

	// Delete removes profiles, and the runs, benchmarks and metrics that only
	// they referred to; metrics without a profile so far stay. Unknown ids are no
	// error. It returns the number of removed profiles.
	Delete(ctx context.Context, ids []ProfileID) (int, error)

	// Compact reclaims the space of deleted profiles and optimises the order of the
	// data. It changes no result.
	Compact(ctx context.Context) error
}

// Info describes a store and its size.
type Info struct {
	Engine     string `json:"engine"`   // "duckdb", "mem", …
	Location   string `json:"location"` // file or address, without secrets
	Schema     int    `json:"schema"`   // version of the stored format
	Rules      string `json:"rules"`    // version of the rules that normalised names; empty in an empty store
	Benchmarks int64  `json:"benchmarks"`
	Runs       int64  `json:"runs"`
	Profiles   int64  `json:"profiles"`
	Functions  int64  `json:"functions"`
	Paths      int64  `json:"paths"`
	Bytes      int64  `json:"bytes"` // on disk; 0 when not known

	// Of continuous profiles: series, and their windows of all levels.
	Series  int64 `json:"series,omitempty"`
	Windows int64 `json:"windows,omitempty"`

	// Slow lists the kinds of queries that the engine answers by reading every row, see
	// the function Slow.
	Slow []string `json:"slow,omitempty"`
}

// Profile describes one stored profile.
type Profile struct {
	ID        ProfileID         `json:"id"`
	Benchmark testrun.Benchmark `json:"benchmark"`
	Run       testrun.Run       `json:"run"`
	Type      profile.ValueType `json:"type"`
	Default   bool              `json:"default,omitempty"` // the format calls Type the default of its file
	Metrics   []testrun.Metric  `json:"metrics,omitempty"` // of the benchmark in the run, as Measure sets them

	Profiler        string        `json:"profiler,omitempty"`
	ProfilerVersion string        `json:"profilerVersion,omitempty"`
	Duration        time.Duration `json:"duration,omitempty"` // nanoseconds
	Samples         int64         `json:"samples"`            // that the profiler took (profile.Samples.Taken)
	Sum             int64         `json:"sum"`                // of absolute self values: 100 % of every share
	Nodes           int           `json:"nodes"`              // call nodes, ancestors included
	Hash            string        `json:"hash"`               // profile.Hash in hex; of a sum, see AddContent
	Parts           []string      `json:"parts,omitempty"`    // the hashes of what a sum was made of; nil for one file's content
	File            string        `json:"file,omitempty"`     // name of the source file, for messages
	HasSource       bool          `json:"hasSource,omitempty"`

	// Seq is the import order: higher is later. It breaks ties, nothing else. Each engine
	// counts in its own way, so that it is not in documents.
	Seq int64 `json:"-"`
}

// Metric returns the metric that judges the value type, or false when the profile has none.
func (p *Profile) Metric() (testrun.Metric, bool) {
	if len(p.Metrics) == 0 || p.Metrics[0].Name == testrun.OperationsMetric {
		return testrun.Metric{}, false
	}
	return p.Metrics[0], true
}

// File is the content of one source file: the profiles of one benchmark in one run,
// one per value type, and the metrics of that pair. A File without records only adds
// metrics.
type File struct {
	Name      string // for messages
	Benchmark testrun.Benchmark
	Run       testrun.Run
	Metrics   []testrun.Metric
	Records   []*Record
	Source    []byte // the original, compressed; nil unless it is to be kept
}

// Record is one profile to be stored.
//
// Self is over Forest, which is an importer's growing forest or a snapshot of it: an
// engine remembers the translations of each Forest.Origin, so that it translates
// each path once. Forest does not change during Put.
type Record struct {
	Type            profile.ValueType
	Default         bool // the format calls Type the default of the file
	Profiler        string
	ProfilerVersion string
	Duration        time.Duration
	Samples         int64
	Hash            profile.Hash
	Parts           []string // as in Profile, when another store's sum is copied

	Forest *calltree.Forest
	Self   calltree.Vector
	Modes  []ModeVector // of frame types that are compile modes; empty if the source has none

	// RawNames maps functions of Forest to an example of their raw name.
	RawNames map[int32]string
}

// ModeVector is the part of a profile's self values whose innermost frame ran
// in one compile mode.
type ModeVector struct {
	Mode profile.FrameType
	calltree.Vector
}

// PutOptions defines how Put treats content that is already stored.
type PutOptions struct {
	Conflict Conflict
	// Rules is the version of the rules that normalised the names. The first
	// Put records it; a Put with another one fails with ErrOtherRules.
	Rules string
}

// Conflict defines what Put does with a profile if other content has its identity.
type Conflict int

// The ways to treat a conflict.
const (
	Refuse  Conflict = iota // an error that names both files
	Replace                 // the new content replaces the old
	Add                     // the new values are added: shards and forks of one run
)

// Outcome describes what Put did with one File.
type Outcome struct {
	Stored    int // new, replaced and added profiles
	Unchanged int // profiles whose content was stored already
	Err       error
}

// FunctionSet is the result of Functions.
type FunctionSet struct {
	Profiles  []Profile
	Functions []profile.Function // in byte order of names
	// Rows streams the values in chunks; a chunk is valid until the next one.
	// The order of the rows is not defined.
	Rows iter.Seq2[FunctionRows, error]
}

// FunctionRows is a chunk of rows as columns of one length.
type FunctionRows struct {
	Profile  []int32 // index in FunctionSet.Profiles
	Function []int32 // index in FunctionSet.Functions
	Self     []int64
	Total    []int64
}

// TreeOptions selects what Trees streams besides the self values.
type TreeOptions struct {
	Modes bool // the vectors of each compile mode too
}

// TreeSet is the result of Trees.
type TreeSet struct {
	Profiles []Profile
	Table    *calltree.Table // every node that any of the profiles has; functions in byte order
	// Vectors streams one vector per profile, in the order of Profiles.
	Vectors iter.Seq2[TreeVector, error]
}

// TreeVector is one profile's self values over the table of its TreeSet. It is
// valid until the next one.
type TreeVector struct {
	Profile int // index in TreeSet.Profiles
	calltree.Vector
	Modes []ModeVector
}
