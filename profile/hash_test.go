package profile_test

import (
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/proftest"
)

// full is a profile that uses every field the hash looks at: two samples of one
// stack of two frames.
func full() *profile.Profile {
	p := profile.New(nil)
	s := p.Symbols
	lib := s.Module(profile.Module{Path: "/lib/libc.so", BuildID: "b1", Start: 1, Limit: 2, Offset: 3, HasFunctions: true})
	outer := s.Function(profile.Function{Name: "main", SystemName: "_main", Module: "shop", File: "main.c", StartLine: 1, Column: 2,
		Language: "c", Kind: profile.KindNative})
	inner := s.Function(profile.Function{Name: "work"})
	st := s.Stack(profile.NoStack, s.Frame(profile.Frame{Function: outer, Line: 7, Column: 3, Address: 0x10, Module: lib, InlineDepth: 1,
		Type: profile.FrameJIT}))
	st = s.Stack(st, s.Frame(profile.Frame{Function: inner}))
	p.Threads = append(p.Threads, profile.Thread{Name: "worker", ID: "7", Process: "shop", Frame: "[worker tid=7]"})
	p.LabelSets = append(p.LabelSets, []profile.Label{{Key: "tenant", Text: "acme"}, {Key: "size", Num: 5, Unit: "bytes"}})
	p.States = append(p.States, "RUNNABLE")
	p.Tables = []profile.Samples{{
		Type: profile.ValueType{Name: profile.CPU, Unit: "nanoseconds", Scale: 1, Period: 10, PeriodUnit: "ms", PeriodName: "cpu",
			Original: "cpu"},
		Stack:   []profile.StackID{st, st},
		Value:   []int64{3, 4},
		Time:    []int64{10, 20},
		Thread:  []profile.ThreadID{1, 0},
		Labels:  []profile.LabelsID{1, 0},
		State:   []profile.StateID{1, 0},
		Address: []uint64{0xabc, 0},
	}}
	return p
}

// TestHashVectors pins the definition: stores keep these hashes.
func TestHashVectors(t *testing.T) {
	for _, c := range []struct {
		name string
		p    *profile.Profile
		want string
	}{
		{"nothing", proftest.Columns(""), "fff95b6ca624eb512c5438f83f9c0b1a"},
		{"a sample without a stack", proftest.Columns("·"), "51cb8b26a822f08520e2e525277eaec1"},
		{"one function", proftest.Columns("A"), "201f5c3f6e4daa984a45f1a668048c00"},
		{"two stacks with weights", proftest.Columns("×2  ×-3\nA   A\nB"), "f2219abe81a3388994eb9470fce740d0"},
		{"every field", full(), "26742d719da2e2153399ec1ab5e4869e"},
	} {
		if err := c.p.Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := c.p.Hash(0).String(); got != c.want {
			t.Errorf("%s: %s, want %s: hashes are stored and must not change", c.name, got, c.want)
		}
	}
}

