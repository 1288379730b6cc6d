// Package symbolize names native code that a profile knows by address only: functions,
// lines and inlined calls come from ELF files and their DWARF, found below directories by
// build id or by path.
//
//	0x55bb41f81406 in /srv/shop/shop   ─▶   shop::Ledger::post(int)  shop.cpp:34
//	                                        └ inlined: shop::rate(double)  shop.cpp:15
//
// The results are those of `addr2line -i` and of pprof's symbolisation of the same files
// (docs/method/names.md). Frames that have a name keep it. Addresses of callers are
// taken as they are, unless the profile says that they are return addresses: then the
// byte before is looked up, which belongs to the call.
//
// The package reads files only. It asks no debuginfod server: the directory that
// debuginfod-find fills is one that it understands.
package symbolize

import (
	"fmt"
	"strings"
	"sync"

	"github.com/dendroprof/dendro/profile"
)

// Symbolizer names the functions of profiles. It keeps the files that it has opened and is
// safe for concurrent use, though each profile belongs to one caller.
type Symbolizer struct {
	dirs []string

	mu       sync.Mutex
	binaries map[binaryKey]*binary // nil: there is no such file
}

type binaryKey struct{ path, buildID string }

// New returns a Symbolizer that looks for files below dirs, in this order.
func New(dirs []string) *Symbolizer {
	return &Symbolizer{dirs: dirs, binaries: map[binaryKey]*binary{}}
}

// Suggest warns of a profile in which a quarter of the samples or more end at addresses
// of modules, without a name: the files of the modules may have the names.
func Suggest(p *profile.Profile) {
	if len(p.Tables) == 0 || len(p.Symbols.Modules) < 2 { // the first is none
		return
	}
	s, nameless, modules := p.Symbols, 0, map[string]int{}
	stacks := p.Tables[0].Stack
	for _, stack := range stacks {
		if stack == profile.NoStack {
			continue
		}
		f := &s.Frames[s.Leaf(stack)]
		if path := s.Modules[f.Module].Path; f.Address != 0 && f.Module != 0 && isFile(path) && unnamed(s.Functions[f.Function].Name) {
			nameless++
			modules[path]++
		}
	}
	if nameless > 0 && nameless >= len(stacks)/4 {
		p.Warnf("%d of %d stacks end at addresses without a name, in %s: --symbols DIR names them from executables and debug files, --symbols / from those of this system",
			nameless, len(stacks), first(modules))
	}
}

// Apply replaces the frames of p that have an address and a module but no name by those
// that the module's file has for the address. Symbols grow; nothing in them changes.
// What was not found is a warning of p.
func (z *Symbolizer) Apply(p *profile.Profile) {
	z.mu.Lock()
	defer z.mu.Unlock()
	a := application{Symbolizer: z, p: p, stacks: map[spot]profile.StackID{}, frames: map[spotFrame][]profile.FrameID{},
		missing: map[string]int{}}
	for i := range p.Tables {
		column := p.Tables[i].Stack
		for row, stack := range column {
			column[row] = a.stack(stack)
		}
	}
	a.warn()
}

// application is the work on one profile.
type application struct {
	*Symbolizer
	p *profile.Profile

	stacks  map[spot]profile.StackID
	frames  map[spotFrame][]profile.FrameID // outermost first
	missing map[string]int                  // unnamed addresses by module without a file
	unknown int                             // addresses that a file has no name for
	path    []profile.StackID               // scratch
}

// spot is a stack that ends a sample, or that calls another.
type spot struct {
	stack  profile.StackID
	caller bool
}

type spotFrame struct {
	frame  profile.FrameID
	caller bool
}

