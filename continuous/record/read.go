package record

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
)

// ErrMalformed is wrapped by the errors of records that cannot be read.
var ErrMalformed = errors.New("malformed record of windows")

// Reader reads records into one growing forest, so that what stores know of its paths holds for
// the next record too. The zero value is ready. A Reader, and what it returned, are for one goroutine.
type Reader struct {
	forest *calltree.Forest
	text   int // bytes of its names
}

// The size from which a Reader begins another forest.
const (
	maxPaths = 1 << 20
	maxText  = 64 << 20
)

// Read returns the windows of a record, which pass Window.Check. They do not refer to the
// record's bytes.
func (r *Reader) Read(content []byte) ([]*continuous.Window, error) {
	list, err := r.read(content)
	if err != nil {
		return nil, err
	}
	for _, w := range list {
		if err := w.Check(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
	}
	return list, nil
}

// ReadTree returns the tree that AppendTree wrote. Functions and siblings are in byte order of
// names.
func ReadTree(content []byte) (*calltree.Tree, error) {
	list, err := new(Reader).read(content)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, fmt.Errorf("%w: %d windows are no tree", ErrMalformed, len(list))
	}
	w := list[0]
	cut := w.Forest.Cut(w.Self.Nodes)
	return calltree.NewTree(cut.Table, w.Type, cut.Self(w.Self)), nil
}

func (r *Reader) read(content []byte) ([]*continuous.Window, error) {
	if r.forest == nil || r.forest.Paths.Len() > maxPaths || r.text > maxText {
		r.forest, r.text = &calltree.Forest{}, 0
	}
	c := &cursor{content: content}
	if v := c.byte(); v != version && c.err == nil {
		return nil, fmt.Errorf("%w: version %d, and %d is the newest that this Dendro reads", ErrMalformed, v, version)
	}
	texts := make([]string, c.number(1))
	for i := range texts {
		texts[i] = string(c.bytes(c.number(1)))
	}
	c.texts = texts
	functions := make([]int32, c.number(8))
	for i := range functions {
		functions[i] = r.function(c)
	}
	paths := make([]int32, c.number(2))
	for i := range paths {
		back, fn := c.uvarint(), at(c, functions)
		switch up := calltree.NoNode; {
		case c.err != nil:
		case back > uint64(i):
			c.fail("a path before the first")
		default:
			if back > 0 {
				up = paths[uint64(i)-back]
			}
			paths[i] = r.forest.Path(up, fn)
		}
	}
	list := make([]*continuous.Window, c.number(minWindow))
	for i := range list {
		list[i] = c.window(paths)
	}
	if c.err == nil && len(c.content) > c.pos {
		c.fail("bytes after the end")
	}
	if c.err != nil {
		return nil, c.err
	}
	snapshot := r.forest.Snapshot()
	for _, w := range list {
		w.Forest = snapshot
	}
	return list, nil
}

func (r *Reader) function(c *cursor) int32 {
	f := profile.Function{Name: at(c, c.texts), SystemName: at(c, c.texts), Module: at(c, c.texts), File: at(c, c.texts),
		Language: at(c, c.texts), StartLine: int32(c.varint()), Column: int32(c.varint())}
	kind, err := profile.ParseKind(at(c, c.texts))
	if c.err != nil {
		return 0
	}
	if err == nil { // one of a newer Dendro is unknown
		f.Kind = kind
	}
	known := len(r.forest.Functions)
	id := r.forest.Function(f)
	if int(id) == known {
		r.text += len(f.Name) + len(f.SystemName) + len(f.Module) + len(f.File) + len(f.Language)
	}
	return id
}

// minWindow is how many bytes a window has at least.
const minWindow = 35

// cursor reads a record from its beginning. After an error it returns zero values.
type cursor struct {
	content []byte
	pos     int
	texts   []string
	err     error
}

func (c *cursor) fail(what string) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: %s at byte %d of %d", ErrMalformed, what, c.pos, len(c.content))
	}
}

func (c *cursor) bytes(n int) []byte {
	if c.err != nil || n > len(c.content)-c.pos {
		c.fail("the record ends")
		return nil
	}
	b := c.content[c.pos : c.pos+n]
	c.pos += n
	return b
}

func (c *cursor) byte() byte {
	if b := c.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) uvarint() uint64 { return integer(c, binary.Uvarint) }
func (c *cursor) varint() int64   { return integer(c, binary.Varint) }

func integer[T int64 | uint64](c *cursor, decode func([]byte) (T, int)) T {
	if c.err != nil {
		return 0
	}
	v, n := decode(c.content[c.pos:])
	if n <= 0 {
		c.fail("no number")
		return 0
	}
	c.pos += n
	return v
}

// number reads how many things follow, of at least so many bytes: no more than there can be.
func (c *cursor) number(bytes int) int {
	n := c.uvarint()
	if n > uint64(len(c.content)-c.pos)/uint64(bytes) {
		c.fail("the record ends")
		return 0
	}
	return int(n)
}

// at reads the number of one of a list, and returns it.
func at[T any](c *cursor, list []T) (v T) {
	n := c.uvarint()
	if c.err == nil && n >= uint64(len(list)) {
		c.fail("a number beyond its list")
	}
	if c.err != nil {
		return v
	}
	return list[n]
}

func (c *cursor) window(paths []int32) *continuous.Window {
	text := func() string { return at(c, c.texts) }
	w := &continuous.Window{}
	w.Series = continuous.Series{Service: text(), Type: continuous.Type{Name: text(), SampleType: text(), SampleUnit: text(),
		PeriodType: text(), PeriodUnit: text()}, Labels: c.labels(), Facts: c.labels()}
	w.Start = time.UnixMilli(c.varint()).UTC()
	length := c.varint()
	if length < 0 || length > maxLength {
		c.fail("a length that no window has")
	}
	w.Length = time.Duration(length) * time.Millisecond
	w.Type = profile.ValueType{Name: text(), Unit: text(), PeriodUnit: text(), PeriodName: text(), Original: text(),
		Scale: int(c.varint()), Period: c.varint()}
	copy(w.Hash[:], c.bytes(len(w.Hash)))
	w.Untimed = c.byte() != 0
	n := c.number(2)
	type entry struct {
		path int32
		self int64
	}
	entries := make([]entry, n)
	last := uint64(0)
	for i := range entries {
		ahead := c.uvarint()
		if i > 0 && ahead == 0 {
			c.fail("a path twice")
		}
		last += ahead
		if entries[i].self = c.varint(); c.err == nil && (last >= uint64(len(paths)) || ahead > uint64(len(paths))) {
			c.fail("a path beyond the last")
		}
		if c.err != nil {
			return w
		}
		entries[i].path = paths[last]
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.path, b.path) })
	w.Self = calltree.Vector{Nodes: make([]int32, 0, n), Self: make([]int64, 0, n)}
	for _, e := range entries {
		if k := len(w.Self.Nodes); k > 0 && w.Self.Nodes[k-1] == e.path { // two paths of equal functions
			w.Self.Self[k-1] += e.self
			continue
		}
		w.Self.Nodes, w.Self.Self = append(w.Self.Nodes, e.path), append(w.Self.Self, e.self)
	}
	return w
}

// maxLength is more milliseconds than a window has, and fewer than a time.Duration.
const maxLength = int64(1) << 43

func (c *cursor) labels() continuous.Labels {
	n := c.number(2)
	if n == 0 {
		return nil
	}
	list := make(continuous.Labels, n)
	for i := range list {
		list[i] = continuous.Label{Name: at(c, c.texts), Value: at(c, c.texts)}
	}
	return list
}
