package pyroscope

import (
	"bytes"
	"fmt"
	"io"

	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
)

// nodes decodes Pyroscope's binary formats of text profiles, trie and tree: nodes in
// pre-order, each with the length of its name, the name, its value and the number of its
// children, numbers in base 128. In a tree a name is a frame, and the root has none; in a trie
// a name is any part of a stack whose frames `;` separates.
type nodes struct{ trie bool }

func (n nodes) name() string {
	if n.trie {
		return "trie"
	}
	return "tree"
}

// branch is a node whose children are still to come.
type branch struct {
	stack profile.StackID
	part  string // of the frame that continues in the children; of tries only
	left  uint64 // children
}

// namesPerByte bounds what parts of frames, which children repeat, may expand to.
const namesPerByte = 64

// Decode reads nodes to the end of r.
func (n nodes) Decode(r io.Reader, s *profile.Symbols, l profile.Limits) (*profile.Profile, error) {
	msg, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	p := profile.New(s)
	p.Format = n.name()
	table := profile.Samples{Type: profile.NamedType(profile.CPUSamples)}
	names := 1<<20 + namesPerByte*len(msg)
	path := []branch{{stack: profile.NoStack, left: 1}}
	for pos := 0; len(path) > 0; {
		up := &path[len(path)-1]
		if up.left == 0 {
			path = path[:len(path)-1]
			continue
		}
		up.left--
		at := pos
		name, value, children, next, err := node(msg, pos)
		if err != nil {
			return nil, &profile.ParseError{Offset: int64(at), Err: fmt.Errorf("%w: %s: %w", profile.ErrMalformed, n.name(), err)}
		}
		pos = next
		child := branch{stack: up.stack, left: children}
		if n.trie {
			name = up.part + name
		}
		if names -= len(name); names < 0 || len(path) > l.Depth {
			return nil, &profile.ParseError{Offset: int64(at), Err: fmt.Errorf("%s: nodes expand far too much: %w", n.name(), profile.ErrTooLarge)}
		}
		child.stack, child.part = n.frames(s, up.stack, name)
		if value > 0 {
			stack := child.stack
			if child.part != "" {
				stack = frame(s, stack, child.part)
			}
			if value > 1<<62 {
				return nil, &profile.ParseError{Offset: int64(at), Err: fmt.Errorf("%w: %s: a value of %d", profile.ErrMalformed, n.name(), value)}
			}
			table.Add(stack, int64(value))
		}
		path = append(path, child)
	}
	p.Tables = []profile.Samples{table}
	return p.Checked()
}

// frames returns the stack with the frames of a name, and what of a trie's name is no whole
// frame yet.
func (n nodes) frames(s *profile.Symbols, st profile.StackID, name string) (profile.StackID, string) {
	if !n.trie {
		if name == "" {
			return st, ""
		}
		return frame(s, st, name), ""
	}
	text := []byte(name)
	for {
		whole, rest, ok := bytes.Cut(text, []byte(";"))
		if !ok {
			return st, string(text)
		}
		if len(whole) > 0 {
			st = frame(s, st, string(whole))
		}
		text = rest
	}
}

func frame(s *profile.Symbols, st profile.StackID, name string) profile.StackID {
	return s.Stack(st, s.Frame(profile.Frame{Function: s.Function(profile.Function{Name: name})}))
}

// node reads the node at pos.
func node(msg []byte, pos int) (name string, value, children uint64, next int, err error) {
	lo, hi, err := wire.Payload(msg, pos, len(msg))
	if err == nil {
		value, pos, err = wire.Uvarint(msg, hi, len(msg))
	}
	if err == nil {
		children, pos, err = wire.Uvarint(msg, pos, len(msg))
	}
	if err != nil {
		return "", 0, 0, 0, err
	}
	return string(bytes.ToValidUTF8(msg[lo:hi], []byte("\uFFFD"))), value, children, pos, nil
}
