package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/own"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/traceprof"
	"github.com/dendroprof/dendro/traceprof/archive"
)

// AnalyzeRequest asks where the time of sampled requests was spent.
type AnalyzeRequest struct {
	SampleSelection `group:"Selection"`
	Snapshots       int  `param:"limit" group:"Limit" arg:"n" min:"1" default:"12000" help:"maximum number of snapshots to analyze"`
	Dumps           bool `param:"dumps" group:"View" help:"list the dumps of each row: segment, number in it, time"`
	trees.Cut       `group:"Limit"`
}

// AnalysisResult has the trees of the selected snapshots, one for each outermost frame,
// depth first: a row of depth 0 begins a tree.
type AnalysisResult struct {
	Segments  int                     `json:"segments"`
	Snapshots int                     `json:"snapshots"`     // that were analyzed
	CPU       bool                    `json:"cpu,omitempty"` // they are samples of CPU profiles, and times are CPU time
	Found     int64                   `json:"found"`         // sequence numbers in the selection
	Unit      string                  `json:"unit"`
	RootTotal int64                   `json:"rootTotal"` // 100 % of all shares
	Notes     []string                `json:"notes"`
	Omitted   query.Omitted           `json:"omitted"`
	Dumps     []Dump                  `json:"dumps,omitempty"` // those of all rows
	Rows      document.Rows[StackRow] `json:"rows"`
}

// StackRow is a code signature below those that called it.
type StackRow struct {
	Depth    int32  `json:"depth"`
	Function string `json:"function"`
	Total    int32  `json:"total"` // ms
	Self     int32  `json:"self"`  // ms
	Count    int32  `json:"count"` // snapshots
	// Own tells that the function is the user's own, and of no framework or runtime.
	Own bool `json:"own,omitempty"`
	// Dumps are those that have the signature at this place, as indices of AnalysisResult.Dumps,
	// by segment and time.
	Dumps []int32 `json:"dumps,omitempty"`

	Branches int32 `json:"branches" client:"indentation"` // callers that have several callees
	Only     bool  `json:"only" client:"indentation"`     // the only callee of its caller
}

// Dump is a snapshot: one dump of the stack of a segment's thread.
type Dump struct {
	Segment  string `json:"segment"`
	Sequence int32  `json:"sequence"`
	Time     int64  `json:"time"` // ms since 1970
}

// Analyze answers an AnalyzeRequest.
func Analyze(ctx context.Context, st traceprof.Store, r *AnalyzeRequest) (*AnalysisResult, error) {
	s, err := newSample(ctx, st, r.SampleSelection, false)
	if err != nil {
		return nil, err
	}
	a, err := traceprof.Analyze(ctx, st, s.ranges, traceprof.AnalyzeOptions{Task: s.Task, Limit: r.Snapshots, Dumps: r.Dumps})
	if err != nil {
		return nil, err
	}
	result := &AnalysisResult{Segments: len(s.segments), Snapshots: a.Snapshots, CPU: a.CPU, Found: a.Found, Unit: "ms", Notes: []string{}}
	if a.Tip != "" {
		result.Notes = append(result.Notes, fmt.Sprintf("the selection has %s snapshots; only the first %s are analyzed (--limit)", words.Count(a.Found), words.Count(r.Snapshots)))
	}
	for _, d := range a.Dumps {
		result.Dumps = append(result.Dumps, Dump{d.Segment, d.Sequence, d.Time})
	}
	ending, mine := endingDumps(a), ownFunctions(a)
	var all stackRows
	for i := range a.Trees {
		result.RootTotal += int64(a.Trees[i].Duration[0])
		all = append(all, rowsOfStacks(a, int32(i), ending, mine)...)
	}
	total := func(row stackRow) (int32, float64, float64) { return row.Depth, float64(row.Total), float64(row.Total) }
	rows, omitted := trees.CutNodes[stackRow](&r.Cut, all, float64(result.RootTotal), float64(result.RootTotal), total)
	result.Omitted = omitted
	result.Rows = document.RowsOf(len(rows), func(i int) StackRow {
		row := rows[i].StackRow
		if r.Dumps { // a list for each row only while it is written: together they are as many as dumps × depth
			row.Dumps = all.dumps(rows[i].at)
		}
		return row
	})
	return result, nil
}

// element is an element of one of the trees of an analysis.
type element struct{ tree, id int32 }

// ownFunctions returns whether each function of an analysis is the user's own.
func ownFunctions(a *traceprof.Analysis) []bool {
	t, self := &calltree.Table{Functions: a.Code()}, []int64{}
	for i := range a.Trees {
		tree, first := &a.Trees[i], int32(len(t.Parent))
		for n := range tree.Parent {
			parent := int32(calltree.NoNode)
			if p := tree.Parent[n]; p > 0 {
				parent = first + p - 1 // ids count from 1
			}
			t.Parent, t.Func, self = append(t.Parent, parent), append(t.Func, tree.Function[n]), append(self, int64(tree.Count[n]))
		}
	}
	return own.Of(t, self)
}

// endingDumps returns the dumps that end in each element, as indices.
func endingDumps(a *traceprof.Analysis) map[element][]int32 {
	ending := map[element][]int32{}
	for i, d := range a.Dumps {
		at := element{d.Tree, d.ID}
		ending[at] = append(ending[at], int32(i))
	}
	return ending
}

// stackRow is a row with the dumps that end in it.
type stackRow struct {
	StackRow
	at     int // in stackRows
	ending []int32
}

// stackRows are the elements of trees, depth first.
type stackRows []stackRow

