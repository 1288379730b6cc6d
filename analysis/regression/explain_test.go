package regression_test

import (
	"fmt"
	"testing"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/runtest"
)

// TestExplained: a function that was compiled before, and is interpreted in the slow run, has
// that as an explanation; one that was always interpreted, or whose modes nobody recorded, has
// none.
func TestExplained(t *testing.T) {
	for _, c := range []struct{ name, before, now, want string }{
		{"interpreted", "main;other 10", "main;parse 600", "[{interpreted interpreted 100% of its samples, before 0%}]"},
		{"in part", "main;parse 100", "main;parse 480", "[{interpreted interpreted 80% of its samples, before 50%}]"},
		{"always", "main;parse 200", "main;parse 600", "[]"},
		{"compiled", "main;other 10", "main;other 10", "[]"},
		{"unknown", "", "", "[]"},
	} {
		var runs []runtest.Run
		for i := range 8 {
			runs = append(runs, runtest.Run{Benchmark: "b", Stacks: fmt.Sprintf("main;parse 200, main;other 800, main;a 90, main;b 80, main;c 95, main;d 85, main;e %d", i), Interpreted: c.before})
		}
		runs = append(runs, runtest.Run{Benchmark: "b", Stacks: "main;parse 600, main;other 800, main;a 90, main;b 80, main;c 95, main;d 85, main;e 4", Interpreted: c.now})
		res, err := regression.Find(t.Context(), runtest.Store(t, runs...), store.Query{}, regression.Request{})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Findings) != 1 || res.Findings[0].Kind != regression.Regression {
			t.Errorf("%s: findings %+v", c.name, res.Findings)
			continue
		}
		if got := fmt.Sprint(res.Findings[0].Explained); got != c.want {
			t.Errorf("%s: explained by %s, want %s", c.name, got, c.want)
		}
	}
}
