package folded

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
)

func decode(t testing.TB, text string) *profile.Profile {
	t.Helper()
	p, err := NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{})
	if err != nil {
		t.Fatalf("%v\nin %.500q", err, text)
	}
	return p
}

func encode(t testing.TB, p *profile.Profile, table int) string {
	t.Helper()
	var b bytes.Buffer
	if err := Encode(&b, p, table); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// draw prints all that a profile says: one line a sample, frames with
// everything that was taken off their text.
func draw(p *profile.Profile) string {
	var b strings.Builder
	for i := range p.Tables {
		t := &p.Tables[i]
		fmt.Fprintf(&b, "%s\n", t.Type.Key())
		for n, st := range t.Stack {
			b.WriteString("\t")
			if t.Thread != nil && t.Thread[n] != 0 {
				th := p.Threads[t.Thread[n]]
				fmt.Fprintf(&b, "{%s|%s|%s} ", th.Name, th.ID, th.Process)
			}
			if st != profile.NoStack {
				for _, id := range p.Symbols.Path(st, nil) {
					b.WriteString(drawFrame(p.Symbols, id) + " > ")
				}
			}
			fmt.Fprintf(&b, "%d\n", t.Value[n])
		}
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

func drawFrame(s *profile.Symbols, id profile.FrameID) string {
	f := s.Frames[id]
	fn := s.Functions[f.Function]
	text := fn.Name
	if fn.Kind != profile.KindNative {
		text += " " + fn.Kind.String()
	}
	if fn.File != "" {
		text += " in " + fn.File
	}
	if f.Line != 0 {
		text += fmt.Sprint(" at ", f.Line)
	}
	if f.Type != 0 {
		text += " " + f.Type.String()
	}
	return "<" + text + ">"
}

func TestDecode(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"plain", "a;b;c 3\na;b 2\n", `
			cpu-samples/count
				<a> > <b> > <c> > 3
				<a> > <b> > 2`},
		{"one frame, no line end", "main 7", `
			cpu-samples/count
				<main> > 7`},
		{"CRLF, trailing blanks, empty lines", "a;b 3 \t\r\n\r\n  \n\na 1\r\n", `
			cpu-samples/count
				<a> > <b> > 3
				<a> > 1`},
		{"byte order mark", "\ufeffa;b 3\n", `
			cpu-samples/count
				<a> > <b> > 3`},
		{"equal stacks stay samples", "a;b 3\na;b 3\n", `
			cpu-samples/count
				<a> > <b> > 3
				<a> > <b> > 3`},
		{"zero is not stored", "a;b 0\na -0\na 1\n", `
			cpu-samples/count
				<a> > 1`},
		{"negative", "a;b -3\na 3\n", `
			cpu-samples/count
				<a> > <b> > -3
				<a> > 3`},
		{"comments", "# made by hand\n#\n#!flame\n# samples: 12\n#a;b 3\n# a;b 4\n#c 5\n", `
			cpu-samples/count
				<#a> > <b> > 3
				<# a> > <b> > 4
				<#c> > 5`},
		{"pieces without text", ";;a;;b; 3\n a ; \t;b 4\na;b;; 5\n", `
			cpu-samples/count
				<a> > <b> > 3
				<a> > <b> > 4
				<a> > <b> > 5`},
		{"blanks in names", "operator new(unsigned long);Foo<548964ul, Bar>, (Baz)2, int* 17\n", `
			cpu-samples/count
				<operator new(unsigned long)> > <Foo<548964ul, Bar>, (Baz)2, int*> > 17`},
		{"tab before the count", "a b;c\t3\n", `
			cpu-samples/count
				<a b> > <c> > 3`},
		{"bytes that are no text", "a\x00b;\xff\xfec 3\n", "cpu-samples/count\n\t<a\ufffdb> > <\ufffdc> > 3"},
		{"empty", "", `
			cpu-samples/count
			warning: the file holds no samples`},
		{"only a comment", "# nothing\n", `
			cpu-samples/count
			warning: the file holds no samples`},
	} {
		t.Run(test.name, func(t *testing.T) { checkDecode(t, test.text, test.want) })
	}
}

// checkDecode reads text with every strategy and compares the drawing.
func checkDecode(t *testing.T, text, want string) {
	t.Helper()
	want = strings.ReplaceAll(strings.TrimSpace(want), "\n\t\t\t", "\n") + "\n"
	for by := choose; by <= byFrames; by++ {
		d := NewDecoder()
		d.strategy = by
		s := profile.NewSymbols()
		for _, state := range []string{"cold", "warm"} {
			p, err := d.Decode(strings.NewReader(text), s, profile.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, draw(p)); diff != "" {
				t.Errorf("strategy %d, %s (-want +got):\n%s", by, state, diff)
			}
			if p.Format != "folded" {
				t.Errorf("format %q", p.Format)
			}
		}
	}
}

func TestDecodeFrames(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"modes", "A.a_[j];A.b_[i];A.c_[0];A.d_[1];sys_[k] 1\n", `
			cpu-samples/count
				<A.a java jit> > <A.b java inlined> > <A.c java interpreted> > <A.d java c1> > <sys kernel kernel> > 1`},
		{"only the last four characters", "A.a_[j]_[i];A.b_[j]x;A.c_[x];_[j];x_[j] 1\n", `
			cpu-samples/count
				<A.a_[j] java inlined> > <A.b_[j]x java> > <A.c_[x] java> > <_[j]> > <x java jit> > 1`},
		{"guessed kinds", "java/lang/Thread.run;Foo.bar;std::sort;-[NSObject init];start_thread;/usr/bin/env;[unknown] 1\n", `
			cpu-samples/count
				<java/lang/Thread.run java> > <Foo.bar java> > <std::sort cpp> > <-[NSObject init] cpp> > <start_thread> > </usr/bin/env> > <[unknown] > > 1`},
		{"not Java in spite of a slash", "I2C/C2I adapters(0xb);itable stub;net/http.(*conn).serve;f(a/b, int);_ZN/x_[k] 1\n", `
			cpu-samples/count
				<I2C/C2I adapters(0xb) stub> > <itable stub stub> > <net/http.(*conn).serve go> > <f(a/b, int)> > <_ZN/x kernel kernel> > 1`},
		{"inlined C++", "Foo::bar()_[i] 1\n", `
			cpu-samples/count
				<Foo::bar() cpp inlined> > 1`},
		{"allocated classes", "a/B.c_[j];byte[]_[i] 1\na/B.c_[j];java.lang.Object_[k] 2\na/B.c;java.util.HashMap$Node[] 3\na.B.c_[i] 4\n", `
			cpu-samples/count
				<a/B.c java jit> > <byte[] class inlined> > 1
				<a/B.c java jit> > <java.lang.Object class kernel> > 2
				<a/B.c java> > <java.util.HashMap$Node[] class> > 3
				<a.B.c java inlined> > 4`},
		{"lines of Java", "a/B.c:20_[j];a/B.c:21;A.b:7 1\n", `
			cpu-samples/count
				<a/B.c java at 20 jit> > <a/B.c java at 21> > <A.b java at 7> > 1`},
		{"not lines", "a/B.c::20;A.b:07;A.b:0;A.b:;A.b:99999999999;main:12;std::x:3;sys:3_[k] 1\n", `
			cpu-samples/count
				<a/B.c::20 cpp> > <A.b:07 java> > <A.b:0 java> > <A.b: java> > <A.b:99999999999 java> > <main:12> > <std::x:3 cpp> > <sys:3 kernel kernel> > 1`},
		{"lambdas stay raw", "a/B$$Lambda$7.0x00007f25.run_[j];a/B$$Lambda/0x1a2b.run:3 1\n", `
			cpu-samples/count
				<a/B$$Lambda$7.0x00007f25.run java jit> > <a/B$$Lambda/0x1a2b.run java at 3> > 1`},
		{"Python", "<module> (shop.py:26);f.<locals>.<lambda> (a b/c.py:5);run (<frozen runpy>:88);idle (shop.py) 1\n", `
			cpu-samples/count
				<<module> python in shop.py at 26> > <f.<locals>.<lambda> python in a b/c.py at 5> > <run python in <frozen runpy> at 88> > <idle python in shop.py> > 1`},
		{"not Python", "f (x.pyc:3);(x.py:3);f(x.py:3);f (x.py:0);f (x.py::3);f (<>:3);f (x.py:3 1\n", `
			cpu-samples/count
				<f (x.pyc:3)> > <(x.py:3)> > <f(x.py:3)> > <f (x.py:0)> > <f (x.py::3) cpp> > <f (<>:3)> > <f (x.py:3> > 1`},
		{"signatures", "a/B.c(Ljava/lang/String|)V_[j] 1\n", `
			cpu-samples/count
				<a/B.c(Ljava/lang/String|)V java jit> > 1`},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkDecode(t, test.text, test.want)
			if got := encode(t, decode(t, test.text), -1); sortedLines(got) != sortedLines(test.text) {
				t.Errorf("written back:\n%s", got)
			}
		})
	}
}

