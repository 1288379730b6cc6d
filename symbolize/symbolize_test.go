package symbolize

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/inputs"
	"github.com/dendroprof/dendro/test/readtest"
)

// compile builds a program from files of testdata and returns its path below dir.
func compile(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out := filepath.Join(dir, "shop")
	var cmd *exec.Cmd
	if args[0] == "go" {
		cmd = exec.Command("go", append([]string{"build", "-o", out}, args[1:]...)...)
		cmd.Dir = "testdata/goshop"
	} else {
		cmd = exec.Command(args[0], append([]string{"-o", out}, args[1:]...)...)
		cmd.Dir = "testdata"
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		t.Skip(err)
	}
	inputs.Files(cmd.Dir)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, text)
	}
	return out
}

// addr2line returns what addr2line says of addresses: functions with places, innermost
// first.
func addr2line(t *testing.T, file string, addresses []uint64) [][]string {
	t.Helper()
	cmd := exec.Command("addr2line", "-a", "-f", "-C", "-i", "-e", file)
	var in bytes.Buffer
	for _, a := range addresses {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Skip(err)
	}
	var all [][]string
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		if strings.HasPrefix(s.Text(), "0x") {
			all = append(all, nil)
			continue
		}
		function := s.Text()
		s.Scan()
		place, _, _ := strings.Cut(s.Text(), " (discriminator")
		all[len(all)-1] = append(all[len(all)-1], function+" "+place)
	}
	return all
}