// stack returns the stack that takes the place of one that ends a sample.
func (a *application) stack(id profile.StackID) profile.StackID {
	if id == profile.NoStack {
		return id
	}
	if done, ok := a.stacks[spot{id, false}]; ok {
		return done
	}
	s := a.p.Symbols
	a.path = a.path[:0]
	above := profile.NoStack
	for up := s.Parent(id); up != profile.NoStack; up = s.Parent(up) {
		if done, ok := a.stacks[spot{up, true}]; ok {
			above = done
			break
		}
		a.path = append(a.path, up)
	}
	for i := len(a.path) - 1; i >= 0; i-- {
		above = a.extend(above, a.path[i], true)
		a.stacks[spot{a.path[i], true}] = above
	}
	done := a.extend(above, id, false)
	a.stacks[spot{id, false}] = done
	return done
}

// extend returns the stack that calls the last frame of a stack from above.
func (a *application) extend(above, id profile.StackID, caller bool) profile.StackID {
	s := a.p.Symbols
	key := spotFrame{s.Leaf(id), caller && a.p.ReturnAddresses}
	frames, ok := a.frames[key]
	if !ok {
		frames = a.resolve(key.frame, key.caller)
		a.frames[key] = frames
	}
	for _, f := range frames {
		above = s.Stack(above, f)
	}
	return above
}

// resolve returns the frames that take the place of one, outermost first.
func (a *application) resolve(id profile.FrameID, returns bool) []profile.FrameID {
	s := a.p.Symbols
	f := s.Frames[id]
	fn := s.Functions[f.Function]
	if f.Module == 0 || f.Address == 0 || f.InlineDepth > 0 {
		return []profile.FrameID{id}
	}
	m := s.Modules[f.Module]
	b := a.binary(m)
	switch {
	case b == nil && unnamed(fn.Name) && isFile(m.Path):
		a.missing[m.Path]++
		return []profile.FrameID{id}
	case b == nil:
		return []profile.FrameID{id}
	}
	m.HasFunctions, m.HasInlineFrames = true, true
	m.HasFilenames, m.HasLineNumbers = b.lines(), b.lines()
	f.Module = s.Module(m)
	if !unnamed(fn.Name) {
		return []profile.FrameID{s.Frame(f)}
	}
	address := f.Address
	if returns {
		address--
	}
	pc, ok := b.translate(&m, address)
	calls := b.lookup(pc)
	if !ok || len(calls) == 0 {
		a.unknown++
		return []profile.FrameID{s.Frame(f)}
	}
	frames := make([]profile.FrameID, len(calls))
	for i, c := range calls {
		g := f
		g.InlineDepth, g.Line, g.Column = uint16(i), c.line, c.column
		if g.Type = profile.FrameNative; i > 0 {
			g.Type = profile.FrameInlined
		}
		g.Function = s.Function(profile.Function{
			Name: c.name, SystemName: c.systemName, Module: fn.Module, File: c.file, StartLine: c.start, Kind: c.kind,
		})
		frames[i] = s.Frame(g)
	}
	return frames
}

// unnamed reports whether the name of a function says no more than its address.
func unnamed(name string) bool {
	switch {
	case name == "", name == profile.NoName, name == "???":
		return true
	case !strings.HasPrefix(name, "0x") || len(name) < 3:
		return false
	}
	return strings.Trim(name[2:], "0123456789abcdefABCDEF") == ""
}

// isFile reports whether a module is a file, and not [vdso], [kernel.kallsyms] or memory.
func isFile(module string) bool {
	return module != "" && !strings.HasPrefix(module, "[") && !strings.HasPrefix(module, "//")
}

const mostNames = 5

// first lists the names of the largest counts.
func first(counts map[string]int) string {
	names, more := sortedByCount(counts), ""
	if n := len(names); n > mostNames {
		more = fmt.Sprintf(" and %d more", n-mostNames)
		names = names[:mostNames]
	}
	return strings.Join(names, ", ") + more
}

// warn reports the modules whose file was not found.
func (a *application) warn() {
	if len(a.missing) > 0 {
		a.p.Warnf("no file for the symbols of %s in %s", first(a.missing), strings.Join(a.dirs, ", "))
	}
	a.p.WarnCount(a.unknown, "%d addresses have no name in the files of their modules")
}