func TestDecodeThreads(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"async-profiler", "[main tid=1];a;b 3\n[tid=22];a 1\na 2\n", `
			cpu-samples/count
				{main|1|} <a> > <b> > 3
				{|22|} <a> > 1
				<a> > 2`},
		{"names with semicolons", "[alloc worker; \"quoted\" tid=7173];java/A.b 1\n[a;b;c tid=2] 2\n", `
			cpu-samples/count
				{alloc worker; "quoted"|7173|} <java/A.b java> > 1
				{a;b;c|2|} <(no stack) label> > 2`},
		{"names with brackets", "[a] b tid=7];x 1\n[] tid=8];x 1\n", `
			cpu-samples/count
				{a] b|7|} <x> > 1
				{]|8|} <x> > 1`},
		{"only a thread", "[main tid=1] 5\n", `
			cpu-samples/count
				{main|1|} <(no stack) label> > 5`},
		{"functions in brackets", "[unknown];a 1\n[CPU-3];a 1\n[pricing-1];a 1\n[stale_jmethodID] 1\n[main tid=];a 1\n[x_tid=1];a 1\n[kernel]_[k];[main tid=1] 1\n", `
			cpu-samples/count
				<[unknown] > > <a> > 1
				<[CPU-3] > > <a> > 1
				<[pricing-1] > > <a> > 1
				<[stale_jmethodID] > > 1
				<[main tid=] > > <a> > 1
				<[x_tid=1] > > <a> > 1
				<[kernel] kernel kernel> > <[main tid=1] > > 1`},
		{"open brackets", "[libx+0x1;a;b 1\n[libx+0x1;a;b tid=3 1\n", `
			cpu-samples/count
				<[libx+0x1 > > <a> > <b> > 1
				<[libx+0x1 > > <a> > <b tid=3> > 1`},
		{"py-spy", "thread (12949): idle-wait;f (a.py:3) 1\nthread (0x7F3A);f (a.py:3) 2\n", `
			cpu-samples/count
				{idle-wait|12949|} <f python in a.py at 3> > 1
				{|0x7F3A|} <f python in a.py at 3> > 2`},
		{"py-spy processes", "process 7:\"python x.py\";f (a.py:3) 1\nprocess 7:\"python -c a; b\";process 8:\"w\";thread (9): t;f (a.py:3) 2\n", `
			cpu-samples/count
				{||7:"python x.py"} <f python in a.py at 3> > 1
				{t|9|8:"w"} <f python in a.py at 3> > 2`},
		{"not py-spy", "thread (x y): t;a 1\nthread (7)x;a 1\nthread (7:: x;a 1\nthread_start;a 1\nprocess 7: x;a 1\nprocess 7:\"x;a 1\nprocess_one;a 1\n", `
			cpu-samples/count
				<thread (x y): t> > <a> > 1
				<thread (7)x> > <a> > 1
				<thread (7:: x cpp> > <a> > 1
				<thread_start> > <a> > 1
				<process 7: x> > <a> > 1
				<process 7:"x> > <a> > 1
				<process_one> > <a> > 1`},
		{"the same function below two threads", "[a tid=1];x;y 1\n[b tid=2];x;y 2\nx;y 3\n[a tid=1];x;z 4\n", `
			cpu-samples/count
				{a|1|} <x> > <y> > 1
				{b|2|} <x> > <y> > 2
				<x> > <y> > 3
				{a|1|} <x> > <z> > 4`},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkDecode(t, test.text, test.want)
			if got := encode(t, decode(t, test.text), -1); sortedLines(got) != sortedLines(test.text) {
				t.Errorf("written back:\n%s", got)
			}
		})
	}
}

