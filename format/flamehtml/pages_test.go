package flamehtml

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// picture draws the samples of all tables, sorted.
func picture(p *profile.Profile) string {
	var b strings.Builder
	suffixes := map[profile.FrameType]string{}
	for m := range profile.FrameType(profile.FrameTypes) {
		suffixes[m] = strings.TrimSuffix("~"+m.String(), "~")
	}
	for i := range p.Tables {
		fmt.Fprintf(&b, "%s %s\n", p.Tables[i].Type.Name, p.Tables[i].Type.Unit)
		var rows []string
		for stack, v := range collapsed(p, i, suffixes) {
			rows = append(rows, fmt.Sprintf("  %s %d\n", stack, v))
		}
		slices.Sort(rows)
		b.WriteString(strings.Join(rows, ""))
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "warning %s\n", w)
	}
	return b.String()
}

const head = "<!DOCTYPE html>\n<html>\n<h1>Flame Graph</h1>\n<script>\n"

// TestSmallPages draws what is read of pages of all versions.
func TestSmallPages(t *testing.T) {
	palette := func(n int) string {
		return "\tconst palette = [\n" + strings.Repeat("\t\t[0xb2e1b2, 20, 20, 20],\n", n) + "\t];\n"
	}
	svg := func(boxes string) string {
		return "<?xml version=\"1.0\"?>\n<svg version=\"1.1\"><title>Flame Graph</title><g id=\"frames\">\n" + boxes + "</g></svg>\n"
	}
	for _, tt := range []struct{ name, page, want string }{
		{"2.0", head + palette(5) + "f(0,0,10,3,'all')\nf(1,0,6,0,'a/A.run')\nf(2,0,2,1,'a/A.it\\'s')\nf(2,2,3,2,'do_sys')\nf(1,6,4,4,'read')\n",
			"cpu-samples count\n  a/A.run 1\n  a/A.run;a/A.it's~inlined 2\n  a/A.run;do_sys~kernel 3\n  read~native 4\n"},
		{"2.7", head + palette(6) + "f(0,0,10,3,'all')\nf(1,0,6,1,'a/A.run')\nf(2,0,6,5,'do_sys')\nf(1,6,4,0,'a/A.go')\n",
			"cpu-samples count\n  a/A.go~interpreted 4\n  a/A.run~jit;do_sys~kernel 6\n"},
		{"2.9", head + palette(7) + "f(0,0,9,3,'all')\nf(1,0,3,6,'[main tid=7]')\nf(2,0,3,6,'a/A.go',1,2,0)\nf(1,3,6,4,'x::y')\n",
			"cpu-samples count\n  [main tid=7];a/A.go~c1 3\n  x::y~cpp 6\n"},
		{"3.0, widths that repeat, narrow frames", head + "const cpool = [\n'all',\n' a/A.run',\n'$it\\'s',\n' \\\\',\n];\nunpack(cpool);\nn(3,10)\nu(9,8)\nu(17,3)\nn(27)\nf(9,1,5,1)\nd=5\n",
			"cpu-samples count\n  (no stack) 1\n  a/A.run~jit 3\n  a/A.run~jit;\\~native 3\n  a/A.run~jit;a/A.it's~jit 3\nwarning 1 count are in frames too narrow for the page; they count as (no stack)\n"},
		{"units and title", "<!DOCTYPE html>\n<h1>Allocation profile</h1>\n<script>\nconst units = 'bytes';\nconst cpool = [\n'all',\n' byte[]'\n];\nn(3,4096)\nu(10)\n",
			"alloc bytes\n  byte[]~inlined 4096\n"},
		{"differential", head + "const maxdiff = 3;\nconst cpool = [\n'all',\n' a',\n' b',\n' d',\n' e'\n];\nunpack(cpool);\nn(3,6)\nu(11)\nd=-3\nu(19,2)\nd=U\nn(27,4)\nu(35)\n",
			"base count\n  a~native;b~native 5\nhead count\n  a~native;b~native 2\n  a~native;d~native;e~native 4\nwarning a differential page does not show stacks that only the base has; `base` is without them\n"},
		{"tree", "<!DOCTYPE html>\n<title>Tree view</title>\n<div>Call tree view, total samples: 1,010 </div>\n<ul class='tree'>\n<li><div>[0] 90.00% 1,000 self: 0.10% 1</div><span class=\"t1\"> a/A.&lt;init&gt;</span>\n<ul>\n<li><div>[1] 90.00% 999 self: 0.10% 999</div><span class=\"t5\"> do_sys</span>\n</ul>\n",
			"cpu-samples count\n  (no stack) 10\n  a/A.<init>~jit 1\n  a/A.<init>~jit;do_sys~kernel 999\nwarning 10 count are in frames too narrow for the page; they count as (no stack)\n"},
		{"SVG", svg(`<g class="func_g"><title>all (1,000 samples, 100%)</title><rect x="10.0" y="100" width="1180.0" height="15.0" /></g>
<g class="func_g"><title>std::max&lt;int&gt;(int, int) (700 samples, 70.00%)</title><rect x="10.0" y="84" width="826.0" /></g>
<g class="func_g"><title>read (300 samples, 30.00%; -1.00%)</title><rect x="836.0" y="84" width="354.0" /></g>
<g class="func_g"><title>copy (100 samples, 10.00%)</title><rect x="718.0" y="68" width="118.0" /></g>
`), "cpu-samples count\n  read 300\n  std::max<int>(int, int) 600\n  std::max<int>(int, int);copy 100\n"},
		{"SVG that hangs", svg(`<g><title>all (10 bytes, 100%)</title><rect x="0%" y="36" width="100%" fg:x="0" fg:w="10"/></g>
<g><title>main (10 bytes, 100%)</title><rect x="0%" y="52" width="100%" fg:x="0" fg:w="10"/></g>
<g><title>f (a.py:3) (4 bytes, 40%)</title><rect x="0%" y="68" width="40%" fg:x="0" fg:w="4"/></g>
`), "alloc bytes\n  main 6\n  main;f (a.py:3) 4\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !Sniff([]byte(tt.page)) {
				t.Error("not recognised")
			}
			p := mustDecode(t, []byte(tt.page))
			if diff := cmp.Diff(tt.want, picture(p)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	pool := head + "const cpool = [\n'all',\n' a'\n];\n"
	for _, tt := range []struct {
		name, page string
		err        error
		line       int
		text       string
	}{
		{"other HTML", "<!DOCTYPE html>\n<p>f(0,0,1)</p>\n", profile.ErrMalformed, 0, "no flame graph"},
		{"heatmap", string(readtest.File(t, "ap46-cpu.conv-heatmap.html.gz")), profile.ErrUnsupported, 0, "read the JFR recording"},
		{"no frames", pool, profile.ErrMalformed, 9, "no frames"},
		{"name not there", pool + "n(3,5)\nu(99)\n", profile.ErrMalformed, 10, "no such name"},
		{"number", pool + "n(3,5)\nu(99999999999999999999)\n", profile.ErrMalformed, 10, "not a number"},
		{"arguments", pool + "f(3,5)\n", profile.ErrMalformed, 9, "too few"},
		{"left of the page", pool + "f(3,0,-5,1)\n", profile.ErrMalformed, 9, "no such level"},
		{"nothing below", pool + "n(3,5)\nf(11,5,0,1)\n", profile.ErrMalformed, 0, `nothing calls "a" on level 5`},
		{"too deep", pool + "n(3,5)\nf(11,70000,0,1)\n", profile.ErrTooLarge, 10, "--max-depth"},
		{"table cut", head + "const cpool = [\n'all',\n'", profile.ErrMalformed, 7, "damaged"},
		{"prefix", head + "const cpool = [\n'all',\n'~a',\n];", profile.ErrMalformed, 7, "shares more"},
		{"tree row", "<html>Call tree view, total samples: 5</div>\n<li><div>[1] 2% 3 self: 1% 1</div><span class=\"t1\"> x</span>\n", profile.ErrMalformed, 2, "impossible"},
		{"SVG without boxes", "<svg id=\"frames\"></svg>", profile.ErrMalformed, 1, "no boxes"},
		{"SVG box without a place", "<svg id=\"frames\">\n<title>a (1 samples, 100%)</title></svg>", profile.ErrMalformed, 2, "without a place"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := decode([]byte(tt.page))
			var pe *profile.ParseError
			if !errors.Is(err, tt.err) || !errors.As(err, &pe) || pe.Line != tt.line || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %v", err)
			}
		})
	}
	_, err := NewDecoder().Decode(strings.NewReader(pool), nil, profile.Limits{Message: 10})
	if !errors.Is(err, profile.ErrTooLarge) || !strings.Contains(err.Error(), "--max-message") {
		t.Errorf("error %v", err)
	}
}

