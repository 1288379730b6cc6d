package calltree_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/proftest"
)

// TestOwnValues: an own function has what it calls of others, but not what another own one has below it.
func TestOwnValues(t *testing.T) {
	stack := func(v int64, names ...string) proftest.Sample { return proftest.Sample{Stack: names, Value: v} }
	for want, samples := range map[string][]proftest.Sample{
		"main.less 2, main.price 5, main.run 4": {stack(5, "main.run", "main.price", "lib.sort"),
			stack(2, "main.run", "main.price", "lib.sort", "main.less"), stack(4, "main.run", "lib.log"), stack(9, "gc")},
		"lib.a 3, lib.b 1": {stack(1, "lib.a", "lib.b"), stack(3, "lib.a")},
		"":                 nil,
	} {
		tree := proftest.ToTree("", samples)
		own := make([]bool, len(tree.Functions))
		for i := range own {
			own[i] = strings.HasPrefix(tree.Functions[i].Name, "main.")
		}
		var got []string
		for fn, v := range tree.OwnValues(own) {
			if v != 0 {
				got = append(got, fmt.Sprint(tree.Functions[fn].Name, " ", v))
			}
		}
		slices.Sort(got)
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%s, want %s", text, want)
		}
	}
}
