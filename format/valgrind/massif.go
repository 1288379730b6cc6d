package valgrind

import (
	"bytes"
	"math"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// NewMassifDecoder returns a decoder of files of massif.
func NewMassifDecoder() profile.Decoder { return stacktext.NewDecoder(MassifName, readMassif) }

// SniffMassif reports whether text that begins with prefix is of massif.
func SniffMassif(prefix []byte) bool {
	return bytes.HasPrefix(prefix, []byte("desc:")) && bytes.Contains(prefix, []byte("\ncmd:")) &&
		bytes.Contains(prefix, []byte("\ntime_unit:"))
}

// massif is the reading of one file.
type massif struct {
	symbols *profile.Symbols
	limits  profile.Limits
	texts   map[string]*parsed

	best      *stacktext.Table // of the snapshot that has been chosen so far
	bestTotal int64
	bestPeak  bool // massif says that it is the peak

	table     *stacktext.Table // of the tree in work; nil outside of trees
	total     int64
	peak      bool
	open      []node // the line in work and those it is below of
	comment   string
	snapshots int
	short     int

	now  usage // of the snapshot in work
	most usage // of the snapshot that used the most
}

// usage is what a snapshot says besides its tree, in bytes.
type usage struct{ heap, extra, stacks int64 }

func (u usage) total() int64 { return u.heap + u.extra + u.stacks }

// node is a line of a tree.
type node struct {
	frame    *parsed // nil: the root
	total    int64
	children int64
}

func readMassif(in *stacktext.Reading) error {
	p, l := in.Profile, in.Limits
	p.Profiler = "massif"
	t := &massif{symbols: p.Symbols, limits: l, texts: map[string]*parsed{}}
	for in.Next() {
		if err := t.line(in.Text()); err != nil {
			return err
		}
	}
	if err := t.endTree(); err != nil {
		return err
	}
	switch {
	case t.best != nil:
	case t.snapshots == 0:
		return in.Malformed("no snapshot is in it")
	default:
		t.best = stacktext.NewTable(l)
		t.addUsage(t.best, p.Symbols.Lost(), t.most.heap)
		t.addUsage(t.best, call(p.Symbols, profile.NoStack, &stacks), t.most.stacks)
		p.Warnf("none of the %d snapshots has a tree; the heap of the largest counts as %s", t.snapshots, profile.LostName)
	}
	p.Tables = []profile.Samples{t.best.Samples(profile.NamedType(profile.Peak), false, 0)}
	if t.comment != "" {
		p.Comments = []string{t.comment}
	}
	p.WarnCount(t.short, "%d lines have fewer bytes than the lines below them")
	return nil
}

func (t *massif) line(text []byte) error {
	trimmed := stacktext.TrimLeft(text)
	if t.table != nil && len(trimmed) > 0 && trimmed[0] == 'n' {
		return t.node(len(text)-len(trimmed), trimmed)
	}
	if err := t.endTree(); err != nil {
		return err
	}
	key, value, ok := bytes.Cut(text, []byte("="))
	switch {
	case ok && string(key) == "snapshot":
		t.snapshots++
		t.now = usage{}
	case ok && string(key) == "mem_heap_B":
		return t.size(&t.now.heap, value)
	case ok && string(key) == "mem_heap_extra_B":
		return t.size(&t.now.extra, value)
	case ok && string(key) == "mem_stacks_B":
		return t.size(&t.now.stacks, value)
	case ok && string(key) == "heap_tree" && string(value) != "empty":
		t.table, t.total, t.peak = stacktext.NewTable(t.limits), 0, string(value) == "peak"
	case bytes.HasPrefix(text, []byte("cmd: ")):
		t.comment = stacktext.Clean(text[len("cmd: "):])
	}
	return nil
}

// size reads what a snapshot says of its sizes.
func (t *massif) size(to *int64, text []byte) error {
	v, ok := stacktext.Uint(text)
	if !ok || v > math.MaxInt64/4 {
		return profile.Malformed("a size of %.40q bytes", text)
	}
	if *to = v; t.now.total() > t.most.total() {
		t.most = t.now
	}
	return nil
}

// addUsage adds bytes that no tree divides.
func (t *massif) addUsage(to *stacktext.Table, stack profile.StackID, bytes int64) {
	if bytes > 0 {
		to.Add(stacktext.Row{Stack: stack, Value: bytes}) // far below 63 bits
	}
}

// stacks is the frame of the stacks of all threads, which massif counts with --stacks=yes.
var stacks = parsed{function: profile.Function{Name: "[stacks]", Kind: profile.KindLabel}}

// node reads `n1: 150000 0x1093C0: shop::copyOrder(unsigned long) (shop.cpp:26)`.
func (t *massif) node(depth int, text []byte) error {
	_, rest, _ := bytes.Cut(text, []byte(": "))
	number, name, _ := bytes.Cut(rest, []byte(" "))
	total, ok := stacktext.Uint(number)
	if !ok || len(name) == 0 || depth > len(t.open) || depth == 0 && t.total > 0 {
		return profile.Malformed("not a line of a tree")
	}
	if depth > t.limits.Depth {
		return profile.TooDeep(t.limits.Depth)
	}
	if err := t.closeTo(depth); err != nil {
		return err
	}
	n := node{total: total}
	if depth == 0 {
		t.total = total
	} else {
		up := &t.open[depth-1]
		if up.children += total; up.children < 0 {
			return stacktext.ErrSum
		}
		if n.frame, ok = t.texts[string(name)]; !ok {
			f := parseFrame(stacktext.Clean(name))
			n.frame = &f
			t.texts[string(name)] = &f
		}
	}
	t.open = append(t.open, n)
	return nil
}

// closeTo ends the lines of a depth and deeper. What the lines below a line leave of its
// bytes has been allocated by that stack.
func (t *massif) closeTo(depth int) error {
	for len(t.open) > depth {
		n := t.open[len(t.open)-1]
		self := n.total - n.children
		if self < 0 {
			t.short++
		} else if self > 0 {
			stack := profile.NoStack
			for i := len(t.open) - 1; i > 0; i-- {
				stack = call(t.symbols, stack, t.open[i].frame)
			}
			if stack == profile.NoStack {
				stack = call(t.symbols, stack, &unlisted)
			}
			if !t.table.Add(stacktext.Row{Stack: stack, Value: self}) {
				return stacktext.ErrSum
			}
		}
		t.open = t.open[:len(t.open)-1]
	}
	return nil
}

// unlisted is the frame of bytes that a tree does not divide.
var unlisted = parsed{function: profile.Function{Name: "[not listed]", Kind: profile.KindLabel}}

// endTree chooses the peak, or without one the largest of the trees.
func (t *massif) endTree() error {
	if t.table == nil {
		return nil
	}
	if err := t.closeTo(0); err != nil {
		return err
	}
	if t.now.stacks > 0 && !t.table.Add(stacktext.Row{Stack: call(t.symbols, profile.NoStack, &stacks), Value: t.now.stacks}) {
		return stacktext.ErrSum
	}
	if t.best == nil || t.peak && !t.bestPeak || t.peak == t.bestPeak && t.total > t.bestTotal {
		t.best, t.bestTotal, t.bestPeak = t.table, t.total, t.peak
	}
	t.table = nil
	return nil
}
