package chrome

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/profile"
)

// v8Profile is one recording of V8's profiler: a tree of nodes, and samples that
// point at them.
type v8Profile struct {
	at    int64           // offset of the nodes
	index map[int64]int32 // of a node by its id
	nodes []node
	edges []edge

	samples    []int32        // ids of nodes
	deltas     []int64        // nanoseconds before each sample
	timestamps []int64        // instead, in files of old versions: nanoseconds
	start, end int64          // nanoseconds
	clock      jsonscan.Clock // of timestamps: next to them, start is in another unit
	thread     profile.ThreadID

	begun   bool // the event that begins the recording was read
	orphans int  // nodes whose caller is not there
}

// node is one node of the tree.
type node struct {
	id       int64
	parent   int32 // index; none for a root
	function profile.FunctionID
	root     bool  // the root that stands for no function
	value    int64 // hits, or bytes

	line, column int32 // where it is; 0 unless Hermes says it
}

// edge says of a node, by index, that another is its child.
type edge struct {
	parent int32
	child  int64 // id
}

const none = -1

// readField reads one field of a profile.
func (v *v8Profile) readField(f *file, key string) {
	s := f.scanner
	switch key {
	case "nodes":
		v.at = s.Offset()
		for range s.Array() {
			var n nodeFields
			n.read(s)
			v.add(s, f.p.Symbols, &n)
		}
	case "samples":
		for range s.Array() {
			v.readSample(s)
		}
	case "timeDeltas":
		v.deltas = jsonscan.Fixeds(s, v.deltas, 3)
	case "timestamps":
		v.timestamps = jsonscan.Times(s, v.timestamps, 3, &v.clock)
	case "startTime":
		v.start = f.clock.Read(s, 3)
	case "endTime":
		v.end, _ = f.clock.Nanos(s.Decimal(), 3) // only for the duration: too far from the start is unknown
	}
}

// readSample reads the id of a node, an element of "samples".
func (v *v8Profile) readSample(s *jsonscan.Scanner) {
	if s.Kind() == jsonscan.Object { // those of a heap profile
		s.Skip()
		return
	}
	id := s.Int()
	if id != int64(int32(id)) {
		s.Errorf("a sample of node %d", id)
	}
	v.samples = append(v.samples, int32(id))
}

// nodeFields are the fields of a node as it is read.
type nodeFields struct {
	name, url    string
	line, column int64 // from 0; negative for none
	id, parent   int64
	value        int64
	size         bool // value is selfSize
	children     []int64
}

// read reads a node.
func (n *nodeFields) read(s *jsonscan.Scanner) {
	*n = nodeFields{line: -1, column: -1, id: none, parent: none, children: n.children[:0]}
	for key := range s.Object() {
		n.field(s, string(key))
	}
}

// field reads one field.
func (n *nodeFields) field(s *jsonscan.Scanner, key string) {
	switch key {
	case "callFrame":
		for key := range s.Object() {
			switch string(key) {
			case "lineNumber":
				n.line = s.Int()
			case "columnNumber":
				n.column = s.Int()
			default:
				n.field(s, string(key))
			}
		}
	case "functionName":
		n.name = s.Text()
	case "url":
		n.url = s.Text()
	case "lineNumber": // of old versions, which have no callFrame and count from 1
		n.line = s.Int() - 1
	case "columnNumber":
		n.column = s.Int() - 1
	case "id":
		n.id = s.Int()
	case "parent":
		n.parent = s.Int()
	case "hitCount":
		n.value = s.Int()
	case "selfSize":
		n.value, n.size = s.Fixed(0), true
	case "children":
		n.children = jsonscan.Ints(s, n.children, none)
	}
}

// add adds a node and interns its function.
func (v *v8Profile) add(s *jsonscan.Scanner, symbols *profile.Symbols, n *nodeFields) {
	i := int32(len(v.nodes))
	v.setIndex(s, n.id, i)
	nd := node{id: n.id, parent: none, value: n.value}
	if nd.root = n.name == "(root)" && n.url == ""; !nd.root {
		nd.function = symbols.Function(n.function())
	}
	if n.parent != none {
		if p, ok := v.index[n.parent]; ok {
			nd.parent = p
		} else {
			v.orphans++
		}
	}
	v.nodes = append(v.nodes, nd)
	for _, c := range n.children {
		v.edges = append(v.edges, edge{i, c})
	}
}

