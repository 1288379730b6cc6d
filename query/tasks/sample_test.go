package tasks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/traceprof"
)

// sampledStore makes a store with two tasks: the first sampled the segments b and a of one
// trace and x, which did not arrive, the second sampled a again. Segment a has a
// span 1 from 20 to 50 ms after its start.
func sampledStore(t *testing.T) (*mem.Store, [2]string) {
	t.Helper()
	ctx, st := t.Context(), mem.New()
	var ids [2]string
	for i := range ids {
		start := int64(1000 + i*100_000)
		task, err := st.CreateTask(ctx, traceprof.Task{Kind: traceprof.TraceKind, Service: "s", ServiceID: "s", Endpoint: "/", Created: start,
			Start: start, Duration: traceprof.Minute, Period: 7})
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = task.ID
	}
	raw, err := proto.Marshal(&agentv3.SegmentObject{Spans: []*agentv3.SpanObject{
		{SpanId: 0, ParentSpanId: -1, StartTime: 2000, EndTime: 2060}, {SpanId: 1, ParentSpanId: 0, StartTime: 2020, EndTime: 2050}}})
	if err != nil {
		t.Fatal(err)
	}
	at := func(s traceprof.Snapshots, start int64) traceprof.Snapshots {
		for i := range s.Time {
			s.Time[i] += start
		}
		return s
	}
	err = errors.Join(
		st.PutSegments(ctx, traceprof.Segment{ID: "a", Trace: "t", Start: 2000, End: 2060, Raw: raw},
			traceprof.Segment{ID: "b", Trace: "t", Start: 1500, End: 1600},
			traceprof.Segment{ID: "quiet", Trace: "t", Start: 1, End: 2}),
		st.PutSnapshots(ctx, at(tracetest.Picture(ids[0], "a", "A A A-B A-B A-B A @12 A"), 2000), at(tracetest.Picture(ids[0], "b", "M M"), 1500),
			tracetest.Picture(ids[0], "x", "X X X"), at(tracetest.Picture(ids[1], "a", "A A"), 2000)))
	if err != nil {
		t.Fatal(err)
	}
	return st, ids
}

// errChoice stands for a *param.Error.
var errChoice = errors.New("choice")

func TestRanges(t *testing.T) {
	st, ids := sampledStore(t)
	one, gone := 1, 9
	whole := func(ids ...string) string {
		return strings.Join(ids, "[-9223372036854775808 9223372036854775807] ") + "[-9223372036854775808 9223372036854775807]"
	}
	for _, tt := range []struct {
		name   string
		choice SampleSelection
		want   string
		err    error
	}{
		{"a task, by start, what did not arrive last", SampleSelection{Task: ids[0]}, whole("b", "a", "x"), nil},
		{"the other task", SampleSelection{Task: ids[1]}, whole("a"), nil},
		{"a trace, whoever sampled it", SampleSelection{Trace: "t"}, whole("b", "a"), nil},
		{"a trace of a task", SampleSelection{Trace: "t", Task: ids[1]}, whole("a"), nil},
		{"segments", SampleSelection{Segments: []string{"x", "b"}}, whole("b", "x"), nil},
		{"a segment of a trace", SampleSelection{Trace: "t", Segments: []string{"b", "x"}}, whole("b"), nil},
		{"a span", SampleSelection{Segments: []string{"a"}, Span: &one}, "a[2020 2050]", nil},
		{"the first span's own time", SampleSelection{Segments: []string{"a"}, Own: true}, "a[2000 2019] a[2050 2060]", nil},
		{"a range", SampleSelection{Segments: []string{"a"}, Range: "10..31"}, "a[2010 2030]", nil},
		{"a range of the own time", SampleSelection{Segments: []string{"a"}, Own: true, Range: "10..56"}, "a[2010 2019] a[2050 2055]", nil},
		{"nothing", SampleSelection{}, "", errChoice},
		{"no such segment", SampleSelection{Segments: []string{"none"}}, "", ErrNotSampled},
		{"no such trace", SampleSelection{Trace: "none"}, "", ErrNotSampled},
		{"a segment without snapshots", SampleSelection{Segments: []string{"quiet"}}, "", ErrNotSampled},
		{"a span of several", SampleSelection{Task: ids[0], Span: &one}, "", errChoice},
		{"no such span", SampleSelection{Segments: []string{"a"}, Span: &gone}, "", errChoice},
		{"a span of what did not arrive", SampleSelection{Segments: []string{"x"}, Span: &one}, "", errChoice},
		{"a range without time", SampleSelection{Segments: []string{"a"}, Span: &one, Range: "0..11"}, "", ErrNotSampled},
	} {
		s, err := newSample(t.Context(), st, tt.choice, false)
		if err != nil {
			s = &sample{}
		}
		var got []string
		for _, r := range s.ranges {
			got = append(got, fmt.Sprintf("%s[%d %d]", r.Segment, r.Start, r.End))
		}
		if strings.Join(got, " ") != tt.want || (tt.err == errChoice) != errors.As(err, new(*param.Error)) ||
			tt.err != errChoice && !errors.Is(err, tt.err) {
			t.Errorf("%s: %s, %v", tt.name, strings.Join(got, " "), err)
		}
	}
}

