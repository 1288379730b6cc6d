package callgrind

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/proftest"
	"github.com/dendroprof/dendro/test/readtest"
)

// recorded are the real files in testdata.
var recorded = []string{"tree.callgrind.gz", "tree-instr-cache.callgrind.gz"}

func text(tb testing.TB, name string) string {
	tb.Helper()
	return string(readtest.File(tb, name))
}

func decode(text string) (*profile.Profile, error) {
	return NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{})
}

func mustDecode(tb testing.TB, text string) *profile.Profile {
	tb.Helper()
	p, err := decode(text)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func encode(tb testing.TB, p *profile.Profile, table int) string {
	tb.Helper()
	var b bytes.Buffer
	if err := Encode(&b, p, table); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// naive sums the costs of the first event per function with regular expressions.
// It takes positions as they come and knows name compression.
func naive(text string) map[string]readtest.Cost {
	costs, names := map[string]readtest.Cost{}, map[string]string{}
	position := regexp.MustCompile(`^c?fn=(?:(\(\d+\)) ?)?(.*)$`)
	line := regexp.MustCompile(`^(?:(?:0x[0-9a-f]+|\d+|[+-]\d+|\*)(?: |$))+`)
	instr := strings.Contains(text, "positions: instr line")
	fn, call := "", false
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if m := position.FindStringSubmatch(l); m != nil {
			name := m[2]
			if m[1] != "" && name == "" {
				name = names[m[1]]
			}
			if m[1] != "" {
				names[m[1]] = name
			}
			if l[0] == 'f' {
				fn = name
			}
			continue
		}
		if strings.HasPrefix(l, "calls=") {
			call = true
			continue
		}
		if !line.MatchString(l) {
			continue
		}
		words := strings.Fields(l)[1:]
		if instr {
			words = words[1:]
		}
		v := int64(0)
		if len(words) > 0 {
			v, _ = strconv.ParseInt(words[0], 10, 64)
		}
		c := costs[fn]
		if c.Total += v; !call {
			c.Self += v
		}
		costs[fn], call = c, false
	}
	return costs
}

func TestRecorded(t *testing.T) {
	for _, tt := range []struct {
		file, types, version string
		totals               []int64
		threads              int
	}{
		{"tree.callgrind.gz", "Ir/events", "3.19.0", []int64{379253}, 1},
		{"tree-instr-cache.callgrind.gz", "Ir/events Dr/events Dw/events I1mr/events D1mr/events D1mw/events ILmr/events DLmr/events DLmw/events", "3.19.0",
			[]int64{378799, 103461, 50392, 1209, 944, 683, 1193, 734, 654}, 2},
	} {
		text := text(t, tt.file)
		p := mustDecode(t, text)
		var types []string
		var totals []int64
		for i := range p.Tables {
			types = append(types, p.Tables[i].Type.Key())
			totals = append(totals, p.Tables[i].Total())
		}
		if got := strings.Join(types, " "); got != tt.types || !cmp.Equal(totals, tt.totals) || p.Profiler != "callgrind" ||
			p.ProfilerVersion != tt.version ||
			len(p.Threads) != tt.threads || !cmp.Equal(p.Comments, []string{"./tree"}) || len(p.Warnings) != 1 {
			t.Errorf("%s: %s, %v, %s %s, %d threads, %q, %v", tt.file, got, totals, p.Profiler, p.ProfilerVersion, len(p.Threads), p.Comments,
				p.Warnings)
		}
		want, got := naive(text), readtest.Costs(p, 0)
		for name, w := range want {
			g := got[name]
			recursive := strings.Contains(name, "'2") || strings.Contains(name, "_dl_") || name == "(below main)" // of which there are two
			if g.Self != w.Self || !recursive && (g.Total > w.Total+w.Total/100+100 || g.Total < w.Total-w.Total/100-100) {
				t.Errorf("%s: %s has %+v, want %+v", tt.file, name, g, w)
			}
		}
		if len(want) < 200 {
			t.Errorf("%s: %d functions compared", tt.file, len(want))
		}
		if !Sniff([]byte(text)) || !Sniff([]byte(strings.TrimPrefix(text, "# callgrind format\n"))) {
			t.Errorf("%s is not recognised", tt.file)
		}
	}
}

// draw draws the tree of a table.
func draw(p *profile.Profile, table int) string {
	tree, err := calltree.Merge(calltree.FromProfile(p, table))
	if err != nil {
		panic(err)
	}
	return proftest.Draw(tree)
}

func TestTexts(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"calls", "events: Ir\nfl=a.c\nfn=main\n1 10\ncfn=f\ncalls=1 5\n2 90\nfn=f\n5 90\n", `
			- main (total: 100, self: 10)
			  - f (total: 90, self: 90)`},
		{"two callers", `
			version: 1
			events: Ir
			fl=(1) a.c
			fn=(1) main
			1 10
			cfn=(2) a
			calls=1 5
			2 60
			cfn=(3) b
			calls=1 5
			3 120
			fn=(2)
			5 20
			cfn=(4) c
			calls=4 9
			6 40
			fn=(3)
			7 40
			cfn=(4)
			calls=8 9
			8 80
			fn=(4)
			9 120
			totals: 190`, `
			- main (total: 190, self: 10)
			  - b (total: 120, self: 40)
			    - c (total: 80, self: 80)
			  - a (total: 60, self: 20)
			    - c (total: 40, self: 40)`},
		{"positions", "positions: instr line\nevents: Ir Dr\nfn=f\n0x10 5 1 1\n+4 * 2\n* +3 4 7\n-0x4 -1 8\njump=3 0x10 5\n+1 1\njcnd=1/2 +3 *\n* *\n0x20 08 16\n", "- f (total: 31, self: 31)"},
		{"no calls, outside", "events: Ir\nfn=f\n5 7\nfn=g\n6 3\n", "- f (total: 7, self: 7)\n- g (total: 3, self: 3)"},
		{"recursion", "events: Ir\nfn=main\n1 1\ncfn=f\ncalls=1 2\n1 100\nfn=f\n2 100\ncfn=f\ncalls=9 2\n3 80\n", ""},
		{"a cycle alone", "events: Ir\nfn=f\n1 10\ncfn=g\ncalls=1 2\n1 10\nfn=g\n2 0\ncfn=f\ncalls=9 2\n3 20\n", ""},
		{"parts and files", "events: Ir\npart: 1\nob=/lib/x.so\nfl=a.c\nfn=f\n1 2\nfi=b.h\n9 3\nfe=a.c\n2 4\npart: 2\nevents: Dr Ir\nfn=f\n+1 100 5\n", "- f (total: 14, self: 14)"},
		{"parts with one head", "positions: instr line\nevents: Ir Dr\n\npart: 1\nthread: 1\nob=/lib/x.so\nfl=(1) a.c\nfn=(1) f\n0x10 1 2 0\ntotals: 2\n\npart: 2\nfn=(1)\n0x14 +2 40 3\n", "- f (total: 42, self: 42)"},
		{"objects", "events: Ir\nob=x\nfl=a.c\nfn=f\ncob=y\ncfi=b.c\ncfn=g\ncalls=1 0\n1 5\ncfn=f2\ncalls=1 0\n1 6\nob=y\nfl=b.c\nfn=g\n2 5\nob=x\nfl=a.c\nfn=f2\n3 6\n", `
			- f (total: 11, self: —)
			  - f2 (total: 6, self: 6)
			  - g (total: 5, self: 5)`},
	} {
		p, err := decode(proftest.Trim(tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := draw(p, 0); tt.want != "" && strings.TrimSpace(got) != strings.TrimSpace(proftest.Trim(tt.want)) {
			t.Errorf("%s:\n%s", tt.name, got)
		}
		if !Sniff([]byte(proftest.Trim(tt.text))) {
			t.Errorf("%s: not recognised", tt.name)
		}
		for name, w := range naive(proftest.Trim(tt.text)) {
			if got := readtest.Costs(p, 0)[name].Self; tt.name != "parts and files" && tt.name != "positions" && got != w.Self {
				t.Errorf("%s: %s has self %d, want %d", tt.name, name, got, w.Self)
			}
		}
	}
}

func TestLinesAndModules(t *testing.T) {
	p := mustDecode(t, "events: Ir\nob=/lib/x.so\nfl=a.c\nfn=f\n1 2\nfi=b.h\n9 3\n")
	s := p.Symbols
	var got []string
	for _, st := range p.Tables[0].Stack {
		fr := s.Frames[s.Leaf(st)]
		fn := s.Functions[fr.Function]
		got = append(got, fmt.Sprintf("%s %s:%d %s %s %v", fn.Name, fn.File, fr.Line, fn.Module, s.Modules[fr.Module].Path, fn.Kind))
	}
	if diff := cmp.Diff([]string{"f a.c:1 x.so /lib/x.so native", "f a.c:0 x.so /lib/x.so native"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestXdebug(t *testing.T) {
	p := mustDecode(t, "version: 1\ncreator: xdebug 3.1.0 (PHP 8.1.2)\ncmd: /srv/shop/index.php\npart: 1\npositions: line\n\nevents: Time_(10ns) Memory_(bytes)\n\n"+
		"fl=(1) php:internal\nfn=(1) php::strlen\n3 12 32\n\nfl=(2) /srv/shop/index.php\nfn=(2) {main}\n1 500 16\ncfl=(1)\ncfn=(1)\ncalls=1 0 0\n3 12 32\n")
	if p.Profiler != "xdebug" || p.ProfilerVersion != "3.1.0" || p.Tables[0].Type.Key() != "wall/nanoseconds" || p.Tables[0].Total() != 5120 ||
		p.Tables[1].Type.Key() != "Memory/bytes" || p.Tables[1].Total() != 48 || p.Symbols.Functions[0].Kind != profile.KindPHP {
		t.Errorf("%s %s: %s %d, %s %d", p.Profiler, p.ProfilerVersion, p.Tables[0].Type.Key(), p.Tables[0].Total(), p.Tables[1].Type.Key(),
			p.Tables[1].Total())
	}
	want := "- {main} (total: 5120, self: 5000)\n  - php::strlen (total: 120, self: 120)\n"
	if got := draw(p, 0); strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Error(got)
	}
}

func TestErrors(t *testing.T) {
	const head = "events: Ir\nfn=f\n"
	for _, tt := range []struct {
		name, text string
		is         error
		line       int
	}{
		{"version", "version: 2\n", profile.ErrUnsupported, 1},
		{"no events", "fn=f\n1 2\n", profile.ErrMalformed, 2},
		{"nothing", "", profile.ErrMalformed, 0},
		{"no function", "events: Ir\n1 2\n", profile.ErrMalformed, 2},
		{"columns", head + "1 2 3\n", profile.ErrMalformed, 3},
		{"cost", head + "1 -3\n", profile.ErrMalformed, 3},
		{"position", head + "1x 3\n", profile.ErrMalformed, 3},
		{"name", "events: Ir\nfn=(7)\n", profile.ErrMalformed, 2},
		{"call", head + "calls=1 2\n1 2\n", profile.ErrMalformed, 3},
		{"end", head + "cfn=g\ncalls=1 2\n", profile.ErrMalformed, 4},
		{"key", head + "xyz=1\n", profile.ErrMalformed, 3},
		{"words", head + "what is this\n", profile.ErrMalformed, 3},
		{"sum", head + "1 9223372036854775807\n1 1\n", profile.ErrMalformed, 4},
		{"sum of lines", head + "1 9223372036854775807\n2 1\n", profile.ErrMalformed, 4},
		{"events", "events:" + strings.Repeat(" ", 3) + "\n", profile.ErrMalformed, 1},
		{"positions", "positions: a b c\n", profile.ErrMalformed, 1},
	} {
		p, err := decode(tt.text)
		var pe *profile.ParseError
		if p != nil || !errors.As(err, &pe) || !errors.Is(err, tt.is) || pe.Line != tt.line {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestMemory reads small files made to be expensive: functions with as many
// contexts as there are ways through a ladder, and lines in all of them.
func TestMemory(t *testing.T) {
	var b strings.Builder
	b.WriteString("events: Ir\n")
	for i := range 40 {
		for _, side := range []string{"a", "b"} {
			fmt.Fprintf(&b, "fn=%s%d\n1 1000000000\n", side, i)
			for _, callee := range []string{"a", "b"} {
				fmt.Fprintf(&b, "cfn=%s%d\ncalls=1 0\n2 %d000000000\n", callee, i+1, 40-i)
			}
		}
	}
	for _, name := range []string{"a40", "b40"} {
		b.WriteString("fn=" + name + "\n")
		for line := range 5000 {
			fmt.Fprintf(&b, "%d 1000000\n", line)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p := mustDecode(t, b.String())
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 512*uint64(b.Len())+64<<20 {
		t.Errorf("%d bytes for a text of %d", used, b.Len())
	}
	if got := p.Tables[0].Total(); got != 80*1000000000+2*5000*1000000 {
		t.Errorf("total %d", got)
	}
}

func TestSniffOthers(t *testing.T) {
	for _, text := range []string{"", "a;b 1\n", "events: x\n", "fn=main\n1 2\n", "http://x: y\nfn=\n", "events: a\nwhat: b = c\nx\nfn=1\n"} {
		if Sniff([]byte(text)) {
			t.Errorf("%q is taken for callgrind", text)
		}
	}
}

// TestEncode checks own costs and totals of what is written against the function
// list, recursion included, by summing the lines of the file.
func TestEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := profile.New(nil)
		table := profile.Samples{Type: profile.ValueType{Name: "Ir", Unit: "count"}}
		for range rapid.IntRange(1, 8).Draw(t, "samples") {
			st := profile.NoStack
			for range rapid.IntRange(1, 6).Draw(t, "depth") {
				fn := p.Symbols.Function(profile.Function{Name: rapid.SampledFrom([]string{"A", "B", "C", "D"}).Draw(t, "name"), File: "f.c"})
				st = p.Symbols.Stack(st, p.Symbols.Frame(profile.Frame{Function: fn, Line: int32(rapid.IntRange(0, 2).Draw(t, "line"))}))
			}
			table.Add(st, rapid.Int64Range(0, 9).Draw(t, "value"))
		}
		p.Tables = []profile.Samples{table}
		var out bytes.Buffer
		if err := Encode(&out, p, -1); err != nil {
			t.Fatal(err)
		}
		got := naive(out.String())
		for name, c := range got {
			if c == (readtest.Cost{}) {
				delete(got, name)
			}
		}
		if diff := cmp.Diff(readtest.Costs(p, 0), got); diff != "" {
			t.Fatalf("%s\n%s", diff, out.String())
		}
		again, err := decode(out.String())
		if err != nil {
			t.Fatal(err)
		}
		if table.Total() != again.Tables[0].Total() {
			t.Fatalf("total %d, was %d", again.Tables[0].Total(), table.Total())
		}
		selfs := readtest.Costs(again, 0)
		for name, c := range readtest.Costs(p, 0) {
			if selfs[name].Self != c.Self {
				t.Fatalf("%s has self %d, was %d", name, selfs[name].Self, c.Self)
			}
		}
	})
}

// TestRoundTrip writes a profile in which every function has one caller: then
// nothing is lost.
func TestRoundTrip(t *testing.T) {
	p := proftest.Columns(`
		×30   ×40   ×5    ×7
		main  main  main  idle
		A     B     C
		a`)
	p.Tables[0].Type = profile.ValueType{Name: profile.CPU, Unit: "nanoseconds"}
	again := mustDecode(t, encode(t, p, 0))
	if again.Tables[0].Type.Key() != "cpu/nanoseconds" || draw(p, 0) != draw(again, 0) {
		t.Errorf("%s\n%s\nwas\n%s", again.Tables[0].Type.Key(), draw(again, 0), draw(p, 0))
	}
}

func TestEncodeErrors(t *testing.T) {
	p := proftest.Columns("×3  ×-4\nA   A\nB")
	if err := Encode(io.Discard, p, 0); err == nil || !strings.Contains(err.Error(), "negative") {
		t.Errorf("negative values: %v", err)
	}
	for _, table := range []int{-2, 1} {
		if err := Encode(io.Discard, p, table); err == nil {
			t.Errorf("table %d is written", table)
		}
	}
}

// TestAnnotate asks callgrind_annotate, where it is installed, to read what is
// written.
func TestAnnotate(t *testing.T) {
	tool, err := exec.LookPath("callgrind_annotate")
	if err != nil {
		t.Skip("callgrind_annotate is not installed")
	}
	p := mustDecode(t, text(t, recorded[0]))
	file := filepath.Join(t.TempDir(), "callgrind.out.1")
	if err := os.WriteFile(file, []byte(encode(t, p, -1)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, "--inclusive=yes", "--threshold=100", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	row := regexp.MustCompile(`(?m)^ *([0-9,]+) \([ 0-9.]+%\)  .*?:([^ :]+)(?: \[.*\])?$`)
	got := map[string]int64{}
	for _, m := range row.FindAllStringSubmatch(string(out), -1) {
		v, _ := strconv.ParseInt(strings.ReplaceAll(m[1], ",", ""), 10, 64)
		got[m[2]] += v
	}
	for _, name := range []string{"main", "price", "orders", "qsort_r"} {
		if want := readtest.Costs(p, 0)[name].Total; got[name] != want {
			t.Errorf("callgrind_annotate says %s takes %d, want %d", name, got[name], want)
		}
	}
}
