package querier

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/calltree/diff"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/format/pprof"
	"github.com/dendroprof/dendro/format/protobuf"
)

// The limits of nodes that Pyroscope has.
const (
	defaultNodes = 8192
	maxNodes     = 1 << 20
)

// treeRequest selects windows of one type whose trees are added up.
type treeRequest struct {
	query  continuous.Query
	nodes  int64        // maximum; 0: the default of the answer
	stacks *stackFilter // nil: all
}

// treeRequest returns what a request for a tree selects.
func (s selected) treeRequest(nodes int64, stacks *stackTraceSelector) (*treeRequest, error) {
	r := &treeRequest{nodes: nodes}
	if s.Type == "" {
		return nil, invalid("profile_typeID is missing: ProfileTypes lists them")
	}
	if r.nodes < 0 || r.nodes > maxNodes {
		return nil, invalid("max_nodes %d: expected 1 to %d, or 0 for the default", r.nodes, maxNodes)
	}
	var err error
	if r.stacks, err = stacks.filter(); err != nil {
		return nil, err
	}
	r.query, err = s.query()
	return r, err
}

// merged is the tree of a request.
type merged struct {
	tree  *calltree.Tree // without nodes if there is no data
	typ   continuous.Type
	nodes int64
	start time.Time // of the windows in it
	end   time.Time
}

// fold returns the tree with a limit of nodes.
func (m *merged) fold() (*folded, error) {
	return fold(m.tree.Table, m.nodes, columns{m.tree.Self, m.tree.Total})
}

// merge answers a request with its tree.
func (q *Querier) merge(ctx context.Context, r *treeRequest) (*merged, error) {
	sum, err := q.store.Tree(ctx, r.query)
	if err != nil {
		return nil, err
	}
	m := &merged{typ: r.query.Type, nodes: r.nodes, tree: &calltree.Tree{Table: &calltree.Table{}}}
	if sum.Windows == 0 || sum.Tree == nil {
		return m, nil
	}
	m.tree = sum.OverTime()
	if r.stacks != nil {
		if m.tree, err = r.stacks.of(ctx, m.tree); err != nil {
			return nil, err
		}
	}
	for i := range sum.Series {
		if s := &sum.Series[i]; i == 0 || s.First.Before(m.start) {
			m.start = s.First
		}
		if s := &sum.Series[i]; s.Last.After(m.end) {
			m.end = s.Last
		}
	}
	if r.query.From.After(m.start) {
		m.start = r.query.From
	}
	if !r.query.Until.IsZero() && r.query.Until.Before(m.end) {
		m.end = r.query.Until
	}
	return m, nil
}

// request returns what a request for a tree selects. What windows cannot select is an error.
func (r *selectMergeStacktracesRequest) request() (*treeRequest, error) {
	for _, ids := range []struct {
		what string
		list []string
	}{{"profile ids", r.ProfileIDs}, {"trace ids", r.TraceIDs}, {"span ids", r.SpanIDs}} {
		if len(ids.list) > 0 {
			return nil, unsupported("windows have no %s: select by labels and time", ids.what)
		}
	}
	if r.Async != nil && (r.Async.ID != "" || r.Async.Type != 0) {
		return nil, unsupported("async: queries are answered at once")
	}
	stack := r.Stack
	switch r.Format {
	case formatFunctions:
		if limit := r.Options.Functions.Limit; limit < 0 {
			return nil, invalid("format_options.functions.limit %d is negative", limit)
		}
	case formatFunctionTree:
		if r.Options.Tree == nil {
			return nil, invalid("format_options.function_tree is missing")
		}
		if err := r.Options.Tree.check(stack.CallSite); err != nil {
			return nil, err
		}
		stack.CallSite = nil // not a filter, but the chain
	}
	return r.treeRequest(r.MaxNodes, &stack)
}

