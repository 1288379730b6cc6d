package judge

import (
	"slices"
	"testing"
	"time"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// TestChoices: the branch that others come from, and what the newest runs have first.
func TestChoices(t *testing.T) {
	st := &listOnly{}
	add := func(day int, run, branch, machine, kind string) {
		st.list = append(st.list, store.Profile{Benchmark: testrun.Benchmark{Group: "g" + kind, Name: "b"}, Type: profile.NamedType(kind),
			Run:     testrun.Run{Key: run, Branch: branch, Machine: machine, Date: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)},
			Metrics: []testrun.Metric{{Name: "time/op"}, {Name: kind + "/op"}}})
	}
	add(1, "r1", "develop", "old", "cpu")
	add(1, "r1", "develop", "old", "alloc")
	add(2, "r2", "develop", "new", "cpu")
	add(3, "p1", "faster", "new", "cpu")
	add(4, "x", "", "new", "cpu")
	c, err := query.Choices(t.Context(), st, &query.ChoicesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Base != "develop" || len(c.Branches) != 2 || c.Branches[0].Name != "faster" || c.Branches[0].Newest != "p1" ||
		c.Branches[1].Runs != 2 {
		t.Errorf("base %q of %+v", c.Base, c.Branches)
	}
	for _, list := range [][2][]string{{c.Groups, {"galloc", "gcpu"}}, {c.Types, {"alloc", "cpu"}}, {c.Machines, {"new", "old"}},
		{c.Metrics, {"alloc/op", "cpu/op", "time/op"}}} {
		if !slices.Equal(list[0], list[1]) {
			t.Errorf("%q, want %q", list[0], list[1])
		}
	}
	if c.NoBranch != 1 {
		t.Errorf("%d runs without a branch", c.NoBranch)
	}
	if c.First.Day() != 1 || c.Last.Day() != 4 {
		t.Errorf("%v … %v", c.First, c.Last)
	}
	add(5, "m", "main", "new", "cpu")
	if c, err = query.Choices(t.Context(), st, &query.ChoicesRequest{}); err != nil || c.Base != "main" {
		t.Errorf("base %q, %v", c.Base, err)
	}
}
