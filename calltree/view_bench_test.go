package calltree_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// large is the profile that views are measured with: a million samples 30 frames
// deep on average, whose stacks make some 6.3 million call nodes. Each stack leaves
// the one before it some six frames up, and goes down again into functions of
// which few are called often.
var large = sync.OnceValue(func() *profile.Profile {
	const samples, functions = 1_000_000, 2000
	p := profile.New(nil)
	p.Tables = []profile.Samples{{Type: profile.ValueType{Name: profile.CPUSamples, Unit: "count"}}}
	p.Interval = 1_000_000
	for f := range functions {
		kind := profile.KindNative
		if f%3 == 0 {
			kind = profile.KindJS
		}
		p.Symbols.Frame(profile.Frame{Function: p.Symbols.Function(profile.Function{
			Name: fmt.Sprintf("lib%02d::Class%d::method%d", f%40, f%97, f), Module: fmt.Sprintf("lib%02d", f%40), Kind: kind,
		})})
	}
	r := rand.New(rand.NewPCG(1, 2))
	pick := func() int32 { return int32(min(r.ExpFloat64()*functions/6, functions-1)) }
	s := &p.Tables[0]
	// The stacks are written as a reader would: in order of first appearance.
	parent, item := []int32{}, []int32{}
	var path []int32
	for i := range samples {
		up := int(r.ExpFloat64() * 7)
		path = path[:max(len(path)-up, min(len(path), 1))]
		down := int(r.ExpFloat64() * float64(max(3, 30-len(path))))
		for range max(down, 1-len(path)) {
			up := int32(profile.NoStack)
			if len(path) > 0 {
				up = path[len(path)-1]
			}
			path = append(path, int32(len(parent)))
			parent, item = append(parent, up), append(item, pick())
		}
		s.Add(profile.StackID(path[len(path)-1]), 1)
		s.Time = append(s.Time, int64(i)*1_000_000)
	}
	p.Symbols.Stacks.Parent, p.Symbols.Stacks.Item = parent, item
	return p
})

func mustShow(b testing.TB, v *calltree.Viewer, view calltree.View) *calltree.Shown {
	s, err := v.Show(view)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkViewTable lays out the call node table of the large profile, with the
// numbers in it.
func BenchmarkViewTable(b *testing.B) {
	p := large()
	b.ReportAllocs()
	nodes, depth := 0, 0.0
	for b.Loop() {
		s := mustShow(b, calltree.NewViewer(p), calltree.View{})
		nodes = s.Len()
		b.StopTimer()
		depth = 0
		for n, v := range s.Self {
			depth += float64(v) * float64(s.Depth[n]+1)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(nodes), "nodes")
	b.ReportMetric(depth/1e6, "frames/sample")
	b.ReportMetric(float64(p.Symbols.Stacks.Len()), "stacks")
}

// BenchmarkViewChange changes what does not concern the shape.
func BenchmarkViewChange(b *testing.B) {
	p := large()
	v := calltree.NewViewer(p)
	mustShow(b, v, calltree.View{})
	for _, c := range []struct {
		name  string
		views [2]calltree.View
	}{
		{"range", [2]calltree.View{{Range: calltree.Range{End: 500e9}}, {Range: calltree.Range{Start: 100e9, End: 900e9}}}},
		{"preview", [2]calltree.View{{Preview: calltree.Range{End: 500e9}}, {Preview: calltree.Range{Start: 100e9, End: 900e9}}}},
		{"search", [2]calltree.View{{Search: "method1"}, {Search: "class17,lib3"}}},
		{"weights", [2]calltree.View{{Weights: calltree.Traced}, {}}},
		{"drop-function", [2]calltree.View{{Transforms: transforms("drop-function:lib03::Class3::method3")},
			{Transforms: transforms("filter:function-include:lib03::Class3::method3")}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				mustShow(b, v, c.views[i%2])
				i++
			}
		})
	}
}

func transforms(texts ...string) []calltree.Transform {
	var list []calltree.Transform
	for _, t := range texts {
		tr, err := calltree.ParseTransform(t)
		if err != nil {
			panic(err)
		}
		list = append(list, tr)
	}
	return list
}

// BenchmarkTransform makes each kind of transform, and the numbers after it.
func BenchmarkTransform(b *testing.B) {
	p := large()
	const f, g = "lib03::Class3::method3", "lib05::Class5::method5"
	for _, text := range []string{"merge-function:" + f, "merge-node:" + f + ";" + g, "drop-function:" + f, "focus-function:" + f,
		"focus-subtree:" + f + ";" + g, "focus-subtree-inverted:" + f + ";" + g, "focus-self@js:" + f, "collapse-function:" + f,
		"collapse-direct-recursion@js:" + f, "collapse-recursion:" + f, "collapse-resource:lib03", "filter:stack-suffix:" + f} {
		b.Run(string(transforms(text)[0].Kind), func(b *testing.B) {
			v := calltree.NewViewer(p)
			mustShow(b, v, calltree.View{})
			b.ReportAllocs()
			for b.Loop() {
				mustShow(b, v, calltree.View{Transforms: transforms(text)})
				b.StopTimer()
				mustShow(b, v, calltree.View{Transforms: transforms("filter:stack-suffix:none")}) // forget the step
				b.StartTimer()
			}
		})
	}
	b.Run("kind", func(b *testing.B) {
		v := calltree.NewViewer(p)
		for b.Loop() {
			mustShow(b, v, calltree.View{Kind: calltree.JS})
			b.StopTimer()
			mustShow(b, v, calltree.View{Transforms: transforms("filter:stack-suffix:none")})
			b.StartTimer()
		}
	})
}

// BenchmarkInvert makes the roots of the inverted tree, and expands the heaviest.
func BenchmarkInvert(b *testing.B) {
	s := mustShow(b, calltree.NewViewer(large()), calltree.View{})
	b.Run("roots", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.Invert()
		}
	})
	b.Run("expand", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			v := s.Invert()
			root := v.Children(calltree.NoNode, nil)[0]
			b.StartTimer()
			v.Children(root, nil)
		}
	})
}