func TestDecodeCounts(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"fractions share a scale", "a 3\na;b 1.5\na;c 0.25\na 2\n", `
			cpu-samples/counte-2
				<a> > 300
				<a> > <b> > 150
				<a> > <c> > 25
				<a> > 200`},
		{"zeros at the end are no decimals", "a 3.000\na 2.\na 0.50\na -.5\n", `
			cpu-samples/counte-1
				<a> > 30
				<a> > 20
				<a> > 5
				<a> > -5`},
		{"more than nine decimals", "a 0.30000000000000004\na 1.5\na 0.1234567895\na 0.99999999999\na -0.0000000005\n", `
			cpu-samples/counte-9
				<a> > 300000000
				<a> > 1500000000
				<a> > 123456790
				<a> > 1000000000
				<a> > -1
			warning: line 1: 4 counts have more than 9 decimals and were rounded; this is the first`},
		{"rounded up to a whole number", "a 999999999999.9999999999\n", `
			cpu-samples/count
				<a> > 1000000000000
			warning: line 1: 1 counts have more than 9 decimals and were rounded; this is the first`},
		{"large", "a 9223372036854775806\na 000000000000000000000000000001\n", `
			cpu-samples/count
				<a> > 9223372036854775806
				<a> > 1`},
		{"differential", "a;b 3 5\na;c 0 2\na 1 0\n", `
			base/count
				<a> > <b> > 3
				<a> > 1
			head/count
				<a> > <b> > 5
				<a> > <c> > 2`},
		{"differential with threads, fractions and a comment", "# base new\n[t tid=1];a 1.5 2\n[t tid=1] 0 7\n", `
			base/counte-1
				{t|1|} <a> > 15
			head/counte-1
				{t|1|} <a> > 20
				{t|1|} <(no stack) label> > 70`},
		{"one line with one number: a name ends in a number", "a;b 3 5\na;c 2\n", `
			cpu-samples/count
				<a> > <b 3> > 5
				<a> > <c> > 2`},
		{"two blanks between the numbers: a name ends in a number", "a;b 3  5\n", `
			cpu-samples/count
				<a> > <b 3> > 5`},
		{"a blank in place of the stack", "[main tid=1];a;b 3\n 5\na;b 1\n\t2\n", `
			cpu-samples/count
				{main|1|} <a> > <b> > 3
				<(no stack) label> > 5
				<a> > <b> > 1
				<(no stack) label> > 2
			warning: lines with a count and no stack count as (no stack): 2`},
		{"two numbers and no stack", "3 5\n", `
			cpu-samples/count
				<3> > 5`},
	} {
		t.Run(test.name, func(t *testing.T) { checkDecode(t, test.text, test.want) })
	}
}