// total returns the sum of a profile's first table and how many threads it has.
func total(t *testing.T, p *profile.Profile) (int64, int) {
	t.Helper()
	var sum int64
	for _, v := range p.Tables[0].Value {
		sum += v
	}
	return sum, len(p.Threads)
}

// timed returns the profile of a choice.
func timed(ctx context.Context, c SampleSelection, st traceprof.Store) (*profile.Profile, error) {
	s, err := newSample(ctx, st, c, false)
	if err != nil {
		return nil, err
	}
	return s.profile(ctx, st)
}

// TestAnalyzeOneTask takes only what the selected task sampled of a segment that two sampled.
func TestAnalyzeOneTask(t *testing.T) {
	st, ids := sampledStore(t)
	for i, want := range []int{7, 2} { // both sampled segment a
		r, err := Analyze(t.Context(), st, &AnalyzeRequest{SampleSelection: SampleSelection{Task: ids[i], Segments: []string{"a"}}})
		if err != nil || r.Snapshots != want {
			t.Errorf("task %d: %+v, %v; want %d snapshots", i, r, err, want)
		}
	}
}

func TestTimed(t *testing.T) {
	st, ids := sampledStore(t)
	for _, tt := range []struct {
		name    string
		choice  SampleSelection
		sum     int64 // ms: the tasks' period is 7
		threads int   // and that of all else
	}{
		{"a task", SampleSelection{Task: ids[0]}, 12 * 7, 4},
		{"of two tasks the first", SampleSelection{Segments: []string{"a"}}, 7 * 7, 2},
		{"of the second", SampleSelection{Task: ids[1], Segments: []string{"a"}}, 2 * 7, 2},
		{"a range, by its time", SampleSelection{Segments: []string{"a"}, Range: "10..31"}, 3 * 7, 2},
	} {
		p, err := timed(t.Context(), tt.choice, st)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if sum, threads := total(t, p); sum != tt.sum || threads != tt.threads {
			t.Errorf("%s: %d ms in %d threads", tt.name, sum, threads)
		}
	}
	if _, err := timed(t.Context(), SampleSelection{Segments: []string{"a"}, Range: "70..81"}, st); !errors.Is(err, ErrNotSampled) {
		t.Errorf("a range without snapshots: %v", err)
	}
}

// TestTimedOfSeveralTasks takes of a trace what the tasks of two services sampled,
// each dump with the period of its task.
func TestTimedOfSeveralTasks(t *testing.T) {
	ctx, st := t.Context(), mem.New()
	for service, period := range map[string]int64{"cart": 7, "shop": 20} {
		task, err := st.CreateTask(ctx, traceprof.Task{Kind: traceprof.TraceKind, Service: service, ServiceID: service, Endpoint: "/",
			Created: 1000, Start: 1000, Duration: traceprof.Minute, Period: period})
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(
			st.PutSegments(ctx, traceprof.Segment{ID: "of " + service, Trace: "t", Service: service, Start: 2000, End: 2100}),
			st.PutSnapshots(ctx, tracetest.Picture(task.ID, "of "+service, "A A A")))
		if err != nil {
			t.Fatal(err)
		}
	}
	p, err := timed(ctx, SampleSelection{Trace: "t"}, st)
	if err != nil {
		t.Fatal(err)
	}
	if sum, threads := total(t, p); sum != 3*7+3*20 || threads != 3 {
		t.Errorf("%d ms in %d threads", sum, threads)
	}
}

// TestTimedOfUnknownTask wants the period from the snapshots when the task is not
// there.
func TestTimedOfUnknownTask(t *testing.T) {
	st := mem.New()
	if err := st.PutSnapshots(context.Background(), tracetest.Picture("gone", "s", "A A @5:90 A A A")); err != nil {
		t.Fatal(err)
	}
	p, err := timed(t.Context(), SampleSelection{Segments: []string{"s"}}, st)
	if err != nil {
		t.Fatal(err)
	}
	if sum, _ := total(t, p); sum != 5*tracetest.Period {
		t.Errorf("5 snapshots are %d ms", sum)
	}
}
