package transfer

import (
	"bytes"
	"io"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/traceprof"
)

// Path is the address below which methods are called.
const Path = "/api/v1/store/"

// Method is a method of store.Store, of one of its optional interfaces or of
// traceprof.Store: its name below Path and the types of its argument and result.
type Method[In, Out any] struct {
	Name    string
	Changes bool // the store; a client sends it at most once
}

// None is no argument, or no result.
type None struct{}

// Stream is a result of many parts, which has functions of its own.
type Stream struct{}

// The methods.
var (
	Profiles        = Method[store.Query, []store.Profile]{Name: "profiles"}
	Functions       = Method[FunctionsQuery, Stream]{Name: "functions"}
	FunctionNames   = Method[None, []profile.Function]{Name: "function-names"}
	Trees           = Method[TreesQuery, Stream]{Name: "trees"}
	RawNames        = Method[RawNamesQuery, map[string]string]{Name: "raw-names"}
	Waiting         = Method[None, []store.Measurement]{Name: "waiting"}
	Source          = Method[store.ProfileID, []byte]{Name: "source"}
	SumFunctions    = Method[store.Query, Sums]{Name: "function-sums"}
	FunctionMoments = Method[MomentsQuery, Moments]{Name: "function-moments"}
	MergeTrees      = Method[store.Query, Merged]{Name: "merged-tree"}
	SQL             = Method[string, Stream]{Name: "sql"}
	Put             = Method[Stream, []store.Outcome]{Name: "put", Changes: true}
	Delete          = Method[[]store.ProfileID, int]{Name: "delete", Changes: true}
	Compact         = Method[None, None]{Name: "compact", Changes: true}

	CreateTask   = Method[traceprof.Task, traceprof.Task]{Name: "create-task", Changes: true}
	Task         = Method[string, traceprof.Task]{Name: "task"}
	Tasks        = Method[traceprof.TaskQuery, []traceprof.Task]{Name: "tasks"}
	StopTask     = Method[StopQuery, None]{Name: "stop-task", Changes: true}
	AppendLog    = Method[[]traceprof.Log, None]{Name: "append-log", Changes: true}
	Logs         = Method[[]string, []traceprof.Log]{Name: "logs"}
	PutInstances = Method[[]traceprof.Instance, None]{Name: "put-instances", Changes: true}
	Instances    = Method[InstancesQuery, []traceprof.Instance]{Name: "instances"}
	PutSegments  = Method[[]traceprof.Segment, None]{Name: "put-segments", Changes: true}
	Segments     = Method[traceprof.SegmentQuery, []traceprof.Segment]{Name: "segments"}
	Endpoints    = Method[EndpointsQuery, []traceprof.Endpoint]{Name: "endpoints"}
	PutSnapshots = Method[Stream, None]{Name: "put-snapshots", Changes: true}
	Snapshots    = Method[traceprof.SnapshotQuery, Stream]{Name: "snapshots"}
	Expire       = Method[traceprof.Expiry, traceprof.Expired]{Name: "expire", Changes: true}
)

// Arguments of methods that have several.
type (
	// FunctionsQuery is the argument of Functions.
	FunctionsQuery struct {
		Query store.Query
		Names []string
		All   bool // all functions, whatever Names has
	}
	// TreesQuery is the argument of Trees.
	TreesQuery struct {
		Query   store.Query
		Options store.TreeOptions
	}
	// RawNamesQuery is the argument of RawNames.
	RawNamesQuery struct {
		Group string
		Names []string
	}
	// MomentsQuery is the argument of FunctionMoments.
	MomentsQuery struct {
		Query   store.Query
		Measure store.Measure
	}
	// StopQuery is the argument of StopTask.
	StopQuery struct {
		Task string
		At   int64 // ms
	}
	// InstancesQuery is the argument of Instances.
	InstancesQuery struct {
		Service string
		Since   int64 // ms
	}
	// EndpointsQuery is the argument of Endpoints.
	EndpointsQuery struct {
		Service, Keyword string
		Limit            int
	}
)

// Write writes a message of one value: an argument or a result.
func Write[T any](w io.Writer, v *T) error {
	return writeOne(w, frameHead, func(c *coder) { code(c, v) })
}

// Encode returns the message of a value.
func Encode[T any](v *T) ([]byte, error) {
	var b bytes.Buffer
	err := Write(&b, v)
	return b.Bytes(), err
}

// Read reads a message of one value.
func Read[T any](r io.Reader, v *T) error {
	return readOne(r, frameHead, func(c *coder) { code(c, v) })
}

// Merged is the result of MergeTrees.
type Merged struct {
	Tree     *calltree.Tree
	Profiles []store.Profile
}

func (v *Merged) code(c *coder) {
	if c.reading {
		v.Tree = &calltree.Tree{Table: &calltree.Table{}}
	}
	code(c, &v.Profiles)
	c.table(v.Tree.Table)
	code(c, &v.Tree.Type)
	column(c, &v.Tree.Self)
	if !c.reading || c.err != nil {
		return
	}
	if len(v.Tree.Self) != v.Tree.Table.Len() {
		c.fail("%d values of %d nodes", len(v.Tree.Self), v.Tree.Table.Len())
		return
	}
	v.Tree = calltree.NewTree(v.Tree.Table, v.Tree.Type, v.Tree.Self)
}

// Sums is the result of SumFunctions.
type Sums struct{ store.FunctionSums }

func (v *Sums) code(c *coder) {
	code(c, &v.FunctionSums)
	for _, r := range v.Rows {
		if r.Function < 0 || int(r.Function) >= len(v.Functions) {
			c.fail("function %d of %d", r.Function, len(v.Functions))
		}
	}
}

// Moments is the result of FunctionMoments.
type Moments struct{ store.MomentSet }

func (v *Moments) code(c *coder) {
	code(c, &v.MomentSet)
	for _, m := range v.Rows {
		if m.Benchmark < 0 || int(m.Benchmark) >= len(v.Benchmarks) || m.Function < 0 || int(m.Function) >= len(v.Functions) {
			c.fail("function %d in benchmark %d", m.Function, m.Benchmark)
		}
	}
}
