package firefox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

func encode(t interface{ Fatalf(string, ...any) }, p *profile.Profile, table int) string {
	var b bytes.Buffer
	if err := Encode(&b, p, table); err != nil {
		t.Fatalf("%v", err)
	}
	return b.String()
}

// naive is a plain reader of what the loader of Firefox Profiler needs of version
// 57, with every column that it needs.
type naive struct {
	Meta struct {
		Version      int     `json:"preprocessedProfileVersion"`
		Interval     float64 `json:"interval"`
		Symbolicated bool    `json:"symbolicated"`
		OneStackType bool    `json:"usesOnlyOneStackType"`
		Categories   []struct {
			Name, Color   string
			Subcategories []string
		}
		MarkerSchema []struct{ Name string }
	}
	Libs    []struct{ Name, Path, DebugName, BreakpadID string }
	Shared  struct{ StringArray []string }
	Threads []struct {
		Name, Pid, ProcessType string
		Tid                    any
		IsMainThread           bool
		PausedRanges           []any
		Samples                naiveSamples
		NativeAllocations      *naiveSamples
		JSAllocations          *naiveSamples `json:"jsAllocations"`
		FuncTable              struct {
			Length                             int
			Name, Resource                     []int
			IsJS, RelevantForJS                []bool
			FileName, LineNumber, ColumnNumber []*int
		}
		FrameTable struct {
			Length                                                           int
			Func, Address, InlineDepth                                       []int
			Category, Subcategory, NativeSymbol, InnerWindowID, Line, Column []*int
		}
		StackTable struct {
			Length int
			Frame  []int
			Prefix []*int
		}
		ResourceTable struct {
			Length    int
			Name      []int
			Type      []int
			Host, Lib []*int
		}
		NativeSymbols map[string]any
		Markers       struct {
			Length             int
			Name, Phase        []int
			StartTime, EndTime []*float64
			Category           []int
			Data               []map[string]any
		}
	}
}

type naiveSamples struct {
	Length        int
	Stack         []*int
	Time          []float64
	Weight        []json.Number
	WeightType    string
	MemoryAddress []int
}

// stacks returns each sample as "thread stack weight time", frames by name, and
// demands what the loader does.
func (n *naive) samples(t interface{ Fatalf(string, ...any) }) (list []string) {
	if n.Meta.Version != written || !n.Meta.Symbolicated || n.Meta.Interval <= 0 || n.Meta.MarkerSchema == nil {
		t.Fatalf("meta %+v", n.Meta)
	}
	if !slices.ContainsFunc(n.Meta.Categories, func(c struct {
		Name, Color   string
		Subcategories []string
	}) bool {
		return c.Color == "grey"
	}) {
		t.Fatalf("no grey category")
	}
	for _, th := range n.Threads {
		f, fr, st, r := th.FuncTable, th.FrameTable, th.StackTable, th.ResourceTable
		for name, lengths := range map[string][]int{
			"funcTable": {f.Length, len(f.Name), len(f.Resource), len(f.IsJS), len(f.RelevantForJS), len(f.FileName), len(f.LineNumber),
				len(f.ColumnNumber)},
			"frameTable": {fr.Length, len(fr.Func), len(fr.Address), len(fr.InlineDepth), len(fr.Category), len(fr.Subcategory),
				len(fr.NativeSymbol), len(fr.InnerWindowID), len(fr.Line), len(fr.Column)},
			"stackTable":    {st.Length, len(st.Frame), len(st.Prefix)},
			"resourceTable": {r.Length, len(r.Name), len(r.Type), len(r.Host), len(r.Lib)},
			"samples":       {th.Samples.Length, len(th.Samples.Stack), len(th.Samples.Time)},
			"markers": {th.Markers.Length, len(th.Markers.Name), len(th.Markers.Phase), len(th.Markers.StartTime), len(th.Markers.EndTime),
				len(th.Markers.Category), len(th.Markers.Data)},
		} {
			if slices.Min(lengths) != slices.Max(lengths) {
				t.Fatalf("%s has columns of %v", name, lengths)
			}
		}
		if th.ProcessType == "" || th.PausedRanges == nil || th.NativeSymbols == nil || th.Pid == "" {
			t.Fatalf("thread %q lacks a field", th.Name)
		}
		for i, stack := range th.Samples.Stack {
			var names []string
			for s := stack; s != nil; s = st.Prefix[*s] {
				if p := st.Prefix[*s]; p != nil && *p >= *s {
					t.Fatalf("stack %d has prefix %d", *s, *p)
				}
				fn := fr.Func[st.Frame[*s]]
				name := n.Shared.StringArray[f.Name[fn]]
				if res := f.Resource[fn]; res >= 0 {
					name = n.Shared.StringArray[r.Name[res]] + "!" + name
				}
				names = append(names, name)
			}
			slices.Reverse(names)
			weight := "1"
			if th.Samples.Weight != nil {
				weight = th.Samples.Weight[i].String()
			}
			list = append(list, fmt.Sprintf("%v %q %s %d", th.Tid, names, weight, int64(math.Round(th.Samples.Time[i]*1e6))))
		}
	}
	return list
}

