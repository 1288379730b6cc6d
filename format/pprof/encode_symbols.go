package pprof

import (
	"slices"
	"strings"

	"github.com/dendroprof/dendro/internal/prefixtree"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
)

// locationWriter cuts stacks into locations. A location is a frame together with
// what was inlined into it at the same address; stacks do not know it, frames
// have an inline depth. Each stack remembers the location at its inner end and
// the stack outside of that.
type locationWriter struct {
	symbols *profile.Symbols

	// groups holds the frames of a location, outermost first, as a path; a node
	// stands for the location that ends there.
	groups prefixtree.Tree
	ids    []uint64 // of a node of groups; 0 when no sample ends a location there
	nodes  []int32  // the node of location id, at id-1

	group []int32           // of a stack: node of groups plus one; 0 not yet known
	outer []profile.StackID // of a stack: the stack outside of its location
	path  []profile.StackID
}

func (w *locationWriter) init(s *profile.Symbols) {
	w.symbols = s
	w.group = make([]int32, s.Stacks.Len())
	w.outer = make([]profile.StackID, s.Stacks.Len())
}

// next returns the id of the location at the inner end of a stack, and the stack
// outside of it.
func (w *locationWriter) next(st profile.StackID) (uint64, profile.StackID) {
	if w.group[st] == 0 {
		w.path = w.path[:0]
		for x := st; x != profile.NoStack && w.group[x] == 0; x = w.symbols.Parent(x) {
			w.path = append(w.path, x)
		}
		for _, x := range slices.Backward(w.path) {
			w.add(x)
		}
	}
	node := w.group[st] - 1
	for len(w.ids) <= int(node) {
		w.ids = append(w.ids, 0)
	}
	if w.ids[node] == 0 {
		w.nodes = append(w.nodes, node)
		w.ids[node] = uint64(len(w.nodes))
	}
	return w.ids[node], w.outer[st]
}

// add finds the location of a stack whose parent's is known.
func (w *locationWriter) add(st profile.StackID) {
	parent, leaf := w.symbols.Parent(st), w.symbols.Leaf(st)
	fr := &w.symbols.Frames[leaf]
	if parent != profile.NoStack && fr.InlineDepth > 0 {
		caller := &w.symbols.Frames[w.symbols.Leaf(parent)]
		if caller.InlineDepth+1 == fr.InlineDepth && caller.Address == fr.Address && caller.Module == fr.Module {
			w.group[st] = w.groups.Child(w.group[parent]-1, int32(leaf)) + 1
			w.outer[st] = w.outer[parent]
			return
		}
	}
	w.group[st] = w.groups.Child(prefixtree.Root, int32(leaf)) + 1
	w.outer[st] = parent
}

// moduleKey names a mapping to write: a module, or only its name.
type moduleKey struct {
	id   profile.ModuleID
	name string
}

func (e *encoder) moduleOf(fr *profile.Frame) moduleKey {
	if fr.Module != 0 {
		return moduleKey{id: fr.Module}
	}
	return moduleKey{name: e.p.Symbols.Functions[fr.Function].Module}
}

// writeSymbols writes the mappings, locations and functions of the samples.
func (e *encoder) writeSymbols() {
	mappings := e.writeMappings()
	var functions []profile.FunctionID
	ids := map[profile.FunctionID]uint64{}
	var lines []profile.FrameID // innermost first
	for i, node := range e.location.nodes {
		lines = lines[:0]
		for n := node; n != prefixtree.Root; n = e.location.groups.Parent[n] {
			lines = append(lines, profile.FrameID(e.location.groups.Item[n]))
		}
		fr := &e.p.Symbols.Frames[lines[0]]
		e.msg = wire.AppendInt(e.msg[:0], 1, uint64(i+1))
		e.msg = wire.AppendInt(e.msg, 2, mappings[e.moduleOf(fr)])
		e.msg = wire.AppendInt(e.msg, 3, fr.Address)
		if len(lines) == 1 && e.unresolved(fr) {
			lines = nil
		}
		for _, id := range lines {
			fr := &e.p.Symbols.Frames[id]
			if ids[fr.Function] == 0 {
				functions = append(functions, fr.Function)
				ids[fr.Function] = uint64(len(functions))
			}
			e.part = wire.AppendInt(e.part[:0], 1, ids[fr.Function])
			e.part = wire.AppendInt(e.part, 2, uint64(fr.Line))
			e.part = wire.AppendInt(e.part, 3, uint64(fr.Column))
			e.msg = wire.AppendBytes(e.msg, 4, e.part)
		}
		e.flush(fieldLocation)
	}
	for i, id := range functions {
		e.writeFunction(uint64(i+1), &e.p.Symbols.Functions[id])
	}
}

