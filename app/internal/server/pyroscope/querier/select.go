package querier

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/format/pprof"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
)

// The limits of nodes that Pyroscope has.
const (
	defaultNodes = 8192
	maxNodes     = 1 << 20
)

// Shapes of requests that select windows of one type.
var (
	selectSeriesShape = wire.Shape{1: text, 2: text, 3: number, 4: number, 5: text, 6: double, 7: number, 8: text, 9: number}
	stacktracesShape  = wire.Shape{1: text, 2: text, 3: number, 4: number, 5: number, 6: number, 7: text, 8: text, 10: text, 11: text}
	mergeProfileShape = wire.Shape{1: text, 2: text, 3: number, 4: number, 5: number, 6: text, 7: text, 8: text}
	spanProfileShape  = wire.Shape{1: text, 2: text, 3: text, 4: number, 5: number, 6: number, 7: number}
)

// treeRequest selects windows of one type whose trees are added up.
type treeRequest struct {
	query    continuous.Query
	nodes    int64    // maximum; 0: the default of the answer
	callSite []string // only stacks that begin with these functions
}

// treeRequest reads what the requests for trees have in common; stack is the number of the
// field of a StackTraceSelector.
func (f *fields) treeRequest(stack int) (*treeRequest, error) {
	r := &treeRequest{nodes: f.int(5)}
	if f.text(1) == "" {
		return nil, invalid("profile_typeID is missing: ProfileTypes lists them")
	}
	if r.nodes < 0 || r.nodes > maxNodes {
		return nil, invalid("max_nodes %d: expected 1 to %d, or 0 for the default", r.nodes, maxNodes)
	}
	var err error
	if r.callSite, err = callSite(f.text(stack)); err != nil {
		return nil, err
	}
	r.query, err = selection(f.text(1), []string{f.text(2)}, f.int(3), f.int(4))
	return r, err
}