// TestDecodeErrors marks the place of the error with ¦ in the text.
func TestDecodeErrors(t *testing.T) {
	big := strings.Repeat("x", 300)
	for _, test := range []struct{ name, text, want string }{
		{"no count", "a 1\n¦a;b\na 1\n", "malformed: no count at the end of the line"},
		{"no number", "a 1\r\n\r\na;b ¦c\r\na 1\r\n", `malformed: no count at the end of the line but "c"`},
		{"exponent", "a ¦1e5\n", `malformed: no count at the end of the line but "1e5"`},
		{"not a number", "a ¦NaN\n", `malformed: no count at the end of the line but "NaN"`},
		{"plus", "a ¦+5\n", `malformed: no count at the end of the line but "+5"`},
		{"two points", "a ¦1.2.3\n", `malformed: no count at the end of the line but "1.2.3"`},
		{"only a minus", "a ¦-\n", `malformed: no count at the end of the line but "-"`},
		{"only a count", "¦5\n", "malformed: no count at the end of the line"},
		{"only semicolons", "a 1\n¦;; ; 5\n", "malformed: no frame before the count"},
		{"semicolons without a count", "¦;;\n", "malformed: no count at the end of the line"},
		{"leading blanks", "  a;b ¦x\n", `malformed: no count at the end of the line but "x"`},
		{"cut off", "a;b 1\n¦a;b;c", "malformed: no count at the end of the line (it is the last line and has no line end: the file may have been cut off)"},
		{"cut off in a name with blanks", "a;b 1\na;b;operator ¦ne", `malformed: no count at the end of the line but "ne" (it is the last line and has no line end: the file may have been cut off)`},
		{"too large", "a ¦9223372036854775808\n", `malformed: the count "9223372036854775808": does not fit 63 bits`},
		{"too small", "a ¦-9223372036854775808\n", `malformed: the count "-9223372036854775808": does not fit 63 bits`},
		{"sum too large", "a 9223372036854775807\n¦b -1\n", "malformed: the sum of the counts up to here: does not fit 63 bits"},
		{"scaled sum too large", "a 9223372036854775807\nb ¦0.5\n", "malformed: the sum of the counts up to here with all their decimals: does not fit 63 bits"},
		{"scaled count too large", "a 0.5\nb ¦9223372036854775807\n", "malformed: the count with all decimals of the file: does not fit 63 bits"},
		{"too large with its decimals", "a ¦9223372036.854775808\n", `malformed: the count "9223372036.854775808": does not fit 63 bits`},
		{"sum too large after scaling", "a 500000000000000000\nb 0.5\n¦c 500000000000000000\n", "malformed: the sum of the counts up to here: does not fit 63 bits"},
		{"base too large", "a ¦9227000000000000000 1\n", "malformed: the first count: does not fit 63 bits"},
		{"long", "a 1\n¦a;" + big + " 5\na 1\n", "line of text longer than 256: too large (raise it with --max-line)"},
		{"deep", "a 1\n¦a;b;c;d;e;f;g;h;i;j 1\n", "stack deeper than 9: too large (raise it with --max-depth)"},
		{"a byte order mark counts", "\ufeffa 1\n¦b\n", "malformed: no count at the end of the line"},
		{"long field", "a ¦" + big[:100] + "\n", `malformed: no count at the end of the line but "` + big[:40] + `…"`},
	} {
		t.Run(test.name, func(t *testing.T) { checkError(t, test.text, test.want) })
	}
}

