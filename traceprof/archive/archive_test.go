package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/traceprof"
)

// pack makes a tar.gz of names and contents.
func pack(t testing.TB, members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for i := 0; i < len(members); i += 2 {
		if err := w.WriteHeader(&tar.Header{Name: members[i], Size: int64(len(members[i+1])), Mode: 0o644, Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(members[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// snapshots writes lines "sequence time A-B-C" as SkyWalking's exporter does: each
// message behind its length, without the task and the segment.
func snapshots(t testing.TB, lines ...string) string {
	t.Helper()
	var b []byte
	for _, line := range lines {
		var stack string
		m := &profilev3.ThreadSnapshot{Stack: &profilev3.ThreadStack{}}
		if _, err := fmt.Sscan(line, &m.Sequence, &m.Time, &stack); err != nil {
			t.Fatal(err)
		}
		m.Stack.CodeSignatures = strings.Split(stack, "-")
		data, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		b = append(binary.AppendUvarint(b, uint64(len(data))), data...)
	}
	return string(b)
}

// picture returns what was read as lines "segment: sequence time A-B-C …".
func picture(a *Archive) string {
	var b strings.Builder
	for i := range a.Segments {
		s := &a.Segments[i].Snapshots
		fmt.Fprintf(&b, "%s:", a.Segments[i].ID)
		for j := range s.Sequence {
			fmt.Fprintf(&b, " %d %d %s", s.Sequence[j], s.Time[j], strings.Join(s.Stacks.Names(s.Path[j]), "-"))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// upstream is a file as SkyWalking's exporter dumps its bean: two segments of one
// trace, of which the last snapshots are missing.
const upstream = `!!org.apache.skywalking.oap.server.tool.profile.exporter.ProfiledBasicInfo
config: {analyzeResultDist: /tmp/out/trace-1/work, taskId: 1700000000000_c2hvcA==.1, traceId: trace-1}
profiledSegmentSpans:
- {component: Tomcat, endTime: 1140, endpointName: 'GET:/checkout', error: false, layer: Http, parentSpanId: -1,
  peer: '', root: false, segmentId: seg-1, segmentParentSpanId: null, segmentSpanId: null, serviceCode: shop,
  serviceInstanceName: one, spanId: 0, startTime: 1000, traceId: trace-1, type: Entry}
- {component: H2, endTime: 1060, endpointName: H2/JDBI/PreparedStatement/executeQuery, error: true, layer: Database, parentSpanId: 0,
  peer: 'db:5432', root: false, segmentId: seg-1, segmentParentSpanId: null, segmentSpanId: null, serviceCode: shop,
  serviceInstanceName: one, spanId: 1, startTime: 1020, traceId: trace-1, type: Exit}
- {component: JdkThreading, endTime: 1100, endpointName: Thread/run, error: false, layer: Unknown, parentSpanId: -1,
  peer: '', root: false, segmentId: seg-2, segmentParentSpanId: null, segmentSpanId: null, serviceCode: shop,
  serviceInstanceName: one, spanId: 0, startTime: 1010, traceId: trace-1, type: Local}
segments:
- {duration: 140, maxSequence: 3, minSequence: 0, segmentEndTime: 1140, segmentId: seg-1, segmentStartTime: 1000}
- {duration: 90, maxSequence: 4, minSequence: 0, segmentEndTime: 1100, segmentId: seg-2, segmentStartTime: 1010}
`

// old is one of before SkyWalking 9.5, with the one segment that a file had then.
const old = `!!org.apache.skywalking.oap.server.tool.profile.exporter.ProfiledBasicInfo
config: {analyzeResultDist: /tmp/out, taskId: T, traceId: trace-1}
duration: 50
maxSequence: 2
minSequence: 0
profiledSegmentSpans:
- {endTime: 1050, endpointName: /checkout, parentSpanId: -1, segmentId: seg-1, spanId: 0, startTime: 1000, type: Entry}
segmentEndTime: 1050
segmentId: seg-1
segmentStartTime: 1000
`

func TestReadUpstream(t *testing.T) {
	for _, tt := range []struct{ name, basic, data, want string }{
		{"two segments", upstream,
			snapshots(t, "0 1000 A-B", "1 1010 A-B", "2 1020 A-C", "0 1012 R-X", "1 1022 R-X", "2 1032 R-Y", "3 1042 R-Y"),
			"seg-1: 0 1000 A-B 1 1010 A-B 2 1020 A-C\nseg-2: 0 1012 R-X 1 1022 R-X 2 1032 R-Y 3 1042 R-Y\n"},
		{"pages of a segment in any order", upstream,
			snapshots(t, "1 1010 A-B", "0 1000 A-B", "2 1020 A-C", "3 1042 A-C", "1 1022 R-X", "0 1012 R-X"),
			"seg-1: 0 1000 A-B 1 1010 A-B 2 1020 A-C 3 1042 A-C\nseg-2: 0 1012 R-X 1 1022 R-X\n"},
		{"the second begins where numbers of the first end", upstream,
			snapshots(t, "0 1000 A", "4 1042 R"),
			"seg-1: 0 1000 A\nseg-2: 4 1042 R\n"},
		{"one segment", old, snapshots(t, "0 1000 A-B", "1 1010 A"), "seg-1: 0 1000 A-B 1 1010 A\n"},
		{"a clock that goes back", old, snapshots(t, "0 1000 A", "1 990 A"), "seg-1: 0 1000 A 1 990 A\n"},
		{"nothing sampled", old, "", "seg-1:\n"},
	} {
		a, err := Read(bytes.NewReader(pack(t, "./work/basic.yml", tt.basic, "./work/snapshot.data", tt.data)), profile.Limits{})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, picture(a)); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
}

func TestReadSpans(t *testing.T) {
	a, err := Read(bytes.NewReader(pack(t, "x/snapshot.data", "", "x/basic.yml", upstream)), profile.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if a.Task != "1700000000000_c2hvcA==.1" || a.Trace != "trace-1" || len(a.Segments) != 2 {
		t.Fatalf("task %q, trace %q, %d segments", a.Task, a.Trace, len(a.Segments))
	}
	s := a.Segments[0]
	want := traceprof.Segment{ID: "seg-1", Trace: "trace-1", Service: "shop", Instance: "one", Endpoint: "GET:/checkout",
		Operation: "GET:/checkout", Start: 1000, End: 1140, Error: true}
	if diff := cmp.Diff(want, s.Segment); diff != "" {
		t.Error(diff)
	}
	if len(s.Spans) != 2 || s.Spans[1].Peer != "db:5432" || s.Spans[1].Kind != "Exit" || !s.Spans[1].Error {
		t.Errorf("spans %+v", s.Spans)
	}
}

func TestReadErrors(t *testing.T) {
	whole := func(data string) []byte { return pack(t, "basic.yml", old, "snapshot.data", data) }
	good := snapshots(t, "0 1000 A-B-C")
	for _, tt := range []struct {
		name   string
		file   []byte
		limits profile.Limits
		want   error
		says   string
	}{
		{"nothing", nil, profile.Limits{}, profile.ErrUnrecognized, ""},
		{"text", []byte("A;B 1\n"), profile.Limits{}, profile.ErrUnrecognized, ""},
		{"another archive", pack(t, "a.txt", "x"), profile.Limits{}, profile.ErrUnrecognized, "basic.yml"},
		{"no snapshots", pack(t, "basic.yml", old), profile.Limits{}, profile.ErrUnrecognized, "snapshot.data"},
		{"no YAML", pack(t, "basic.yml", "a: [", "snapshot.data", ""), profile.Limits{}, profile.ErrMalformed, "basic.yml"},
		{"other YAML", pack(t, "basic.yml", "a: 1", "snapshot.data", ""), profile.Limits{}, profile.ErrMalformed, "neither a trace"},
		{"a cut message", whole(good[:len(good)-2]), profile.Limits{}, profile.ErrMalformed, "snapshot 0"},
		{"a message that says it is huge", whole("\xff\xff\xff\xff\x7f"), profile.Limits{}, profile.ErrTooLarge, "snapshot 0"},
		{"no message", whole("\x02\xff\xff"), profile.Limits{}, profile.ErrMalformed, "snapshot 0"},
		{"a deep stack", whole(good), profile.Limits{Depth: 2}, profile.ErrTooLarge, "--max-depth"},
		{"a large file", whole(strings.Repeat(good, 1000)), profile.Limits{Inflated: 4000}, profile.ErrTooLarge, "--max-size"},
		{"a cut file", whole(good)[:100], profile.Limits{}, profile.ErrMalformed, ""},
	} {
		_, err := Read(bytes.NewReader(tt.file), tt.limits)
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// filled makes a store with a task and one trace of two segments, of which one has
// an empty stack and loses a dump.
func filled(t testing.TB) (*mem.Store, string) {
	t.Helper()
	st := mem.New()
	ctx := t.Context()
	task, err := st.CreateTask(ctx, traceprof.Task{Kind: traceprof.TraceKind, Service: "shop", ServiceID: "c2hvcA==.1", Endpoint: "/checkout",
		Created: 900, Start: 900, Duration: traceprof.Minute, Period: 10})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := proto.Marshal(&agentv3.SegmentObject{Spans: []*agentv3.SpanObject{{SpanId: 0, ParentSpanId: -1, StartTime: 1000,
		EndTime: 1060, OperationName: "/checkout", SpanType: agentv3.SpanType_Entry, SpanLayer: agentv3.SpanLayer_Http, Peer: "a: \"b\" #c\n"}}})
	if err != nil {
		t.Fatal(err)
	}
	segment := func(id, trace string, start int64) traceprof.Segment {
		return traceprof.Segment{ID: id, Trace: trace, Service: "shop", Instance: "one", Endpoint: "/checkout", Operation: "/checkout",
			Start: start, End: start + 60, Raw: raw}
	}
	if err := st.PutSegments(ctx, segment("s1", "trace-1", 1000), segment("s2", "trace-1", 1010), segment("s3", "trace-2", 1000)); err != nil {
		t.Fatal(err)
	}
	in := traceprof.NewIntake(st, traceprof.IntakeOptions{})
	stream := in.Stream()
	for _, line := range []string{"s1 0 1000 A-B", "s1 1 1010 A-B", "s1 3 1030 A-C", "s1 4 1040 ", "s2 -1 1012 R", "s2 0 1022 R-ü",
		"s3 0 1000 A"} {
		f := strings.SplitN(line, " ", 4)
		var sequence int32
		var at int64
		if _, err := fmt.Sscan(f[1]+" "+f[2], &sequence, &at); err != nil {
			t.Fatal(err)
		}
		err := stream.Snapshot(ctx, &traceprof.Snapshot{Task: []byte(task.ID), Segment: []byte(f[0]), Sequence: sequence, Time: at,
			Stack: []byte(f[3]),
			Frames: func(stack []byte, yield func([]byte) bool) error {
				for _, frame := range strings.Split(string(stack), "-") {
					if frame != "" && !yield([]byte(frame)) {
						break
					}
				}
				return nil
			}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(stream.Wait(ctx), in.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	return st, task.ID
}

func TestRoundTrip(t *testing.T) {
	st, task := filled(t)
	a, err := Collect(t.Context(), st, task, "trace-1")
	if err != nil {
		t.Fatal(err)
	}
	const want = "s1: 0 1000 A-B 1 1010 A-B 3 1030 A-C 4 1040 \ns2: -1 1012 R 0 1022 R-ü\n"
	if diff := cmp.Diff(want, picture(a)); diff != "" {
		t.Fatal(diff)
	}
	var file bytes.Buffer
	if err := Write(&file, a); err != nil {
		t.Fatal(err)
	}
	b, err := Read(&file, profile.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, picture(b)); diff != "" {
		t.Error(diff)
	}
	for i := range a.Segments {
		a.Segments[i].Snapshots, b.Segments[i].Snapshots = traceprof.Snapshots{}, traceprof.Snapshots{}
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
}

// TestPut wants the analysis of the archive to be that of the store.
func TestPut(t *testing.T) {
	st, task := filled(t)
	a, err := Collect(t.Context(), st, task, "trace-1")
	if err != nil {
		t.Fatal(err)
	}
	other := mem.New()
	if err := a.Put(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	items := []traceprof.Range{{Segment: "s1", Start: 0, End: 2000}, {Segment: "s2", Start: 0, End: 2000}}
	want, err := traceprof.Analyze(t.Context(), st, items, traceprof.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := traceprof.Analyze(t.Context(), other, items, traceprof.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Trees) != 2 || got.Snapshots != 5 || len(got.Trees) != len(want.Trees) ||
		cmp.Diff(want.Trees[0].Duration, got.Trees[0].Duration) != "" {
		t.Errorf("%+v\nof the store: %+v", got, want)
	}
	if list, err := other.Segments(t.Context(), traceprof.SegmentQuery{}); err != nil || len(list) != 2 || list[1].Endpoint != "/checkout" {
		t.Errorf("segments %+v, %v", list, err)
	}
}

func TestCollectErrors(t *testing.T) {
	st, task := filled(t)
	for _, tt := range []struct {
		task, trace string
		want        error
	}{{"none", "trace-1", traceprof.ErrNoTask}, {task, "none", ErrNotProfiled}} {
		if _, err := Collect(t.Context(), st, tt.task, tt.trace); !errors.Is(err, tt.want) {
			t.Errorf("task %s, trace %s: %v", tt.task, tt.trace, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(upstream), []byte(snapshots(f, "0 1000 A-B", "1 1010 A", "0 1012 R")))
	f.Add([]byte(old), []byte(snapshots(f, "0 1000 A-B", "0 1012 R")))
	st, task := filled(f)
	a, err := Collect(f.Context(), st, task, "trace-1")
	if err != nil {
		f.Fatal(err)
	}
	basic, err := basicOf(a).encode()
	if err != nil {
		f.Fatal(err)
	}
	var data bytes.Buffer
	writeSnapshots(&data, &a.Segments[0].Snapshots)
	f.Add(basic, data.Bytes())
	f.Fuzz(func(t *testing.T, basic, data []byte) {
		a, err := Read(bytes.NewReader(pack(t, "basic.yml", string(basic), "snapshot.data", string(data))), profile.Limits{})
		if err != nil {
			if !errors.Is(err, profile.ErrMalformed) && !errors.Is(err, profile.ErrTooLarge) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		for i := range a.Segments {
			if err := a.Segments[i].Snapshots.Check(); err != nil {
				t.Fatal(err)
			}
		}
		var file bytes.Buffer
		if err := Write(&file, a); err != nil {
			t.Fatal(err)
		}
		b, err := Read(&file, profile.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Segments) < len(a.Segments) {
			t.Fatalf("%d segments became %d", len(a.Segments), len(b.Segments))
		}
	})
}