// unresolved reports whether a frame is an address without a name, which is a
// location without lines.
func (e *encoder) unresolved(fr *profile.Frame) bool {
	var buf [18]byte
	fn := e.p.Symbols.Functions[fr.Function]
	return fn.Name == string(appendAddress(buf[:0], fr.Address)) && fr.Line == 0 && fr.Column == 0 &&
		fn.SystemName == "" && fn.File == "" && fn.StartLine == 0
}

// writeMappings writes the mappings of all locations and returns their ids.
// Modules come in the order in which Symbols got them, names behind them.
func (e *encoder) writeMappings() map[moduleKey]uint64 {
	ids := map[moduleKey]uint64{{}: 0}
	resolved := map[moduleKey]bool{}
	var keys []moduleKey
	for _, node := range e.location.nodes {
		fr := &e.p.Symbols.Frames[e.location.groups.Item[node]]
		k := e.moduleOf(fr)
		if _, ok := ids[k]; !ok {
			ids[k] = 1
			keys = append(keys, k)
		}
		resolved[k] = resolved[k] || !e.unresolved(fr) && e.p.Symbols.Functions[fr.Function].Name != profile.NoName
	}
	slices.SortStableFunc(keys, func(a, b moduleKey) int {
		if a.id == 0 || b.id == 0 {
			return int(b.id) - int(a.id)
		}
		return int(a.id) - int(b.id)
	})
	for i, k := range keys {
		ids[k] = uint64(i + 1)
		m := e.p.Symbols.Modules[k.id]
		switch {
		case k.id != 0 && !m.HasFunctions && resolved[k] && e.p.Format != Name:
			// go tool pprof would look up the addresses in the local binary.
			m.HasFunctions = true
		case k.id == 0:
			// A name without addresses needs no look-up either.
			m = profile.Module{Path: k.name, HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}
		}
		e.msg = wire.AppendInt(e.msg[:0], 1, ids[k])
		e.msg = wire.AppendInt(e.msg, 2, m.Start)
		e.msg = wire.AppendInt(e.msg, 3, m.Limit)
		e.msg = wire.AppendInt(e.msg, 4, m.Offset)
		e.msg = wire.AppendInt(e.msg, 5, e.string(m.Path))
		e.msg = wire.AppendInt(e.msg, 6, e.string(m.BuildID))
		e.msg = wire.AppendBool(e.msg, 7, m.HasFunctions)
		e.msg = wire.AppendBool(e.msg, 8, m.HasFilenames)
		e.msg = wire.AppendBool(e.msg, 9, m.HasLineNumbers)
		e.msg = wire.AppendBool(e.msg, 10, m.HasInlineFrames)
		e.flush(fieldMapping)
	}
	return ids
}

func (e *encoder) writeFunction(id uint64, fn *profile.Function) {
	system := fn.SystemName
	if system == "" && !demangled(fn.Name) {
		system = fn.Name
	}
	e.msg = wire.AppendInt(e.msg[:0], 1, id)
	e.msg = wire.AppendInt(e.msg, 2, e.string(fn.Name))
	e.msg = wire.AppendInt(e.msg, 3, e.string(system))
	e.msg = wire.AppendInt(e.msg, 4, e.string(fn.File))
	e.msg = wire.AppendInt(e.msg, 5, uint64(fn.StartLine))
	e.flush(fieldFunction)
}

// demangled reports whether a name looks demangled already. Readers demangle a
// name that equals the system name, as it does in Go's profiles; go tool pprof
// would cut the template arguments off one that is.
func demangled(name string) bool {
	return strings.ContainsAny(name, "<>[]") || strings.Contains(name, "::")
}
