package profile_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/proftest"
)

func TestCheck(t *testing.T) {
	if err := full().Check(); err != nil {
		t.Fatal(err)
	}
	if err := profile.New(nil).Check(); err != nil {
		t.Errorf("an empty profile: %v", err)
	}
	table := func(change func(*profile.Samples)) func(*profile.Profile) {
		return func(p *profile.Profile) { change(&p.Tables[0]) }
	}
	for _, c := range []struct {
		name  string
		spoil func(*profile.Profile)
		want  string
	}{
		{"P1 stack", table(func(s *profile.Samples) { s.Stack[1] = 2 }), "value type cpu: malformed: sample 1 has stack 2 of 2"},
		{"P1 negative stack", table(func(s *profile.Samples) { s.Stack[0] = -2 }), "sample 0 has stack -2 of 2"},
		{"P1 thread", table(func(s *profile.Samples) { s.Thread[0] = 2 }), "thread 2 of 2"},
		{"P1 negative thread", table(func(s *profile.Samples) { s.Thread[0] = -1 }), "thread -1 of 2"},
		{"P1 labels", table(func(s *profile.Samples) { s.Labels[0] = 2 }), "label set 2 of 2"},
		{"P1 state", table(func(s *profile.Samples) { s.State[0] = 2 }), "state 2 of 2"},
		{"P1 default", func(p *profile.Profile) { p.Default = 1 }, "default value type 1 of 1"},
		{"P1 negative default", func(p *profile.Profile) { p.Default = -1 }, "default value type -1 of 1"},
		{"P2 value", table(func(s *profile.Samples) { s.Value = s.Value[:1] }), "2 samples but 1 in column value"},
		{"P2 no values", table(func(s *profile.Samples) { s.Value = nil }), "2 samples but 0 in column value"},
		{"P2 time", table(func(s *profile.Samples) { s.Time = s.Time[:1] }), "2 samples but 1 in column time"},
		{"P2 thread", table(func(s *profile.Samples) { s.Thread = s.Thread[:1] }), "2 samples but 1 in column thread"},
		{"P2 labels", table(func(s *profile.Samples) { s.Labels = s.Labels[:1] }), "2 samples but 1 in column labels"},
		{"P2 state", table(func(s *profile.Samples) { s.State = append(s.State, 0) }), "2 samples but 3 in column state"},
		{"P2 address", table(func(s *profile.Samples) { s.Address = s.Address[:1] }), "2 samples but 1 in column address"},
		{"P2 a column made and not filled", table(func(s *profile.Samples) { s.Time = s.Time[:0] }), "2 samples but 0 in column time"},
		{"P3 sum", table(func(s *profile.Samples) { s.Value[0], s.Value[1] = math.MaxInt64, 1 }),
			"the sum of the values exceeds 63 bits at sample 1"},
		{"P3 sizes", table(func(s *profile.Samples) { s.Value[0], s.Value[1] = math.MaxInt64, -1 }), "exceeds 63 bits at sample 1"},
		{"P3 smallest", table(func(s *profile.Samples) { s.Value[0] = math.MinInt64 }), "exceeds 63 bits at sample 0"},
		{"P4 threads", func(p *profile.Profile) { p.Threads[0].Name = "x" }, "index 0 of threads, labels and states is not empty"},
		{"P4 no threads", func(p *profile.Profile) { p.Threads = nil }, "index 0"},
		{"P4 labels", func(p *profile.Profile) { p.LabelSets[0] = []profile.Label{{}} }, "index 0"},
		{"P4 no labels", func(p *profile.Profile) { p.LabelSets = nil }, "index 0"},
		{"P4 states", func(p *profile.Profile) { p.States[0] = "x" }, "index 0"},
		{"P4 no states", func(p *profile.Profile) { p.States = nil }, "index 0"},
	} {
		p := full()
		c.spoil(p)
		err := p.Check()
		if err == nil || !errors.Is(err, profile.ErrMalformed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	largest := full()
	largest.Tables[0].Value = []int64{math.MaxInt64 - 1, -1}
	if err := largest.Check(); err != nil {
		t.Errorf("the largest sum: %v", err)
	}
}

func TestTotalLeavesOutSamplesWithoutAStack(t *testing.T) {
	p := proftest.Columns("×3  ×100  ×-1\nA   ·     B")
	if s := &p.Tables[0]; s.Total() != 2 || s.Len() != 3 {
		t.Errorf("total %d of %d samples", s.Total(), s.Len())
	}
}

func TestTable(t *testing.T) {
	p := profile.New(nil)
	if _, err := p.Table(""); err == nil || err.Error() != `no value type "" in this profile; it has []` {
		t.Error(err)
	}
	for _, name := range []string{"alloc", "alloc-samples"} {
		p.Tables = append(p.Tables, profile.Samples{Type: profile.ValueType{Name: name}})
	}
	p.Default = 1
	for _, c := range []struct {
		name string
		want int
	}{{"", 1}, {"alloc", 0}, {"alloc-samples", 1}} {
		if i, err := p.Table(c.name); err != nil || i != c.want {
			t.Errorf("%q: %d, %v", c.name, i, err)
		}
	}
	if _, err := p.Table("cpu"); err == nil || err.Error() != `no value type "cpu" in this profile; it has ["alloc" "alloc-samples"]` {
		t.Error(err)
	}
}

func TestWarnings(t *testing.T) {
	p := profile.New(nil)
	p.Warnf("%d lines left out", 3)
	p.Warnings = append(p.Warnings, profile.Warning{Line: 7, Message: "odd"})
	var got []string
	for _, w := range p.Warnings {
		got = append(got, w.String())
	}
	if diff := cmp.Diff([]string{"3 lines left out", "line 7: odd"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSymbolsIntern(t *testing.T) {
	s := profile.NewSymbols()
	f := profile.Function{Name: "f", SystemName: "s", Module: "m", File: "a", StartLine: 1, Column: 2, Language: "l"}
	id := s.Function(f)
	for name, other := range map[string]profile.Function{
		"name":        {Name: "g", SystemName: "s", Module: "m", File: "a", StartLine: 1, Column: 2, Language: "l"},
		"system name": {Name: "f", SystemName: "t", Module: "m", File: "a", StartLine: 1, Column: 2, Language: "l"},
		"module":      {Name: "f", SystemName: "s", Module: "n", File: "a", StartLine: 1, Column: 2, Language: "l"},
		"file":        {Name: "f", SystemName: "s", Module: "m", File: "b", StartLine: 1, Column: 2, Language: "l"},
		"line":        {Name: "f", SystemName: "s", Module: "m", File: "a", StartLine: 2, Column: 2, Language: "l"},
		"column":      {Name: "f", SystemName: "s", Module: "m", File: "a", StartLine: 1, Column: 3, Language: "l"},
		"language":    {Name: "f", SystemName: "s", Module: "m", File: "a", StartLine: 1, Column: 2, Language: "k"},
	} {
		if s.Function(other) == id {
			t.Errorf("%s is part of the identity", name)
		}
	}
	// The kind is not: the first one known stays.
	for _, kind := range []profile.Kind{profile.KindUnknown, profile.KindGo, profile.KindJava, profile.KindUnknown} {
		f.Kind = kind
		if s.Function(f) != id {
			t.Errorf("kind %s makes another function", kind)
		}
	}
	if kind := s.Functions[id].Kind; kind != profile.KindGo {
		t.Errorf("kind %s, want the first one known", kind)
	}
	if a, b := s.Frame(profile.Frame{Line: 1}), s.Frame(profile.Frame{Line: 2}); a == b || s.Frame(profile.Frame{Line: 1}) != a {
		t.Errorf("frames %d, %d", a, b)
	}
	m := profile.Module{Path: "x"}
	if a := s.Module(m); a != 1 || s.Module(m) != a || s.Module(profile.Module{}) != 0 || s.Modules[0] != (profile.Module{}) {
		t.Errorf("modules: %+v", s.Modules)
	}
}

func TestStacks(t *testing.T) {
	s := profile.NewSymbols()
	st := proftest.Stack(s, "A", "B", "C")
	path := s.Path(st, make([]profile.FrameID, 1))
	if diff := cmp.Diff([]profile.FrameID{0, 0, 1, 2}, path); diff != "" {
		t.Errorf("the path behind what was there, outermost first: %s", diff)
	}
	if s.Leaf(st) != 2 || s.Leaf(s.Parent(st)) != 1 || s.Parent(0) != profile.NoStack {
		t.Error("leaf or parent")
	}
	if len(s.Path(profile.NoStack, nil)) != 0 {
		t.Error("no stack has a path")
	}
}

func TestKinds(t *testing.T) {
	for k := profile.KindUnknown; k <= profile.KindClass; k++ {
		got, err := profile.ParseKind(k.String())
		if err != nil || got != k || (k.String() == "") != (k == profile.KindUnknown) {
			t.Errorf("kind %d: %q, %d, %v", k, k, got, err)
		}
	}
	if _, err := profile.ParseKind("cobol"); err == nil ||
		!strings.Contains(err.Error(), `unknown kind "cobol"; want one of ["java" "native"`) {
		t.Error(err)
	}
	// Numbers are stored.
	if profile.KindClass != 15 || profile.Kind(99).String() != "kind-99" || profile.FrameKernel != 7 ||
		profile.FrameType(99).String() != "frame-type-99" {
		t.Error("numbers or names of the unknown changed")
	}
	var modes []string
	for f := profile.FrameUnknown; f < profile.FrameTypes; f++ {
		if f.CompileMode() {
			modes = append(modes, f.String())
		}
	}
	if diff := cmp.Diff([]string{"interpreted", "c1", "jit", "inlined"}, modes); diff != "" {
		t.Error(diff)
	}
}

func TestValueTypeKey(t *testing.T) {
	for _, c := range []struct {
		v    profile.ValueType
		want string
	}{
		{profile.ValueType{Name: "cpu", Unit: "nanoseconds"}, "cpu/nanoseconds"},
		{profile.ValueType{Name: "cpu", Unit: "ns", Scale: 3}, "cpu/nse-3"},
		{profile.ValueType{Name: "cpu", Unit: "count", Period: 10, PeriodUnit: "ms"}, "cpu/count@10ms"},
		{profile.ValueType{Name: "cpu", Unit: "count", PeriodUnit: "ms", PeriodName: "x", Original: "y"}, "cpu/count"},
	} {
		if got := c.v.Key(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.v, got, c.want)
		}
	}
	if got := (profile.ValueType{Name: "cpu", Unit: "count"}).String(); got != "cpu (count)" {
		t.Error(got)
	}
}

func TestPow10(t *testing.T) {
	for scale, want := range map[int]int64{0: 1, 1: 10, 18: 1_000_000_000_000_000_000} {
		if got, err := profile.Pow10(scale); err != nil || got != want {
			t.Errorf("%d: %d, %v", scale, got, err)
		}
	}
	for _, scale := range []int{-1, 19} {
		if _, err := profile.Pow10(scale); !errors.Is(err, profile.ErrMalformed) {
			t.Errorf("%d: %v", scale, err)
		}
	}
}

func TestParseError(t *testing.T) {
	inner := profile.TooLarge("stack deeper", 65536, "--max-depth")
	if !errors.Is(inner, profile.ErrTooLarge) || inner.Error() != "stack deeper than 65536: too large (raise it with --max-depth)" {
		t.Error(inner)
	}
	for _, c := range []struct {
		e    profile.ParseError
		want string
	}{
		{profile.ParseError{Source: "a.zip: x.pb", Line: 12, Offset: -1, Err: profile.ErrMalformed}, "a.zip: x.pb:12: malformed"},
		{profile.ParseError{Source: "x.pb", Offset: 7, Err: profile.ErrMalformed}, "x.pb: byte 7: malformed"},
		{profile.ParseError{Source: "x.pb", Line: 3, Offset: 7, Err: profile.ErrMalformed}, "x.pb:3: malformed"},
		{profile.ParseError{Source: "x.pb", Offset: -1, Err: profile.ErrMalformed, Hint: "try again"}, "x.pb: malformed (try again)"},
		{profile.ParseError{Line: 12, Err: profile.ErrMalformed}, "line 12: malformed"},
		{profile.ParseError{Offset: 7, Err: profile.ErrMalformed}, "byte 7: malformed"},
		{profile.ParseError{Offset: -1, Err: profile.ErrMalformed}, "malformed"},
	} {
		if got := c.e.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		if !errors.Is(&c.e, profile.ErrMalformed) {
			t.Errorf("%v does not unwrap", &c.e)
		}
	}
}

func TestLimits(t *testing.T) {
	want := profile.Limits{Depth: 65_536, Frames: 2 << 20, Line: 16 << 20, Inflated: 16 << 30, Message: 1 << 30}
	if diff := cmp.Diff(want, profile.Limits{}.WithDefaults()); diff != "" {
		t.Error(diff)
	}
	mine := profile.Limits{Depth: 1, Frames: 5, Line: 2, Inflated: 3, Message: 4}
	if diff := cmp.Diff(mine, mine.WithDefaults()); diff != "" {
		t.Error(diff)
	}
}