func TestSniff(t *testing.T) {
	for _, other := range []string{"", "<", "<!DOCTYPE html><html><body>f(0,0,1)</body>", "<?xml version='1.0'?><svg></svg>",
		"<?xml?><a>id=\"frames\"</a>", "const cpool = ["} {
		if Sniff([]byte(other)) {
			t.Errorf("%q is taken for a page", other)
		}
	}
}

var recorded = []string{"ap46-cpu", "ap29-cpu", "ap46-cpu.conv", "ap29-cpu-tree", "differential", "pyspy"}

func readPage(t testing.TB, name string) []byte {
	if name == "pyspy" {
		return readtest.File(t, name+".svg.gz")
	}
	return readtest.File(t, name+".html.gz")
}

// checkDecode checks what must hold for whatever bytes.
func checkDecode(t *testing.T, b []byte) *profile.Profile {
	t.Helper()
	p, err := NewDecoder().Decode(bytes.NewReader(b), nil, profile.Limits{Message: 1 << 20})
	if !readtest.Sound(t, len(b), p, err) {
		return nil
	}
	return p
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(head + "const cpool = [\n'all',\n' a'\n];\nn(3,5)\nu(11)\nn(11,2)\nf(3,1,2)\nd=4\n"))
	f.Add([]byte(head + "f(0,0,10,3,'all')\nf(1,0,6,0,'a/A.run')\n"))
	f.Add([]byte("<svg id=\"frames\"><title>a (1 samples, 100%)</title><rect x=\"1\" y=\"2\" width=\"3\"/></svg>"))
	f.Fuzz(func(t *testing.T, b []byte) {
		Sniff(b)
		checkDecode(t, b)
	})
}