// TestAddr2line compares every address of the functions of programs with addr2line. At
// some places addr2line has the name of the caller with the place of the inlined function;
// so few names may differ, but no place.
func TestAddr2line(t *testing.T) {
	for _, args := range [][]string{
		{"g++", "-g", "-O2", "shop.cpp"}, {"g++", "-gdwarf-4", "-O2", "-no-pie", "shop.cpp"}, {"gcc", "-g", "-O2", "-shared", "-fPIC", "fast.c"},
		{"g++", "-O2", "shop.cpp"},
	} {
		file := compile(t, t.TempDir(), args...)
		b := New([]string{"/"}).binary(profile.Module{Path: file})
		var addresses []uint64
		for _, s := range b.symbols {
			if b.code.Sections[s.Section].Name == ".text" && !strings.HasPrefix(s.Name, "_GLOBAL__sub") {
				for a := s.Value; a < s.Value+s.Size; a++ {
					addresses = append(addresses, a)
				}
			}
		}
		names := 0
		for i, want := range addr2line(t, file, addresses) {
			got := []string{}
			for _, c := range b.lookup(addresses[i]) {
				place := "??:?"
				if c.file != "" {
					place = strings.ReplaceAll(fmt.Sprintf("%s:%d", c.file, c.line), ":0", ":?")
				}
				got = append([]string{c.name + " " + place}, got...)
			}
			for j := range min(len(want), len(got)) {
				if strings.HasSuffix(want[j], ":?") {
					want[j] = strings.TrimSuffix(want[j], place(want[j])) + "??:?" // a file without lines
				}
				if want[j] != got[j] && place(want[j]) == place(got[j]) {
					want[j] = got[j]
					names++
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%q, %#x: %s", args, addresses[i], diff)
			}
		}
		if len(addresses) < 50 || names > 5 {
			t.Errorf("%q: %d addresses, %d other names", args, len(addresses), names)
		}
	}
}

// place returns what stands behind the function: names hold blanks, paths here do not.
func place(text string) string { return text[strings.LastIndexByte(text, ' ')+1:] }

// at returns a profile with a sample of 1 of a stack of addresses, outermost first.
func at(m profile.Module, addresses ...uint64) *profile.Profile {
	p := profile.New(nil)
	p.Tables = []profile.Samples{{Type: profile.NamedType(profile.CPUSamples)}}
	stack := profile.NoStack
	for _, a := range addresses {
		fn := p.Symbols.Function(profile.Function{Name: fmt.Sprintf("%#x", a), Module: filepath.Base(m.Path)})
		stack = p.Symbols.Stack(stack, p.Symbols.Frame(profile.Frame{Function: fn, Address: a, Module: p.Symbols.Module(m)}))
	}
	p.Tables[0].Add(stack, 1)
	return p
}

// symbolAt returns the address of a function in a file.
func symbolAt(t *testing.T, file, name string) uint64 {
	t.Helper()
	for _, s := range functions(openELF(file, "")) {
		if s.Name == name {
			return s.Value
		}
	}
	t.Fatalf("no %s in %s", name, file)
	return 0
}

// TestApply names a stack of a mapped program by path, by build id and by the name of the
// file, with the file stripped and its debug information beside it, too.
func TestApply(t *testing.T) {
	dir := t.TempDir()
	file := compile(t, dir, "g++", "-g", "-O2", "shop.cpp")
	id := buildIDOf(openELF(file, ""))
	post, price := symbolAt(t, file, "_ZN4shop6Ledger4postEi.isra.0"), symbolAt(t, file, "_ZN4shop5priceEi")
	mapped := profile.Module{Path: "/srv/shop", BuildID: strings.ToUpper(id), Start: 0x7f0000000000, Limit: 0x7f0000100000}
	const base = 0x7f0000000000
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	stripped := filepath.Join(dir, "stripped")
	if out, err := exec.Command("strip", "-o", stripped, file).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	small, err := os.ReadFile(stripped)
	if err != nil {
		t.Fatal(err)
	}
	split := filepath.Join(id[:2], id[2:])
	for name, files := range map[string]map[string][]byte{
		"path":       {"srv/shop": content},
		"name":       {"shop": content},
		"build id":   {".build-id/" + split: content},
		"debug":      {".build-id/" + split + ".debug": content},
		"debuginfod": {id + "/debuginfo": content},
		"stripped":   {"srv/shop": small, "usr/lib/debug/.build-id/" + split + ".debug": content},
		"two":        {"shop": small, id + "/debuginfo": content},
	} {
		root := t.TempDir()
		for file, content := range files {
			file = filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, content, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		p := at(mapped, base+post+4, base+price+4)
		New([]string{t.TempDir(), root}).Apply(p)
		s := p.Symbols
		got := readtest.Callers(s, p.Tables[0].Stack[0])
		if !strings.Contains(got, "shop::price(int) ") || !strings.Contains(got, ";shop::Ledger::post(int) ") ||
			!strings.Contains(got, "shop.cpp:") || len(p.Warnings) != 0 {
			t.Errorf("%s: %s %v", name, got, p.Warnings)
		}
		leaf := s.Frames[s.Leaf(p.Tables[0].Stack[0])]
		if m := s.Modules[leaf.Module]; !m.HasFunctions || !m.HasLineNumbers || s.Functions[leaf.Function].Module != "shop" ||
			leaf.Address != base+price+4 {
			t.Errorf("%s: %+v in %+v", name, leaf, m)
		}
		if err := p.Check(); err != nil {
			t.Error(err)
		}
	}
	p := at(profile.Module{Path: "/srv/shop", BuildID: "0123"}, 0x10)
	New([]string{dir}).Apply(p) // dir has a file of another build
	if got := readtest.Callers(p.Symbols, p.Tables[0].Stack[0]); got != "0x10 :0" || len(p.Warnings) != 1 ||
		!strings.Contains(p.Warnings[0].Message, "no file for the symbols of /srv/shop") {
		t.Error(got, p.Warnings)
	}
}

// TestReturns looks up the call of a return address, and of a place the place itself.
func TestReturns(t *testing.T) {
	file := compile(t, t.TempDir(), "g++", "-g", "-O2", "shop.cpp")
	post := symbolAt(t, file, "_ZN4shop6Ledger4postEi.isra.0")
	for returns, want := range map[bool]string{true: "_start", false: "shop::Ledger::post(int)"} {
		m := profile.Module{Path: file}
		p := at(m, post, post)
		p.ReturnAddresses = returns
		p.Tables[0].Add(p.Symbols.Parent(p.Tables[0].Stack[0]), 1) // the same place where a sample ends
		New([]string{"/"}).Apply(p)
		s := p.Symbols
		caller := s.Parent(p.Tables[0].Stack[0])
		if name := s.Functions[s.Frames[s.Leaf(caller)].Function].Name; (name == "shop::Ledger::post(int)") == returns {
			t.Errorf("%v: caller %s, want %s", returns, name, want)
		}
		if leaf := p.Tables[0].Stack[1]; s.Functions[s.Frames[s.Leaf(leaf)].Function].Name != "shop::Ledger::post(int)" {
			t.Errorf("%v: %s", returns, readtest.DescribeStack(s, leaf))
		}
	}
}

// TestGo names a program of Go with its DWARF and, without, by its own tables.
func TestGo(t *testing.T) {
	for _, flags := range []string{"", "-s -w"} {
		file := compile(t, t.TempDir(), "go", "-ldflags="+flags, ".")
		b := New([]string{"/"}).binary(profile.Module{Path: file})
		fn := b.goTable.LookupFunc("main.price")
		if fn == nil {
			t.Fatal("no main.price")
		}
		inlined := false
		for pc := fn.Entry; pc < fn.End; pc++ {
			calls := b.lookup(pc)
			c := calls[0]
			if c.line == 0 {
				continue // between two functions
			}
			if c.name != "main.price" || c.kind != profile.KindGo || !strings.HasSuffix(c.file, "goshop/main.go") ||
				c.line < 9 && (c.line != 6 || flags == "") || c.line > 14 {
				t.Fatalf("%q: %#x: %+v", flags, pc, calls)
			}
			inlined = inlined || len(calls) == 2 && calls[1].name == "main.twice" && calls[1].line == 6
		}
		if inlined != (flags == "") {
			t.Errorf("%q: inlined calls: %v", flags, inlined)
		}
	}
}

// TestDamaged reads files that are damaged: they may have no names, but cause no panic.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	file := compile(t, dir, "gcc", "-g", "-O2", "-shared", "-fPIC", "fast.c")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	code := symbolAt(t, file, "shipping")
	for bad := range readtest.Damaged(content, 300) {
		if err := os.WriteFile(file, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		p := at(profile.Module{Path: file}, code, code+5, code+30)
		New([]string{"/"}).Apply(p)
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzApply reads content as the file of a program and as the map of a JIT compiler.
func FuzzApply(f *testing.F) {
	dir := f.TempDir()
	for _, args := range [][]string{{"gcc", "-g", "-O2", "-shared", "-fPIC", "-nostdlib", "fast.c"},
		{"gcc", "-g", "-gdwarf-3", "-O2", "-c", "fast.c"}} {
		content, err := os.ReadFile(compile(f, dir, args...))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content, uint64(0x1010), uint64(0x20))
	}
	f.Add([]byte("1000 20 old\n2000 10 LazyCompile:~hot a.js:3\nwhat\n"), uint64(0x2004), uint64(0x1000))
	f.Fuzz(func(t *testing.T, content []byte, address, offset uint64) {
		for _, name := range []string{"shop", "perf-7.map"} {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
				t.Fatal(err)
			}
			p := at(profile.Module{Path: "/tmp/" + name, Start: address &^ 0xfff, Limit: address + 0x1000, Offset: offset}, address, address+1)
			New([]string{dir}).Apply(p)
			if err := p.Check(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestMap names the code of a JIT compiler by its map: C++ names and others.
func TestMap(t *testing.T) {
	dir := t.TempDir()
	text := "1000 20 old\n2000 10 LazyCompile:~hot a.js:3\nwhat\n1000 20 Lshop/Cart;::add\n"
	if err := os.WriteFile(filepath.Join(dir, "perf-7.map"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	p := at(profile.Module{Path: "/tmp/perf-7.map", Start: 0x1000, Limit: 0x3000, Offset: 0x1000}, 0x2004, 0x1004, 0x1020)
	New([]string{dir}).Apply(p)
	if got := readtest.Callers(p.Symbols, p.Tables[0].Stack[0]); got != "0x1020 :0;Lshop/Cart;::add :0;LazyCompile:~hot a.js:3 :0" {
		t.Error(got)
	}
}

func TestUnnamed(t *testing.T) {
	for name, want := range map[string]bool{"": true, "0x1f": true, "[unknown]": true, "???": true, "0x": false, "0xen": false, "main": false,
		"[libc.so.6]": false} {
		if unnamed(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

func TestSuggest(t *testing.T) {
	for _, tt := range []struct {
		module  string
		address uint64
		want    int // warnings
	}{{"/srv/shop", 0x1100, 1}, {"/srv/shop", 0, 0}, {"[vdso]", 0x1100, 0}, {"", 0x1100, 0}} {
		p := at(profile.Module{Path: tt.module}, tt.address)
		if Suggest(p); len(p.Warnings) != tt.want {
			t.Errorf("%s %#x: %d warnings, want %d", tt.module, tt.address, len(p.Warnings), tt.want)
		} else if tt.want > 0 && !strings.Contains(p.Warnings[0].Message, "1 of 1 stacks end at addresses without a name, in /srv/shop: --symbols") {
			t.Error(p.Warnings[0])
		}
	}
}
