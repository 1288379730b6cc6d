package symbolize

import (
	"cmp"
	"debug/dwarf"
	"math"
	"slices"
	"sort"

	"github.com/dendroprof/dendro/profile"
)

// dwarfIndex finds the compilation unit of an address. Units are read when they are first
// needed.
type dwarfIndex struct {
	data  *dwarf.Data
	spans []span // of units, by address
	units map[dwarf.Offset]*unit
	names map[dwarf.Offset]name
}

// span is a range of addresses of what has a number.
type span struct {
	low, high uint64
	of        uint32
}

// unit is a compilation unit: its functions and its lines.
type unit struct {
	kind      profile.Kind
	files     []*dwarf.LineFile
	lines     []dwarf.LineEntry
	scopes    []scope // functions and what is inlined into them; inlined calls come behind
	functions []span  // of the outermost scopes, by address
}

// scope is a function, or a call that was inlined into one.
type scope struct {
	ranges   [][2]uint64
	parent   int32 // -1: a function
	end      int32 // number of the first scope that is not inside of it
	origin   dwarf.Offset
	callFile int
	callLine int32
	callCol  int32
}

// name is what a function is called.
type name struct {
	linkage, plain string
	line           int32
}

func newDWARFIndex(data *dwarf.Data) *dwarfIndex {
	x := &dwarfIndex{data: data, units: map[dwarf.Offset]*unit{}, names: map[dwarf.Offset]name{}}
	r := data.Reader()
	for {
		e, err := r.Next()
		if e == nil || err != nil {
			break
		}
		if e.Tag == dwarf.TagCompileUnit {
			ranges, _ := data.Ranges(e)
			for _, lh := range ranges {
				x.spans = append(x.spans, span{lh[0], lh[1], uint32(e.Offset)})
			}
		}
		r.SkipChildren()
	}
	sort.Slice(x.spans, func(i, j int) bool { return x.spans[i].low < x.spans[j].low })
	return x
}

// find returns which of spans, which are in order, covers an address.
func find(spans []span, pc uint64) (uint32, bool) {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].low > pc })
	// Few spans overlap; the innermost begins last.
	for n := 0; i > 0 && n < 16; n++ {
		if i--; pc < spans[i].high {
			return spans[i].of, true
		}
	}
	return 0, false
}

// lookup returns the functions of an address, outermost first.
func (x *dwarfIndex) lookup(pc uint64) []call {
	at, ok := find(x.spans, pc)
	if !ok {
		return nil
	}
	u := x.unit(dwarf.Offset(at))
	outer, ok := find(u.functions, pc)
	if !ok {
		return nil
	}
	path := []int32{int32(outer)}
	for i := int32(outer) + 1; i < u.scopes[outer].end; i++ {
		if s := &u.scopes[i]; s.parent == path[len(path)-1] && s.covers(pc) {
			path = append(path, i)
		}
	}
	calls := make([]call, 0, len(path))
	for k, i := range path {
		n := x.name(u.scopes[i].origin, 0)
		text := cmp.Or(n.linkage, n.plain)
		if text == "" {
			if k == 0 {
				return nil
			}
			continue
		}
		c := named(text, u.kind)
		if u.kind == profile.KindGo {
			c.kind = goKind(c.name)
		}
		c.start = n.line
		// A function is where it calls what is inlined; the innermost is where it runs.
		if k+1 < len(path) {
			inner := &u.scopes[path[k+1]]
			c.line, c.column = inner.callLine, inner.callCol
			if inner.callFile >= 0 && inner.callFile < len(u.files) && u.files[inner.callFile] != nil {
				c.file = u.files[inner.callFile].Name
			}
		} else if l := u.line(pc); l != nil {
			c.line, c.column = int32(min(l.Line, math.MaxInt32)), int32(min(l.Column, math.MaxInt32))
			if l.File != nil {
				c.file = l.File.Name
			}
		}
		calls = append(calls, c)
	}
	return calls
}

func (s *scope) covers(pc uint64) bool {
	return slices.ContainsFunc(s.ranges, func(r [2]uint64) bool { return pc >= r[0] && pc < r[1] })
}

// line returns the row of the line table that an address belongs to.
func (u *unit) line(pc uint64) *dwarf.LineEntry {
	i := sort.Search(len(u.lines), func(i int) bool { return u.lines[i].Address > pc }) - 1
	if i < 0 || u.lines[i].EndSequence {
		return nil
	}
	return &u.lines[i]
}

// unit reads the unit at an offset.
func (x *dwarfIndex) unit(at dwarf.Offset) *unit {
	if u, ok := x.units[at]; ok {
		return u
	}
	u := &unit{}
	x.units[at] = u
	r := x.data.Reader()
	r.Seek(at)
	head, err := r.Next()
	if head == nil || err != nil {
		return u
	}
	language, _ := head.Val(dwarf.AttrLanguage).(int64)
	u.kind = kindOf(language)
	x.readLines(u, head)
	x.readScopes(u, r)
	return u
}

