package spans

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	commonv3 "skywalking.apache.org/repo/goapi/collect/common/v3"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"

	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/traceprof"
)

// segment is a request that calls a database and another service.
func segment(t testing.TB) []byte {
	t.Helper()
	raw, err := proto.Marshal(&agentv3.SegmentObject{
		TraceId: "t", TraceSegmentId: "s", Service: "shop", ServiceInstance: "one",
		Spans: []*agentv3.SpanObject{ // in the order in which they ended, as agents write them
			{SpanId: 1, ParentSpanId: 0, StartTime: 110, EndTime: 120, OperationName: "select", Peer: "db:5432", SpanType: agentv3.SpanType_Exit,
				SpanLayer: agentv3.SpanLayer_Database},
			{SpanId: 2, ParentSpanId: 0, StartTime: 130, EndTime: 190, OperationName: "render", SpanType: agentv3.SpanType_Local},
			{SpanId: 0, ParentSpanId: -1, StartTime: 100, EndTime: 200, OperationName: "/checkout", SpanType: agentv3.SpanType_Entry,
				SpanLayer: agentv3.SpanLayer_Http, IsError: true, Tags: []*commonv3.KeyStringValuePair{{Key: "k", Value: "v"}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestOf(t *testing.T) {
	got, err := Of(segment(t))
	if err != nil {
		t.Fatal(err)
	}
	want := []traceprof.Span{
		{ID: 0, Parent: -1, Operation: "/checkout", Kind: "Entry", Layer: "Http", Start: 100, End: 200, Error: true},
		{ID: 1, Parent: 0, Operation: "select", Kind: "Exit", Layer: "Database", Peer: "db:5432", Start: 110, End: 120},
		{ID: 2, Parent: 0, Operation: "render", Kind: "Local", Layer: "Unknown", Start: 130, End: 190},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	want[1].Layer = "" // of a number without a name
	if again, err := Of(Encode(want)); err != nil || !cmp.Equal(again, want) {
		t.Errorf("encoded and read again: %+v, %v", again, err)
	}
	if none, err := Of(nil); err != nil || len(none) != 0 {
		t.Errorf("a segment of which nothing was kept has the spans %v, %v", none, err)
	}
	var broken *wire.Error
	if _, err := Of(segment(t)[:20]); !errors.As(err, &broken) || !broken.Cut {
		t.Errorf("a cut segment: %v", err)
	}
}

func TestRanges(t *testing.T) {
	list, err := Of(segment(t))
	if err != nil {
		t.Fatal(err)
	}
	overlapping := []traceprof.Span{{ID: 0, Parent: -1, Start: 0, End: 100}, {ID: 1, Parent: 0, Start: 10, End: 50},
		{ID: 2, Parent: 0, Start: 20, End: 30}, {ID: 3, Parent: 0, Start: 40, End: 100}}
	outliving := []traceprof.Span{{ID: 0, Parent: -1, Start: 0, End: 100}, {ID: 1, Parent: 0, Start: 10, End: 50},
		{ID: 2, Parent: 0, Start: 150, End: 180}}
	for _, tt := range []struct {
		name string
		list []traceprof.Span
		span int
		own  bool
		want [][2]int64
	}{
		{"whole", list, 0, false, [][2]int64{{100, 200}}},
		{"own", list, 0, true, [][2]int64{{100, 109}, {120, 129}, {190, 200}}},
		{"own, nothing inside", list, 2, true, [][2]int64{{130, 190}}},
		{"own, an inner one begins behind the end", outliving, 0, true, [][2]int64{{0, 9}, {50, 100}}},
		{"own, inner ones overlap and last to the end", overlapping, 0, true, [][2]int64{{0, 9}}},
	} {
		var got [][2]int64
		for _, r := range Ranges("s", tt.list, tt.list[tt.span], tt.own) {
			if r.Segment != "s" {
				t.Errorf("%s: a range of segment %q", tt.name, r.Segment)
			}
			got = append(got, [2]int64{r.Start, r.End})
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
	if w := Whole("s"); w.Start >= 0 || w.End < 1<<60 {
		t.Errorf("the whole segment is %+v", w)
	}
}

func FuzzOf(f *testing.F) {
	f.Add(segment(f))
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, err := Of(raw)
		if err != nil {
			return
		}
		for i := range list {
			if i > 0 && list[i].ID < list[i-1].ID {
				t.Fatalf("span %d stands behind span %d", list[i].ID, list[i-1].ID)
			}
			for _, r := range Ranges("s", list, list[i], true) {
				if list[i].Start <= list[i].End && (r.Start > r.End || r.Start < list[i].Start || r.End > list[i].End) {
					t.Fatalf("range %+v of span %+v", r, list[i])
				}
			}
		}
	})
}
