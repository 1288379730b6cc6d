// Package record writes windows as bytes and reads them again: what travels between the
// processes of a fleet, through a log or as an answer.
//
// A record has everything that its windows need: texts, functions and call paths stand in it
// once, however many windows use them.
//
//	version 1
//	texts      number, then length and bytes of each
//	functions  number, then name, system name, module, file, language as texts, line, column, kind
//	paths      number, then of each how far back its parent is (0: a root) and its function
//	windows    number, then series, start, length, how to read its values, hash, self values
//
// All numbers are base-128, those that may be negative with the sign in the lowest bit. Paths
// of a vector ascend, and so are written as distances. A release
// reads the versions of all releases before it (testdata), and refuses others.
package record

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
)

// version is the first byte of a record.
const version = 1

// writer collects what windows share.
type writer struct {
	texts     map[string]uint64
	functions map[function]uint64
	paths     map[path]uint64

	textBytes, functionBytes, pathBytes []byte
}

// function and path are ids of one of the forests, which is an origin.
type (
	function struct {
		of *calltree.Forest
		id int32
	}
	path struct {
		of *calltree.Forest
		id int32
	}
)

// Append appends a record of windows that Window.Check accepts.
func Append(to []byte, list []*continuous.Window) []byte {
	w := &writer{texts: map[string]uint64{}, functions: map[function]uint64{}, paths: map[path]uint64{}}
	var windows []byte
	for _, win := range list {
		windows = w.window(windows, win)
	}
	to = append(to, version)
	to = append(binary.AppendUvarint(to, uint64(len(w.texts))), w.textBytes...)
	to = append(binary.AppendUvarint(to, uint64(len(w.functions))), w.functionBytes...)
	to = append(binary.AppendUvarint(to, uint64(len(w.paths))), w.pathBytes...)
	return append(binary.AppendUvarint(to, uint64(len(list))), windows...)
}

// AppendTree appends a tree as a record of one window, whose values may be larger than those of
// windows to be stored. Nodes without a value below them are not written.
func AppendTree(to []byte, t *calltree.Tree) []byte {
	w := &continuous.Window{Type: t.Type, Forest: &calltree.Forest{}}
	paths, _ := w.Forest.Add(t.Table)
	for n, self := range t.Self {
		if self != 0 {
			w.Self.Nodes, w.Self.Self = append(w.Self.Nodes, paths[n]), append(w.Self.Self, self)
		}
	}
	return Append(to, []*continuous.Window{w})
}

// text returns the number of a text.
func (w *writer) text(text string) uint64 {
	n, ok := w.texts[text]
	if !ok {
		n = uint64(len(w.texts))
		w.texts[text] = n
		w.textBytes = append(binary.AppendUvarint(w.textBytes, uint64(len(text))), text...)
	}
	return n
}

// function returns the number of a function of a forest.
func (w *writer) function(f *calltree.Forest, id int32) uint64 {
	key := function{f.Origin(), id}
	n, ok := w.functions[key]
	if ok {
		return n
	}
	n = uint64(len(w.functions))
	w.functions[key] = n
	fn := &f.Functions[id]
	for _, text := range [...]string{fn.Name, fn.SystemName, fn.Module, fn.File, fn.Language} {
		w.functionBytes = binary.AppendUvarint(w.functionBytes, w.text(text))
	}
	w.functionBytes = binary.AppendVarint(w.functionBytes, int64(fn.StartLine))
	w.functionBytes = binary.AppendVarint(w.functionBytes, int64(fn.Column))
	w.functionBytes = binary.AppendUvarint(w.functionBytes, w.text(fn.Kind.String()))
	return n
}

// path returns the number of a path of a forest, whose ancestors are written before it.
func (w *writer) path(f *calltree.Forest, id int32) uint64 {
	origin := f.Origin()
	var missing []int32
	for p := id; p != calltree.NoNode; p = f.Paths.Parent[p] {
		if _, ok := w.paths[path{origin, p}]; ok {
			break
		}
		missing = append(missing, p)
	}
	for _, p := range slices.Backward(missing) {
		n, back := uint64(len(w.paths)), uint64(0)
		if up := f.Paths.Parent[p]; up != calltree.NoNode {
			back = n - w.paths[path{origin, up}]
		}
		fn := w.function(f, f.Paths.Item[p])
		w.pathBytes = binary.AppendUvarint(binary.AppendUvarint(w.pathBytes, back), fn)
		w.paths[path{origin, p}] = n
	}
	return w.paths[path{origin, id}]
}

func (w *writer) window(to []byte, win *continuous.Window) []byte {
	s := &win.Series
	for _, text := range [...]string{s.Service, s.Type.Name, s.Type.SampleType, s.Type.SampleUnit, s.Type.PeriodType, s.Type.PeriodUnit} {
		to = binary.AppendUvarint(to, w.text(text))
	}
	to = w.labels(w.labels(to, s.Labels), s.Facts)
	to = binary.AppendVarint(to, win.Start.UnixMilli())
	to = binary.AppendVarint(to, win.Length.Milliseconds())
	t := &win.Type
	for _, text := range [...]string{t.Name, t.Unit, t.PeriodUnit, t.PeriodName, t.Original} {
		to = binary.AppendUvarint(to, w.text(text))
	}
	to = binary.AppendVarint(binary.AppendVarint(to, int64(t.Scale)), t.Period)
	to = append(to, win.Hash[:]...)
	untimed := byte(0)
	if win.Untimed {
		untimed = 1
	}
	to = append(to, untimed)
	type entry struct {
		path uint64
		self int64
	}
	entries := make([]entry, len(win.Self.Nodes))
	for i, p := range win.Self.Nodes {
		entries[i] = entry{w.path(win.Forest, p), win.Self.Self[i]}
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.path, b.path) })
	to = binary.AppendUvarint(to, uint64(len(entries)))
	last := uint64(0)
	for _, e := range entries {
		to = binary.AppendVarint(binary.AppendUvarint(to, e.path-last), e.self)
		last = e.path
	}
	return to
}

func (w *writer) labels(to []byte, list continuous.Labels) []byte {
	to = binary.AppendUvarint(to, uint64(len(list)))
	for _, l := range list {
		to = binary.AppendUvarint(binary.AppendUvarint(to, w.text(l.Name)), w.text(l.Value))
	}
	return to
}