func checkError(t *testing.T, text, want string) {
	t.Helper()
	offset := strings.Index(text, "¦")
	text = strings.Replace(text, "¦", "", 1)
	line := 1 + strings.Count(text[:offset], "\n")
	for by := choose; by <= byFrames; by++ {
		d := NewDecoder()
		d.strategy = by
		_, err := d.Decode(strings.NewReader(text), nil, profile.Limits{Line: 256, Depth: 9})
		var place *profile.ParseError
		if !errors.As(err, &place) {
			t.Fatalf("error %v", err)
		}
		got := place.Err.Error()
		if place.Hint != "" {
			got += " (" + place.Hint + ")"
		}
		if got != want || place.Line != line || place.Offset != int64(offset) {
			t.Errorf("strategy %d:\n got %d: %s at %d\nwant %d: %s at %d", by, place.Line, got, place.Offset, line, want, offset)
		}
		if large := strings.Contains(want, "too large"); errors.Is(err, profile.ErrTooLarge) != large ||
			errors.Is(err, profile.ErrMalformed) == large {
			t.Errorf("wrong kind of error: %v", err)
		}
		// The decoder is as good as new.
		p, err := d.Decode(strings.NewReader("[t tid=1];a;b 2\na;b 1\n"), nil, profile.Limits{})
		if err != nil || p.Tables[0].Len() != 2 || p.Tables[0].Total() != 3 {
			t.Errorf("after the error: %v", err)
		}
	}
}

// TestDecodePairError has the first line with one number so late that the file
// is already known as differential.
func TestDecodePairError(t *testing.T) {
	text := strings.Repeat("a;b 1 2\n", windowSize/8) + "a;c 3\n"
	_, err := NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{})
	var place *profile.ParseError
	if !errors.As(err, &place) || place.Line != windowSize/8+1 || !strings.Contains(err.Error(), "differential") {
		t.Errorf("error %v", err)
	}
}

func TestDecodeReadErrors(t *testing.T) {
	boom := errors.New("boom")
	_, err := NewDecoder().Decode(io.MultiReader(strings.NewReader("a 1\n"), iotest.ErrReader(boom)), nil, profile.Limits{})
	if !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
	_, err = NewDecoder().Decode(stuck{}, nil, profile.Limits{})
	if !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("error %v", err)
	}
	p, err := NewDecoder().Decode(iotest.OneByteReader(iotest.DataErrReader(strings.NewReader("a;b 1\nc 2"))), nil, profile.Limits{})
	if err != nil || p.Tables[0].Total() != 3 {
		t.Errorf("byte by byte: %v", err)
	}
}

