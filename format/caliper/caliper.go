// Package caliper reads the region profiles of Caliper, the instrumentation library of HPC
// codes, as JSON (`cali-query … format json-split`), and the literals of Hatchet, which
// analyses them.
//
//	{"data": [[5882425, 0, 121489, 0], …],                   a row of values per region and rank
//	 "columns": ["inclusive#sum#time.duration", "mpi.rank", "sum#time.duration", "path"],
//	 "column_metadata": [{"is_value": true}, …],
//	 "nodes": [{"label": "main", "column": "path"}, {"label": "solve", "column": "path", "parent": 0}, …]}
//
//	[{"frame": {"name": "main"}, "metrics": {"time": 1, "time (inc)": 3}, "children": […]}]
//
// Of a value only sums of the region itself are read, since the others follow from them or do
// not add up. docs/format/native.md says which, and in what units. The rows of a file are in
// memory until its end, where the columns are.
package caliper

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "caliper"

// NewDecoder returns a decoder of both forms.
func NewDecoder() profile.Decoder { return jsonscan.NewDecoder(Name, read) }

// Sniff reports whether content that begins with prefix is of either form.
func Sniff(prefix []byte) bool {
	o := jsonscan.NewOutline(prefix)
	if o.Has("[].metrics") && o.Has("[].frame.name", "[].frame.type", "[].name") {
		return true
	}
	compact := bytes.Join(bytes.Fields(prefix[:min(len(prefix), 200)]), nil)
	return o.Has("data") && o.Has("columns") && o.Has("column_metadata", "nodes") || bytes.HasPrefix(compact, []byte(`{"data":[[`))
}

// file is the reading of one file.
type file struct {
	s      *jsonscan.Scanner
	p      *profile.Profile
	limits profile.Limits
	facts  *profile.Interner
	tables []*table

	cells   []cell
	ends    []int // of the rows in cells
	columns []column
	nodes   []node
	metrics []metric // of literals
	unknown int      // references to nodes that are not listed
}

// cell is a value, or the number of a node; neither if it is null.
type cell struct {
	jsonscan.Decimal
	set bool
}

type column struct {
	name, alias, unit string
	isValue           bool
}

type node struct {
	label, column string
	parent        int64 // -1: none
}

// table is the samples of a value.
type table struct {
	jsonscan.Samples
	name   string // of the column or metric
	digits int    // decimals of a second in its unit, to nanoseconds; notTime
}

const notTime = -1

func read(s *jsonscan.Scanner, p *profile.Profile, l profile.Limits) error {
	f := &file{s: s, p: p, limits: l, facts: profile.NewInterner(p)}
	read, link := f.readSections, f.link
	if p.Profiler = Name; s.Kind() == jsonscan.Array {
		p.Profiler, read, link = "hatchet", f.readLiterals, f.linkLiterals
	}
	read()
	if err := s.End(); err != nil {
		return err
	}
	err := link()
	p.WarnCount(f.unknown, "%d references to nodes that are not in the list of %d nodes; they count as %s", len(f.nodes), profile.NoName)
	if err == nil {
		err = f.finish()
	}
	if err != nil {
		return &profile.ParseError{Offset: -1, Err: err}
	}
	return nil
}

// table returns the table of a value: its own, or a new one. It is nil for values that do
// not add up to those of the program.
func (f *file) table(name, unit string) *table {
	for _, t := range f.tables {
		if t.name == name {
			return t
		}
	}
	if !additive(name) {
		return nil
	}
	t := &table{name: name, digits: notTime}
	t.Type = profile.ValueType{Name: name, Unit: "count", Original: name}
	switch unit {
	case "sec", "s":
		t.digits = 9
	case "usec", "us":
		t.digits = 3
	case "nsec", "ns":
		t.digits = 0
	case "B", "Byte", "bytes":
		t.Type.Unit = "bytes"
	}
	if t.digits != notTime {
		t.Type = profile.NamedType(profile.Wall)
		t.Type.Original = name
		for _, other := range f.tables {
			if other.Type.Name == t.Type.Name {
				t.Type.Name = name
			}
		}
	}
	f.tables = append(f.tables, t)
	return t
}

