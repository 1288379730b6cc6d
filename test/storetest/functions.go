package storetest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// testNamed queries functions by name.
func testNamed(l *lab) {
	all := l.library()
	for _, names := range [][]string{
		{"A"}, {"C", "A"}, {"main", "no such function"}, {"no such function"}, {}, {"a"}, {"A", "A"}, {"*"},
	} {
		l.checkFunctions(store.Query{}, names, all)
		l.checkFunctions(store.Query{Types: []string{profile.Alloc}}, names, (&store.Query{Types: []string{profile.Alloc}}).Filter(all))
	}
}

// fullFunction has every attribute.
var fullFunction = profile.Function{
	Name: "full", SystemName: "_Zfull", Module: "libfull.so", File: "src/full.c", StartLine: 7, Column: 3, Language: "C",
	Kind: profile.KindNative,
}

// accounts are what three profiles say of functions, in part contradicting each
// other.
var accounts = map[string][]profile.Function{
	"first": {
		fullFunction, {Name: "late"}, {Name: "kinds", Kind: profile.KindJava}, {Name: "files", File: "b.go", StartLine: 1}, {Name: "bare"},
		{Name: "lines", File: "b.go", StartLine: 5, Column: 2},
	},
	"second": {
		{Name: "full"}, {Name: "late", Module: "m", Kind: profile.KindClass}, {Name: "kinds", Kind: profile.KindKernel},
		{Name: "files", File: "a.go", StartLine: 9},
		{Name: "lines", File: "a.go"}, // the place of the smaller name has no line
	},
	"third": {{Name: "kinds", Kind: profile.KindGo, Language: "Go"}, {Name: "files", File: "a.go", StartLine: 8}, {Name: "late", Module: "k"}},
}

// accountFile returns a file whose only stack has the functions of an account.
func accountFile(im *Importer, benchmark, name string) *store.File {
	p := profile.New(nil)
	p.Tables = []profile.Samples{{Type: TypeOf(profile.CPUSamples)}}
	stack := profile.NoStack
	for _, fn := range accounts[name] {
		stack = p.Symbols.Stack(stack, p.Symbols.Frame(profile.Frame{Function: p.Symbols.Function(fn)}))
		p.Tables[0].Add(stack, 1)
	}
	f := newFile("g", benchmark, "r1")
	f.Name = name
	im.AddProfile(f, p)
	return f
}

// testAttributes puts functions with attributes, in part contradicting ones.
func testAttributes(l *lab) {
	put := func(l *lab, order ...string) {
		for _, name := range order {
			l.put(accountFile(NewImporter(), name, name))
			l.check()
		}
	}
	put(l, "first", "second", "third")
	other := newLab(l.t, l.engine)
	put(other, "third", "second", "first")
	for _, name := range []string{"full", "late", "kinds", "files", "bare", "lines"} {
		if a, b := l.m.attributes[name], other.m.attributes[name]; a != b {
			l.t.Fatalf("the model depends on the order: %+v, %+v", a, b)
		}
	}
	if l.m.attributes["full"] != fullFunction {
		l.t.Fatalf("the model has %+v", l.m.attributes["full"])
	}
	l.reopen()
	l.check()
	l.compact()
	l.check()
}

// testAddAttributes adds shards with different attributes of their functions: those of
// the parts of a sum are merged as if each part were a separate profile, whether an
// importer knows the functions of the others or not.
func testAddAttributes(l *lab) {
	for i, order := range [][]string{{"first", "second", "third"}, {"third", "second", "first"}, {"second", "third", "first"}} {
		one := NewImporter()
		sum := newLab(l.t, l.engine)
		for k, name := range order {
			im := one
			if i > 0 {
				im = NewImporter()
			}
			sum.putAs(store.Add, accountFile(im, "sum", name))
			sum.check()
			if k == 1 && i == 2 {
				sum.reopen()
			}
		}
		sum.reopen()
		sum.check()
		sum.compact()
		sum.check()
	}
}