// TestDecodeHostileLines has lines that are as long as can be and made to be
// looked at again and again. They must take time in proportion to their length.
func TestDecodeHostileLines(t *testing.T) {
	const n = 1 << 18
	for _, text := range []string{
		strings.Repeat(`process 1:"";`, n) + "a 1\n",
		strings.Repeat(`process 1:"x;`, n) + "a 1\n",
		"[" + strings.Repeat("x;", n) + " tid=7 1\n",
		"[" + strings.Repeat(" tid=7;", n) + "a 1\n",
		strings.Repeat("a;", 9) + strings.Repeat(";", 8*n) + " 1\n",
		strings.Repeat(" ", 8*n) + "a" + strings.Repeat(" ", 4*n) + "1\n",
		strings.Repeat(" \n", n) + "a 1\n",
		"#" + strings.Repeat("#\n", n) + "a 1\n",
		"a " + strings.Repeat("0", 8*n) + "1\n",
		"a 1." + strings.Repeat("0", 8*n) + "1\n",
	} {
		for by := choose; by <= byFrames; by++ {
			d := NewDecoder()
			d.strategy = by
			_, err := d.Decode(strings.NewReader(text+text), nil, profile.Limits{Depth: 9})
			if err != nil && !errors.Is(err, profile.ErrTooLarge) {
				t.Errorf("%.40q: %v", text, err)
			}
		}
	}
}

