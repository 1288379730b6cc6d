package calltree

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/profile"
)

// TestTranslation demands that a path has the same names on both sides, also when
// both forests have grown, and that nothing is taken in that was not asked for.
func TestTranslation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grow := func(f *Forest, label string) {
			for _, fn := range rapid.SliceOfN(rapid.IntRange(0, 4), 0, 12).Draw(t, label) {
				parent := int32(rapid.IntRange(-1, f.Paths.Len()-1).Draw(t, "parent"))
				f.Path(parent, f.Function(profile.Function{Name: fmt.Sprint(fn)}))
			}
		}
		from, to := new(Forest), new(Forest)
		grow(to, "to")
		tr := NewTranslation(to)
		var buf []int32
		for range 3 {
			grow(from, "from")
			asked := rapid.SliceOf(rapid.Int32Range(NoNode, int32(from.Paths.Len())-1)).Draw(t, "asked")
			f := rapid.SampledFrom([]*Forest{from, from.Snapshot()}).Draw(t, "forest")
			before := to.Paths.Len()
			buf = tr.Paths(f, asked, buf)
			wanted := map[string]bool{}
			for i, p := range asked {
				if one := tr.Path(f, p); one != buf[i] {
					t.Fatalf("alone %d, with others %d", one, buf[i])
				}
				names := from.Names(p)
				if got := to.Names(buf[i]); !slices.Equal(got, names) {
					t.Fatalf("%q became %q", names, got)
				}
				for n := range names {
					wanted[fmt.Sprint(names[:n+1])] = true
				}
			}
			for p := before; p < to.Paths.Len(); p++ {
				if names := fmt.Sprint(to.Names(int32(p))); !wanted[names] {
					t.Fatalf("%s was not asked for", names)
				}
			}
		}
		for fn := range from.Functions {
			id, ok := tr.Function(int32(fn))
			if ok && to.Functions[id].Name != from.Functions[fn].Name {
				t.Fatalf("function %s became %s", from.Functions[fn].Name, to.Functions[id].Name)
			}
		}
	})
}

// TestTranslations demands that snapshots share the translation of their origin,
// and that forests that are gone are forgotten.
func TestTranslations(t *testing.T) {
	var ts Translations
	to, kept := new(Forest), new(Forest)
	tr := ts.Of(kept, to)
	for range 3 {
		ts.Of(new(Forest), to)
		runtime.GC()
	}
	if ts.Of(kept.Snapshot(), to) != tr {
		t.Error("a snapshot has a translation of its own")
	}
	if len(ts.of) > 2 {
		t.Errorf("%d translations are remembered", len(ts.of))
	}
	runtime.KeepAlive(kept)
}
