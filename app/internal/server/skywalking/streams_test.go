package skywalking_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	commonv3 "skywalking.apache.org/repo/goapi/collect/common/v3"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
	agentcompat "skywalking.apache.org/repo/goapi/collect/language/agent/v3/compat"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"
	managementv3 "skywalking.apache.org/repo/goapi/collect/management/v3"

	"github.com/dendroprof/dendro/app/internal/server/skywalking"
	"github.com/dendroprof/dendro/traceprof"
)

func snapshot(task, segment string, sequence int32, at int64, frames ...string) *profilev3.ThreadSnapshot {
	return &profilev3.ThreadSnapshot{TaskId: task, TraceSegmentId: segment, Sequence: sequence, Time: at,
		Stack: &profilev3.ThreadStack{CodeSignatures: frames}}
}

// send sends messages over a stream and returns what the server says at its end.
func send[M proto.Message](b *bench, method string, messages ...M) error {
	b.Helper()
	stream := b.open(method)
	for _, m := range messages {
		if stream.SendMsg(m) != nil {
			break // the server ended it; RecvMsg has its reason
		}
	}
	if err := stream.CloseSend(); err != nil {
		b.Fatal(err)
	}
	return stream.RecvMsg(new(commonv3.Commands))
}

// open opens a stream of messages to the server.
func (b *bench) open(method string, opts ...grpc.CallOption) grpc.ClientStream {
	b.Helper()
	stream, err := b.conn.NewStream(b.ctx, &grpc.StreamDesc{ClientStreams: true}, method, opts...)
	if err != nil {
		b.Fatal(err)
	}
	return stream
}

const (
	collectSnapshot = "/skywalking.v3.ProfileTask/collectSnapshot"
	collectSegment  = "/skywalking.v3.TraceSegmentReportService/collect"
)

// TestSnapshots: what a stream brought is stored when it is answered, whatever the
// numbers and names in it are.
func TestSnapshots(t *testing.T) {
	b := newBench(t)
	deep := make([]string, 10_000)
	for i := range deep {
		deep[i] = fmt.Sprintf("App.rec:%d", i)
	}
	long := strings.Repeat("x", 1<<20)
	err := send(b, collectSnapshot,
		snapshot("t", "s", 2, 30, "main:1", "f:2"),
		snapshot("t", "s", 0, 10, "main:1"),
		snapshot("t", "s", 1, 20, "main:1", "f:2"),
		snapshot("t", "s", 1, 21, "main:1", "late:3"), // the second one of a sequence does not count
		snapshot("t", "s", 3, 40),
		snapshot("t", "deep", 0, 10, deep...),
		snapshot("t", "long", 0, 10, long),
		snapshot("t", "ends", math.MinInt32, 0, "a"),
		snapshot("t", "ends", math.MaxInt32, math.MaxInt64, "a"),
		snapshot("t", "ends", -1, -5, "a"),
	)
	if err != nil {
		t.Fatal(err)
	}
	held := b.snapshots("t")
	s := held["s"]
	var got []string
	for i := range s.Len() {
		got = append(got, fmt.Sprintf("%d %d %s", s.Sequence[i], s.Time[i], strings.Join(names(s, i), "-")))
	}
	if diff := cmp.Diff([]string{"0 10 main:1", "1 20 main:1-f:2", "2 30 main:1-f:2", "3 40 "}, got); diff != "" {
		t.Error(diff)
	}
	if s := held["deep"]; s.Len() != 1 || !slices.Equal(names(s, 0), deep) {
		t.Error("the deep stack is not what was sent")
	}
	if s := held["long"]; s.Len() != 1 || !slices.Equal(names(s, 0), []string{long}) {
		t.Error("the long signature is not what was sent")
	}
	const year9999 = 253_402_300_799_999 // times beyond would overflow sums
	if s := held["ends"]; !slices.Equal(s.Sequence, []int32{math.MinInt32, -1, math.MaxInt32}) ||
		!slices.Equal(s.Time, []int64{0, -5, year9999}) {
		t.Errorf("sequences %d, times %d", s.Sequence, s.Time)
	}
}

// TestStreamThatNeverEnds: messages are stored as they come, and those of an agent
// that vanishes too.
func TestStreamThatNeverEnds(t *testing.T) {
	b := newBench(t)
	ctx, vanish := context.WithCancel(b.ctx)
	stream, err := b.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, collectSnapshot)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(3) {
		if err := stream.SendMsg(snapshot("t", "s", i, int64(i), "main:1")); err != nil {
			t.Fatal(err)
		}
		eventually(t, fmt.Sprintf("snapshot %d is stored", i), func() bool { s := b.snapshots("t")["s"]; return s.Len() == int(i)+1 })
	}
	vanish()
	if err := send(b, collectSnapshot, snapshot("t", "other", 0, 1, "main:1")); err != nil {
		t.Errorf("another agent after one that vanished: %v", err)
	}
}

