package pprof

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/proftest"
	"github.com/dendroprof/dendro/test/readtest"
)

// checkRoundTrip writes p and reads it again: all tables at once, and each alone.
func checkRoundTrip(t interface {
	Fatalf(string, ...any)
	Errorf(string, ...any)
}, p *profile.Profile) {
	for table := -1; table < len(p.Tables); table++ {
		var out bytes.Buffer
		if err := Encode(&out, p, table); err != nil {
			t.Fatalf("table %d: %v", table, err)
		}
		again, err := decode(out.Bytes())
		if err != nil {
			t.Fatalf("table %d: %v", table, err)
		}
		if !Sniff(out.Bytes()) {
			t.Errorf("table %d: what is written is not recognised", table)
		}
		for i := range again.Tables {
			k := max(i, table)
			if a, b := p.Tables[k].Type, again.Tables[i].Type; a.Key() != b.Key() {
				t.Errorf("table %d: type %s becomes %s", k, a.Key(), b.Key())
			}
			if p.Hash(k) != again.Hash(i) {
				t.Errorf("table %d: another hash\n%q\n%q", k, rowsOf(p, k), rowsOf(again, i))
			}
		}
		if want := len(p.Tables); table == -1 && (len(again.Tables) != want || again.Default != p.Default) {
			t.Errorf("%d tables, default %d, want %d and %d", len(again.Tables), again.Default, want, p.Default)
		}
		if !again.Start.Equal(p.Start) || again.Duration != p.Duration || fmt.Sprint(again.Comments) != fmt.Sprint(p.Comments) ||
			again.DropFrames != p.DropFrames || again.KeepFrames != p.KeepFrames {
			t.Errorf("the head becomes %v %v %q", again.Start, again.Duration, again.Comments)
		}
	}
}

func TestRoundTripOfRecordedProfiles(t *testing.T) {
	for _, name := range recorded {
		checkRoundTrip(t, mustDecode(t, readtest.File(t, name)))
	}
}

// TestRoundTrip writes and reads random profiles of everything that a file can
// hold.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkRoundTrip(t, drawProfile(t)) })
}

func drawProfile(t *rapid.T) *profile.Profile {
	p := profile.New(nil)
	p.Format = Name
	text := rapid.SampledFrom([]string{"", "a", "b", "main.run", "größe", "0x10", "a;b\n", "[unknown]"})
	name := rapid.SampledFrom([]string{"main.run", "a", "b::c", "0x10", "0x1234", "日本"})
	small := rapid.SampledFrom([]int32{0, 1, 7, 1 << 30})
	address := rapid.SampledFrom([]uint64{0, 0x10, 0x1234, 1 << 63})
	modules := []linkedModule{{}, {name: "libx.so"}, {name: "[kernel.kallsyms]"}}
	for _, m := range []profile.Module{
		{Path: "/srv/app", Start: 0x1000, Limit: 0x2000, HasFunctions: true}, {Path: "/lib/k.ko", BuildID: "abc", HasInlineFrames: true},
		{Path: "converter", Limit: 1 << 63}, {BuildID: "only"},
	} {
		l := linkedModule{id: p.Symbols.Module(m), name: moduleName(m.Path)}
		if placeholder(&m) {
			l.name = ""
		}
		modules = append(modules, l)
	}
	frame := func(m linkedModule, address uint64, depth int) profile.FrameID {
		fn := profile.Function{Name: name.Draw(t, "name"), Module: m.name, File: text.Draw(t, "file"), StartLine: small.Draw(t, "start")}
		if fn.SystemName = text.Draw(t, "system"); fn.SystemName == fn.Name {
			fn.SystemName = ""
		}
		fr := profile.Frame{Function: p.Symbols.Function(fn), Line: small.Draw(t, "line"), Column: small.Draw(t, "column"),
			Address: address, Module: m.id, InlineDepth: uint16(depth)}
		if kernelModule(m.name) {
			fr.Type = profile.FrameKernel
		}
		if depth > 0 {
			fr.Type = profile.FrameInlined
		}
		return p.Symbols.Frame(fr)
	}
	stack := rapid.Custom(func(t *rapid.T) profile.StackID {
		st := profile.NoStack
		for range rapid.IntRange(0, 4).Draw(t, "depth") {
			m, at := rapid.SampledFrom(modules).Draw(t, "module"), address.Draw(t, "address")
			for depth := range rapid.IntRange(0, 3).Draw(t, "lines") {
				st = p.Symbols.Stack(st, frame(m, at, depth))
			}
		}
		if st == profile.NoStack {
			return p.Symbols.Lost()
		}
		return st
	})
	stacks := rapid.SliceOfN(stack, 1, 5).Draw(t, "stacks")
	drawLabels(t, p)
	drawTables(t, p, stacks)
	if rapid.Bool().Draw(t, "head") {
		p.Start = time.Unix(1_700_000_000, 123).UTC()
		p.Duration = -5
		p.Comments = []string{"one", "", "Produced by hand", "doc_url: https://example.com"}
		p.DropFrames, p.KeepFrames = "malloc|free", "x"
		p.Profiler = "hand"
	}
	return p
}

type linkedModule struct {
	id   profile.ModuleID
	name string
}

