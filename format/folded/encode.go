package folded

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/internal/prefixtree"
	"github.com/dendroprof/dendro/profile"
)

// Encode writes table i of p as folded text, one line per thread and stack.
// Samples of equal thread and stack are added. Sums of 0 and samples that have
// neither a stack nor a thread are left out.
//
// With table -1 it writes the default table, except that a profile of the two
// tables `base` and `head` becomes differential text with two counts a line.
//
// Lines are in depth-first order of the tree, siblings in byte order of their
// text, so equal profiles give equal text and neighbours share long prefixes.
// Modes and Python places are written back for every profile, line numbers of
// other functions only if the profile came from folded text or from several
// files; other formats have lines everywhere, and there no reader of folded
// text expects them.
func Encode(w io.Writer, p *profile.Profile, table int) error {
	tables, err := encodedTables(p, table)
	if err != nil {
		return fmt.Errorf("writing folded text: %w", err)
	}
	e := newEncoder(p)
	for column, t := range tables {
		e.collect(&p.Tables[t], column)
	}
	bw := bufio.NewWriterSize(w, 64<<10)
	e.write(bw, len(tables))
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("writing folded text: %w", err)
	}
	return nil
}

// EncodeDifferential writes the tables `base` and `head` of p as differential
// text: two counts a line, base first. Table must be -1: a difference has two
// sides.
func EncodeDifferential(w io.Writer, p *profile.Profile, table int) error {
	if table != -1 || !p.Difference() {
		return fmt.Errorf("writing differential folded text: it takes the value types %q and %q, and this profile is no difference", profile.Base, profile.Head)
	}
	return Encode(w, p, -1)
}

// encodedTables returns the tables that become the columns of counts.
func encodedTables(p *profile.Profile, table int) ([]int, error) {
	if table >= len(p.Tables) || table < -1 || len(p.Tables) == 0 {
		return nil, fmt.Errorf("no table %d in a profile of %d", table, len(p.Tables))
	}
	if table >= 0 {
		return []int{table}, nil
	}
	if p.Difference() {
		if p.Tables[0].Type.Name == profile.Base {
			return []int{0, 1}, nil
		}
		return []int{1, 0}, nil
	}
	return []int{p.Default}, nil
}

// encoder collects the lines. Frames that are spelled alike are one text,
// stacks that are spelled alike one node of a tree over texts.
type encoder struct {
	p         *profile.Profile
	withLines bool
	inlined   bool // mark inlined frames as async-profiler does

	texts   []string // of frames and threads; 0 is empty
	textIDs map[string]int32
	frames  map[profile.FrameID]int32
	threads []int32 // text of each thread, plus one; 0: not yet known

	tree  prefixtree.Tree
	nodes map[profile.StackID]int32

	path  []int32 // scratch of appendStack
	rows  []row
	rowOf map[place]int32
	scale [2]int
}

// place is what tells lines apart: the text of the thread, and the node.
type place struct{ thread, node int32 }

type row struct {
	place
	counts [2]int64
}

// inlineFormats are the formats whose inlined frames get the suffix `_[i]`: those of
// async-profiler. Other tools would take the suffix of a Go function as a name.
var inlineFormats = []string{"", formatName, "jfr", "flamehtml"}

func newEncoder(p *profile.Profile) *encoder {
	return &encoder{
		p:         p,
		withLines: p.Format == "" || p.Format == formatName,
		inlined:   slices.Contains(inlineFormats, p.Format),
		texts:     []string{""},
		textIDs:   map[string]int32{"": 0},
		frames:    map[profile.FrameID]int32{},
		threads:   make([]int32, len(p.Threads)),
		nodes:     map[profile.StackID]int32{profile.NoStack: prefixtree.Root},
		rowOf:     map[place]int32{},
	}
}

// collect adds the samples of a table to one column of the rows. The sums
// cannot overflow on a table that passed Check.
func (e *encoder) collect(s *profile.Samples, column int) {
	e.scale[column] = s.Type.Scale
	for i, v := range s.Value {
		if s.Stack[i] == profile.NoStack {
			continue // a gap counts nowhere
		}
		at := place{0, e.node(s.Stack[i])}
		if s.Thread != nil {
			at.thread = e.thread(s.Thread[i])
		}
		if at.thread != 0 && e.p.Symbols.IsLost(s.Stack[i]) {
			at.node = prefixtree.Root // a line with the thread alone
		}
		n := intern.Number(e.rowOf, &e.rows, at, row{place: at})
		e.rows[n].counts[column] += v
	}
}