func (q *Querier) selectMergeStacktraces(ctx context.Context,
	r *selectMergeStacktracesRequest) (protobuf.Encoded[selectMergeStacktracesResponse], error) {
	request, err := r.request()
	if err != nil {
		return nil, err
	}
	m, err := q.merge(ctx, request)
	if err != nil {
		return nil, err
	}
	var answer selectMergeStacktracesResponse
	switch r.Format {
	case formatDefault, formatFlame:
		answer.Flamegraph, err = m.flame(ctx)
	case formatTree:
		var tree *folded
		if tree, err = m.fold(); err == nil {
			answer.Tree = treeBytes(tree)
		}
	case formatDot:
		answer.Dot = dotGraph(m.tree, cmp.Or(m.nodes, dotNodes))
	case formatPprof:
		answer.Pprof = new(pprofProfile)
		answer.Pprof.Profile, err = m.pprof()
	case formatFunctions:
		if answer.Functions, err = functions(ctx, m.tree); err == nil {
			answer.Functions.limit(r.rows())
		}
	case formatFunctionTree:
		answer.Branches, err = newFunctionTree(ctx, m.tree, r.Stack.CallSite, r.Options.Tree)
	default:
		err = unsupported("format %d: known are 1 (flame graph), 2 (tree), 3 (dot), 4 (pprof), 5 (functions) or 6 (function tree)", r.Format)
	}
	return protobuf.Encode(&answer), err
}

// rows returns the number of functions that a request limits a table to; 0: all. Clients that
// know no options say it as the number of nodes.
func (r *selectMergeStacktracesRequest) rows() int64 {
	return cmp.Or(r.Options.Functions.Limit, r.MaxNodes)
}

// flame returns the flame graph.
func (m *merged) flame(ctx context.Context) (*flameGraph, error) {
	m.nodes = cmp.Or(m.nodes, defaultNodes)
	tree, err := m.fold()
	if err != nil {
		return nil, err
	}
	return graph(ctx, tree)
}

