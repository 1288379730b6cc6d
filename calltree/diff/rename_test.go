package diff_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/calltree/diff"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/proftest"
)

func TestRenames(t *testing.T) {
	for _, c := range []struct{ name, base, head, want string }{
		{"leaf", "×90 ×60\nmain main\nload idle", "×90 ×60\nmain main\nread idle", "load→read"},
		{"with its callees, one of them renamed too", "×90 ×60\nmain main\nload idle\njson\nscan", "×90 ×60\nmain main\nread idle\njson\nlex",
			"load→read scan→lex"},
		{"package, at another cost", "×90 ×60\nmain main\na/old.Load a/old.Save", "×80 ×70\nmain main\nb/new.Load b/new.Save",
			"a/old.Load→b/new.Load a/old.Save→b/new.Save"},
		{"another package and name", "×90 ×60\nmain main\nstrings.Split idle", "×90 ×60\nmain main\nstrconv.ParseInt idle", ""},
		{"another cost", "×90 ×60\nmain main\nload idle", "×20 ×60\nmain main\nread idle", ""},
		{"other self", "×90 ×60\nmain main\nload idle\njson", "×90 ×60\nmain main\nread idle", ""},
		{"too few samples", "×5 ×60\nmain main\nload idle", "×5 ×60\nmain main\nread idle", ""},
		{"two fit", "×90 ×91\nmain main\nload idle", "×90 ×91\nmain main\nread wait", ""},
		{"another caller", "×90 ×60\nmain main\nload idle", "×90 ×60\nmain main\nidle idle\nread", ""},
		{"callers disagree", "×90 ×90\na b\nload load", "×90 ×90\na b\nread fetch", ""},
		{"not gone", "×90 ×60\nmain main\nload idle", "×90 ×60 ×1\nmain main load\nread idle", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := compare(t, trees{proftest.Tree(columns(c.base))}, trees{proftest.Tree(columns(c.head))})
			var got []string
			for _, r := range d.Renames() {
				got = append(got, r.Base.Name+"→"+r.Head.Name)
			}
			slices.Sort(got)
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("got %q, want %q", text, c.want)
			}
		})
	}
}

// columns puts two spaces between the cells of a drawing.
func columns(drawing string) string { return strings.ReplaceAll(drawing, " ", "  ") }

// With the names of the head side, a renamed function and its callees are one on both
// sides, and nothing else changes.
func TestWithNames(t *testing.T) {
	base, head := proftest.Tree("×90  ×60\nmain  main\nload  idle\njson"), proftest.Tree("×95  ×60\nmain  main\nread  idle\njson")
	before := proftest.Draw(base)
	d := compare(t, trees{base}, trees{head})
	d = compare(t, diff.WithNames(trees{base}, d.Renames()), trees{head})
	want := proftest.Trim(`
		- main (total: 150→155, self: 0→0)
		  - read (total: 90→95, self: 0→0)
		    - json (total: 90→95, self: 90→95)
		  - idle (total: 60→60, self: 60→60)`)
	if got := drawDiff(d); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if proftest.Draw(base) != before {
		t.Error("the base tree was changed")
	}
}

// sides returns a tree of each side: callers that call as many functions, which have other names
// there.
func sides(callers, callees int) (base, head *calltree.Tree) {
	var list [2]*calltree.Tree
	for side, name := range []string{"old/a.f%d_%d", "new/b.f%d_%d"} {
		var forest calltree.Forest
		var self []int64
		for c := range callers {
			from := forest.Path(calltree.NoNode, forest.Function(profile.Function{Name: fmt.Sprint("caller", c)}))
			for i := range callees {
				forest.Path(from, forest.Function(profile.Function{Name: fmt.Sprintf(name, c, i)}))
			}
		}
		for range forest.Paths.Len() {
			self = append(self, 1000)
		}
		list[side] = forest.Tree(profile.NamedType(profile.CPUSamples), self)
	}
	return list[0], list[1]
}

// TestManyRenames: the number of pairs of functions that are compared is bounded.
func TestManyRenames(t *testing.T) {
	const callers, callees = 20, 500
	base, head := sides(callers, callees)
	if n := len(compare(t, trees{base}, trees{head}).Renames()); n == 0 || n == callers*callees {
		t.Errorf("%d of %d renamed functions were found", n, callers*callees)
	}
	base, head = sides(callers, 50)
	if n := len(compare(t, trees{base}, trees{head}).Renames()); n != callers*50 {
		t.Errorf("%d of %d renamed functions were found", n, callers*50)
	}
}

// TestManyVanished: the time to look for renamed functions grows with the number of functions that vanished.
func TestManyVanished(t *testing.T) {
	base, _ := sides(1, 300_000)
	_, head := sides(1, 0)
	if list := compare(t, trees{base}, trees{head}).Inlined(); list != nil {
		t.Errorf("%d inlined functions", len(list))
	}
}