// testModes queries the vectors of compile modes.
func testModes(l *lab) {
	im := NewImporter()
	for i, run := range []string{"r1", "r2", "r3"} {
		f := im.File("g", "a", run, profile.CPUSamples, fmt.Sprintf("×%d  ×10\nA   A\nB", 10+i))
		im.AddMode(f.Records[0], profile.FrameInterpreted, "×3\nA\nB")
		im.AddMode(f.Records[0], profile.FrameJIT, "×7  ×10\nA   A\nB")
		if i == 1 {
			f.Records[0].Modes = nil
		}
		l.put(f)
	}
	l.check()
	l.reopen()
	l.check()
	l.delete(l.profiles(store.Query{})[0].ID)
	l.compact()
	l.check()
}

// rawImporter normalises names of the form "name$123" to "name$*".
func rawImporter() *Importer {
	im := NewImporter()
	im.Rename = func(fn profile.Function) profile.Function {
		if name, _, ok := strings.Cut(fn.Name, "$"); ok {
			fn.Name = name + "$*"
		}
		return fn
	}
	return im
}

// testRawNames queries the names before normalisation.
func testRawNames(l *lab) {
	im := rawImporter()
	l.put(
		im.File("g", "a", "r1", profile.CPUSamples, "main\nA$1\nB$1"),
		im.File("g", "a", "r2", profile.CPUSamples, "main\nA$2\nC"),
		im.File("h", "a", "r1", profile.CPUSamples, "main\nA$3\nD$3"),
	)
	l.check()
	for _, want := range []struct {
		group, name string
		raw         []string
	}{
		{"g", "A$*", []string{"A$1", "A$2"}}, {"h", "A$*", []string{"A$3"}}, {"", "A$*", []string{"A$1", "A$2", "A$3"}},
		{"h", "B$*", []string{"B$1"}}, {"elsewhere", "D$*", []string{"D$3"}}, {"g", "C", nil}, {"g", "main", nil},
	} {
		got, err := l.s.RawNames(l.ctx, want.group, []string{want.name})
		l.ok(err)
		if raw, ok := got[want.name]; ok != (want.raw != nil) || ok && !strings.Contains(strings.Join(want.raw, " "), raw) {
			l.t.Errorf("RawNames(%q, %q) is %q, want one of %q", want.group, want.name, raw, want.raw)
		}
	}
	// However many groups have a name, each has an example.
	var files []*store.File
	for i := range 30 {
		files = append(files, im.File(fmt.Sprintf("group %d", i), "a", "r1", profile.CPUSamples, fmt.Sprintf("main\nA$%d", 100+i)))
	}
	l.put(files...)
	l.check()
	l.reopen()
	l.check()
	if got, err := l.s.RawNames(l.ctx, "g", nil); err != nil || len(got) != 0 {
		l.t.Errorf("RawNames of no names: %v, %v", got, err)
	}
}

// testSources queries the original files.
func testSources(l *lab) {
	im := NewImporter()
	f := im.File("g", "a", "r1", profile.CPU, "A")
	im.Add(f, profile.Alloc, "B")
	f.Source = []byte(strings.Repeat("\x00\xff'source", 10_000))
	l.put(f, im.File("g", "b", "r1", profile.CPU, "A"))
	l.check()
	if _, err := l.s.Source(l.ctx, "0123456789abcdef"); !errors.Is(err, store.ErrNoSource) {
		l.t.Errorf("Source of an unknown profile: %v", err)
	}
	// One profile of the file goes, the other keeps its source.
	gone := store.IDOf(f.Benchmark, "r1", profile.CPU)
	l.delete(gone)
	if _, err := l.s.Source(l.ctx, gone); !errors.Is(err, store.ErrNoSource) {
		l.t.Errorf("Source of a deleted profile: %v", err)
	}
	l.check()
	l.compact()
	l.reopen()
	l.check()
}