// TestByteOrderMarkOnce has the mark where a window begins in mid-file: there it
// is part of a name.
func TestByteOrderMarkOnce(t *testing.T) {
	d := NewDecoder()
	d.buf = make([]byte, 7)
	p, err := d.Decode(strings.NewReader("\ufeffa 1\n\ufeffb 2\n"), nil, profile.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := draw(p), "cpu-samples/count\n\t<a> > 1\n\t<\ufeffb> > 2\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// TestDecodeSymbols moves a decoder between Symbols.
func TestDecodeSymbols(t *testing.T) {
	d := NewDecoder()
	a, b := profile.NewSymbols(), profile.NewSymbols()
	for i, s := range []*profile.Symbols{a, a, b, nil, a, nil} {
		p, err := d.Decode(strings.NewReader("x;y 1\nx;z 2\n"), s, profile.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if s != nil && p.Symbols != s {
			t.Errorf("%d: other symbols", i)
		}
		if n := p.Symbols.Stacks.Len(); n != 3 {
			t.Errorf("%d: %d stacks, want 3", i, n)
		}
		want := "cpu-samples/count\n\t<x> > <y> > 1\n\t<x> > <z> > 2\n"
		if diff := cmp.Diff(want, draw(p)); diff != "" {
			t.Errorf("%d (-want +got):\n%s", i, diff)
		}
	}
	// Frames of another reader in the same Symbols do no harm.
	a.Stack(profile.NoStack, a.Frame(profile.Frame{Function: a.Function(profile.Function{Name: "x"}), Address: 7}))
	if p, err := d.Decode(strings.NewReader("x;y 1\n;x;y;y 1\n"), a, profile.Limits{}); err != nil || p.Tables[0].Total() != 2 {
		t.Error(err)
	}
}

func TestDecodeLongLines(t *testing.T) {
	const limit = 16 << 20
	line := func(n int) string { return "a;" + strings.Repeat("b", n-4) + " 7" }
	for _, test := range []struct {
		name, text string
		ok         bool
	}{
		{"the limit", line(limit) + "\n", true},
		{"the limit, CRLF", "a 7\r\n" + line(limit) + "\r\na 7\r\n", true},
		{"the limit, no line end", "a 7\n" + line(limit), true},
		{"one more", "a 7\n" + line(limit+1) + "\na 7\n", false},
		{"one more, no line end", "a 7\n" + line(limit+1), false},
		{"much more", "a 7\n" + line(2*limit) + "\n", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := NewDecoder()
			p, err := d.Decode(strings.NewReader(test.text), nil, profile.Limits{})
			var place *profile.ParseError
			switch {
			case test.ok && err != nil:
				t.Error(err)
			case test.ok:
				if got, want := p.Tables[0].Total(), 7*int64(p.Tables[0].Len()); got != want {
					t.Errorf("total %d, want %d", got, want)
				}
			case !errors.As(err, &place) || place.Line != 2 || place.Offset != 4 || !strings.Contains(err.Error(), "--max-line"):
				t.Errorf("error %v", err)
			}
			if len(d.buf) > keptSize || cap(d.aboveBuf) > keptSize {
				t.Errorf("keeps %d and %d bytes", len(d.buf), cap(d.aboveBuf))
			}
		})
	}
	t.Run("no limit", func(t *testing.T) {
		_, err := NewDecoder().Decode(strings.NewReader(line(3*windowSize)+"\n"), nil, profile.Limits{Line: math.MaxInt})
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("window edges", func(t *testing.T) {
		for n := windowSize - 3; n <= windowSize+3; n++ {
			text := line(n) + "\n" + line(n) + "\na 7\n"
			if p := decode(t, text); p.Tables[0].Total() != 21 {
				t.Errorf("%d: total %d", n, p.Tables[0].Total())
			}
		}
	})
}

func TestDecodeDeepStacks(t *testing.T) {
	stack := func(n int) string { return strings.Repeat("f;", n-1) + "f" }
	deep := stack(profile.DefaultDepth)
	for by := choose; by <= byFrames; by++ {
		d := NewDecoder()
		d.strategy = by
		s := profile.NewSymbols()
		p, err := d.Decode(strings.NewReader(deep+" 1\n"+deep+"; ; 2\n"+deep+" 3\n"), s, profile.Limits{})
		if err != nil || p.Tables[0].Total() != 6 || s.Stacks.Len() != profile.DefaultDepth {
			t.Fatalf("strategy %d: %d stacks, %v", by, s.Stacks.Len(), err)
		}
		_, err = d.Decode(strings.NewReader(deep+" 1\n"+deep+";f 1\n"), s, profile.Limits{})
		var place *profile.ParseError
		if !errors.As(err, &place) || place.Line != 2 || !errors.Is(err, profile.ErrTooLarge) {
			t.Errorf("strategy %d: error %v", by, err)
		}
		// A stack that is known is still too deep for a smaller limit.
		if _, err = d.Decode(strings.NewReader(deep+" 1\n"), s, profile.Limits{Depth: profile.DefaultDepth - 1}); !errors.Is(err,
			profile.ErrTooLarge) {
			t.Errorf("strategy %d: error %v", by, err)
		}
		// The thread is no frame.
		if _, err = d.Decode(strings.NewReader("[t tid=1];"+deep+" 1\n"), s, profile.Limits{}); err != nil {
			t.Errorf("strategy %d: error %v", by, err)
		}
	}
	p := decode(t, deep+" 1\n")
	if got := encode(t, p, -1); got != deep+" 1\n" {
		t.Error("the deep stack is not written back")
	}
}

func TestSniff(t *testing.T) {
	long := strings.Repeat("java/lang/Thread.run;", 300)
	for _, test := range []struct {
		name, text string
		want       bool
	}{
		{"plain", "a;b 1\na;c 2\n", true},
		{"one line, no end", "a;b 1", true},
		{"CRLF and mark", "\ufeffa;b 1\r\n\r\na;c 2\r\n", true},
		{"comment first", "# by hand\na;b 1\n", true},
		{"the last line is cut", "a;b 1\na;c", true},
		{"fractions", "a;b 1.5\n", true},
		{"differential", "a;b 1 2\n", true},
		{"some lines are bad", "a;b 1\nx\na;b 1\n", true},
		{"most lines are bad", "a;b 1\nx\ny\na;b 1\n", false},
		{"no semicolon", "main 1\nfoo 2\n", false},
		{"empty", "", false},
		{"blank", "\n\n", false},
		{"a long first line", long, true},
		{"a short line without a count", "a;b;c", false},
		{"a script in one line", strings.Repeat("function f(){var a=1;return a};", 300), false},
		{"a text", "Lorem ipsum; dolor sit amet\nconsetetur; sadipscing 12\nelitr\n", false},
		{"JSON", `{"a": 1; 2}` + "\n", false},
		{"a thread dump", "2026-01-01 00:00:00\nFull thread dump OpenJDK\n\n\"main\" #1 prio=5\n", false},
	} {
		if got := Sniff([]byte(test.text)); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}
