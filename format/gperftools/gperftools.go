// Package gperftools reads the profiles in which C and C++ programs write addresses only,
// with the mappings of their libraries behind:
//
//   - CPU profiles of gperftools (CPUPROFILE=file): words of the machine, then the text
//     of /proc/self/maps;
//   - heap profiles of gperftools and tcmalloc (HEAPPROFILE=file): text;
//   - heap profiles of jemalloc (prof_prefix): text, called heap_v2.
//
// Files of gperftools 2.10 and jemalloc 5.3 were seen; the formats are described in
// gperftools' docs/cpuprofile-fileformat.html and by jeprof. docs/format/native.md
// lists what it does not keep.
//
// Functions have their address as name until somebody looks it up in the binaries. The
// address of a caller is that of its call, one byte before the return address, as in
// package pprof. Memory is bounded by the different stacks and addresses.
package gperftools

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Names of the formats in Profile.Format.
const (
	CPUName      = "gperftools"
	HeapName     = "gperftools-heap"
	JemallocName = "jemalloc"
)

// addresses collects stacks of addresses until the mappings are known.
type addresses struct {
	*stacktext.LateStacks[uint64]
	p *profile.Profile

	modules []profile.ModuleID // in the order of the text
}

func newAddresses(p *profile.Profile, l profile.Limits) *addresses {
	return &addresses{LateStacks: stacktext.NewLateStacks[uint64](l), p: p}
}

// mapping reads a line of /proc/self/maps. Parts that hold no code are left out, as are
// lines that are none.
//
//	563d6073e000-563d6073f000 r-xp 00001000 00:00 9996262     /srv/shop/shop
//	563d6073e000-563d6073f000: /srv/shop/shop
func (a *addresses) mapping(text []byte) {
	field := func() (f []byte) {
		f, text, _ = bytes.Cut(bytes.TrimLeft(text, " "), []byte(" "))
		return f
	}
	span, access, offset := field(), []byte("r-xp"), []byte("0")
	if short, ok := bytes.CutSuffix(span, []byte(":")); ok { // of pprof's older texts
		span = short
	} else {
		access, offset = field(), field()
		field() // device
		field() // inode
	}
	from, to, _ := bytes.Cut(span, []byte("-"))
	m := profile.Module{Path: stacktext.Clean(bytes.TrimSpace(text))}
	var ok [3]bool
	m.Start, ok[0] = stacktext.Hex(from)
	m.Limit, ok[1] = stacktext.Hex(to)
	m.Offset, ok[2] = stacktext.Hex(offset)
	if ok == [3]bool{true, true, true} && len(access) > 2 && access[2] == 'x' && m.Path != "" {
		a.modules = append(a.modules, a.p.Symbols.Module(m))
	}
}

// fill replaces the nodes in the tables of the profile by stacks of frames.
func (a *addresses) fill() {
	s := a.p.Symbols
	sort.Slice(a.modules, func(i, j int) bool { return s.Modules[a.modules[i]].Start < s.Modules[a.modules[j]].Start })
	frames := make([]profile.FrameID, len(a.Places))
	for i, address := range a.Places {
		f := profile.Frame{Address: address}
		at := sort.Search(len(a.modules), func(i int) bool { return s.Modules[a.modules[i]].Start > address })
		fn := profile.Function{Name: fmt.Sprintf("%#x", address)}
		if at > 0 && address < s.Modules[a.modules[at-1]].Limit {
			f.Module = a.modules[at-1]
			path := s.Modules[f.Module].Path
			fn.Module = path[strings.LastIndexByte(path, '/')+1:]
		}
		f.Function = s.Function(fn)
		frames[i] = s.Frame(f)
	}
	a.Link(a.p.Tables, func(parent profile.StackID, i int32) profile.StackID { return s.Stack(parent, frames[i]) })
	a.p.CountLost()
}

// addTo adds a sample, if there is something to add.
func addTo(t *stacktext.Table, stack profile.StackID, value int64) error {
	if value < 0 || value > 0 && !t.Add(stacktext.Row{Stack: stack, Value: value}) {
		return stacktext.ErrSum
	}
	return nil
}
