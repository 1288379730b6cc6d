package callpath_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/calltree/callpath"
	"github.com/dendroprof/dendro/test/proftest"
)

func find(t *testing.T, pattern string, tree *calltree.Tree) (self, total int64) {
	t.Helper()
	p, err := callpath.Parse(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return sum(p, tree)
}

// sample is a stack, outermost first, with its value.
type sample struct {
	stack []string
	value int64
}

// samples draws up to 12 samples over five functions; values between low and 6.
func samples(low int64) *rapid.Generator[[]sample] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sample {
		return sample{
			stack: rapid.SliceOfN(rapid.SampledFrom([]string{"E", "A", "D", "B", "C"}), 0, 6).Draw(t, "stack"),
			value: rapid.Int64Range(low, 6).Draw(t, "value"),
		}
	}), 0, 12)
}

func toTree(list []sample) *calltree.Tree {
	p := proftest.Columns("")
	for _, x := range list {
		p.Tables[0].Add(proftest.Stack(p.Symbols, x.stack...), x.value)
	}
	return calltree.FromProfile(p, 0)
}

// sum returns self and total of a pattern in a tree.
func sum(p *callpath.Pattern, t *calltree.Tree) (self, total int64) {
	v := calltree.Vector{Self: t.Self}
	for n := range t.Self {
		v.Nodes = append(v.Nodes, int32(n))
	}
	return p.Spans(t.Table).Sum(v)
}

