package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/calltree/diff"
	"github.com/dendroprof/dendro/profile"
)

// ofFunctions is a tree with one root and one sample per function.
func ofFunctions(functions []profile.Function) *calltree.Tree {
	p := profile.New(nil)
	p.Tables = []profile.Samples{{Type: profile.NamedType(profile.CPUSamples)}}
	for _, f := range functions {
		p.Tables[0].Add(p.Symbols.Stack(profile.NoStack, p.Symbols.Frame(profile.Frame{Function: p.Symbols.Function(f)})), 1)
	}
	return calltree.FromProfile(p, 0)
}

// parseFunction reads `name module!file:line`; all but the name may be missing.
func parseFunction(text string) (f profile.Function) {
	name, place, _ := strings.Cut(text, " ")
	if strings.HasPrefix(place, "(/") { // a script's
		file, rest, _ := strings.Cut(place, " ")
		name, place = name+" "+file, rest
	}
	f.Name = name
	if module, rest, ok := strings.Cut(place, "!"); ok {
		f.Module, place = module, rest
	}
	if i := strings.LastIndexByte(place, ':'); i >= 0 {
		fmt.Sscan(place[i+1:], &f.StartLine)
		place = place[:i]
	}
	f.File = place
	return f
}

func parseFunctions(list string) (functions []profile.Function) {
	for text := range strings.SplitSeq(list, ", ") {
		functions = append(functions, parseFunction(text))
	}
	return functions
}

// drawMatch lists the functions of a diff: `=` on both sides, `-` on the base
// only, `+` on the head side only.
func drawMatch(d *diff.Diff) string {
	var lines []string
	for n := range int32(d.Len()) {
		f := d.Functions[d.Func[n]]
		mark := map[diff.Presence]string{diff.OnBoth: "=", diff.Vanished: "-", diff.OnlyHead: "+"}[d.Total(n).Presence()]
		line := fmt.Sprintf("%s%s %s", mark, f.Name, f.File)
		if f.StartLine != 0 {
			line += fmt.Sprintf(":%d", f.StartLine)
		}
		lines = append(lines, strings.TrimSuffix(line, " "))
	}
	return strings.Join(lines, ", ")
}

func TestMatching(t *testing.T) {
	for _, x := range []struct{ why, base, head, want string }{
		{"a function that moved within its file is one", "f a.c:10", "f a.c:14", "=f a.c:14"},
		{"one name in two files is two", "f a.c:10", "f b.c:10", "-f a.c:10, +f b.c:10"},
		{"one name in two modules is two", "f liba.so!x.c", "f libb.so!x.c", "-f x.c, +f x.c"},
		{"two in one file keep their order when both moved",
			"(anonymous) a.js:10, (anonymous) a.js:20", "(anonymous) a.js:12, (anonymous) a.js:22", "=(anonymous) a.js:12, =(anonymous) a.js:22"},
		{"one that stayed is not taken for one that moved",
			"g a.js:10, g a.js:20", "g a.js:20, g a.js:30", "=g a.js:20, =g a.js:30"},
		{"one more in the file", "g a.js:10", "g a.js:10, g a.js:20", "=g a.js:10, +g a.js:20"},
		{"another checkout", "f /home/x/src/a.c:1", "f /build/7/src/a.c:2", "=f /build/7/src/a.c:2"},
		{"another version of a module", "f /m/bar@v1.2.3/a.go:1", "f /m/bar@v1.3.0/a.go:1", "=f /m/bar@v1.3.0/a.go:1"},
		{"of two candidates none is taken", "f /x/src/a.c:1, f /y/src/a.c:1", "f /z/src/a.c:1",
			"-f /x/src/a.c:1, -f /y/src/a.c:1, +f /z/src/a.c:1"},
		{"another version of a library", "f /lib/libc.so.6!", "f /lib64/libc.so.7!", "=f"},
		{"a temporary directory", "f /tmp/build1/x.test!/src/x/a.go:3", "f /tmp/build2/x.test!/src/x/a.go:3", "=f /src/x/a.go:3"},
		{"one side does not know files", "f a.c:10", "f", "=f a.c:10"},
		{"one side does not know files, and there are two", "f a.c:10, f b.c:10", "f", "+f, -f a.c:10, -f b.c:10"},
		{"the top of another checkout", "f /w/old/main.c:1", "f /w/new/main.c:2", "=f /w/new/main.c:2"},
		{"another checkout, with namesakes",
			"f /w/old/a.c:1, f /w/old/x/a.c:1, g /w/old/b.c:9", "f /w/new/a.c:2, f /w/new/x/a.c:2, g /w/new/b.c:9",
			"=f /w/new/a.c:2, =f /w/new/x/a.c:2, =g /w/new/b.c:9"},
		{"another checkout, a namesake in another file", "f /w/old/a.c:1, g /w/old/b.c:9", "f /w/new/c.c:1, g /w/new/b.c:9",
			"+f /w/new/c.c:1, -f /w/old/a.c:1, =g /w/new/b.c:9"},
		{"a name with its package, in another file", "shop.f /w/old/a.go:1", "shop.f /w/new/b.go:1", "=shop.f /w/new/b.go:1"},
		{"a script's name has its file", "f (/w/old/src/a.js) /w/old/src/a.js:1", "f (/w/new/src/a.js) /w/new/src/a.js:4",
			"=f (/w/new/src/a.js) /w/new/src/a.js:4"},
		{"another disk, other separators", `f C:\old\src\a.c:1, g C:\old\b.c:1`, "f /new/src/a.c:1, g /new/b.c:1",
			"=f /new/src/a.c:1, =g /new/b.c:1"},
		{"a program built under another name", "f old!a.c, g old!a.c", "f new!a.c, h new!b.c", "=f a.c, -g a.c, +h b.c"},
		{"a library built under another name", "f g-1.jar!, g g-1.jar!, h g-1.jar!", "f g-2.jar!, g g-2.jar!, h g-2.jar!", "=f, =g, =h"},
		{"two names", "f a.c:10", "g a.c:10", "-f a.c:10, +g a.c:10"},
	} {
		t.Run(x.why, func(t *testing.T) {
			base, head := ofFunctions(parseFunctions(x.base)), ofFunctions(parseFunctions(x.head))
			if got := drawMatch(compare(t, trees{base}, trees{head})); got != x.want {
				t.Errorf("got  %s\nwant %s", got, x.want)
			}
		})
	}
}

