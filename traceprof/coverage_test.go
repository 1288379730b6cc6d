package traceprof_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/traceprof"
)

func TestCover(t *testing.T) {
	task := traceprof.Task{Kind: traceprof.TraceKind, Start: 1000, Duration: traceprof.Minute, MinDuration: 20, Period: 10}
	segment := func(start, end int64) *traceprof.Segment {
		return &traceprof.Segment{ID: "s", Instance: "i", Start: start, End: end}
	}
	for _, c := range []struct {
		name    string
		segment *traceprof.Segment
		picture string
		want    traceprof.Coverage
	}{
		{"all", segment(2000, 2065), "@0:2020 A A A A A",
			traceprof.Coverage{Expected: 4, Received: 5, Span: 45, Covered: 40, Period: 10}},
		{"began before the task", segment(900, 1050), "@0:1000 A A A A",
			traceprof.Coverage{Expected: 5, Received: 4, Span: 50, Covered: 30, Period: 10}},
		{"lost in the middle and at the start", segment(2000, 2120), "@1:2030 A A @5:2070 A A",
			traceprof.Coverage{Expected: 10, Received: 4, Lost: 3, Span: 100, Covered: 20, Period: 10}},
		{"a slow agent", segment(2000, 2120), "@0:2020 A @1:2050 A @2:2080 A @3:2110 A",
			traceprof.Coverage{Expected: 10, Received: 4, Span: 100, Covered: 90, Period: 30, Slow: true}},
		{"a hole", segment(2000, 2200), "@0:2020 A A A @3:2179 A A",
			traceprof.Coverage{Expected: 18, Received: 5, Span: 180, Covered: 30, Period: 10, Holes: 1, Hole: 139, HoleAt: 2040}},
		{"a loss, no hole", segment(2000, 2200), "@0:2020 A A A @9:2140 A A",
			traceprof.Coverage{Expected: 18, Received: 5, Lost: 6, Span: 180, Covered: 30, Period: 10}},
		{"a hole beside a loss", segment(2000, 2200), "@0:2020 A A A @9:2160 A A",
			traceprof.Coverage{Expected: 18, Received: 5, Lost: 6, Span: 180, Covered: 30, Period: 10, Holes: 1, Hole: 120, HoleAt: 2040}},
		{"no hole: 50 ms", segment(2000, 2200), "@0:2020 A A A @3:2090 A A",
			traceprof.Coverage{Expected: 18, Received: 5, Span: 180, Covered: 80, Period: 10}},
		{"no hole: a slow agent's usual spacing", segment(2000, 2200), "@0:2020 A @1:2060 A @2:2100 A @3:2190 A",
			traceprof.Coverage{Expected: 18, Received: 4, Span: 180, Covered: 170, Period: 40, Slow: true}},
		{"a hole beyond the end", segment(2000, 2060), "@0:2020 A A A @3:2240 A",
			traceprof.Coverage{Expected: 4, Received: 4, Late: 1, Span: 40, Covered: 20, Period: 10, Holes: 1, Hole: 20, HoleAt: 2040}},
		{"an agent that goes on after the end", segment(2000, 2040), "@0:2020 A A A A A A",
			traceprof.Coverage{Expected: 2, Received: 6, Late: 3, Span: 20, Covered: 20, Period: 10}},
		{"an agent whose clock is behind", segment(500, 620), "@0:520 A A A A A A A A A A",
			traceprof.Coverage{Expected: 10, Received: 10, Span: 100, Covered: 90, Period: 10}},
		{"shorter than the threshold", segment(2000, 2010), "",
			traceprof.Coverage{}},
		{"unknown segment", nil, "@0:2020 A A A",
			traceprof.Coverage{Received: 3, Covered: 20, Period: 10}},
	} {
		s := tracetest.Picture("t", "s", c.picture)
		c.want.Segment, c.want.Known = "s", c.segment != nil
		if c.segment != nil {
			c.want.Instance, c.want.Share = "i", float64(c.want.Covered)/float64(max(1, c.want.Span))
		}
		if diff := cmp.Diff(c.want, traceprof.Cover(&task, c.segment, &s)); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
	samples := goSamples("s", new(calltree.Forest), 0, map[string]int64{"main-work": 3, "main-io": 1})
	got := traceprof.Cover(&task, segment(2000, 2100), &samples)
	if got.Received != 4 || got.Expected != 0 || got.Covered != 40 || got.Lost != 0 || !got.CPU || got.Period != 10 || got.Slow {
		t.Errorf("samples: %+v", got)
	}
}

func TestCoverTask(t *testing.T) {
	st := mem.New()
	task := traceprof.Task{ID: "t", Kind: traceprof.TraceKind, Start: 1000, Duration: traceprof.Minute, Period: 10}
	put(t, st, traceprof.Segment{ID: "a", Start: 2000, End: 2100}, tracetest.Picture("t", "a", "@0:2010 "+strings.Repeat("A ", 9)))
	put(t, st, traceprof.Segment{ID: "b", Start: 3000, End: 3100}, tracetest.Picture("t", "b", "@0:3010 A @2:3030 A A"))
	got, err := traceprof.CoverTask(t.Context(), st, &task)
	if err != nil {
		t.Fatal(err)
	}
	want := traceprof.Coverage{Known: true, Expected: 20, Received: 12, Lost: 1, Span: 200, Covered: 90, Period: 10, Share: 0.45}
	if diff := cmp.Diff(want, got.Coverage); diff != "" || len(got.Segments) != 2 || got.Segments[0].Share != 0.8 {
		t.Errorf("%+v\n%s", got.Segments, diff)
	}
	none, err := traceprof.CoverTask(t.Context(), mem.New(), &task)
	if err != nil || none.Known || len(none.Segments) != 0 || none.Share != 0 {
		t.Errorf("nothing there: %+v, %v", none, err)
	}
}

// put stores a segment and its snapshots.
func put(t *testing.T, st traceprof.Store, segment traceprof.Segment, snapshots ...traceprof.Snapshots) {
	t.Helper()
	if segment.ID != "" {
		if err := st.PutSegments(t.Context(), segment); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.PutSnapshots(t.Context(), snapshots...); err != nil {
		t.Fatal(err)
	}
}
