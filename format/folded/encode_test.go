package folded

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/proftest"
)

func TestEncode(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"depth first, siblings in byte order", "b 1\na;c 2\na b;x 3\na 4\na;b;z 5\na;b 6\n", "a 4\na;b 6\na;b;z 5\na;c 2\na b;x 3\nb 1\n"},
		{"equal stacks are added", "a;b 1\na 2\na;b 3\n", "a 2\na;b 4\n"},
		{"sums of zero are left out", "a;b 1\na 2\na;b -1\n", "a 2\n"},
		{"threads first", "a 1\n[z tid=1];a 2\n[b tid=2];a 3\n[b tid=2] 4\n", "a 1\n[b tid=2] 4\n[b tid=2];a 3\n[z tid=1];a 2\n"},
		{"fractions", "a 1.50\nb -0.05\nc 3\nd 0.001\ne -12.345\n", "a 1.5\nb -0.05\nc 3\nd 0.001\ne -12.345\n"},
		{"differential", "a;b 1 2\na;c 0 3\na;b 1 -2\na;d 4 0\n", "a;b 2 0\na;c 0 3\na;d 4 0\n"},
		{"would look differential", "a;b 2 5\nb 3\n", "a;b 2; 5\nb 3\n"},
		{"would look like a comment", "# a; 5\n", "# a; 5\n"},
		{"would look like a byte order mark", ";\ufeffa 5\n", ";\ufeffa 5\n"},
		{"nothing", "a 0\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := decode(t, test.text)
			got := encode(t, p, -1)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			checkRoundTrip(t, p)
		})
	}
}

// checkRoundTrip writes p, reads it and compares; then writes again.
func checkRoundTrip(t *testing.T, p *profile.Profile) {
	t.Helper()
	text := encode(t, p, -1)
	if text == "" {
		return
	}
	again := decode(t, text)
	if diff := cmp.Diff(hashes(added(p)), hashes(again)); diff != "" {
		t.Errorf("other hashes after writing and reading (-want +got):\n%s\n%s", diff, text)
	}
	if second := encode(t, again, -1); second != text {
		t.Errorf("other text the second time:\n%s\n%s", text, second)
	}
}

func TestEncodeTables(t *testing.T) {
	p := decode(t, "a;b 1 2\na;c 0 3\n")
	if got, want := encode(t, p, 0), "a;b 1\n"; got != want {
		t.Errorf("base: %q", got)
	}
	if got, want := encode(t, p, 1), "a;b 2\na;c 3\n"; got != want {
		t.Errorf("new: %q", got)
	}
	// The other way round in memory.
	p.Tables[0], p.Tables[1] = p.Tables[1], p.Tables[0]
	if got, want := encode(t, p, -1), "a;b 1 2\na;c 0 3\n"; got != want {
		t.Errorf("swapped: %q", got)
	}
	p = proftest.Columns("A  A\nB  C")
	p.Tables = append(p.Tables, profile.Samples{Type: profile.ValueType{Name: profile.Alloc, Unit: "bytes"}})
	proftest.AddColumns(p, 1, "×3\nA\nC")
	p.Default = 1
	if got, want := encode(t, p, -1), "A;C 3\n"; got != want {
		t.Errorf("default: %q", got)
	}
	for _, table := range []int{-2, 2} {
		if err := Encode(&strings.Builder{}, p, table); err == nil {
			t.Errorf("table %d: no error", table)
		}
	}
	if err := Encode(&strings.Builder{}, profile.New(nil), -1); err == nil {
		t.Error("no tables: no error")
	}
}

