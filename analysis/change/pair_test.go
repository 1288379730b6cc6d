package change

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/store"
)

// TestPairsOfRuns: runs of a pair are one line, those of the head last; half a pair says what it lacks, other
// attributes of the name make no pair, and a run that comes later makes the verdict that it would have made
// before.
func TestPairsOfRuns(t *testing.T) {
	list := files(3, 16, steps(step{"main;query;scan;filter", 2, 8, 0}))
	put := func(side func(i int) string, use ...int) store.Store {
		var some []*store.File
		for _, i := range use {
			f := *list[i]
			f.Run.Branch, f.Run.Attributes = "topic", map[string]string{history.SideAttribute: side(i)}
			if i < 8 {
				f.Run.Branch, f.Run.Date = "main", f.Run.Date.AddDate(0, 0, 8) // in turns
			}
			some = append(some, &f)
		}
		return stored(t, some)
	}
	pair := func(i int) string {
		if i < 8 {
			return "pr-base"
		}
		return "pr-head"
	}
	st := put(pair, 0, 8, 1, 9, 2, 10, 3, 11)
	v := judgeAll(t, st, nil)
	if v.Key.Pair != "pr" || v.Key.Branch != "" || v.Status != Slower || len(v.Changes) != 1 || v.Detectable <= 0 {
		t.Fatalf("%+v", v)
	}
	if c := v.Changes[0]; c.State != Confirmed || c.Finding.Function != "filter" || c.Onset.Run.Run != "n008" ||
		c.Onset.LastGood.Run != "n003" || fmt.Sprint(c.Base, c.Head) != "[0 1 2 3] [4 5 6 7]" {
		t.Errorf("%+v", c)
	}
	before := judgeAll(t, put(pair, 0, 1, 2, 8, 9), nil)
	if again := judgeAll(t, st, before); !reflect.DeepEqual(again, v) {
		t.Errorf("continued: %+v, from nothing: %+v", again, v)
	}
	for _, half := range [][]int{{0, 1, 2, 3}, {8, 9, 10, 11}, {0, 8}} {
		if v := judgeAll(t, put(pair, half...), nil); v.Status != TooFew || !strings.Contains(v.Reason, "of pr") || len(v.Changes) != 0 {
			t.Errorf("%v: %+v", half, v)
		}
	}
	for _, other := range []string{"-head", "-base", "client", ""} {
		if v := judgeAll(t, put(func(int) string { return other }, 0, 1, 2, 3, 4), nil); v.Key.Pair != "" || v.Key.Branch != "main" {
			t.Errorf("%q: %+v", other, v.Key)
		}
	}
}