// TestHashSeesEachField changes one thing at a time.
func TestHashSeesEachField(t *testing.T) {
	base := full().Hash(0)
	seen := map[profile.Hash]string{base: "nothing changed"}
	function := func(change func(*profile.Function)) func(*profile.Profile) {
		return func(p *profile.Profile) { change(&p.Symbols.Functions[0]) }
	}
	frame := func(change func(*profile.Frame)) func(*profile.Profile) {
		return func(p *profile.Profile) { change(&p.Symbols.Frames[0]) }
	}
	for _, c := range []struct {
		name   string
		change func(*profile.Profile)
	}{
		{"name", function(func(f *profile.Function) { f.Name = "x" })},
		{"system name", function(func(f *profile.Function) { f.SystemName = "x" })},
		{"module of the function", function(func(f *profile.Function) { f.Module = "x" })},
		{"file", function(func(f *profile.Function) { f.File = "x" })},
		{"start line", function(func(f *profile.Function) { f.StartLine = 9 })},
		{"start column", function(func(f *profile.Function) { f.Column = 9 })},
		{"language", function(func(f *profile.Function) { f.Language = "x" })},
		{"line", frame(func(f *profile.Frame) { f.Line = 9 })},
		{"column", frame(func(f *profile.Frame) { f.Column = 9 })},
		{"code address", frame(func(f *profile.Frame) { f.Address = 9 })},
		{"inline depth", frame(func(f *profile.Frame) { f.InlineDepth = 9 })},
		{"frame type", frame(func(f *profile.Frame) { f.Type = profile.FrameC1 })},
		{"module of the frame", func(p *profile.Profile) { p.Symbols.Modules[1].Path = "x" }},
		{"value", func(p *profile.Profile) { p.Tables[0].Value[0] = 9 }},
		{"sign", func(p *profile.Profile) { p.Tables[0].Value[0] = -3 }},
		{"values swapped", func(p *profile.Profile) { slices.Reverse(p.Tables[0].Value) }},
		{"stack", func(p *profile.Profile) { p.Tables[0].Stack[0] = 0 }},
		{"no stack", func(p *profile.Profile) { p.Tables[0].Stack[0] = profile.NoStack }},
		{"time", func(p *profile.Profile) { p.Tables[0].Time[0] = 9 }},
		{"no times", func(p *profile.Profile) { p.Tables[0].Time = nil }},
		{"thread", func(p *profile.Profile) { p.Tables[0].Thread[0] = 0 }},
		{"thread name", func(p *profile.Profile) { p.Threads[1].Name = "x" }},
		{"thread id", func(p *profile.Profile) { p.Threads[1].ID = "x" }},
		{"process", func(p *profile.Profile) { p.Threads[1].Process = "x" }},
		{"labels", func(p *profile.Profile) { p.Tables[0].Labels[0] = 0 }},
		{"label key", func(p *profile.Profile) { p.LabelSets[1][0].Key = "x" }},
		{"label text", func(p *profile.Profile) { p.LabelSets[1][0].Text = "x" }},
		{"label number", func(p *profile.Profile) { p.LabelSets[1][1].Num = 9 }},
		{"label unit", func(p *profile.Profile) { p.LabelSets[1][1].Unit = "x" }},
		{"a label less", func(p *profile.Profile) { p.LabelSets[1] = p.LabelSets[1][:1] }},
		{"state", func(p *profile.Profile) { p.Tables[0].State[0] = 0 }},
		{"state name", func(p *profile.Profile) { p.States[1] = "x" }},
		{"object address", func(p *profile.Profile) { p.Tables[0].Address[0] = 9 }},
		{"a sample more", func(p *profile.Profile) { addSample(&p.Tables[0], 5) }},
		{"type", func(p *profile.Profile) { p.Tables[0].Type.Name = "x" }},
		{"unit", func(p *profile.Profile) { p.Tables[0].Type.Unit = "x" }},
		{"scale", func(p *profile.Profile) { p.Tables[0].Type.Scale = 2 }},
		{"period", func(p *profile.Profile) { p.Tables[0].Type.Period = 9 }},
	} {
		p := full()
		c.change(p)
		h := p.Hash(0)
		if other, ok := seen[h]; ok {
			t.Errorf("%s gives the hash of: %s", c.name, other)
		}
		seen[h] = c.name
	}
}

// addSample repeats the last sample with another value.
func addSample(s *profile.Samples, value int64) {
	last := len(s.Stack) - 1
	s.Stack = append(s.Stack, s.Stack[last])
	s.Value = append(s.Value, value)
	s.Time = append(s.Time, s.Time[last])
	s.Thread = append(s.Thread, s.Thread[last])
	s.Labels = append(s.Labels, s.Labels[last])
	s.State = append(s.State, s.State[last])
	s.Address = append(s.Address, s.Address[last])
}

