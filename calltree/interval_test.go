package calltree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/proftest"
)

// intervals are task from 0 to 1 s with parse from 100 to 900 ms in it, and late from 1.1
// to 1.2 s; on another thread, wait lasts from 0 to 2 s.
func intervals() *profile.Profile {
	p := proftest.Columns(`
		task  task   task  gap  late
		      parse
	`)
	const ms = 1_000_000
	p.Tables[0].Stack[3] = profile.NoStack
	p.Tables[0] = profile.Samples{
		Type: profile.NamedType(profile.Wall), Intervals: true, Stack: p.Tables[0].Stack,
		Value: []int64{100 * ms, 800 * ms, 100 * ms, 100 * ms, 100 * ms},
		Time:  []int64{0, 100 * ms, 900 * ms, 1000 * ms, 1100 * ms},
	}
	return p
}

func TestIntervals(t *testing.T) {
	p := intervals()
	v := calltree.NewViewer(p)
	const ms = 1_000_000
	p.Markers = []profile.Marker{{Name: "request", Start: 50 * ms, End: 150 * ms}, {Name: "request", Start: 850 * ms, End: 1150 * ms}}
	for _, tt := range []struct{ view, want string }{
		{"", "task 1000, parse 800, late 100"},
		{"range=50..150", "task 100, parse 50"},
		{"range=400..600", "task 200, parse 200"},
		{"range=950..1150", "task 50, late 50"},
		{"range=1000..1050", ""},
		{"preview=400..600", "task 200, parse 200"},
		{"range=50..150 preview=120..5000", "task 30, parse 30"},
		{"filter:marker-search:request", "task 250, parse 100, late 50"},
		{"filter:marker-search:request range=140..860", "task 20, parse 20"},
		{"filter:outside-marker:request", "task 750, parse 700, late 50"},
	} {
		s, err := v.Show(viewOf(t, v, tt.view))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for n := range int32(s.Len()) {
			if s.Total[n] != 0 {
				got = append(got, fmt.Sprintf("%s %d", s.Functions[s.Func[n]].Name, s.Total[n]/ms))
			}
		}
		if got := strings.Join(got, ", "); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.view, got, tt.want)
		}
		if _, gaps := s.Stackless(); tt.view == "" && gaps != 100*ms {
			t.Errorf("gaps of %d", gaps)
		}
	}
}

// TestIntervalsOfThreads cuts an interval that begins long before the range, behind others.
func TestIntervalsOfThreads(t *testing.T) {
	p := proftest.Columns("wait  a  a  b")
	s := &p.Tables[0]
	p.Threads = append(p.Threads, profile.Thread{ID: "1"}, profile.Thread{ID: "2"})
	*s = profile.Samples{Type: profile.NamedType(profile.Lock), Intervals: true, Stack: s.Stack,
		Value: []int64{100, 10, 10, 5}, Time: []int64{0, 10, 30, 60}, Thread: []profile.ThreadID{1, 2, 2, 2}}
	shown, err := calltree.NewViewer(p).Show(calltree.View{Range: calltree.Range{Start: 35, End: 62}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("- wait (total: 27, self: 27)\n- a (total: 5, self: 5)\n- b (total: 2, self: 2)\n", proftest.Draw(shown.Tree)); diff != "" {
		t.Error(diff)
	}
}

// TestChartOfIntervals checks that boxes end where intervals end.
func TestChartOfIntervals(t *testing.T) {
	v := calltree.NewViewer(intervals())
	for view, want := range map[string]string{
		"":                "task 0-1000 late 1100-1200 parse 100-900",
		"range=1050..":    "late 1100-1200",
		"range=400..1150": "task 400-1000 late 1100-1150 parse 400-900",
	} {
		s, err := v.Show(viewOf(t, v, view))
		if err != nil {
			t.Fatal(err)
		}
		boxes, err := s.StackChart(calltree.ChartOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range boxes {
			got = append(got, fmt.Sprintf("%s %v-%v", s.Functions[b.Func].Name, b.Start, b.End))
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q: %s", view, diff)
		}
	}
}