// additive reports whether the values of a column are of its region alone, and add up over
// regions and ranks.
func additive(name string) bool {
	first, _, _ := strings.Cut(name, "#")
	switch first {
	case "min", "max", "avg", "first", "last", "scale", "ratio", "mpi.rank", "rank", "Node order", "nid", "_hatchet_nid", "aggregate.slot":
		return false
	}
	list := []string{"inclusive", "(inc)", "(I)", "%", "Min ", "Max ", "Avg ", "min#", "max#"}
	return !slices.ContainsFunc(list, func(part string) bool { return strings.Contains(name, part) })
}

// add adds a sample.
func (t *table) add(v jsonscan.Decimal, stack profile.StackID, tags profile.Tags, l profile.Limits) error {
	if t.digits != notTime {
		ns, err := v.Fixed(t.digits)
		if err != nil {
			return profile.Malformed("%s: %v", t.name, err)
		}
		v = jsonscan.Decimal{Digits: ns}
	}
	if v.Digits == 0 {
		return nil
	}
	if err := t.Values.Add(v); err != nil {
		return profile.Malformed("%s: %v", t.name, err)
	}
	t.Stack, t.Thread, t.Labels = append(t.Stack, stack), append(t.Thread, tags.Thread), append(t.Labels, tags.Labels)
	if len(t.Stack)%profile.SumRows == 0 {
		t.Bound(l)
	}
	return nil
}

// finish makes the tables; the first time is the default.
func (f *file) finish() error {
	f.p.Default = max(0, slices.IndexFunc(f.tables, func(t *table) bool { return t.digits != notTime || t.name == "time" }))
	for _, t := range f.tables {
		f.p.Tables = append(f.p.Tables, t.Done())
	}
	if len(f.tables) == 0 {
		return profile.Malformed("no column is the sum of a region's own values")
	}
	return nil
}

// readSections reads the JSON of Caliper.
func (f *file) readSections() {
	s := f.s
	for key := range s.Object() {
		switch string(key) {
		case "data":
			for range s.Array() {
				for range s.Array() {
					c := cell{}
					c.Decimal, c.set = s.Numeric()
					f.cells = append(f.cells, c)
				}
				f.ends = append(f.ends, len(f.cells))
			}
		case "columns":
			for i := range s.Array() {
				f.column(i).name = s.Text()
			}
		case "column_metadata":
			for i := range s.Array() {
				c := f.column(i)
				for key := range s.Object() {
					switch string(key) {
					case "is_value":
						c.isValue = s.Scalar() == "true"
					case "attribute.alias":
						c.alias = s.Scalar()
					case "attribute.unit":
						c.unit = s.Scalar()
					}
				}
			}
		case "nodes":
			for range s.Array() {
				n := node{parent: -1}
				for key := range s.Object() {
					switch string(key) {
					case "label":
						n.label = s.Scalar()
					case "column":
						n.column = s.Scalar()
					case "parent":
						n.parent = s.Int()
					}
				}
				f.nodes = append(f.nodes, n)
			}
		case "cali.caliper.version":
			f.p.ProfilerVersion = s.Scalar()
		case "cmdline":
			if text := s.Scalar(); text != "" {
				f.p.Comments = append(f.p.Comments, text)
			}
		}
	}
}

func (f *file) column(i int) *column {
	for len(f.columns) <= i {
		f.columns = append(f.columns, column{})
	}
	return &f.columns[i]
}

// path returns the column of the regions: of call paths, if they were sampled, or else of
// nested regions.
func (f *file) path() int {
	found := -1
	for i, c := range f.columns {
		switch {
		case c.isValue:
		case strings.HasPrefix(c.name, "source.function#callpath"):
			return i
		case found < 0 || c.name == "path":
			found = i
		}
	}
	return found
}