// node returns the node of a stack and adds those that are missing on its path.
func (e *encoder) node(stack profile.StackID) int32 {
	var path []profile.StackID
	for {
		if _, ok := e.nodes[stack]; ok {
			break
		}
		path = append(path, stack)
		stack = e.p.Symbols.Parent(stack)
	}
	node := e.nodes[stack]
	for _, stack := range slices.Backward(path) {
		node = e.tree.Child(node, e.frame(e.p.Symbols.Leaf(stack)))
		e.nodes[stack] = node
	}
	return node
}

func (e *encoder) frame(id profile.FrameID) int32 {
	text, ok := e.frames[id]
	if !ok {
		f := e.p.Symbols.Frames[id]
		if f.Type == profile.FrameInlined && !e.inlined {
			f.Type = profile.FrameUnknown
		}
		text = e.text(formatFrame(&e.p.Symbols.Functions[f.Function], f, e.withLines))
		e.frames[id] = text
	}
	return text
}

func (e *encoder) thread(id profile.ThreadID) int32 {
	if e.threads[id] == 0 {
		e.threads[id] = e.text(threadText(e.p.Threads[id])) + 1
	}
	return e.threads[id] - 1
}

func (e *encoder) text(s string) int32 {
	return intern.Number(e.textIDs, &e.texts, s, s)
}

// write writes the rows that are not 0, with the given number of columns. An
// error of w comes back from its Flush.
func (e *encoder) write(w *bufio.Writer, columns int) {
	e.rows = slices.DeleteFunc(e.rows, func(r row) bool { return r.counts == [2]int64{} })
	rank := e.textRanks()
	order := e.depthFirst(rank)
	slices.SortFunc(e.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(rank[a.thread], rank[b.thread]), cmp.Compare(order[a.node+1], order[b.node+1]))
	})
	var line []byte
	for i := range e.rows {
		r := &e.rows[i]
		line = e.appendStack(line[:0], r.place)
		if i == 0 && bytes.HasPrefix(line, byteOrderMark) {
			line = slices.Insert(line, 0, ';') // the mark is part of a name
		}
		// A semicolon without a frame behind it keeps readers from taking the
		// end of a name for a count, or the line for a comment. For the former
		// one line is enough: the file is then not differential.
		probe := append(line, " 0"...)
		if i == 0 && columns == 1 && hasTwoNumbers(probe) || saysNothing(probe) {
			line = append(line, ';')
		}
		for c := range columns {
			line = append(line, ' ')
			line = jsonscan.AppendFixed(line, r.counts[c], e.scale[c])
		}
		line = append(line, '\n')
		w.Write(line)
	}
}

// appendStack appends thread and frames of a line.
func (e *encoder) appendStack(line []byte, at place) []byte {
	path := e.path[:0]
	for n := at.node; n != prefixtree.Root; n = e.tree.Parent[n] {
		path = append(path, e.tree.Item[n])
	}
	if at.thread != 0 {
		path = append(path, at.thread)
	}
	for i, text := range slices.Backward(path) {
		line = append(line, e.texts[text]...)
		if i > 0 {
			line = append(line, ';')
		}
	}
	e.path = path
	return line
}

// textRanks returns the position of each text in byte order.
func (e *encoder) textRanks() []int32 {
	ids := column.Places[int32](len(e.texts))
	slices.SortFunc(ids, func(a, b int32) int { return strings.Compare(e.texts[a], e.texts[b]) })
	rank := make([]int32, len(ids))
	for r, id := range ids {
		rank[id] = int32(r)
	}
	return rank
}

// depthFirst returns the depth-first position of each node, plus one, shifted
// by one so that index 0 is the root's. Siblings are in the order of rank.
func (e *encoder) depthFirst(rank []int32) []int32 {
	n := e.tree.Len()
	byRank := column.Places[int32](n)
	slices.SortFunc(byRank, func(a, b int32) int {
		return cmp.Compare(rank[e.tree.Item[b]], rank[e.tree.Item[a]])
	})
	// Pushing the largest first leaves the smallest first in each list.
	first := make([]int32, n+1) // of each node, shifted by one: its first child, plus one
	next := make([]int32, n)    // of each node: its next sibling, plus one
	for _, c := range byRank {
		parent := e.tree.Parent[c] + 1
		next[c] = first[parent]
		first[parent] = c + 1
	}
	order := make([]int32, n+1)
	position := int32(0)
	for node := first[0]; node != 0; {
		position++
		order[node] = position
		if child := first[node]; child != 0 {
			node = child
			continue
		}
		for node != 0 && next[node-1] == 0 {
			node = e.tree.Parent[node-1] + 1
		}
		if node != 0 {
			node = next[node-1]
		}
	}
	return order
}