// readLines reads the line table. Its sequences are in order in themselves only.
func (x *dwarfIndex) readLines(u *unit, head *dwarf.Entry) {
	lr, err := x.data.LineReader(head)
	if lr == nil || err != nil {
		return
	}
	var e dwarf.LineEntry
	for lr.Next(&e) == nil {
		u.lines = append(u.lines, e)
	}
	u.files = lr.Files()
	sort.SliceStable(u.lines, func(i, j int) bool {
		a, b := &u.lines[i], &u.lines[j]
		if a.Address != b.Address {
			return a.Address < b.Address
		}
		return a.EndSequence && !b.EndSequence // the end of one is the beginning of the next
	})
}

// readScopes reads the functions behind the head of a unit.
func (x *dwarfIndex) readScopes(u *unit, r *dwarf.Reader) {

	stack := []int32{-1} // scopes; -1: not within a function
	for len(stack) > 0 {
		e, err := r.Next()
		if e == nil || err != nil || e.Tag == dwarf.TagCompileUnit {
			break
		}
		if e.Tag == 0 {
			if s := stack[len(stack)-1]; s >= 0 {
				u.scopes[s].end = int32(len(u.scopes))
			}
			stack = stack[:len(stack)-1]
			continue
		}
		within := stack[len(stack)-1]
		switch e.Tag {
		case dwarf.TagSubprogram, dwarf.TagInlinedSubroutine:
			if e.Tag == dwarf.TagSubprogram {
				within = -1
			}
			within = x.addScope(u, e, within)
		}
		if e.Children {
			stack = append(stack, within)
		}
	}
	for i := range u.scopes {
		if s := &u.scopes[i]; s.parent < 0 {
			for _, lh := range s.ranges {
				u.functions = append(u.functions, span{lh[0], lh[1], uint32(i)})
			}
		}
	}
	sort.Slice(u.functions, func(i, j int) bool { return u.functions[i].low < u.functions[j].low })
}

// addScope adds a function or an inlined call and returns its number, or that of the
// scope that it is within if it has no code of its own.
func (x *dwarfIndex) addScope(u *unit, e *dwarf.Entry, within int32) int32 {
	ranges, _ := x.data.Ranges(e)
	if len(ranges) == 0 || e.Tag == dwarf.TagInlinedSubroutine && within < 0 {
		return within
	}
	number := func(of dwarf.Attr, otherwise int32) int32 {
		if n, ok := e.Val(of).(int64); ok && n < math.MaxInt32 {
			return int32(n)
		}
		return otherwise
	}
	s := scope{ranges: ranges, parent: within, origin: e.Offset, callFile: int(number(dwarf.AttrCallFile, -1)),
		callLine: number(dwarf.AttrCallLine, 0), callCol: number(dwarf.AttrCallColumn, 0)}
	i := int32(len(u.scopes))
	s.end = i + 1
	u.scopes = append(u.scopes, s)
	return i
}

// name returns what the function at an offset is called: by itself, by the function that
// it is a copy of, or by its declaration.
func (x *dwarfIndex) name(at dwarf.Offset, steps int) name {
	if n, ok := x.names[at]; ok || steps > 8 {
		return n
	}
	var n name
	r := x.data.Reader()
	r.Seek(at)
	if e, err := r.Next(); e != nil && err == nil {
		n.plain, _ = e.Val(dwarf.AttrName).(string)
		if n.linkage, _ = e.Val(dwarf.AttrLinkageName).(string); n.linkage == "" {
			n.linkage, _ = e.Val(dwarf.Attr(0x2007)).(string) // DW_AT_MIPS_linkage_name, of old compilers
		}
		if line, ok := e.Val(dwarf.AttrDeclLine).(int64); ok && line > 0 && line < math.MaxInt32 {
			n.line = int32(line)
		}
		for _, ref := range []dwarf.Attr{dwarf.AttrAbstractOrigin, dwarf.AttrSpecification} {
			to, ok := e.Val(ref).(dwarf.Offset)
			if !ok {
				continue
			}
			o := x.name(to, steps+1)
			n.plain, n.linkage, n.line = cmp.Or(n.plain, o.plain), cmp.Or(n.linkage, o.linkage), cmp.Or(n.line, o.line)
		}
	}
	x.names[at] = n
	return n
}

// kindOf returns the kind of functions of a language, a number of DWARF.
func kindOf(language int64) profile.Kind {
	switch language {
	case 0x04, 0x1a, 0x21, 0x2b, 0x10, 0x11: // C++, C++11, C++14, C++17, Objective-C
		return profile.KindCPP
	case 0x1c:
		return profile.KindRust
	case 0x16:
		return profile.KindGo
	}
	return profile.KindNative
}
