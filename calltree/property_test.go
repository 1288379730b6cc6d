package calltree_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/test/proftest"
)

// drawView draws a view and what the naive rules make of it.
func drawView(t *rapid.T, p *naiveProfile) (calltree.View, []naiveSample) {
	view := calltree.View{
		Transforms: rapid.SliceOfN(drawTransform, 0, 3).Draw(t, "transforms"),
		Kind:       rapid.SampledFrom([]calltree.KindFilter{"", "", "js", "cpp"}).Draw(t, "kind"),
		Search:     rapid.SampledFrom([]string{"", "", "A", "b,d", "XU"}).Draw(t, "search"),
	}
	n := int64(len(p.samples)) * 10
	if rapid.Bool().Draw(t, "ranged") {
		from := rapid.Int64Range(-5, n).Draw(t, "from")
		view.Range = calltree.Range{Start: from, End: from + rapid.Int64Range(1, n+9).Draw(t, "long")}
	}
	if rapid.Bool().Draw(t, "previewed") {
		from := rapid.Int64Range(-5, n).Draw(t, "preview from")
		view.Preview = calltree.Range{Start: from, End: from + rapid.Int64Range(1, n+9).Draw(t, "preview long")}
	}
	var kept []naiveSample
	for i, s := range p.samples {
		inside := func(r calltree.Range) bool { return r.All() || r.Start <= int64(i)*10 && int64(i)*10 < r.End }
		if !inside(view.Range) || !inside(view.Preview) {
			continue
		}
		stack := s.stack
		for _, tr := range view.Transforms {
			stack = p.transform(tr, stack)
		}
		stack = slices.DeleteFunc(slices.Clone(stack), func(f naiveFrame) bool { return !view.Kind.Selects(&p.functions[f.fn]) })
		if p.found(stack, view.Search) {
			kept = append(kept, naiveSample{stack, s.value})
		}
	}
	return view, kept
}

// found reports whether every word of a search matches a frame of the stack.
func (p *naiveProfile) found(stack []naiveFrame, search string) bool {
	if search == "" {
		return true
	}
	for _, word := range strings.Split(strings.ToLower(search), ",") {
		if !slices.ContainsFunc(stack, func(f naiveFrame) bool {
			return strings.Contains(p.functions[f.fn].Name, word) || strings.Contains(p.functions[f.fn].Module, word)
		}) {
			return false
		}
	}
	return true
}

// TestViewsAreTheRulesForEachSample compares views with the naive form of them:
// rows, their order and their numbers, upright, upside down and as a list.
func TestViewsAreTheRulesForEachSample(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProfile(t)
		v := calltree.NewViewer(p.Profile)
		for range 3 { // the viewer keeps steps from view to view
			view, samples := drawView(t, p)
			s, err := v.Show(view)
			if err != nil {
				t.Fatal(err)
			}
			proftest.CheckTree(t, s.Tree)
			want := naiveTree(samples)
			var rows []naiveRow
			s.Walk(func(n int32) bool {
				rows = append(rows, naiveRow{int(s.Depth[n]), s.Func[n], s.Total[n], s.Self[n]})
				return true
			})
			if diff := cmp.Diff(want.rows(0, compareInt32), rows, cmp.AllowUnexported(naiveRow{})); diff != "" {
				t.Fatalf("%+v: %s", view, diff)
			}
			if diff := cmp.Diff(want.functionRows(), s.FunctionRows(), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("functions of %+v: %s", view, diff)
			}
			checkInverted(t, s, want)
		}
	})
}

func compareInt32(a, b int32) int { return int(a) - int(b) }