// samplesOf is the same of a profile whose values are whole numbers.
func samplesOf(p *profile.Profile, t *profile.Samples) (list []string) {
	order := make([]int, t.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if d := int(t.Thread[a]) - int(t.Thread[b]); d != 0 {
			return d
		}
		return int(t.Time[a] - t.Time[b])
	})
	for _, row := range order {
		var names []string
		for _, f := range p.Symbols.Path(t.Stack[row], nil) {
			fn := p.Symbols.Functions[p.Symbols.Frames[f].Function]
			name := fn.Name
			if fn.Module != "" {
				name = fn.Module + "!" + name
			}
			names = append(names, name)
		}
		list = append(list, fmt.Sprintf("%v %q %d %d", p.Threads[t.Thread[row]].ID, names, t.Value[row], t.Time[row]))
	}
	return list
}

func TestNaiveReaderAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := readtest.Profile(t, readtest.Shape{
			Types: []profile.ValueType{profile.NamedType(profile.CPUSamples)}, Times: true, Threads: true, Modules: true, Categories: true,
			Markers: true,
		})
		text := encode(t, p, -1)
		var n naive
		if err := json.Unmarshal([]byte(text), &n); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		want, got := samplesOf(p, &p.Tables[0]), n.samples(t)
		if !slices.Equal(got, want) {
			t.Fatalf("%s\nhas %q\nwant %q", text, got, want)
		}
	})
}

// described is the description of what the format keeps, sorted by thread, since
// the rows of all threads are interleaved in p and not in what is read back.
func described(p *profile.Profile) string {
	lines := strings.SplitAfter(readtest.Describe(p), "\n")
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(lineKey(a), lineKey(b)) })
	return strings.Join(lines, "")
}

func lineKey(line string) string {
	if i := strings.Index(line, "["); i >= 0 && !strings.HasPrefix(line, "marker") {
		return "row" + line[i:]
	}
	return line
}

func TestRoundtrip(t *testing.T) {
	samples := profile.ValueType{Name: typeSamples, Unit: "count", Original: "samples"}
	scaled := profile.ValueType{Name: typeTracing, Unit: "milliseconds", Original: "tracing-ms"}
	native := profile.ValueType{Name: typeNative, Unit: "bytes"}
	for _, shape := range []readtest.Shape{
		{Types: []profile.ValueType{samples}, Times: true, Threads: true, Modules: true, Categories: true, Markers: true},
		{Types: []profile.ValueType{scaled, native}, Times: true, Threads: true, Address: true, Categories: true},
	} {
		rapid.Check(t, func(t *rapid.T) {
			p := readtest.Profile(t, shape)
			if !hasCategories(p) {
				t.Skip("categories by kind are added when there are none")
			}
			text := encode(t, p, -1)
			q, err := decode(text)
			if err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			if got, want := described(q), described(p); got != want {
				t.Fatalf("%s\nbecomes\n%s\nin %s", want, got, text)
			}
			if again := encode(t, q, -1); len(again) != len(text) && again == "" {
				t.Fatalf("nothing the second time")
			}
		})
	}
}