// BenchmarkLists makes the function list, the callers and callees of a function,
// and the boxes of the flame graph and the stack chart.
func BenchmarkLists(b *testing.B) {
	s := mustShow(b, calltree.NewViewer(large()), calltree.View{})
	f := s.FunctionsNamed("lib03::Class3::method3")
	for _, c := range []struct {
		name string
		make func()
	}{
		{"functions", func() { s.FunctionRows() }},
		{"callers", func() { s.Callers(f) }},
		{"callees", func() { s.Callees(f) }},
		{"flame", func() { s.Flame(0) }},
		{"flame-pixels", func() { s.Flame(1.0 / 4096) }},
		{"chart", func() {
			if _, err := s.StackChart(calltree.ChartOptions{}); err != nil {
				b.Fatal(err)
			}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.make()
			}
		})
	}
}

// BenchmarkThreadDumps merges 12,000 dumps of a stack of 200 frames, given as
// frames from the root, as a trace analysis has them.
func BenchmarkThreadDumps(b *testing.B) {
	const dumps, depth = 12_000, 200
	r := rand.New(rand.NewPCG(3, 4))
	functions := make([]profile.Function, 500)
	for i := range functions {
		functions[i].Name = fmt.Sprintf("com.acme.shop.Class%d.method:%d", i%80, i)
	}
	list := make([][]profile.FrameID, dumps)
	path := make([]profile.FrameID, depth)
	for i := range list {
		for d := depth - int(min(r.ExpFloat64()*20, depth)); d < depth; d++ {
			path[d] = profile.FrameID(r.IntN(4) + 2*d)
		}
		list[i] = append([]profile.FrameID(nil), path...)
	}
	b.ReportAllocs()
	for b.Loop() {
		p := profile.New(nil)
		p.Tables = []profile.Samples{{}}
		for _, f := range functions {
			p.Symbols.Frame(profile.Frame{Function: p.Symbols.Function(f)})
		}
		for _, frames := range list {
			st := profile.NoStack
			for _, fr := range frames {
				st = p.Symbols.Stack(st, fr)
			}
			p.Tables[0].Add(st, 1)
		}
		calltree.FromProfile(p, 0)
	}
}