// pprof returns the tree as pprof's message, not compressed. A limit of nodes folds the
// rest into `other`.
func (m *merged) pprof() (protobuf.Encoded[pprof.Message], error) {
	tree := m.tree
	if m.nodes > 0 && m.nodes < int64(tree.Len()) {
		f, err := m.fold()
		if err != nil {
			return nil, err
		}
		tree = calltree.NewTree(f.Table, tree.Type, f.sides[0].self)
	}
	tree.Type.PeriodName, tree.Type.PeriodUnit = m.typ.PeriodType, m.typ.PeriodUnit
	tree.Type.Original, tree.Type.Unit = m.typ.SampleType, m.typ.SampleUnit
	p := tree.Profile()
	p.Format = pprof.Name
	if len(m.tree.Self) > 0 {
		p.Start, p.Duration = m.start, m.end.Sub(m.start)
	}
	var b bytes.Buffer
	if err := pprof.Encode(&b, p, 0); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (q *Querier) selectMergeProfile(ctx context.Context, r *selectMergeProfileRequest) (protobuf.Encoded[pprof.Message], error) {
	if len(r.ProfileIDs) > 0 || len(r.TraceIDs) > 0 {
		return nil, unsupported("windows have no profile ids and no trace ids: select by labels and time")
	}
	request, err := r.treeRequest(r.MaxNodes, &r.Stack)
	if err != nil {
		return nil, err
	}
	m, err := q.merge(ctx, request)
	if err != nil {
		return nil, err
	}
	return m.pprof()
}

// selectMergeSpanProfile answers that windows have no spans; an empty flame graph would look
// as if the span used no time.
func (q *Querier) selectMergeSpanProfile(context.Context, *selectMergeSpanProfileRequest) (protobuf.Encoded[spanProfileResponse], error) {
	return nil, unsupported("Dendro keeps no profiles of spans: select by labels and time")
}

// diff answers two sides as a flame graph, or as the tables or trees that the left side asks for.
func (q *Querier) diff(ctx context.Context, r *diffRequest) (protobuf.Encoded[diffResponse], error) {
	if f := r.Left.Format; f != formatFunctions && f != formatFunctionTree {
		r.Left.Format = formatFlame
	}
	r.Right.Format, r.Right.Options = r.Left.Format, r.Left.Options
	var requests [2]*treeRequest
	for i, side := range []*selectMergeStacktracesRequest{&r.Left, &r.Right} {
		var err error
		if requests[i], err = side.request(); err != nil {
			return nil, err
		}
	}
	sides, err := q.sides(ctx, requests)
	if err != nil {
		return nil, err
	}
	var answer diffResponse
	switch r.Left.Format {
	case formatFunctions:
		answer.Functions, err = diffFunctions(ctx, sides, r.Left.rows())
	case formatFunctionTree:
		d := &functionTreeDiff{}
		if d.Left, err = newFunctionTree(ctx, sides[0], r.Left.Stack.CallSite, r.Left.Options.Tree); err == nil {
			d.Right, err = newFunctionTree(ctx, sides[1], r.Right.Stack.CallSite, r.Left.Options.Tree)
		}
		answer.Branches = d
	default:
		answer.Flamegraph, err = compare(ctx, sides, requests)
	}
	return protobuf.Encode(&answer), err
}

// sides returns the trees of two requests of one type.
func (q *Querier) sides(ctx context.Context, requests [2]*treeRequest) (sides [2]*calltree.Tree, err error) {
	if a, b := requests[0].query.Type, requests[1].query.Type; a != b {
		return sides, invalid("the sides are of the types %.200s and %.200s: they must be equal", a, b)
	}
	for i, r := range requests {
		m, err := q.merge(ctx, r)
		if err != nil {
			return sides, err
		}
		sides[i] = m.tree
	}
	for i, t := range sides { // an empty side has no type
		if t.Len() == 0 {
			t.Type = sides[1-i].Type
		}
	}
	return sides, nil
}

// compare returns the flame graph of two sides.
func compare(ctx context.Context, sides [2]*calltree.Tree, requests [2]*treeRequest) (*flameGraph, error) {
	nodes := max(cmp.Or(requests[0].nodes, defaultNodes), cmp.Or(requests[1].nodes, defaultNodes))
	d, err := diff.Compare(sides[:1], sides[1:])
	if err != nil {
		return nil, err
	}
	tree, err := fold(d.Table, nodes, columns{d.Base.Self, d.Base.Total}, columns{d.Head.Self, d.Head.Total})
	if err != nil {
		return nil, err
	}
	return graph(ctx, tree)
}

func (q *Querier) selectSeries(ctx context.Context, r *selectSeriesRequest) (protobuf.Encoded[selectSeriesResponse], error) {
	c := &continuous.Chart{By: r.By, Limit: int(min(r.Limit, math.MaxInt32)), Mean: r.Aggregation == average}
	stacks, err := r.Stack.filter()
	switch err = cmp.Or(err, checkNames("group_by", r.By)); {
	case err != nil:
		return nil, err
	case r.Type == "":
		return nil, invalid("profile_typeID is missing: ProfileTypes lists them")
	case stacks != nil && stacks.function() == "":
		return nil, unsupported("the series of stacks is not supported, but for those with one function: SelectMergeStacktraces has their value in any time")
	case !(r.Step >= 0.001 && r.Step <= 1e9):
		return nil, invalid("step %v: expected seconds, at least 0.001", r.Step)
	case r.Limit < 0:
		return nil, invalid("limit %d is negative", r.Limit)
	}
	c.Step = time.Duration(math.Round(r.Step*1000)) * time.Millisecond
	query, err := r.query()
	if err != nil {
		return nil, err
	}
	lines, err := q.lines(ctx, c, query, stacks.function())
	if err != nil {
		return nil, err
	}
	var answer selectSeriesResponse
	for _, l := range lines {
		var s series
		for _, label := range l.Labels {
			s.Labels = append(s.Labels, labelPair(label))
		}
		for _, p := range l.Points {
			s.Points = append(s.Points, point{p.Value, p.Time.UnixMilli()})
		}
		answer.Series = append(answer.Series, s)
	}
	return protobuf.Encode(&answer), nil
}

// lines returns the lines of a chart of a selection, or of what a function took in it with its
// callees. Without a time the chart begins with the first window, and ends now.
func (q *Querier) lines(ctx context.Context, c *continuous.Chart, query continuous.Query, function string) ([]continuous.Line, error) {
	if query.From.IsZero() {
		list, err := q.store.Series(ctx, query)
		if err != nil || len(list) == 0 {
			return nil, err
		}
		c.Open = true
		for i := range list {
			c.Start = continuous.Earlier(c.Start, list[i].First)
		}
	}
	c.Start, c.End = cmp.Or(query.From, c.Start), query.Until.Add(-time.Millisecond)
	if query.Until.IsZero() {
		c.End = q.now()
	}
	if function == "" {
		totals, err := q.store.Totals(ctx, c.Query(query), c.Step)
		if err != nil {
			return nil, err
		}
		return c.Lines(totals), nil
	}
	amounts, err := q.store.Function(ctx, c.Query(query), function, c.Step)
	if err != nil {
		return nil, err
	}
	return c.Lines(amounts.Totals(false)), nil
}