// setIndex notes the id of a node; old heap profiles have none.
func (v *v8Profile) setIndex(s *jsonscan.Scanner, id int64, i int32) {
	if id == none {
		return
	}
	if v.index == nil {
		v.index = map[int64]int32{}
	}
	if _, ok := v.index[id]; ok {
		s.Errorf("a second node with id %d", id)
	}
	v.index[id] = i
}

// function returns the function of a node. Names in parentheses are V8's own:
// (program), (idle), (garbage collector).
func (n *nodeFields) function() profile.Function {
	fn := profile.Function{Name: n.name, File: n.url, StartLine: fromZero(n.line), Column: fromZero(n.column), Kind: profile.KindJS}
	switch {
	case n.name == "":
		fn.Name = "(anonymous)"
	case n.url == "" && strings.HasPrefix(n.name, "(") && strings.HasSuffix(n.name, ")") && n.name != "(anonymous)":
		fn.Kind = profile.KindVM
	}
	return fn
}

// fromZero returns a line or column that counts from 0 as one that counts from 1;
// 0 for none.
func fromZero(n int64) int32 {
	if n < 0 || n >= math.MaxInt32 {
		return 0
	}
	return int32(n) + 1
}

func (v *v8Profile) malformed(format string, args ...any) error {
	return &profile.ParseError{Offset: v.at, Err: profile.Malformed(format, args...)}
}

// stacks returns the stack of each node.
func (v *v8Profile) stacks(p *profile.Profile, l profile.Limits) ([]profile.StackID, error) {
	missing := 0
	for _, e := range v.edges {
		c, ok := v.index[e.child]
		switch {
		case !ok:
			missing++
			continue
		case v.nodes[c].parent != none && v.nodes[c].parent != e.parent:
			return nil, v.malformed("node %d has two parents", e.child)
		}
		v.nodes[c].parent = e.parent
	}
	p.WarnCount(missing, "%d nodes are named as children and are not there")
	v.edges = nil
	const unknown = profile.NoStack - 1
	stacks := make([]profile.StackID, len(v.nodes))
	depth := make([]int32, len(v.nodes))
	for i := range stacks {
		stacks[i] = unknown
	}
	var path []int32 // nodes whose stack is not known, innermost first
	for i := range v.nodes {
		path = path[:0]
		n := int32(i)
		for ; n != none && stacks[n] == unknown; n = v.nodes[n].parent {
			if path = append(path, n); len(path) > len(v.nodes) {
				return nil, v.malformed("node %d is its own caller", v.nodes[i].id)
			}
		}
		stack, d := profile.NoStack, int32(0)
		if n != none {
			stack, d = stacks[n], depth[n]
		}
		for j := len(path) - 1; j >= 0; j-- {
			nd := &v.nodes[path[j]]
			if !nd.root {
				if d++; int(d) > l.Depth {
					return nil, &profile.ParseError{Offset: v.at, Err: profile.TooDeep(l.Depth)}
				}
				stack = p.Symbols.Stack(stack, p.Symbols.Frame(profile.Frame{Function: nd.function, Line: nd.line, Column: nd.column}))
			}
			stacks[path[j]], depth[path[j]] = stack, d
		}
	}
	return stacks, nil
}

// v8Tables are the two tables that samples of V8's profiler become.
type v8Tables struct {
	samples, wall profile.Samples
}

func newV8Tables() *v8Tables {
	return &v8Tables{
		samples: profile.Samples{Type: profile.ValueType{Name: profile.Unclocked, Unit: "count", Original: "hitCount"}},
		wall:    profile.Samples{Type: profile.ValueType{Name: profile.Wall, Unit: "nanoseconds", Original: "timeDeltas"}},
	}
}