func span(id int32, kind agentv3.SpanType, operation string, start, end int64) *agentv3.SpanObject {
	return &agentv3.SpanObject{SpanId: id, SpanType: kind, OperationName: operation, StartTime: start, EndTime: end}
}

func segment(id string, spans ...*agentv3.SpanObject) *agentv3.SegmentObject {
	return &agentv3.SegmentObject{TraceId: "trace", TraceSegmentId: id, Service: "shop", ServiceInstance: "shop-1", Spans: spans}
}

// TestSegments: the columns of a segment, and that its spans are kept as they came.
func TestSegments(t *testing.T) {
	b := newBench(t)
	failed := span(1, agentv3.SpanType_Exit, "db", 110, 190)
	failed.IsError = true
	whole := segment("whole", failed, span(2, agentv3.SpanType_Entry, "GET:/inner", 120, 130),
		span(0, agentv3.SpanType_Local, "thread", 100, 180))
	nameless := segment("nameless", span(0, agentv3.SpanType_Entry, "", 5, 5))
	nameless.Service, nameless.ServiceInstance = " ", ""
	long := segment("long", span(0, agentv3.SpanType_Entry, strings.Repeat("é", 600), 1, 2))
	if err := send(b, collectSegment, whole, segment("empty"), nameless, segment("", span(0, agentv3.SpanType_Entry, "x", 1, 2))); err != nil {
		t.Fatal(err)
	}
	client := agentcompat.NewTraceSegmentReportServiceClient(b.conn)
	if _, err := client.CollectInSync(b.ctx, &agentv3.SegmentCollection{Segments: []*agentv3.SegmentObject{long, whole}}); err != nil {
		t.Fatal(err)
	}
	list, err := b.mem.Segments(b.ctx, traceprof.SegmentQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		m, err := skywalking.ReadSegment(list[i].Raw)
		if err != nil || m.GetTraceSegmentId() != list[i].ID {
			t.Errorf("raw segment %s: %v", list[i].ID, err)
		}
		if list[i].ID == "whole" && !proto.Equal(m, whole) {
			t.Errorf("raw segment %v", m)
		}
		list[i].Raw = nil
	}
	want := []traceprof.Segment{
		{ID: "whole", Trace: "trace", Service: "shop", Instance: "shop-1", Endpoint: "GET:/inner", Operation: "thread", Start: 100, End: 190,
			Error: true, Received: b.clock.Load()},
		{ID: "nameless", Trace: "trace", Service: "_blank", Instance: "_blank", Endpoint: "_blank", Start: 5, End: 5, Received: b.clock.Load()},
		{ID: "long", Trace: "trace", Service: "shop", Instance: "shop-1", Endpoint: strings.Repeat("é", 150),
			Operation: strings.Repeat("é", 512), Start: 1, End: 2, Received: b.clock.Load()},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	eventually(t, "the instance of the segment was seen", func() bool { _, ok := b.instance("shop", "shop-1"); return ok })
}

// TestBrokenText: a segment with a string that is no UTF-8 is stored, repaired.
func TestBrokenText(t *testing.T) {
	b := newBench(t)
	good := segment("s", span(0, agentv3.SpanType_Entry, "GET:/@@", 1, 2))
	good.Spans[0].Tags = []*commonv3.KeyStringValuePair{property("url", "http://@@")}
	text, err := proto.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	raw := []byte(strings.ReplaceAll(string(text), "@@", "\xff\xfe"))
	stream := b.open(collectSegment, grpc.ForceCodecV2(rawCodec{}))
	if err := stream.SendMsg(&raw); err != nil {
		t.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(new(commonv3.Commands)); err != nil {
		t.Fatal(err)
	}
	list, err := b.mem.Segments(b.ctx, traceprof.SegmentQuery{})
	if err != nil || len(list) != 1 || list[0].Endpoint != "GET:/\uFFFD" {
		t.Fatalf("%+v %v", list, err)
	}
	m, err := skywalking.ReadSegment(list[0].Raw)
	if err != nil || m.GetSpans()[0].GetTags()[0].GetValue() != "http://\uFFFD" {
		t.Errorf("%v %v", m, err)
	}
}

// TestGarbage: what is no message is the sender's fault, and nobody else's.
func TestGarbage(t *testing.T) {
	b := newBench(t)
	garbage := []byte("\x0a\xff\xff\xff\xff\xff\x7fGARBAGE")
	for _, d := range published {
		for _, m := range d.Methods {
			method := "/" + d.ServiceName + "/" + m.MethodName
			err := b.conn.Invoke(b.ctx, method, &garbage, new(commonv3.Commands), grpc.ForceCodecV2(rawCodec{}))
			if ignored := status.Code(err) == codes.OK; !ignored && status.Code(err) != codes.InvalidArgument {
				t.Errorf("%s: %v", method, err)
			}
		}
	}
	for _, method := range []string{collectSnapshot, collectSegment, "/skywalking.v10.AsyncProfilerTask/collect",
		"/skywalking.v10.PprofTask/collect"} {
		stream := b.open(method, grpc.ForceCodecV2(rawCodec{}))
		if err := stream.SendMsg(&garbage); err != nil {
			t.Fatal(err)
		}
		if err := stream.RecvMsg(new(commonv3.Commands)); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", method, err)
		}
	}
	// What came before the garbage is stored.
	stream := b.open(collectSnapshot, grpc.ForceCodecV2(rawCodec{}))
	for _, m := range []any{snapshot("t", "s", 0, 1, "main:1"), &garbage} {
		if err := stream.SendMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.RecvMsg(new(commonv3.Commands)); status.Code(err) != codes.InvalidArgument {
		t.Errorf("garbage behind a snapshot: %v", err)
	}
	eventually(t, "the snapshot before the garbage is stored", func() bool { return len(b.snapshots("t")) == 1 })
	// Bytes that are no HTTP/2 at all.
	raw := dialRaw(t, b.server.GRPCAddr())
	if _, err := raw.Write([]byte("GET / HTTP/1.1\r\n\r\n" + strings.Repeat("\x00garbage", 1000))); err != nil {
		t.Log("the server closed the connection:", err)
	}
	if err := send(b, collectSnapshot, snapshot("t", "after", 0, 1, "main:1")); err != nil {
		t.Errorf("after all the garbage: %v", err)
	}
	// Ids that no agent writes.
	for what, m := range map[string]*profilev3.ThreadSnapshot{
		"task": snapshot(strings.Repeat("t", 2000), "s", 0, 1), "segment": snapshot("t", strings.Repeat("s", 1<<20), 0, 1),
	} {
		if err := send(b, collectSnapshot, m); status.Code(err) != codes.InvalidArgument {
			t.Errorf("an endless id of a %s: %v", what, err)
		}
	}
}

// TestStoreFails: nothing is acknowledged that is not stored, in a way that agents
// do not take for a broken connection; and it works again when the store does.
func TestStoreFails(t *testing.T) {
	b := newBench(t)
	task := b.task("/checkout")
	b.store.broken.Store(true)
	client := profilev3.NewProfileTaskClient(b.conn)
	for what, call := range map[string]func() error{
		"snapshots": func() error { return send(b, collectSnapshot, snapshot(task.ID, "s", 0, 1, "main:1")) },
		"segments": func() error {
			return send(b, collectSegment, segment("s", span(0, agentv3.SpanType_Entry, "/checkout", 1, 2)))
		},
		"finish": func() error {
			_, err := client.ReportTaskFinish(b.ctx, &profilev3.ProfileTaskFinishReport{Service: "shop", ServiceInstance: "a", TaskId: task.ID})
			return err
		},
		"poll": func() error {
			_, err := client.GetProfileTaskCommands(b.ctx, &profilev3.ProfileTaskCommandQuery{Service: "shop", ServiceInstance: "a",
				LastCommandTime: -1})
			return err
		},
	} {
		if err := call(); status.Code(err) != codes.Internal {
			t.Errorf("%s: %v", what, err)
		}
	}
	// A report is not refused because a task could not be told.
	if got := b.jvm("a", start); len(got.GetCommands()) != 0 {
		t.Errorf("told of a task that could not be logged: %v", got)
	}
	b.store.broken.Store(false)
	if err := send(b, collectSnapshot, snapshot(task.ID, "s", 0, 1, "main:1")); err != nil {
		t.Errorf("after the store works again: %v", err)
	}
	if got := b.jvm("a", start); len(got.GetCommands()) != 1 {
		t.Errorf("not told after the store works again: %v", got)
	}
}

// TestSlowStore: the answer waits for the store, and an agent that does not wait
// so long gets its own deadline back.
func TestSlowStore(t *testing.T) {
	b := newBench(t)
	b.store.delay.Store(int64(300 * time.Millisecond))
	ctx, stop := context.WithTimeout(b.ctx, 100*time.Millisecond)
	defer stop()
	stream, err := b.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, collectSnapshot)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.SendMsg(snapshot("t", "impatient", 0, 1, "main:1")); err != nil {
		t.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(new(commonv3.Commands)); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("an impatient agent: %v", err)
	}
	if err := send(b, collectSnapshot, snapshot("t", "patient", 0, 1, "main:1")); err != nil ||
		len(b.snapshots("t")["patient"].Sequence) != 1 {
		t.Errorf("a patient agent: %v", err)
	}
}

// TestInstancesAreStoredOnceSeen: what an instance reported is stored although it
// never registered, and again after the store has failed.
func TestInstancesAreStoredOnceSeen(t *testing.T) {
	b := newBench(t)
	b.store.broken.Store(true)
	ping := &managementv3.InstancePingPkg{Service: "shop", ServiceInstance: "shop-9"}
	if _, err := managementv3.NewManagementServiceClient(b.conn).KeepAlive(b.ctx, ping); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the store failed", func() bool { return b.store.failures.Load() > 0 })
	b.store.broken.Store(false)
	eventually(t, "the instance is stored", func() bool {
		i, ok := b.instance("shop", "shop-9")
		return ok && i.FirstSeen == start && i.LastSeen == start && i.Polled == 0
	})
}