// link makes samples of the rows.
func (f *file) link() error {
	path := f.path()
	if path < 0 {
		return profile.Malformed("no column of regions")
	}
	stacks, err := f.stacks(f.columns[path].name)
	if err != nil {
		return err
	}
	tables, rank := make([]*table, len(f.columns)), -1
	for i, c := range f.columns {
		switch {
		case c.name == "mpi.rank":
			rank = i
		case c.isValue && (c.alias == "" || additive(c.alias)):
			tables[i] = f.table(c.name, unitOf(c))
		}
	}
	from := 0
	for _, end := range f.ends {
		row := f.cells[from:end]
		if from = end; len(row) != len(f.columns) {
			return profile.Malformed("a row of %d values of %d columns", len(row), len(f.columns))
		}
		stack, labels, tags := profile.NoStack, []profile.Label(nil), profile.Tags{}
		for i, c := range row {
			n, err := c.Fixed(0)
			switch {
			case !c.set:
			case i == rank:
				tags.Thread = f.facts.Thread(profile.Thread{Name: "rank " + strconv.FormatInt(n, 10), ID: strconv.FormatInt(n, 10)})
			case f.columns[i].isValue:
			case err != nil || n < 0 || n >= int64(len(f.nodes)):
				f.unknown++
				if i == path {
					stack = f.push(profile.NoStack, profile.NoName)
				}
			case i == path:
				stack = stacks[n]
			default:
				labels = append(labels, profile.Label{Key: f.columns[i].name, Text: f.nodes[n].label})
			}
		}
		if tags.Labels = 0; labels != nil {
			tags.Labels = f.facts.Labels(labels)
		}
		for i, t := range tables {
			if t != nil && row[i].set {
				if err := t.add(row[i].Decimal, stack, tags, f.limits); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// unitOf returns the unit of a column. Caliper's timers count microseconds unless they say
// otherwise.
func unitOf(c column) string {
	switch {
	case c.unit != "":
		return c.unit
	case strings.HasSuffix(c.name, "time.duration.ns"):
		return "ns"
	case strings.HasSuffix(c.name, "time.duration"):
		return "us"
	}
	return ""
}

// stacks interns the stacks of the nodes of a column. Those of others are their parents'.
func (f *file) stacks(column string) ([]profile.StackID, error) {
	stacks, depths := make([]profile.StackID, len(f.nodes)), make([]int, len(f.nodes))
	for i, n := range f.nodes {
		stacks[i] = profile.NoStack
		if n.parent >= int64(len(f.nodes)) || n.parent < -1 {
			f.unknown++
			n.parent = -1
		}
		if n.parent >= int64(i) {
			return nil, profile.Malformed("node %d is in node %d, which comes later", i, n.parent)
		}
		if n.parent >= 0 {
			stacks[i], depths[i] = stacks[n.parent], depths[n.parent]
		}
		if n.column != column {
			continue
		}
		if depths[i]++; depths[i] > f.limits.Depth {
			return nil, profile.TooDeep(f.limits.Depth)
		}
		stacks[i] = f.push(stacks[i], n.label)
	}
	return stacks, nil
}

func (f *file) push(parent profile.StackID, name string) profile.StackID {
	name = cmp.Or(name, profile.NoName)
	s := f.p.Symbols
	return s.Stack(parent, s.Frame(profile.Frame{Function: s.Function(profile.Function{Name: name, Kind: profile.KindNative})}))
}

// literal is a node of Hatchet in work: the number that it has in file.nodes.
type literal struct{ index int }

// metric is a value of a node.
type metric struct {
	node  int
	table *table
	value jsonscan.Decimal
}

// readLiterals reads a list of trees. The name of a node may stand behind its children.
func (f *file) readLiterals() {
	for range f.s.Array() {
		jsonscan.Tree(f.s, func(parent *literal) literal {
			n := node{parent: -1}
			if parent != nil {
				n.parent = int64(parent.index)
			}
			f.nodes = append(f.nodes, n)
			return literal{len(f.nodes) - 1}
		}, f.literalField, func(*literal) {})
	}
}

func (f *file) literalField(n *literal, key string) {
	s := f.s
	switch key {
	case "name":
		f.nodes[n.index].label = s.Scalar()
	case "frame":
		for key := range s.Object() {
			if string(key) == "name" {
				f.nodes[n.index].label = s.Scalar()
			}
		}
	case "metrics":
		for key := range s.Object() {
			t := f.table(string(key), "")
			if v, ok := s.Numeric(); ok && t != nil {
				f.metrics = append(f.metrics, metric{n.index, t, v})
			}
		}
	}
}

// linkLiterals makes samples of the values of the nodes.
func (f *file) linkLiterals() error {
	stacks, err := f.stacks("")
	for i := 0; err == nil && i < len(f.metrics); i++ {
		m := &f.metrics[i]
		err = m.table.add(m.value, stacks[m.node], profile.Tags{}, f.limits)
	}
	return err
}