// callSite reads a StackTraceSelector.
func callSite(msg string) (names []string, err error) {
	f, err := read(&wire.Shape{1: text, 2: text}, msg)
	if err != nil {
		return nil, err
	}
	if len(f.list[2]) > 0 {
		return nil, unsupported("go_pgo: optimisation by profile needs lines, and windows keep functions; use the profiles that the program writes itself")
	}
	for _, site := range f.list[1] {
		place, err := read(&wire.Shape{1: text}, site)
		if err != nil {
			return nil, err
		}
		names = append(names, place.text(1))
	}
	return names, nil
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
	if len(r.callSite) > 0 {
		m.tree = below(m.tree, r.callSite)
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

// below returns a tree with only the samples whose stacks begin with functions.
func below(t *calltree.Tree, names []string) *calltree.Tree {
	self := make([]int64, t.Len())
	if n, ok := t.FindPath(names); ok {
		copy(self[n:t.End[n]], t.Self[n:t.End[n]])
	}
	return calltree.NewTree(t.Table, t.Type, self)
}

// mergeFields is treeRequest and merge.
func (q *Querier) mergeFields(ctx context.Context, f *fields, stack int) (*merged, error) {
	r, err := f.treeRequest(stack)
	if err != nil {
		return nil, err
	}
	return q.merge(ctx, r)
}

// Formats of SelectMergeStacktraces.
const (
	formatDefault = iota
	formatFlame
	formatTree
	formatDot
	formatPprof
)

func (q *Querier) selectMergeStacktraces(ctx context.Context, f *fields) ([]byte, error) {
	for num, what := range map[int]string{8: "profile ids", 10: "trace ids", 11: "span ids"} {
		if len(f.list[num]) > 0 {
			return nil, unsupported("windows have no %s: select by labels and time", what)
		}
	}
	m, err := q.mergeFields(ctx, f, 7)
	if err != nil {
		return nil, err
	}
	switch f.int(6) {
	case formatDefault, formatFlame:
		return flameAnswer(ctx, m)
	case formatTree:
		tree, err := m.fold()
		if err != nil {
			return nil, err
		}
		return wire.AppendBytes(nil, 2, treeBytes(tree)), nil
	case formatDot:
		return wire.AppendBytes(nil, 3, dotGraph(m.tree, nodesOr(m.nodes, dotNodes))), nil
	case formatPprof:
		p, err := m.pprof()
		if err != nil {
			return nil, err
		}
		return wire.AppendBytes(nil, 5, wire.AppendBytes(nil, 1, p)), nil
	}
	return nil, invalid("format %d: expected 1 (flame graph), 2 (tree), 3 (dot) or 4 (pprof)", f.int(6))
}

// nodesOr returns a limit of nodes, or the default if there is none.
func nodesOr(n, def int64) int64 {
	if n == 0 {
		return def
	}
	return n
}

func flameAnswer(ctx context.Context, m *merged) ([]byte, error) {
	g, err := m.flame(ctx)
	return g.field(), err
}

// flame returns the flame graph.
func (m *merged) flame(ctx context.Context) (*flameGraph, error) {
	m.nodes = nodesOr(m.nodes, defaultNodes)
	tree, err := m.fold()
	if err != nil {
		return nil, err
	}
	return graph(ctx, tree)
}

// field returns the graph as the first field of an answer, which is missing if there is no
// graph: Grafana draws an empty panel then.
func (g *flameGraph) field() []byte {
	if g == nil {
		return nil
	}
	return wire.AppendBytes(nil, 1, g.message())
}

// message returns the graph as a FlameGraph or FlameGraphDiff.
func (g *flameGraph) message() []byte {
	b := appendTexts(nil, 1, g.names)
	for _, level := range g.levels {
		var values []byte
		for _, v := range level {
			values = binary.AppendUvarint(values, uint64(v))
		}
		b = wire.AppendBytes(b, 2, wire.AppendBytes(nil, 1, values))
	}
	b = wire.AppendInt(wire.AppendInt(b, 3, uint64(g.total)), 4, uint64(g.maxSelf))
	if len(g.ticks) == 2 {
		b = wire.AppendInt(wire.AppendInt(b, 5, uint64(g.ticks[0])), 6, uint64(g.ticks[1]))
	}
	return b
}

// pprof returns the tree as pprof's message, not compressed. A limit of nodes folds the
// rest into `other`.
func (m *merged) pprof() ([]byte, error) {
	tree := m.tree
	if m.nodes > 0 && m.nodes < int64(tree.Len()) {
		f, err := m.fold()
		if err != nil {
			return nil, err
		}
		tree = f.tree(tree.Type)
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

// tree returns the first side with its `other`s as a tree.
func (f *folded) tree(typ profile.ValueType) *calltree.Tree {
	var forest calltree.Forest
	path := []int32{calltree.NoNode}
	self := map[int32]int64{}
	f.walk(func(n int32, depth int, own, _ []int64) {
		fn := profile.Function{Name: otherName}
		if n >= 0 {
			fn = f.Functions[f.Func[n]]
		}
		p := forest.Path(path[depth-1], forest.Function(fn))
		path = append(path[:depth], p)
		self[p] += own[0]
	})
	values := make([]int64, forest.Paths.Len())
	for p, v := range self {
		values[p] = v
	}
	return forest.Tree(typ, values)
}

func (q *Querier) selectMergeProfile(ctx context.Context, f *fields) ([]byte, error) {
	if len(f.list[7]) > 0 || len(f.list[8]) > 0 {
		return nil, unsupported("windows have no profile ids and no trace ids: select by labels and time")
	}
	m, err := q.mergeFields(ctx, f, 6)
	if err != nil {
		return nil, err
	}
	return m.pprof()
}

// selectMergeSpanProfile answers that windows have no spans; an empty flame graph would look
// as if the span used no time.
func (q *Querier) selectMergeSpanProfile(context.Context, *fields) ([]byte, error) {
	return nil, unsupported("Dendro keeps no profiles of spans: select by labels and time")
}

func (q *Querier) diff(ctx context.Context, f *fields) ([]byte, error) {
	var requests [2]*treeRequest
	for i := range requests {
		side, err := read(&stacktracesShape, f.text(i+1))
		if err != nil {
			return nil, err
		}
		if requests[i], err = side.treeRequest(7); err != nil {
			return nil, err
		}
	}
	g, err := q.compare(ctx, requests)
	return g.field(), err
}

// compare returns the flame graph of two sides.
func (q *Querier) compare(ctx context.Context, requests [2]*treeRequest) (*flameGraph, error) {
	if a, b := requests[0].query.Type, requests[1].query.Type; a != b {
		return nil, invalid("the sides are of the types %.200s and %.200s: they must be equal", a, b)
	}
	var sides [2]*calltree.Tree
	for i, r := range requests {
		m, err := q.merge(ctx, r)
		if err != nil {
			return nil, err
		}
		sides[i] = m.tree
	}
	for i, t := range sides { // an empty side has no type
		if t.Len() == 0 {
			t.Type = sides[1-i].Type
		}
	}
	d, err := calltree.Compare(sides[:1], sides[1:])
	if err != nil {
		return nil, err
	}
	nodes := max(nodesOr(requests[0].nodes, defaultNodes), nodesOr(requests[1].nodes, defaultNodes))
	tree, err := fold(d.Table, nodes, columns{d.Base.Self, d.Base.Total}, columns{d.New.Self, d.New.Total})
	if err != nil {
		return nil, err
	}
	return graph(ctx, tree)
}

func (q *Querier) selectSeries(ctx context.Context, f *fields) ([]byte, error) {
	step := math.Float64frombits(f.numbers[6])
	c := &continuous.Chart{By: f.list[5], Limit: int(min(f.int(9), math.MaxInt32)), Mean: f.int(7) == 1}
	sites, err := callSite(f.text(8))
	switch {
	case err != nil:
		return nil, err
	case f.text(1) == "":
		return nil, invalid("profile_typeID is missing: ProfileTypes lists them")
	case len(sites) > 0:
		return nil, unsupported("the series of a call path is not supported: SelectMergeStacktraces has its value in any time")
	case !(step >= 0.001 && step <= 1e9):
		return nil, invalid("step %v: expected seconds, at least 0.001", step)
	case f.int(9) < 0:
		return nil, invalid("limit %d is negative", f.int(9))
	}
	c.Step = time.Duration(math.Round(step*1000)) * time.Millisecond
	lines, err := q.lines(ctx, c, f.text(1), f.text(2), f.int(3), f.int(4))
	if err != nil {
		return nil, err
	}
	var b []byte
	for _, l := range lines {
		m := appendLabels(nil, l.Labels)
		for _, p := range l.Points {
			value := wire.AppendFixed64(nil, 1, math.Float64bits(p.Value))
			m = wire.AppendBytes(m, 2, wire.AppendInt(value, 2, uint64(p.Time.UnixMilli())))
		}
		b = wire.AppendBytes(b, 1, m)
	}
	return b, nil
}

// lines returns the lines of a chart of a selection. Without a time the chart begins with
// the first window, and ends now.
func (q *Querier) lines(ctx context.Context, c *continuous.Chart, typ, selector string, start, end int64) ([]continuous.Line, error) {
	query, err := selection(typ, []string{selector}, start, end)
	if err != nil {
		return nil, err
	}
	if query.From.IsZero() {
		list, err := q.store.Series(ctx, query)
		if err != nil || len(list) == 0 {
			return nil, err
		}
		for i := range list {
			if query.From.IsZero() || list[i].First.Before(query.From) {
				query.From = list[i].First
			}
		}
	}
	c.Start, c.End = query.From, query.Until.Add(-time.Millisecond)
	if query.Until.IsZero() {
		c.End = q.now()
	}
	totals, err := q.store.Totals(ctx, c.Query(query), c.Step)
	if err != nil {
		return nil, err
	}
	return c.Lines(totals), nil
}