func TestPatterns(t *testing.T) {
	trees := map[string]*calltree.Tree{
		"chain": proftest.Tree(`
			×1  ×2  ×4  ×8  ×16  ×32
			A   A   A   B   A    C
			    B   X   A   B    A
			        B   B   X    X
			                B    C
		`),
		"recursion": proftest.Tree(`
			×1  ×2  ×4  ×8
			A   A   A   B
			A   B   B   B
			A   A
			    B
		`),
		"odd names": proftest.Tree(`
			×1               ×2                ×4    ×8    ×16          ×32   ×64
			main.(*Cart).Do  main.(*Cart).Dot  a;b   a\b   main.xCartx  /x/   $
			f                f                 f     f     f            f     f
		`),
	}
	for _, c := range []struct {
		tree, pattern string
		self, total   int64
	}{
		// A function anywhere.
		{"chain", "A", 1, 1 + 2 + 4 + 8 + 16 + 32},
		{"chain", "B", 2 + 4 + 8 + 16, 2 + 4 + 8 + 16},
		{"chain", "X", 0, 4 + 16 + 32},
		{"chain", "none", 0, 0},
		// A call.
		{"chain", "A;B", 2 + 8, 2 + 8 + 16},
		{"chain", "A;X", 0, 4 + 32},
		{"chain", "B;A;B", 8, 8},
		{"chain", "B;C", 0, 0},
		// Below, at any distance.
		{"chain", "A;**;B", 2 + 4 + 8 + 16, 2 + 4 + 8 + 16},
		{"chain", "A;**;**;B", 2 + 4 + 8 + 16, 2 + 4 + 8 + 16},
		{"chain", "C;**;C", 32, 32},
		{"chain", "A;**;X;B", 4 + 16, 4 + 16},
		{"chain", "A;B;**;B", 16, 16}, // the frame behind A;B may be the next one only if it is another B
		// A gap at an end adds the frames before or behind.
		{"chain", "**;B", 2 + 4 + 8 + 16, 2 + 4 + 8 + 16},
		{"chain", "X;**", 4 + 16 + 32, 4 + 16 + 32},
		{"chain", "A;**", 1 + 2 + 4 + 8 + 16 + 32, 1 + 2 + 4 + 8 + 16 + 32},
		// Anchors.
		{"chain", "^;A", 1, 1 + 2 + 4 + 16},
		{"chain", "^;B", 0, 8},
		{"chain", "^;A;B", 2, 2 + 16},
		{"chain", "^;**;A", 1, 1 + 2 + 4 + 8 + 16 + 32},
		{"chain", "A;$", 1, 1},
		{"chain", "B;$", 2 + 4 + 8 + 16, 2 + 4 + 8 + 16},
		{"chain", "A;B;$", 2 + 8, 2 + 8},
		{"chain", "A;**;$", 1 + 2 + 4 + 8 + 16 + 32, 1 + 2 + 4 + 8 + 16 + 32},
		{"chain", "^;A;$", 1, 1},
		{"chain", "^;A;**;B;$", 2 + 4 + 16, 2 + 4 + 16},
		{"chain", "^;B;B;$", 0, 0},
		// Recursion counts once.
		{"recursion", "A", 1, 1 + 2 + 4},
		{"recursion", "A;A", 1, 1},
		{"recursion", "A;A;A", 1, 1},
		{"recursion", "A;B", 2 + 4, 2 + 4},
		{"recursion", "A;**;B", 2 + 4, 2 + 4},
		{"recursion", "B", 2 + 4 + 8, 2 + 4 + 8},
		{"recursion", "A;**", 1 + 2 + 4, 1 + 2 + 4},
		// Globs match whole names.
		{"chain", "?", 1 + 2 + 4 + 8 + 16 + 32, 1 + 2 + 4 + 8 + 16 + 32},
		{"chain", "?;?", 2 + 4 + 8 + 16 + 32, 2 + 4 + 8 + 16 + 32},
		{"chain", "*;B", 2 + 4 + 8 + 16, 2 + 4 + 8 + 16},
		{"odd names", "main.*", 0, 1 + 2 + 16},
		{"odd names", "main", 0, 0},
		// An exact name goes before a glob: this one is no pattern for main.xCartx.
		{"odd names", "main.(*Cart).Do", 0, 1},
		{"odd names", "main.(*Cart).D?", 0, 1}, // a glob again
		{"odd names", "main.?*Cart).D?", 0, 1},
		{"odd names", "main.*Cart*", 0, 1 + 2 + 16},
		// Escapes.
		{"odd names", `a\;b`, 0, 4},
		{"odd names", `a\\b`, 0, 8},
		{"odd names", `a\;b;f`, 4, 4},
		{"odd names", `?\;?`, 0, 4},
		{"odd names", `a\b`, 0, 8}, // any other \ stands for itself
		// Regular expressions match any part of a name.
		{"odd names", `/Cart/`, 0, 1 + 2 + 16},
		{"odd names", `/Do$/`, 0, 1},
		{"odd names", `/^a;b$/`, 0, 4},
		{"odd names", `/a;b|Dot/;f`, 2 + 4, 2 + 4},
		{"odd names", `/\.Do/;**`, 1 + 2, 1 + 2},
		{"odd names", `/x/`, 0, 32},               // an exact name after all
		{"odd names", `/y/`, 0, 0},                //
		{"odd names", `//`, 0, 0},                 // no expression, a name of two slashes
		{"odd names", `/Cart`, 0, 0},              // a name that begins with a slash
		{"odd names", `**;$;f`, 64, 64},           // not at the end, $ is a name
		{"odd names", `^;$;f`, 64, 64},            //
		{"odd names", `/(?i)CART/;/^f$/`, 19, 19}, //
	} {
		t.Run(c.tree+" "+c.pattern, func(t *testing.T) {
			self, total := find(t, c.pattern, trees[c.tree])
			if self != c.self || total != c.total {
				t.Errorf("self %d, total %d; want %d, %d", self, total, c.self, c.total)
			}
		})
	}
}