func checkInverted(t *rapid.T, s *calltree.Shown, want *naiveNode) {
	inv := s.Invert()
	rows := map[bool][]naiveRow{}
	var sum int64
	inv.Walk(func(h int32) bool {
		r := inv.Row(h)
		if r.Depth == 0 {
			sum += r.Total
		}
		// Roots that cancel with all behind them have no order to speak of.
		nothing := r.Depth == 0 && r.Total == 0 && len(inv.Children(h, nil)) == 0
		rows[nothing] = append(rows[nothing], naiveRow{int(r.Depth), r.Func, r.Total, r.Self})
		return true
	})
	all := append(rows[false], rows[true]...)
	wantRows := want.invertedRows()
	sortTail := func(list []naiveRow, from int) {
		slices.SortFunc(list[from:], func(a, b naiveRow) int { return int(a.fn - b.fn) })
	}
	sortTail(all, len(rows[false]))
	if len(wantRows) == len(all) {
		sortTail(wantRows, len(rows[false]))
	}
	if diff := cmp.Diff(wantRows, all, cmp.AllowUnexported(naiveRow{}), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("upside down: %s", diff)
	}
	var roots int64
	for n, v := range s.Total {
		if s.Parent[n] == calltree.NoNode {
			roots += v
		}
	}
	if sum != roots {
		t.Fatalf("the inverted roots add to %d, the roots to %d", sum, roots)
	}
}

// TestCallersAndCallees checks them against their definition on samples.
func TestCallersAndCallees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProfile(t)
		s := mustShowRapid(t, p)
		fn := int32(rapid.IntRange(0, 4).Draw(t, "function"))
		var above, below []naiveSample
		for _, x := range p.samples {
			i := slices.IndexFunc(x.stack, func(f naiveFrame) bool { return f.fn == fn })
			if i < 0 {
				continue
			}
			above = append(above, naiveSample{x.stack[:i+1], x.value})
			below = append(below, naiveSample{x.stack[i:], x.value})
		}
		callees := s.Callees([]int32{fn})
		proftest.CheckTree(t, callees)
		var rows []naiveRow
		callees.Walk(func(n int32) bool {
			rows = append(rows, naiveRow{int(callees.Depth[n]), callees.Func[n], callees.Total[n], callees.Self[n]})
			return true
		})
		if diff := cmp.Diff(naiveTree(below).rows(0, compareInt32), rows, cmp.AllowUnexported(naiveRow{})); diff != "" {
			t.Fatalf("callees: %s", diff)
		}
		callers := s.Callers([]int32{fn})
		rows = nil
		callers.Walk(func(h int32) bool {
			r := callers.Row(h)
			rows = append(rows, naiveRow{int(r.Depth), r.Func, r.Total, r.Self})
			return true
		})
		if diff := cmp.Diff(naiveTree(above).invertedRows(), rows, cmp.AllowUnexported(naiveRow{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("callers: %s", diff)
		}
	})
}

func mustShowRapid(t *rapid.T, p *naiveProfile) *calltree.Shown {
	s, err := calltree.NewViewer(p.Profile).Show(calltree.View{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestInvertedTwice says that the inverted tree is the call tree of the reversed
// stacks, but for self values.
func TestInvertedTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProfile(t)
		var samples, reversed []naiveSample
		for _, s := range p.samples {
			s.value = magnitude(s.value) + 1 // nothing cancels
			samples = append(samples, s)
			r := slices.Clone(s.stack)
			slices.Reverse(r)
			reversed = append(reversed, naiveSample{r, s.value})
		}
		for i, s := range samples {
			p.Tables[0].Value[i] = s.value
		}
		inv := mustShowRapid(t, p).Invert()
		totals := map[string]int64{}
		inv.Walk(func(h int32) bool {
			path := ""
			for n := h; n != calltree.NoNode; n = inv.Parent(n) {
				path = p.functions[inv.Func(n)].Name + path
			}
			totals[path] = inv.Total(h)
			return true
		})
		want := map[string]int64{}
		naiveTree(reversed).nodes(nil, func(path []int32, n *naiveNode) {
			var text strings.Builder
			for _, fn := range path {
				text.WriteString(p.functions[fn].Name)
			}
			want[text.String()] = n.total
		})
		if diff := cmp.Diff(want, totals); diff != "" {
			t.Fatal(diff)
		}
	})
}
