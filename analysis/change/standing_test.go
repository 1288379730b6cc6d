package change

import (
	"testing"
	"time"

	"github.com/dendroprof/dendro/analysis/regression"
)

func TestAccept(t *testing.T) {
	v := night(t, files(1, 20, steps(step{"main;query;scan;filter", 2, 15, 0}, step{"main;write;encode", 2, 15, 0})), 20)
	if len(v.Open()) != 2 {
		t.Fatalf("%+v", v.Changes)
	}
	now := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	c := &v.Changes[0]
	for _, a := range []struct {
		name string
		list []regression.Acknowledgement
		want int // changes that are accepted
	}{
		{"the change", []regression.Acknowledgement{{ID: c.ID}}, 1},
		{"its finding", []regression.Acknowledgement{{ID: c.Finding.ID}}, 1},
		{"by function", []regression.Acknowledgement{{Function: "*"}}, 2},
		{"another one", []regression.Acknowledgement{{ID: c.Finding.ID + "-00000000"}}, 0},
		{"expired", []regression.Acknowledgement{{ID: c.ID, Until: now}}, 0},
		{"too large", []regression.Acknowledgement{{ID: c.ID, UpTo: c.Finding.Delta.Share / 2}}, 0},
	} {
		got := v.Accept(a.list, now)
		n := 0
		for _, c := range got.Changes {
			if c.State == Accepted && c.Finding.Acknowledged != nil {
				n++
			}
		}
		s := got.Standing(nil)
		want := Slower
		if a.want == 2 {
			want = Unchanged
		}
		if n != a.want || got.Status != want || s.Costs != 2-a.want {
			t.Errorf("%s: %d accepted, %s, %d costs", a.name, n, got.Status, s.Costs)
		}
	}
	if v.Status != Slower || v.Changes[0].State != Confirmed {
		t.Errorf("the verdict changed: %+v", v)
	}
}

func TestStanding(t *testing.T) {
	list := files(1, 20, steps(step{"main;query;scan;filter", 2, 15, 0}))
	run := func(keys ...string) (runs []Run) {
		for _, k := range keys {
			runs = append(runs, Run{Run: k})
		}
		return runs
	}
	steady, slow, first, few := night(t, list, 14), night(t, list, 18), night(t, list, 1), night(t, list, 3)
	for _, c := range []struct {
		name string
		v    *Verdict
		runs []Run
		want Status
	}{
		{"steady", steady, run("n012", "n013"), Unchanged},
		{"slow", slow, run("n017"), Slower},
		{"not run", slow, run("n017", "x"), NotAtHead},
		{"gone", slow, run("n017", "x", "y", "z"), Gone},
		{"new", first, run("n", "n000"), New},
		{"first of all", first, run("n000"), TooFew},
		{"few", few, run("n", "n002"), TooFew},
	} {
		s := c.v.Standing(c.runs)
		if s.Status != c.want {
			t.Errorf("%s: %+v", c.name, s)
		}
		switch c.want {
		case Unchanged:
			if s.Detectable <= 0 {
				t.Errorf("%s: %+v", c.name, s)
			}
		case NotAtHead, Slower:
			if s.Costs != 1 || s.Largest < 0.05 || (s.Last != nil) != (c.want == NotAtHead) {
				t.Errorf("%s: %+v", c.name, s)
			}
		case Gone:
			if s.Since.Run != "x" || s.Last.Run != "n017" {
				t.Errorf("%s: %+v", c.name, s)
			}
		}
	}
	if s := few.Standing(nil); s.Runs != 3 || s.Needed != 4 {
		t.Errorf("%+v", s)
	}
}