// add adds the samples of a recording, or its hits if it has no samples. A sample
// is worth the time since the one before: V8 puts a sample at the end of what it
// stands for. Times count from origin.
func (t *v8Tables) add(v *v8Profile, p *profile.Profile, l profile.Limits, origin int64) error {
	stacks, err := v.stacks(p, l)
	if err != nil {
		return err
	}
	if v.samples == nil {
		for i, n := range v.nodes {
			if n.value != 0 {
				t.samples.Add(stacks[i], n.value)
			}
		}
		return nil
	}
	backward, lost := v.sortSamples(), 0
	now := v.start - origin
	for i, id := range v.samples {
		stack := profile.NoStack
		if n, ok := v.index[int64(id)]; ok {
			stack = stacks[n]
		} else {
			stack = p.Symbols.Lost()
			lost++
		}
		delta := v.deltas[i]
		now += delta
		tags := profile.Tags{Thread: v.thread}
		t.samples.Append(stack, 1, now, tags)
		t.wall.Append(stack, max(0, delta), now, tags)
		t.samples.Bound(l)
		t.wall.Bound(l)
	}
	p.WarnCount(lost, "%d of %d samples of a CPU profile cannot be placed, since their nodes are not in the file; they count as %s", len(v.samples), profile.LostName)
	p.WarnCount(v.orphans, "%d nodes of a CPU profile are called by nodes that are not in the file; their stacks begin there")
	p.WarnCount(backward, "%d samples are earlier than the one before and were sorted by time")
	return nil
}

// sortSamples gives each sample a difference of time, and sorts the samples by time if some
// are earlier than the one before: it returns how many are.
func (v *v8Profile) sortSamples() (backward int) {
	v.deltas = append(v.deltas, make([]int64, max(0, len(v.samples)-len(v.deltas)))...)[:len(v.samples)]
	for _, d := range v.deltas[min(1, len(v.deltas)):] {
		if d < 0 {
			backward++
		}
	}
	if backward == 0 {
		return 0
	}
	type timed struct {
		at int64
		id int32
	}
	samples, now := make([]timed, len(v.samples)), int64(0)
	for i, d := range v.deltas {
		now += d
		samples[i] = timed{now, v.samples[i]}
	}
	slices.SortStableFunc(samples, func(a, b timed) int { return cmp.Compare(a.at, b.at) })
	now = 0
	for i, s := range samples {
		v.samples[i], v.deltas[i], now = s.id, s.at-now, s.at
	}
	return backward
}

// useTimestamps makes differences of the times that old versions write.
func (v *v8Profile) useTimestamps() {
	if v.deltas != nil || len(v.timestamps) == 0 {
		return
	}
	v.start, v.end = v.timestamps[0], v.timestamps[len(v.timestamps)-1]
	for i, at := range v.timestamps {
		v.deltas = append(v.deltas, at-v.timestamps[max(0, i-1)])
	}
}

// tables returns the tables, wall only if it was recorded.
func (t *v8Tables) tables() []profile.Samples {
	t.samples.Bounded()
	t.wall.Bounded()
	if t.wall.Len() == 0 {
		return []profile.Samples{t.samples}
	}
	return []profile.Samples{t.samples, t.wall}
}

// linkProfile makes the tables of a .cpuprofile.
func (f *file) linkProfile() error {
	t := newV8Tables()
	v := &f.profile
	v.useTimestamps()
	if err := t.add(v, f.p, f.limits, v.start); err != nil {
		return err
	}
	t.samples.Thread, t.wall.Thread = nil, nil
	f.p.Tables = t.tables()
	f.p.Profiler = "V8"
	if v.end > v.start {
		f.p.Duration = time.Duration(v.end - v.start)
	}
	return nil
}

// linkHeap makes the table of a sampling heap profile: what was alive when the
// recording ended.
func (f *file) linkHeap() error {
	stacks, err := f.profile.stacks(f.p, f.limits)
	if err != nil {
		return err
	}
	t := profile.Samples{Type: profile.NamedType(profile.Live)}
	t.Type.Original = "selfSize"
	for i, n := range f.profile.nodes {
		if n.value != 0 {
			t.Add(stacks[i], n.value)
		}
	}
	f.p.Tables = []profile.Samples{t}
	f.p.Profiler = "V8"
	return nil
}
