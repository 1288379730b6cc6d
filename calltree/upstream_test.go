package calltree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/calltree/diff"
	"github.com/dendroprof/dendro/profile"
)

// withFunctions returns a profile of samples as `main;libxul.so!a 3`: functions are
// module!name, cpp ones with :: in the name.
func withFunctions(samples ...string) *profile.Profile {
	p := profile.New(nil)
	t := profile.Samples{Type: profile.ValueType{Name: "samples", Unit: "count"}}
	for _, sample := range samples {
		path, value, _ := strings.Cut(sample, " ")
		stack := profile.NoStack
		for _, spelled := range strings.Split(path, ";") {
			fn := profile.Function{Name: spelled}
			if module, name, ok := strings.Cut(spelled, "!"); ok {
				fn = profile.Function{Name: name, Module: module, Kind: profile.KindNative}
			}
			if strings.Contains(fn.Name, "::") {
				fn.Kind = profile.KindCPP
			}
			stack = p.Symbols.Stack(stack, p.Symbols.Frame(profile.Frame{Function: p.Symbols.Function(fn)}))
		}
		var v int64
		fmt.Sscan(value, &v)
		t.Add(stack, v)
	}
	p.Tables = []profile.Samples{t}
	return p
}

func show(t *testing.T, p *profile.Profile, view calltree.View) *calltree.Shown {
	t.Helper()
	s, err := calltree.NewViewer(p).Show(view)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// displayed lists the rows of a tree as `depth name total`.
func displayed(tree *calltree.Tree) (list []string) {
	var walk func(n int32, depth int)
	walk = func(n int32, depth int) {
		for _, c := range tree.Children(n, nil) {
			list = append(list, fmt.Sprintf("%d %s %d", depth, tree.Name(c), tree.Total[c]))
			walk(c, depth+1)
		}
	}
	walk(calltree.NoNode, 0)
	return list
}

func collapse(modules ...string) (list []calltree.Transform) {
	for _, m := range modules {
		list = append(list, calltree.Transform{Kind: calltree.CollapseResource, Args: []string{m}})
	}
	return list
}

// TestNetOfCollapsedModule compares profiles in which a module's functions differ in
// kind: collapsed, it is one function.
func TestNetOfCollapsedModule(t *testing.T) {
	view := calltree.View{Transforms: collapse("libxul.so")}
	base := show(t, withFunctions("main;libxul.so!a 3"), view)
	new := show(t, withFunctions("main;libxul.so!mozilla::b 2", "fresh 1"), view)
	net, err := diff.Net(base.Tree, new.Tree)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0 main -1", "1 libxul.so -1", "0 fresh 1"}, displayed(net)); diff != "" {
		t.Error(diff)
	}
}

// TestCollapsedModulesInTies shows collapsed modules behind all functions, also those
// that only the head side has, and in the order of the resources.
func TestCollapsedModulesInTies(t *testing.T) {
	view := calltree.View{Transforms: collapse("a.so", "z.so")}
	p := withFunctions("a.so!f 1", "z.so!g 1", "h 1")
	p.Symbols.Resources = []string{"z.so", "a.so"}
	tree := show(t, p, view).Tree
	if diff := cmp.Diff([]string{"0 h 1", "0 z.so 1", "0 a.so 1"}, displayed(tree)); diff != "" {
		t.Error(diff)
	}
	net, err := diff.Net(tree, show(t, withFunctions("fresh 1"), view).Tree)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0 h -1", "0 fresh 1", "0 z.so -1", "0 a.so -1"}, displayed(net)); diff != "" {
		t.Error(diff)
	}
}

// TestRangeFromFirstSample counts ranges from the first sample of the profile.
func TestRangeFromFirstSample(t *testing.T) {
	p := withFunctions("a 1", "b 1", "c 1")
	p.Tables[0].Time = []int64{1000e6, 1001e6, 1002e6}
	for _, tt := range []struct {
		view  calltree.View
		total int64
		empty bool
	}{
		{calltree.View{Range: calltree.Range{End: 2e6}}, 2, false},
		{calltree.View{Range: calltree.Range{End: 2e6}, Preview: calltree.Range{Start: 1e6, End: 2e6}}, 1, false},
		{calltree.View{Range: calltree.Range{Start: 1000e6, End: 1001e6}}, 0, true},
		{calltree.View{}, 3, false},
	} {
		s := show(t, p, tt.view)
		var total int64
		for _, v := range s.Self {
			total += v
		}
		if total != tt.total || s.EmptyRange != tt.empty {
			t.Errorf("%+v: %d, empty %v", tt.view.Range, total, s.EmptyRange)
		}
	}
}

// TestInvertedPathWithoutSelf finds a path that is in the tree and whose inverted row
// has a total of 0.
func TestInvertedPathWithoutSelf(t *testing.T) {
	s := show(t, withFunctions("a;b 1", "a;b -1", "a;c 5"), calltree.View{})
	v := s.Tree.Invert()
	n, ok := v.FindPath([]string{"b", "a"})
	if !ok || v.Total(n) != 0 || v.Name(n) != "a" || v.Depth(n) != 1 {
		t.Fatalf("found %v", ok)
	}
	if bar := s.InvertedSidebar(v, n); bar.Total.Value != 0 || bar.Self.Value != 0 {
		t.Errorf("%+v", bar)
	}
	if _, ok := v.FindPath([]string{"b", "c"}); ok {
		t.Error("found a path that is not in the tree")
	}
}