// Namesakes that stay apart are noted, and packages whose version differs.
func TestNotesOfMatching(t *testing.T) {
	for _, x := range []struct{ base, head, want string }{
		{"f a.c:1, g x.c", "f b.c:1, g x.c", "functions of one name in different files or modules of the two sides are compared apart: f (a.c and b.c)"},
		{"f liba.so!x.c", "f libb.so!x.c", "functions of one name in different files or modules of the two sides are compared apart: f (liba.so and libb.so)"},
		{"f a.c:1", "f a.c:1, f b.c:1", ""},
		{"f /w/old/a.c:1", "f /w/new/a.c:1", ""},
		{"x.org/bar.f /go/pkg/mod/x.org/bar@v1.2.3/a.go:1, x.org/bar.g x.org/bar@v1.2.3/b.go:1", "x.org/bar.f x.org/bar@v1.3.0/a.go:1, x.org/bar.g x.org/bar@v1.3.0/b.go:1", "versions differ: x.org/bar v1.2.3 → v1.3.0"},
		{"f g-1.jar!, g g-1.jar!, h g-1.jar!", "f g-2.jar!, g g-2.jar!, h g-2.jar!", "versions differ: g 1 → 2"},
	} {
		d := compare(t, trees{ofFunctions(parseFunctions(x.base))}, trees{ofFunctions(parseFunctions(x.head))})
		if got := strings.Join(d.Notes, "\n"); got != x.want {
			t.Errorf("%s against %s:\n%s\nwant %s", x.base, x.head, got, x.want)
		}
	}
}

// The net view follows Firefox Profiler: a line is identity there.
func TestNetTakesAMovedFunctionForTwo(t *testing.T) {
	net, err := diff.Net(ofFunctions(parseFunctions("f a.c:10")), ofFunctions(parseFunctions("f a.c:14")))
	if err != nil || net.Len() != 2 {
		t.Errorf("%d nodes, %v", net.Len(), err)
	}
}

func TestMatchingIsSymmetricAndOneToOne(t *testing.T) {
	one := rapid.Custom(func(t *rapid.T) profile.Function {
		return profile.Function{
			Name:      rapid.SampledFrom([]string{"f", "g"}).Draw(t, "name"),
			Module:    rapid.SampledFrom([]string{"", "", "/a/m.so.1", "/b/m.so.2", "n"}).Draw(t, "module"),
			File:      rapid.SampledFrom([]string{"", "/a/s/x.c", "/b/s/x.c", "y.c"}).Draw(t, "file"),
			StartLine: rapid.Int32Range(0, 3).Draw(t, "line"),
		}
	})
	functions := rapid.SliceOfNDistinct(one, 1, 10, func(f profile.Function) profile.Function { return f })
	rapid.Check(t, func(t *rapid.T) {
		a, b := ofFunctions(functions.Draw(t, "a")), ofFunctions(functions.Draw(t, "b"))
		ab, ba := compare(t, trees{a}, trees{b}), compare(t, trees{b}, trees{a})
		count := func(d *diff.Diff) map[diff.Presence]int {
			c := map[diff.Presence]int{}
			for n := range int32(d.Len()) {
				p := d.Total(n)
				if p.Base > 1 || p.Head > 1 {
					t.Fatalf("two functions of one side became one: %s", drawMatch(d))
				}
				c[p.Presence()]++
			}
			return c
		}
		x, y := count(ab), count(ba)
		if x[diff.OnBoth] != y[diff.OnBoth] || x[diff.OnlyHead] != y[diff.Vanished] ||
			x[diff.Vanished] != y[diff.OnlyHead] {
			t.Fatalf("%s and the other way %s", drawMatch(ab), drawMatch(ba))
		}
	})
}
