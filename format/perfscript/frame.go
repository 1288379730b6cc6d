package perfscript

import (
	"bytes"
	"math"
	"regexp"
	"strings"

	"github.com/dendroprof/dendro/format/internal/perf"
	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// frameText is the line of a frame taken apart:
//
//	address symbol+0xoffset (library)
//	  file:line
type frameText struct {
	address         string
	symbol, library string
	file            string
	line            int32
}

func parseFrame(text []byte) (f frameText) {
	line, source, _ := bytes.Cut(bytes.TrimLeft(text, " \t"), []byte("\n"))
	address, rest := line, []byte(nil)
	if i := bytes.IndexAny(line, " \t"); i >= 0 {
		address, rest = line[:i], line[i+1:]
	}
	f.address = string(address)
	symbol, library := cutLibrary(bytes.TrimSpace(rest))
	if at := offset.FindIndex(symbol); at != nil {
		symbol = symbol[:at[0]]
	}
	f.symbol, f.library = stacktext.Clean(symbol), stacktext.Clean(library)
	// Without debug information perf prints `symbol+offset` or `library[address]`.
	if i := bytes.LastIndexByte(source, ':'); i > 0 {
		if n, ok := stacktext.Uint(source[i+1:]); ok && n <= math.MaxInt32 && n > 0 {
			f.file, f.line = stacktext.Clean(source[:i]), int32(n)
		}
	}
	return f
}

var offset = regexp.MustCompile(`\+0x[0-9a-f]+$`)

// cutLibrary splits `symbol (library)`. Symbols and paths may hold brackets
// (`(/tmp/x.so (deleted))`), so the last ones are matched from their end.
func cutLibrary(text []byte) (symbol, library []byte) {
	n := len(text)
	if n == 0 || text[n-1] != ')' {
		return text, nil
	}
	depth := 0
	for i := n - 1; i >= 0; i-- {
		switch text[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth > 0 {
				continue
			}
			if i > 0 && text[i-1] != ' ' {
				return text, nil // the arguments of a function
			}
			return bytes.TrimSpace(text[:i]), text[i+1 : n-1]
		}
	}
	return text, nil
}

// newFrame interns the frames of a line that was not seen before: one, or for a
// chain of inlined calls the name -k-1 of chain k. Outer is the frame that an
// inlined one is inlined into, or noFrame.
func (r *run) newFrame(text []byte, inlined bool, outer profile.FrameID) profile.FrameID {
	f := parseFrame(text)
	s := r.Profile.Symbols
	var fr profile.Frame
	fr.Line = f.line
	fr.Address, _ = stacktext.Hex([]byte(f.address))
	names := []string{f.symbol}
	var fn profile.Function
	switch {
	case inlined && outer != noFrame:
		in := &s.Frames[outer]
		fr.Module = in.Module
		fn.Module = s.Functions[in.Function].Module
		fr.InlineDepth = 1
		if in.Address == fr.Address && in.InlineDepth < math.MaxUint16 {
			fr.InlineDepth = in.InlineDepth + 1
		}
		fr.Type = profile.FrameInlined
		fn.Kind = s.Functions[in.Function].Kind
	case inlined:
		fr.Type = profile.FrameInlined
	default:
		fr.Module, fn.Module = r.module(f.library)
		fn.Kind, fr.Type = perf.KindOf(f.symbol, f.library)
		if perf.Compiled(f.library) {
			names = splitChain(f.symbol)
		}
	}
	fn.File = f.file
	ids := make([]profile.FrameID, len(names))
	for i, name := range names {
		if fn.Name = name; name == "" {
			fn.Name = "0x" + f.address
		}
		if i > 0 {
			fr.Type = profile.FrameInlined
			fr.InlineDepth = uint16(min(i, math.MaxUint16))
		}
		fr.Function = s.Function(fn)
		ids[i] = s.Frame(fr)
	}
	if len(ids) == 1 {
		return ids[0]
	}
	r.chains.list = append(r.chains.list, ids)
	return profile.FrameID(-len(r.chains.list))
}

// module returns what a library is to frames and to functions. What is no path
// is only a name.
func (r *run) module(library string) (profile.ModuleID, string) {
	if library == "" || library == profile.NoName {
		return 0, ""
	}
	if !strings.Contains(library, "/") {
		return 0, library
	}
	path := strings.TrimSuffix(library, " (deleted)")
	return r.Profile.Symbols.Module(profile.Module{Path: path}), perf.Base(path)
}

// splitChain splits the `a->b->c` by which JIT compilers' maps name what was
// inlined into a and into b: outermost first.
func splitChain(symbol string) []string {
	if !strings.Contains(symbol, "->") {
		return []string{symbol}
	}
	names := strings.Split(symbol, "->")
	for _, n := range names {
		if n == "" || n[0] == ' ' || n[len(n)-1] == ' ' || strings.HasSuffix(n, "operator") {
			return []string{symbol}
		}
	}
	return names
}