func drawLabels(t *rapid.T, p *profile.Profile) {
	label := rapid.Custom(func(t *rapid.T) profile.Label {
		l := profile.Label{Key: rapid.SampledFrom([]string{"", "k", "endpoint", "bytes"}).Draw(t, "key")}
		if rapid.Bool().Draw(t, "numeric") {
			l.Num = rapid.Int64().Draw(t, "number")
			l.Unit = rapid.SampledFrom([]string{"", "bytes"}).Draw(t, "unit")
		} else {
			l.Text = rapid.StringN(1, 5, -1).Draw(t, "text")
		}
		return l
	})
	p.LabelSets = append(p.LabelSets, rapid.SliceOfN(rapid.SliceOfN(label, 1, 3), 0, 3).Draw(t, "labels")...)
	text := rapid.SampledFrom([]string{"", "7", "worker"})
	for range rapid.IntRange(0, 3).Draw(t, "threads") {
		th := profile.Thread{Name: text.Draw(t, "thread"), ID: text.Draw(t, "thread id"), Process: text.Draw(t, "process")}
		if th != (profile.Thread{}) {
			p.Threads = append(p.Threads, th)
		}
	}
}

func drawTables(t *rapid.T, p *profile.Profile, stacks []profile.StackID) {
	types := []profile.ValueType{
		{Name: "cpu-samples", Unit: "count", Period: 10, PeriodUnit: "nanoseconds", PeriodName: "cpu"},
		{Name: "cpu", Unit: "nanoseconds", Period: 10, PeriodUnit: "nanoseconds", PeriodName: "cpu", Original: "cpu"},
		{Name: "alloc", Unit: "bytes"}, {Name: "own", Unit: "pages", Original: "own"},
	}
	n := rapid.IntRange(1, len(types)).Draw(t, "types")
	p.Default = rapid.IntRange(0, n-1).Draw(t, "default")
	bits := rapid.IntRange(1, 1<<8).Draw(t, "columns")
	for i := range n {
		s := profile.Samples{Type: types[i]}
		for range rapid.IntRange(0, 8).Draw(t, "samples") {
			s.Add(rapid.SampledFrom(stacks).Draw(t, "stack"), rapid.Int64Range(-1<<58, 1<<58).Draw(t, "value"))
			if bits>>i&1 == 0 {
				s.Labels = append(s.Labels, profile.LabelsID(rapid.IntRange(0, len(p.LabelSets)-1).Draw(t, "labels")))
			}
			if bits>>(i+4)&1 == 0 {
				s.Thread = append(s.Thread, profile.ThreadID(rapid.IntRange(0, len(p.Threads)-1).Draw(t, "thread")))
			}
		}
		p.Tables = append(p.Tables, s)
	}
}

// TestEncodeOtherFormats writes what only other formats have.
func TestEncodeOtherFormats(t *testing.T) {
	p := proftest.Columns(`
		×3  ×4  ×5
		A   A   B
		B   C   `)
	s := &p.Tables[0]
	s.Time = []int64{1, 2, 3}
	s.State = []profile.StateID{0, 1, 0}
	p.States = append(p.States, "RUNNABLE")
	p.Threads = append(p.Threads, profile.Thread{Name: "main", ID: "1", Frame: "[main tid=1]"})
	s.Thread = []profile.ThreadID{1, 1, 1}
	s.Add(s.Stack[0], 10)
	s.Time, s.State, s.Thread = append(s.Time, 4), append(s.State, 0), append(s.Thread, 1)
	scaled := profile.Samples{Type: profile.ValueType{Name: "cpu", Unit: "milliseconds", Scale: 2}}
	scaled.Add(s.Stack[0], 150) // 1.5 ms
	scaled.Add(s.Stack[2], -25)
	rounded := profile.Samples{Type: profile.ValueType{Name: "alloc", Unit: "bytes", Scale: 1}}
	for _, v := range []int64{14, 15, -14, -15} { // 1.4, 1.5, …
		rounded.Add(s.Stack[0], v)
	}
	p.Tables = append(p.Tables, scaled, rounded)
	var out bytes.Buffer
	if err := Encode(&out, p, -1); err != nil {
		t.Fatal(err)
	}
	again := mustDecode(t, out.Bytes())
	for i, want := range []string{"cpu-samples/count 22", "cpu/microseconds 1250", "alloc/bytes 0"} {
		if got := fmt.Sprint(again.Tables[i].Type.Key(), " ", again.Tables[i].Total()); got != want {
			t.Errorf("table %d: %s, want %s", i, got, want)
		}
	}
	if n := again.Tables[0].Len(); n != 3 {
		t.Errorf("%d samples, want 3: those that differ in time only are one", n)
	}
	if th := again.Threads[again.Tables[0].Thread[0]]; th != (profile.Thread{Name: "main", ID: "1"}) {
		t.Errorf("thread %+v", th)
	}
	if l := again.LabelSets[again.Tables[0].Labels[1]]; len(l) != 1 || l[0] != (profile.Label{Key: "state", Text: "RUNNABLE"}) {
		t.Errorf("labels %v", l)
	}
	for _, table := range []int{-2, 3} {
		if err := Encode(&out, p, table); err == nil {
			t.Errorf("table %d: no error", table)
		}
	}
	if err := Encode(&out, profile.New(nil), -1); err == nil {
		t.Error("no tables: no error")
	}
}