func TestPatternErrors(t *testing.T) {
	for _, c := range []struct{ pattern, want string }{
		{"", `pattern "": an empty piece`},
		{";", `pattern ";": an empty piece`},
		{"A;", `pattern "A;": an empty piece`},
		{";A", `pattern ";A": an empty piece`},
		{"A;;B", `pattern "A;;B": an empty piece`},
		{"**", `pattern "**" names no function`},
		{"^", `pattern "^" names no function`},
		{"^;$", `pattern "^;$" names no function`},
		{"^;**;$", `pattern "^;**;$" names no function`},
		{`A\`, `pattern "A\\": a single \ at the end`},
		{"/a(/", "pattern \"/a(/\": error parsing regexp: missing closing ): `a(`"},
		{strings.Repeat("A;", 62) + "A", `has more than 62 pieces`},
	} {
		_, err := callpath.Parse(c.pattern)
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.pattern, err, c.want)
		}
	}
}

func TestPatternOfManyPieces(t *testing.T) {
	tree := proftest.Tree(strings.Repeat("A\n", 70))
	for _, gap := range []string{";", ";**;"} {
		pattern := strings.Repeat("A"+gap, 61) + "A"
		if self, total := find(t, pattern, tree); self != 1 || total != 1 {
			t.Errorf("62 pieces with %q: self %d, total %d", gap, self, total)
		}
		if self, total := find(t, "^;"+pattern+";**;$", tree); self != 1 || total != 1 {
			t.Errorf("62 pieces with %q and gaps at the ends: self %d, total %d", gap, self, total)
		}
	}
}

func TestPatternSingle(t *testing.T) {
	for pattern, want := range map[string]bool{
		"A": true, "A*": true, "/A/": true, `a\;b`: true, "A;B": false, "^;A": false, "A;$": false, "**;A": false, "A;**": false,
	} {
		p, err := callpath.Parse(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if p.Single() != want {
			t.Errorf("%s: %v", pattern, !want)
		}
	}
}

// drawPattern draws a pattern over the functions A to E, and the regular
// expression over their letters that says the same: the naive matcher.
func drawPattern(t *rapid.T) (text, letters string, atEnd bool) {
	var pieces []string
	if rapid.Bool().Draw(t, "start") {
		pieces, letters = append(pieces, "^"), "^"
	}
	named := false
	for _, p := range rapid.SliceOfN(rapid.SampledFrom([]string{"A", "B", "C", "?", "*", "/[AB]/", "/^D|E$/", "**", "**"}), 1, 5).Draw(t,
		"pieces") {
		pieces = append(pieces, p)
		named = named || p != "**"
		letters += map[string]string{"**": ".*", "*": ".", "?": ".", "/[AB]/": "[AB]", "/^D|E$/": "[DE]"}[p]
		if len(p) == 1 && p != "?" && p != "*" {
			letters += p
		}
	}
	if !named {
		pieces, letters = append(pieces, "A"), letters+"A"
	}
	if atEnd = rapid.Bool().Draw(t, "end"); atEnd {
		pieces = append(pieces, "$")
	}
	return strings.Join(pieces, ";"), letters, atEnd
}

func TestPatternMatchesNaively(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := samples(-6).Draw(t, "samples")
		text, letters, atEnd := drawPattern(t)
		within, ending := regexp.MustCompile(letters), regexp.MustCompile("(?:"+letters+")$")
		var self, total int64
		for _, x := range list {
			stack := strings.Join(x.stack, "")
			if len(x.stack) == 0 {
				continue
			}
			if ending.MatchString(stack) {
				self += x.value
			}
			if within.MatchString(stack) {
				total += x.value
			}
		}
		if atEnd {
			total = self
		}
		p, err := callpath.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if gotSelf, gotTotal := sum(p, toTree(list)); gotSelf != self || gotTotal != total {
			t.Fatalf("%s: self %d, total %d; naively (%s) %d, %d", text, gotSelf, gotTotal, letters, self, total)
		}
	})
}

func TestPatternMatchMarksWhereMatchesEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := toTree(samples(1).Draw(t, "samples"))
		text, letters, _ := drawPattern(t)
		p, err := callpath.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		ending := regexp.MustCompile("(?:" + letters + ")$")
		for n, got := range p.Match(tree.Table) {
			path := strings.Join(tree.Path(int32(n)), "")
			if want := ending.MatchString(path); got != want {
				t.Fatalf("%s: match ends at %s: %v, want %v", text, path, got, want)
			}
		}
	})
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		glob, text string
		want       bool
	}{
		{"*", "", true}, {"*", "anything\nat all", true}, {"a*c", "abc", true}, {"a*c", "xabc", false}, {"a?c", "ac", false},
		{"a?c", "aüc", true}, {"a.c", "abc", false}, {"[a]", "[a]", true}, {"a+", "a+", true}, {"", "", true}, {"", "a", false},
	} {
		if got := callpath.Glob(c.glob)(c.text); got != c.want {
			t.Errorf("%q on %q: %v", c.glob, c.text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"A;**;B", `^;a\;b;/x;y/;$`, "/(/", "//", `\`, "/;/", "**;^;$", "\xff*"} {
		f.Add(s)
	}
	tree := proftest.Tree("A  A  B\nB  C\nC")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := callpath.Parse(text)
		if err != nil {
			return
		}
		if self, total := sum(p, tree); self < 0 || total < self || total > 3 {
			t.Errorf("%q: self %d, total %d", text, self, total)
		}
	})
}

func ExamplePattern() {
	tree := proftest.Tree(`
		main   main   main
		parse  parse  sort
		alloc
	`)
	p, err := callpath.Parse("main;**;alloc")
	if err != nil {
		fmt.Println(err)
		return
	}
	self, total := sum(p, tree)
	fmt.Println(self, total)
	// Output: 1 1
}

func TestUnderKeepsWhatIsBelowAMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := samples(-6).Draw(t, "samples")
		text, letters, atEnd := drawPattern(t)
		p, err := callpath.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		// Naively: a stack begins at the last frame of its outermost match.
		ending := regexp.MustCompile("(?:" + letters + ")$")
		want := map[string][2]int64{} // self and total by path
		for _, x := range list {
			for n := 1; n <= len(x.stack); n++ {
				if atEnd && n < len(x.stack) || !ending.MatchString(strings.Join(x.stack[:n], "")) {
					continue
				}
				for end := n; end <= len(x.stack); end++ {
					path := strings.Join(x.stack[n-1:end], ";")
					v := want[path]
					if v[1] += x.value; end == len(x.stack) {
						v[0] += x.value
					}
					want[path] = v
				}
				break
			}
		}
		under := p.Under(toTree(list))
		if err := under.Check(); err != nil {
			t.Fatal(err)
		}
		// Other nodes have no sample: a match may end anywhere.
		for n := range int32(under.Len()) {
			path := strings.Join(under.Path(n), ";")
			if got := [2]int64{under.Self[n], under.Total[n]}; got != want[path] {
				t.Fatalf("%s: %s is %v, want %v", text, path, got, want[path])
			}
			delete(want, path)
		}
		for path, v := range want {
			if v != [2]int64{} {
				t.Fatalf("%s: %s is missing, want %v", text, path, v)
			}
		}
	})
}

// TestShapes: alternatives of names, and functions by what they call.
func TestShapes(t *testing.T) {
	tree := proftest.Tree(`
		×1  ×2  ×4  ×8  ×16  ×32
		A   A   A   M   M    M
		B   B   X   A   A    a|b
		C   D   A   B   C    C
		        B
	`)
	for _, c := range []struct {
		pattern, callees string
		self, total      int64
	}{
		{"C|D", "", 1 + 2 + 16 + 32, 1 + 2 + 16 + 32},
		{"A;B|C", "", 4 + 8 + 16, 1 + 2 + 4 + 8 + 16},
		{"M;**;B|C;$", "", 8 + 16 + 32, 8 + 16 + 32},
		{"M;a|b", "", 0, 32}, // a name, before alternatives
		{"A", "B", 0, 31},
		{"A", "B X", 0, 7},
		{"A", "B C", 0, 24},
		{"A|B", "C D", 0, 3},
		{"A", "B|C D", 0, 0},
		{"M;A", "/^[BC]$/", 0, 24},
		{"A", "nothing", 0, 0},
	} {
		p, err := callpath.Parse(c.pattern)
		if err == nil {
			err = p.Calling(strings.Fields(c.callees)...)
		}
		if err != nil {
			t.Fatal(err)
		}
		if self, total := sum(p, tree); self != c.self || total != c.total {
			t.Errorf("%s calling %q: %d of %d, want %d of %d", c.pattern, c.callees, self, total, c.self, c.total)
		}
	}
	// A callee counts in the profile whose samples have it.
	p, _ := callpath.Parse("A")
	if err := p.Calling("X"); err != nil {
		t.Fatal(err)
	}
	spans := p.Spans(tree.Table)
	leaf := slices.IndexFunc(tree.Self, func(v int64) bool { return v == 1 })
	if self, total := spans.Sum(calltree.Vector{Nodes: []int32{int32(leaf)}, Self: []int64{5}}); self != 0 || total != 0 {
		t.Errorf("a profile without X: %d of %d", self, total)
	}
	if err := p.Calling("/(/"); err == nil {
		t.Error("a broken expression is accepted")
	}
}