// dumps returns the dumps that a row and those below it end, in order.
func (s stackRows) dumps(row int) []int32 {
	list := slices.Clone(s[row].ending)
	for i := row + 1; i < len(s) && s[i].Depth > s[row].Depth; i++ {
		list = append(list, s[i].ending...)
	}
	slices.Sort(list)
	return list
}

// Walk visits the rows; those below a row for which visit returns false are skipped.
func (s stackRows) Walk(visit func(n int32) bool) {
	for i := 0; i < len(s); {
		depth, descend := s[i].Depth, visit(int32(i))
		for i++; !descend && i < len(s) && s[i].Depth > depth; i++ {
		}
	}
}

// Row returns a row.
func (s stackRows) Row(n int32) stackRow {
	row := s[n]
	row.at = int(n)
	return row
}

// rowsOfStacks lists the elements of a tree: callees below their caller, the longest
// first.
func rowsOfStacks(a *traceprof.Analysis, tree int32, ending map[element][]int32, mine []bool) stackRows {
	t := &a.Trees[tree]
	callees := make([][]int32, t.Len()+1) // by id of the caller
	for i := range t.Parent {
		callees[t.Parent[i]] = append(callees[t.Parent[i]], int32(i))
	}
	for _, next := range callees {
		slices.SortStableFunc(next, func(a, b int32) int {
			return cmp.Or(cmp.Compare(t.Duration[b], t.Duration[a]), cmp.Compare(t.Count[b], t.Count[a]))
		})
	}
	rows, at := make(stackRows, 0, t.Len()), make([]int32, t.Len()+1) // at: the row of each id
	calltree.Walk(func(i int32, buf []int32) []int32 { return append(buf, callees[i+1]...) }, func(i int32) bool {
		row := StackRow{Function: a.Functions[t.Function[i]].Name, Total: t.Duration[i], Self: t.Self[i], Count: t.Count[i],
			Own: mine[t.Function[i]]}
		if caller := t.Parent[i]; caller > 0 {
			above := &rows[at[caller]]
			row.Depth, row.Branches, row.Only = above.Depth+1, above.Branches, len(callees[caller]) == 1
			if !row.Only {
				row.Branches++
			}
		}
		at[i+1] = int32(len(rows))
		rows = append(rows, stackRow{StackRow: row, ending: ending[element{tree, i + 1}]})
		return true
	})
	return rows
}

// SnapshotProfileRequest asks for snapshots as a profile.
type SnapshotProfileRequest struct {
	SampleSelection `group:"Selection"`
}

// SnapshotProfile returns the selected snapshots as a profile with times, see
// traceprof.Profile, and the name of the selection.
func SnapshotProfile(ctx context.Context, st traceprof.Store, r *SnapshotProfileRequest) (*profile.Profile, string, error) {
	s, err := newSample(ctx, st, r.SampleSelection, false)
	if err != nil {
		return nil, "", err
	}
	p, err := s.profile(ctx, st)
	return p, s.String(), err
}

// Named returns what an id names: a segment, a task, or else a trace.
func Named(ctx context.Context, st traceprof.Store, id string) (SampleSelection, error) {
	for _, as := range []struct {
		selection SampleSelection
		no        error // the store has no such thing
	}{{SampleSelection{Segments: []string{id}}, ErrNotSampled}, {SampleSelection{Task: id}, traceprof.ErrNoTask}} {
		if _, err := newSample(ctx, st, as.selection, false); !errors.Is(err, as.no) {
			return as.selection, err
		}
	}
	return SampleSelection{Trace: id}, nil
}

// NamedSnapshots returns the snapshots of what an id names, as SnapshotProfile does.
func NamedSnapshots(ctx context.Context, st traceprof.Store, id string) (*profile.Profile, string, error) {
	selection, err := Named(ctx, st, id)
	if err != nil {
		return nil, "", err
	}
	return SnapshotProfile(ctx, st, &SnapshotProfileRequest{selection})
}

// TraceArchiveRequest asks for the archive of a trace.
type TraceArchiveRequest struct {
	TaskRequest
	Trace string `param:"trace" group:"Selection" arg:"id" help:"trace"`
}

// TraceArchive is a trace as SkyWalking's profile exporter writes it.
type TraceArchive struct {
	Name      string // of the file
	Segments  int
	Snapshots int
	content   *archive.Archive
}

// Write writes the file.
func (a *TraceArchive) Write(w io.Writer) error { return archive.Write(w, a.content) }

// ArchiveTrace answers a TraceArchiveRequest.
func ArchiveTrace(ctx context.Context, st traceprof.Store, r *TraceArchiveRequest) (*TraceArchive, error) {
	if r.Trace == "" {
		return nil, param.Errorf("--trace is missing: an archive has one trace (dendro task segments lists them)")
	}
	t, err := traceTask(ctx, st, r.Task)
	if err != nil {
		return nil, err
	}
	content, err := archive.Collect(ctx, st, t.ID, r.Trace)
	if errors.Is(err, archive.ErrNotProfiled) {
		err = fmt.Errorf("%w: %w", ErrNotSampled, err)
	}
	if err != nil {
		return nil, err
	}
	a := &TraceArchive{Name: fileName(r.Trace) + ".tar.gz", Segments: len(content.Segments), content: content}
	for i := range content.Segments {
		a.Snapshots += content.Segments[i].Snapshots.Len()
	}
	return a, nil
}

// fileName makes an id the name of a file.
func fileName(id string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '_' || r == '@' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, id)
}

// LoadArchive puts an archive into a store, which should be empty, and returns the id of
// its task for requests.
func LoadArchive(ctx context.Context, st traceprof.Store, in io.Reader, limits profile.Limits) (task string, err error) {
	a, err := archive.Read(in, limits)
	if err != nil {
		return "", err
	}
	return a.Task, a.Put(ctx, st)
}
