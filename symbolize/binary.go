package symbolize

import (
	"cmp"
	"debug/elf"
	"debug/gosym"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/dendroprof/dendro/profile"
)

// binary is the file of a module.
type binary struct {
	code  *elf.File // has the program headers; nil for the map of a JIT compiler
	debug *elf.File // has DWARF; may be code; nil without

	dwarf   *dwarfIndex
	goTable *gosym.Table
	symbols []elf.Symbol // functions by address
}

// call is one of the functions that an address belongs to.
type call struct {
	name, systemName string
	file             string
	line, column     int32
	start            int32 // line of the function
	kind             profile.Kind
}

// index reads what lookup needs. Damaged debug information is none.
func (b *binary) index() {
	defer func() { _ = recover() }() // debug/dwarf and debug/gosym index damaged tables unchecked
	b.symbols = functions(b.code)
	if b.debug != nil && b.debug != b.code {
		if more := functions(b.debug); len(more) > len(b.symbols) {
			b.symbols = more
		}
	}
	b.goTable = goTable(b.code, b.symbols)
	if b.debug != nil {
		if data, err := b.debug.DWARF(); err == nil {
			b.dwarf = newDWARFIndex(data)
		}
	}
}

// goTable returns the tables of functions of a Go program, nil if there are none. They
// count from the first function of Go, which is the beginning of the code unless C is
// linked in. That is certain if the program begins at one of them.
func goTable(f *elf.File, symbols []elf.Symbol) *gosym.Table {
	pclntab, text := f.Section(".gopclntab"), f.Section(".text")
	if pclntab == nil || text == nil {
		return nil
	}
	start, certain := text.Addr, false
	for i := range symbols {
		if symbols[i].Name == "runtime.text" {
			start, certain = symbols[i].Value, true
		}
	}
	data, err := pclntab.Data()
	if err != nil {
		return nil
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, start))
	if err != nil {
		return nil
	}
	if entry := table.PCToFunc(f.Entry); !certain && (entry == nil || entry.Entry != f.Entry || !strings.HasPrefix(entry.Name, "_rt0_")) {
		return nil
	}
	return table
}

// lines reports whether the file has lines.
func (b *binary) lines() bool { return b.dwarf != nil || b.goTable != nil }

// functions returns the symbols of functions in the order of their addresses. Of several
// at one address the first global one with a size is first.
func functions(f *elf.File) (list []elf.Symbol) {
	all, _ := f.Symbols()
	dynamic, _ := f.DynamicSymbols()
	for _, s := range append(all, dynamic...) {
		// LOOS: indirect functions of GNU
		if t := elf.ST_TYPE(s.Info); (t == elf.STT_FUNC || t == elf.STT_LOOS) && s.Section != elf.SHN_UNDEF && s.Value != 0 {
			list = append(list, s)
		}
	}
	rank := func(s *elf.Symbol) int {
		r := 0
		if elf.ST_BIND(s.Info) != elf.STB_GLOBAL {
			r++
		}
		if s.Size == 0 {
			r += 2
		}
		return r
	}
	slices.SortStableFunc(list, func(a, b elf.Symbol) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(rank(&a), rank(&b)))
	})
	return list
}

// translate returns the address in the file of an address in a process that has mapped
// it. Without a mapping the profile has addresses of the file.
func (b *binary) translate(m *profile.Module, address uint64) (uint64, bool) {
	if b.code == nil {
		return address, true
	}
	if m.Limit <= m.Start || address < m.Start || m.Start == 0 && m.Offset == 0 {
		return address, m.Start == 0 || address < m.Start
	}
	if address >= m.Limit {
		return 0, false
	}
	at := address - m.Start + m.Offset
	for _, p := range b.code.Progs {
		if p.Type == elf.PT_LOAD && at >= p.Off && at-p.Off < p.Filesz {
			return at - p.Off + p.Vaddr, true
		}
	}
	// A file of debug information has no code: there, offsets are mostly addresses.
	return at, true
}

// lookup returns the functions that an address belongs to, outermost first: one, and what
// is inlined into it.
func (b *binary) lookup(pc uint64) (calls []call) {
	defer func() {
		if recover() != nil { // as in index
			calls = b.symbol(pc)
		}
	}()
	if b.dwarf != nil {
		if calls := b.dwarf.lookup(pc); len(calls) > 0 {
			return calls
		}
	}
	if b.goTable != nil {
		if file, line, fn := b.goTable.PCToLine(pc); fn != nil {
			c := call{name: fn.Name, file: file, line: int32(max(0, line))}
			if _, start, entry := b.goTable.PCToLine(fn.Entry); entry != nil {
				c.start = int32(start)
			}
			c.kind = goKind(fn.Name)
			return []call{c}
		}
	}
	return b.symbol(pc)
}

// symbol returns the function of the symbol that covers an address.
func (b *binary) symbol(pc uint64) []call {
	i := sort.Search(len(b.symbols), func(i int) bool { return b.symbols[i].Value > pc }) - 1
	if i < 0 {
		return nil
	}
	for i > 0 && b.symbols[i-1].Value == b.symbols[i].Value {
		i--
	}
	s := &b.symbols[i]
	if s.Size > 0 && pc >= s.Value+s.Size {
		return nil
	}
	return []call{named(s.Name, profile.KindNative)}
}

// named returns a call of a function by the name that the linker knows.
func named(systemName string, kind profile.Kind) call {
	systemName = strings.ToValidUTF8(systemName, "\uFFFD")
	c := call{name: demangle.Filter(systemName), kind: kind}
	if c.name != systemName {
		c.systemName = systemName
		if kind == profile.KindNative {
			c.kind = profile.KindCPP
		}
	}
	return c
}

func goKind(name string) profile.Kind {
	if pkg, _, _ := strings.Cut(path.Base(name), "."); pkg == "runtime" || strings.HasPrefix(name, "runtime/") ||
		strings.HasPrefix(name, "internal/runtime/") {
		return profile.KindGoRuntime
	}
	return profile.KindGo
}