func TestMutations(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 20
	}
	for _, name := range recorded {
		b := readPage(t, name)
		read := 0
		for m := range readtest.Damaged(b, rounds) {
			if checkDecode(t, m) != nil {
				read++
			}
		}
		if read == 0 {
			t.Errorf("%s: no damaged page is read", name)
		}
	}
}

// TestGolden draws a summary of each page.
func TestGolden(t *testing.T) {
	for _, name := range recorded {
		p := mustDecode(t, readPage(t, name))
		var b strings.Builder
		for i := range p.Tables {
			s := &p.Tables[i]
			fmt.Fprintf(&b, "%s in %s: %d samples, %d\n", s.Type.Name, s.Type.Unit, s.Len(), s.Total())
		}
		kinds := map[string]int{}
		for _, f := range p.Symbols.Functions {
			kinds[f.Kind.String()]++
		}
		fmt.Fprintf(&b, "kinds %v\n", kinds)
		for _, t := range p.Threads[1:] {
			fmt.Fprintf(&b, "thread %s, %s\n", t.Name, t.ID)
		}
		rows := strings.Split(picture(p), "\n")
		for i := 0; i < len(rows); i += len(rows)/10 + 1 {
			fmt.Fprintf(&b, "%s\n", rows[i])
		}
		readtest.Golden(t, name+".golden", b.String())
	}
}