// TestEncodeForeign writes what only other formats have.
func TestEncodeForeign(t *testing.T) {
	p := profile.New(nil)
	p.Format = "jfr"
	s := p.Symbols
	frame := func(fn profile.Function, f profile.Frame) profile.StackID {
		f.Function = s.Function(fn)
		return s.Stack(profile.NoStack, s.Frame(f))
	}
	p.Threads = append(p.Threads,
		profile.Thread{Name: "main", ID: "1"},
		profile.Thread{Name: "a;b", ID: "2"},
		profile.Thread{Name: "a];b", ID: "3"},
		profile.Thread{Name: "no id"},
		profile.Thread{ID: "5"},
		profile.Thread{Name: "hex;", ID: "0x7F"},
		profile.Thread{Name: "odd", ID: "(x)"},
		profile.Thread{Process: "db writer"},
		profile.Thread{Name: "two\nlines", ID: "9"},
		profile.Thread{Name: "x", Frame: "not a thread frame"})
	stacks := []profile.StackID{
		frame(profile.Function{Name: "a/B.c", Kind: profile.KindJava}, profile.Frame{Line: 7, Type: profile.FrameJIT}),
		frame(profile.Function{Name: "semi;colon\nline\xff"}, profile.Frame{Type: profile.FrameNative}),
		frame(profile.Function{}, profile.Frame{Address: 1}),
		frame(profile.Function{Name: " \t"}, profile.Frame{Address: 2}),
		frame(profile.Function{Name: "f", File: "x.py", StartLine: 3}, profile.Frame{Line: 4}),
		frame(profile.Function{Name: "g", File: "<string>", Kind: profile.KindPython}, profile.Frame{Line: 5}),
		frame(profile.Function{Name: "h", File: "<anonymous>", Kind: profile.KindJS}, profile.Frame{Line: 5}),
		frame(profile.Function{Name: "main.go.f", File: "/x/main.go"}, profile.Frame{Line: 5, Address: 1}),
		frame(profile.Function{Name: "main.go.f", File: "/x/main.go"}, profile.Frame{Line: 6, Address: 2}),
		profile.NoStack, // a gap
		s.Lost(),
	}
	table := profile.Samples{Type: profile.ValueType{Name: profile.CPU, Unit: "nanoseconds"}}
	for i, st := range stacks {
		table.Add(st, int64(i+1))
		table.Thread = append(table.Thread, profile.ThreadID(i))
	}
	p.Tables = []profile.Samples{table}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	want := proftest.Trim(`
		a/B.c_[j] 1
		[a;b tid=2];[unknown] 3
		[a]|b tid=3];[unknown] 4
		[db writer tid=0];main.go.f 9
		[main tid=1];semi|colon line� 2
		[no id tid=0];f (x.py:4) 5
		[odd (x) tid=0];main.go.f 8
		[tid=5];g (<string>:5) 6
		[x tid=0] 11
		thread (0x7F): hex|;h 7
	`)
	got := encode(t, p, -1)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again := decode(t, got)
	if second := encode(t, again, -1); second != got {
		t.Errorf("other text the second time (-want +got):\n%s", cmp.Diff(got, second))
	}
	p.Format = ""
	if got := encode(t, p, -1); !strings.Contains(got, "a/B.c:7_[j] 1\n") {
		t.Errorf("without a format lines are kept:\n%s", got)
	}
}

// TestEncodeInlined marks inlined frames only as async-profiler's formats do.
func TestEncodeInlined(t *testing.T) {
	for format, want := range map[string]string{"jfr": "f_[i] 1\n", "pprof": "f 1\n"} {
		p := profile.New(nil)
		p.Format = format
		s := p.Symbols
		fr := s.Frame(profile.Frame{Function: s.Function(profile.Function{Name: "f", Kind: profile.KindGo}), Type: profile.FrameInlined})
		p.Tables = []profile.Samples{{Type: profile.NamedType(profile.CPUSamples)}}
		p.Tables[0].Add(s.Stack(profile.NoStack, fr), 1)
		var b strings.Builder
		if err := Encode(&b, p, 0); err != nil || b.String() != want {
			t.Errorf("%s: %q, %v", format, b.String(), err)
		}
	}
}

func TestEncodeWriteError(t *testing.T) {
	boom := errors.New("boom")
	p := decode(t, "a 1\n")
	if err := Encode(failing{boom}, p, -1); !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestNumbers(t *testing.T) {
	for _, test := range []struct {
		value int64
		scale int
		want  string
	}{
		{0, 0, "0"}, {-5, 0, "-5"}, {5, 1, "0.5"}, {-5, 1, "-0.5"}, {50, 1, "5"}, {1234500, 4, "123.45"}, {1, 9, "0.000000001"},
		{math.MaxInt64, 9, "9223372036.854775807"}, {-math.MaxInt64, 18, "-9.223372036854775807"}, {math.MinInt64, 3, "-9223372036854775.808"},
	} {
		if got := string(jsonscan.AppendFixed(nil, test.value, test.scale)); got != test.want {
			t.Errorf("%d e-%d: %s, want %s", test.value, test.scale, got, test.want)
		}
	}
}