func TestHashIgnoresWhatIsNotContent(t *testing.T) {
	base := full().Hash(0)
	for _, c := range []struct {
		name   string
		change func(*profile.Profile)
	}{
		{"kind", func(p *profile.Profile) { p.Symbols.Functions[0].Kind = profile.KindGo }},
		{"format and profiler", func(p *profile.Profile) { p.Format, p.Profiler, p.Comments = "x", "y", []string{"z"} }},
		{"original name of the type", func(p *profile.Profile) { p.Tables[0].Type.Original, p.Tables[0].Type.PeriodName = "x", "y" }},
		{"spelling of the thread frame", func(p *profile.Profile) { p.Threads[1].Frame = "x" }},
		{"samples of zero", func(p *profile.Profile) { addSample(&p.Tables[0], 0) }},
		{"another table", func(p *profile.Profile) { p.Tables = append(p.Tables, profile.Samples{}) }},
		{"more threads", func(p *profile.Profile) { p.Threads = append(p.Threads, profile.Thread{Name: "idle"}) }},
	} {
		p := full()
		c.change(p)
		if h := p.Hash(0); h != base {
			t.Errorf("%s changes the hash to %s", c.name, h)
		}
	}
}

func TestHashReadsMissingColumnsAsZero(t *testing.T) {
	with, without := proftest.Columns("A"), proftest.Columns("A")
	s := &with.Tables[0]
	s.Time, s.Thread, s.Labels, s.State, s.Address = []int64{0}, []profile.ThreadID{0}, []profile.LabelsID{0}, []profile.StateID{0},
		[]uint64{0}
	if with.Hash(0) != without.Hash(0) {
		t.Error("a column of zeros is not the same as none")
	}
}

// sample is one row of a drawn table.
type sample struct {
	stack  []string
	value  int64
	thread string
}

func drawSamples(t *rapid.T) []sample {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sample {
		return sample{
			rapid.SliceOfN(rapid.SampledFrom([]string{"A", "B", "C"}), 0, 4).Draw(t, "stack"),
			rapid.Int64Range(-3, 3).Draw(t, "value"),
			rapid.SampledFrom([]string{"", "main", "worker"}).Draw(t, "thread"),
		}
	}), 0, 8).Draw(t, "samples")
}

// build makes a profile of samples over s, whose ids depend on the order.
func build(s *profile.Symbols, list []sample) *profile.Profile {
	p := profile.New(s)
	table := profile.Samples{Type: profile.ValueType{Name: profile.CPU}}
	threads := map[string]profile.ThreadID{"": 0}
	for _, x := range list {
		id, ok := threads[x.thread]
		if !ok {
			id = profile.ThreadID(len(p.Threads))
			threads[x.thread] = id
			p.Threads = append(p.Threads, profile.Thread{Name: x.thread})
		}
		table.Add(proftest.Stack(p.Symbols, x.stack...), x.value)
		table.Thread = append(table.Thread, id)
	}
	p.Tables = []profile.Samples{table}
	return p
}

func TestHashDoesNotDependOnOrderIDsOrWarmSymbols(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawSamples(t)
		want := build(nil, list).Hash(0)
		if got := build(nil, rapid.Permutation(list).Draw(t, "order")).Hash(0); got != want {
			t.Fatalf("another order of samples: %s, want %s", got, want)
		}
		warm := profile.NewSymbols()
		build(warm, drawSamples(t)).Hash(0)
		proftest.Stack(warm, "not", "hashed", "yet")
		if got := build(warm, list).Hash(0); got != want {
			t.Fatalf("with warm symbols: %s, want %s", got, want)
		}
	})
}

func TestHashMayBeCalledFromManyGoroutines(t *testing.T) {
	p := full()
	p.Tables = append(p.Tables, p.Tables[0])
	want := full().Hash(0)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if h := p.Hash(i % 2); h != want {
				t.Errorf("%s, want %s", h, want)
			}
		})
	}
	wg.Wait()
}

func BenchmarkHash(b *testing.B) {
	p := profile.New(nil)
	p.Tables = []profile.Samples{{Type: profile.ValueType{Name: profile.CPU}}}
	for i := range 100_000 {
		st := profile.StackID(i/2 - 1)
		st = p.Symbols.Stack(st, p.Symbols.Frame(profile.Frame{Function: p.Symbols.Function(profile.Function{Name: "com.acme.shop.Cart.total"}),
			Line: int32(i)}))
		p.Tables[0].Add(st, 1)
	}
	b.ReportAllocs()
	for b.Loop() {
		p.Hash(0)
	}
}
