package graphql

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
	"skywalking.apache.org/repo/goapi/query"

	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/traceprof"
)

// thread returns a segment of one span that a thread of another began, or a
// process of another if it begins with a dot; "": nothing did.
func thread(id string, at int64, by string) traceprof.Segment {
	in := spanInput{parent: -1, name: id, to: 10}
	if by != "" {
		in.ref = &agentv3.SegmentReference{RefType: agentv3.RefType_CrossThread, ParentTraceSegmentId: by}
		if by[0] == '.' {
			in.ref.RefType = agentv3.RefType_CrossProcess
		}
	}
	return segment(id, "t", at, nil, in)
}

// TestFold: which segments become one entry.
func TestFold(t *testing.T) {
	for _, tt := range []struct{ name, segments, profiled, want string }{
		{"apart", "a b", "a b", "a/a b/b"},
		{"not profiled", "a b", "b", "b/b"},
		{"a thread", "a b<a", "a", "a/a,b"},
		{"a thread is profiled", "a b<a", "b", "a/a,b"},
		{"the caller comes later", "b<a a", "b", "a/a,b"},
		{"threads of threads", "a b<a c<b d<a", "d", "a/a,b,c,d"},
		{"threads of threads, innermost first", "c<b b<a a", "c", "a/a,b,c"},
		{"another process", "a b<.a", "a b", "a/a b/b"},
		{"the caller is not there", "a b<x", "a b", "a/a b/b"},
		{"by itself", "a<a", "a", "a/a"},
		{"a circle", "a<b b<a", "a", "b/b,a"},
	} {
		var segments []traceprof.Segment
		for i, word := range strings.Fields(tt.segments) {
			id, by, _ := strings.Cut(word, "<")
			segments = append(segments, thread(id, int64(i), by))
		}
		profiled := map[string]bool{}
		for _, id := range strings.Fields(tt.profiled) {
			profiled[id] = true
		}
		var got []string
		for _, e := range fold(segments, profiled) {
			var of []string
			for _, s := range e.Spans {
				of = append(of, s.SegmentID)
				if s.Profiled != profiled[s.SegmentID] {
					t.Errorf("%s: %s profiled: %t", tt.name, s.SegmentID, s.Profiled)
				}
				for _, r := range s.Refs {
					if r.Type == query.RefTypeCrossProcess {
						t.Errorf("%s: %s refers to another process", tt.name, s.SegmentID)
					}
				}
			}
			got = append(got, e.EndpointNames[0]+"/"+strings.Join(of, ","))
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, s, tt.want)
		}
	}
}

// TestFoldKeepsEverything: whatever refers to what, each span of a profiled
// process is in one entry or in none, and each profiled one in one.
func TestFoldKeepsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "segments")
		var segments []traceprof.Segment
		profiled := map[string]bool{}
		for i := range n {
			by := rapid.SampledFrom([]string{"", ".x", "x", "s0", "s1", "s2", "s3", "s4", "s5"}).Draw(t, "by")
			segments = append(segments, thread(fmt.Sprint("s", i), int64(i), by))
			profiled[fmt.Sprint("s", i)] = rapid.Bool().Draw(t, "profiled")
		}
		seen := map[string]int{}
		for _, e := range fold(segments, profiled) {
			for _, s := range e.Spans {
				seen[s.SegmentID]++
			}
		}
		for id := range profiled {
			if seen[id] > 1 || profiled[id] && seen[id] == 0 {
				t.Fatalf("%s is in %d entries", id, seen[id])
			}
		}
	})
}

// TestInOrder: spans stand behind their callers.
func TestInOrder(t *testing.T) {
	at := func(id string, start int64, parent int, ref string) *query.Span {
		s := &query.Span{SegmentID: id[:1], SpanID: int(id[1] - '0'), ParentSpanID: parent, StartTime: start}
		if ref != "" {
			s.Refs = []*query.Ref{{ParentSegmentID: "z"}, {ParentSegmentID: ref[:1], ParentSpanID: int(ref[1] - '0')}}
		}
		return s
	}
	for _, tt := range []struct {
		name  string
		spans []*query.Span
		want  string
	}{
		{"as agents send them", []*query.Span{at("a2", 30, 0, ""), at("a1", 10, 0, ""), at("a0", 0, -1, "")}, "a0 a1 a2"},
		{"through processes", []*query.Span{at("b0", 12, -1, "a1"), at("a0", 0, -1, ""), at("a1", 10, 0, ""), at("b1", 13, 0, ""),
			at("a2", 20, 0, "")}, "a0 a1 b0 b1 a2"},
		{"a clock that is behind", []*query.Span{at("b0", -50, -1, "a1"), at("a0", 0, -1, ""), at("a1", 10, 0, "")}, "a0 a1 b0"},
		{"a caller that is not there", []*query.Span{at("b0", 5, -1, "x1"), at("a1", 3, 0, "")}, "a1 b0"},
		{"a circle", []*query.Span{at("a0", 0, -1, "b0"), at("b0", 1, -1, "a0"), at("c0", 2, -1, "c0")}, "c0 a0 b0"},
		{"one id twice", []*query.Span{at("a0", 0, -1, ""), at("a0", 1, -1, ""), at("a1", 2, 0, "")}, "a0 a1 a0"},
	} {
		var got []string
		for _, s := range inOrder(slices.Clone(tt.spans)) {
			got = append(got, fmt.Sprint(s.SegmentID, s.SpanID))
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, s, tt.want)
		}
	}
}

// TestProfiledWithoutTrace: a profiled segment without a trace is listed, and reads none of the
// others that have none.
func TestProfiledWithoutTrace(t *testing.T) {
	b := newBench(t)
	for i := range 20 {
		s := thread(fmt.Sprint("s", i), int64(i), "")
		s.Trace = ""
		b.must(b.store.PutSegments(t.Context(), s))
	}
	b.must(b.store.PutSnapshots(t.Context(), tracetest.Picture("t", "s7", "A"), tracetest.Picture("t", "s9", "A")))
	list, err := b.handler.resolver.GetProfileTaskSegments(t.Context(), "t")
	b.must(err)
	if len(list) != 2 || list[0].Spans[0].SegmentID != "s9" || list[1].Spans[0].SegmentID != "s7" {
		t.Errorf("%+v", list)
	}
	one, err := b.store.Store.Segments(t.Context(), traceprof.SegmentQuery{IDs: []string{"s7"}})
	b.must(err)
	if n := b.store.spans.Load() / int64(len(one[0].Raw)); n > 3 {
		t.Errorf("%d segments were read for a list of two", n)
	}
}