func hasCategories(p *profile.Profile) bool {
	for _, t := range p.Tables {
		for _, st := range t.Stack {
			for ; st != profile.NoStack; st = p.Symbols.Parent(st) {
				if p.Symbols.Frames[p.Symbols.Leaf(st)].Category != 0 {
					return true
				}
			}
		}
	}
	return false
}

func TestUnits(t *testing.T) {
	for _, tt := range []struct {
		vt         profile.ValueType
		value      int64
		weight, as string
	}{
		{profile.NamedType(profile.CPU), 1_500_000, "[1.5]", "tracing-ms"},
		{profile.NamedType(profile.Alloc), 12, "[12]", "bytes"},
		{profile.NamedType(profile.CPUSamples), 1, "null", "samples"},
		{profile.ValueType{Name: "x", Unit: "count", Scale: 2}, -125, "[-1.25]", "samples"},
	} {
		p := profile.New(nil)
		fn := p.Symbols.Function(profile.Function{Name: "f"})
		p.Tables = []profile.Samples{{Type: tt.vt}}
		p.Tables[0].Add(p.Symbols.Stack(profile.NoStack, p.Symbols.Frame(profile.Frame{Function: fn})), tt.value)
		want := `"weight":` + tt.weight + `,"weightType":"` + tt.as + `"`
		if text := encode(t, p, -1); !strings.Contains(text, want) {
			t.Errorf("%v: no %s in %s", tt.vt, want, text)
		}
	}
	p := profile.New(nil)
	if Encode(&bytes.Buffer{}, p, -1) == nil || Encode(&bytes.Buffer{}, p, 0) == nil {
		t.Error("a profile without tables is written")
	}
}

// kindsProfile has a frame of every kind and compile mode.
func kindsProfile() *profile.Profile {
	p := profile.New(nil)
	p.Profiler, p.Interval = "example", 10_000_000
	p.Threads = append(p.Threads, profile.Thread{Name: "main", ID: "7", Process: "shop (5)"},
		profile.Thread{Name: "worker", ID: "x9", Process: "shop (5)"})
	t := profile.Samples{Type: profile.NamedType(profile.CPUSamples)}
	stack := profile.NoStack
	for k := profile.KindUnknown; k <= profile.KindJSLabel; k++ {
		fn := p.Symbols.Function(profile.Function{Name: "f" + strconv.Itoa(int(k)), Module: "m", File: "a.go", StartLine: 3, Kind: k})
		m := p.Symbols.Module(profile.Module{Path: "/bin/m", BuildID: "B1"})
		stack = p.Symbols.Stack(stack, p.Symbols.Frame(profile.Frame{
			Function: fn, Line: 4, Module: m, Address: uint64(16 + k), Type: profile.FrameType(int(k) % profile.FrameTypes),
		}))
		t.Add(stack, int64(k))
		t.Thread = append(t.Thread, profile.ThreadID(1+k%2))
	}
	p.Tables = []profile.Samples{t}
	p.Markers = []profile.Marker{{Name: "request", Start: 5, End: 10_000_005, Thread: 1,
		Fields: []profile.Label{{Key: "url", Text: "/"}, {Key: "n", Num: 3}}}}
	return p
}

func TestGolden(t *testing.T) {
	text := encode(t, kindsProfile(), -1)
	readtest.Golden(t, "written-v57.json", text)
	if _, err := decode(text); err != nil {
		t.Error(err)
	}
	var n naive
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	n.samples(t)
}

func TestNoThreadRoundtrip(t *testing.T) {
	p := profile.New(nil)
	p.Tables = []profile.Samples{{Type: profile.ValueType{Name: typeSamples, Unit: "count", Original: "samples"}}}
	p.Tables[0].Add(p.Symbols.Stack(profile.NoStack, p.Symbols.Frame(
		profile.Frame{Function: p.Symbols.Function(profile.Function{Name: "A"})})), 3)
	q, err := decode(encode(t, p, -1))
	if err != nil {
		t.Fatal(err)
	}
	if len(q.Threads) != 1 || q.Tables[0].Total() != 3 {
		t.Errorf("threads %+v, total %d", q.Threads, q.Tables[0].Total())
	}
}
