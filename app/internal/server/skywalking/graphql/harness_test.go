package graphql

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	commonv3 "skywalking.apache.org/repo/goapi/collect/common/v3"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"

	"github.com/dendroprof/dendro/app/internal/server/skywalking/uploads"
	"github.com/dendroprof/dendro/format/folded"
	"github.com/dendroprof/dendro/format/pprof"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/traceprof"
	"github.com/dendroprof/dendro/traceprof/ids"
)

// start is what the clock of a bench shows: 2023-11-14 22:13:20 UTC.
const start = 1_700_000_000_000

// bench is a handler over a store in memory that some data is in.
type bench struct {
	*testing.T
	store   *faulty
	uploads *uploads.Uploads
	handler *Handler
}

// faulty is a store that can be made to fail, and counts.
type faulty struct {
	*mem.Store
	broken  atomic.Bool
	rosters atomic.Int32 // lists of all instances
	spans   atomic.Int64 // bytes of the segments that were read with their spans
}

func (f *faulty) Segments(ctx context.Context, q traceprof.SegmentQuery) ([]traceprof.Segment, error) {
	list, err := f.Store.Segments(ctx, q)
	for i := range list {
		f.spans.Add(int64(len(list[i].Raw)))
	}
	return list, err
}

func (f *faulty) Instances(ctx context.Context, service string, since int64) ([]traceprof.Instance, error) {
	if service == "" {
		f.rosters.Add(1)
	}
	return f.Store.Instances(ctx, service, since)
}

var errBroken = errors.New("/srv/dendro/x.duckdb: the disk is on fire")

func (f *faulty) Tasks(ctx context.Context, q traceprof.TaskQuery) ([]traceprof.Task, error) {
	if f.broken.Load() {
		return nil, errBroken
	}
	return f.Store.Tasks(ctx, q)
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, store: &faulty{Store: mem.New()}}
	now := func() int64 { return start }
	b.uploads = uploads.New(b.store, uploads.Options{})
	b.handler = New(Options{Store: b.store, Dispatcher: traceprof.NewDispatcher(b.store, traceprof.DispatcherOptions{Now: now}),
		Uploads: b.uploads, Version: "test", TTL: 72 * time.Hour, Now: now})
	return b
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// seed stores what the documents in testdata ask for.
func (b *bench) seed() {
	b.Helper()
	ctx := b.Context()
	b.must(b.store.PutInstances(ctx,
		traceprof.Instance{Service: "shop", Name: "shop-1", Language: "java", FirstSeen: start - 3_600_000, LastSeen: start - 1000,
			Properties: []traceprof.Property{{Key: "OS Name", Value: "Linux"}, {Key: "language", Value: "java"}, {Key: "ipv4", Value: "10.0.0.1"},
				{Key: "ipv4", Value: "10.0.0.2"}}},
		traceprof.Instance{Service: "shop", Name: "shop-2", Language: "rust", FirstSeen: start - 7_200_000, LastSeen: start - 5_400_000},
		traceprof.Instance{Service: "eu::cart", Name: "cart-1", Language: "python", Layer: "FAAS", FirstSeen: start - 1000,
			LastSeen: start - 1000}))
	entry := segment("s1", "t1", start-60_000, []string{"order", "paid"},
		spanInput{id: 1, parent: 0, name: "Cache/get", kind: agentv3.SpanType_Exit, from: 10, to: 20, component: 7, peer: "redis:6379"},
		spanInput{id: 0, parent: -1, name: "GET:/checkout", kind: agentv3.SpanType_Entry, to: 180, component: 1, ref: &agentv3.SegmentReference{
			RefType: agentv3.RefType_CrossProcess, TraceId: "t1", ParentTraceSegmentId: "s0", ParentSpanId: 2}})
	thread := segment("s2", "t1", start-59_950, nil,
		spanInput{id: 0, parent: -1, name: "Thread/run", kind: agentv3.SpanType_Local, to: 100, component: 4711, ref: &agentv3.SegmentReference{
			RefType: agentv3.RefType_CrossThread, TraceId: "t1", ParentTraceSegmentId: "s1", ParentSpanId: 0}})
	other := segment("s3", "t2", start-30_000, nil, spanInput{id: 0, parent: -1, name: "GET:/checkout", kind: agentv3.SpanType_Entry, to: 40,
		component: 1})
	other.Error = true
	b.must(b.store.PutSegments(ctx, entry, thread, other))
	for _, o := range []traceprof.Task{
		{Kind: traceprof.TraceKind, ServiceID: ids.Service("shop"), Service: "shop", Endpoint: "GET:/checkout", Start: start - 120_000,
			Duration: traceprof.Minute, Period: 10, MaxSegments: 5},
		{Kind: traceprof.AsyncKind, ServiceID: ids.Service("shop"), Service: "shop", Duration: 60_000, Events: []string{"CPU", "ALLOC"},
			Instances: []string{"shop-1", "shop-2"}},
		{Kind: traceprof.PprofKind, ServiceID: ids.Service("shop"), Service: "shop", Duration: traceprof.Minute, Events: []string{"CPU"},
			Instances: []string{"shop-1"}},
	} {
		o := b.order(o)
		b.must(b.store.AppendLog(ctx,
			traceprof.Log{Task: o.ID, Instance: "shop-1", Event: traceprof.Notified, Time: start + 1},
			traceprof.Log{Task: o.ID, Instance: "shop-1", Event: traceprof.Finished, Time: start + 3},
			traceprof.Log{Task: o.ID, Instance: "shop-2", Event: traceprof.TooLarge, Time: start + 2}))
		if o.Kind != traceprof.TraceKind {
			b.must(b.uploads.Put(ctx, &o, "shop-1", recording(b.T, o.Kind)))
			continue
		}
		for _, s := range []traceprof.Snapshots{
			tracetest.Picture(o.ID, "s1", "run-checkout-pay run-checkout-pay run-checkout @5:60 run-checkout-pay run-checkout-pay"),
			tracetest.Picture(o.ID, "s2", "@1 thread-ship thread-ship"),
			tracetest.Picture(o.ID, "s3", "run-checkout"),
			tracetest.Picture(o.ID, "without a segment", "run"),
		} {
			b.must(b.store.PutSnapshots(ctx, s))
		}
	}
}

func (b *bench) order(o traceprof.Task) traceprof.Task {
	b.Helper()
	t, err := o.Requested(start)
	b.must(err)
	t, err = b.store.CreateTask(b.Context(), t)
	b.must(err)
	return t
}

// spanInput is a span of a segment; times are ms after the segment's start.
type spanInput struct {
	id, parent int32
	name       string
	kind       agentv3.SpanType
	from, to   int64
	component  int32
	peer       string
	ref        *agentv3.SegmentReference
}

// segment returns a segment of shop-1. Its last span has a log and tags.
func segment(id, trace string, at int64, tags []string, spans ...spanInput) traceprof.Segment {
	m := &agentv3.SegmentObject{TraceId: trace, TraceSegmentId: id, Service: "shop", ServiceInstance: "shop-1"}
	s := traceprof.Segment{ID: id, Trace: trace, Service: "shop", Instance: "shop-1", Start: at}
	for _, in := range spans {
		out := &agentv3.SpanObject{SpanId: in.id, ParentSpanId: in.parent, OperationName: in.name, SpanType: in.kind,
			StartTime: at + in.from, EndTime: at + in.to, ComponentId: in.component, Peer: in.peer, SpanLayer: agentv3.SpanLayer_Http}
		if in.ref != nil {
			out.Refs = append(out.Refs, in.ref)
		}
		m.Spans = append(m.Spans, out)
		s.End = max(s.End, at+in.to)
		s.Endpoint, s.Operation = in.name, in.name
	}
	last := m.Spans[len(m.Spans)-1]
	for _, t := range tags {
		last.Tags = append(last.Tags, &commonv3.KeyStringValuePair{Key: "stage", Value: t})
		last.Logs = append(last.Logs, &agentv3.Log{Time: at + 1, Data: []*commonv3.KeyStringValuePair{{Key: "event", Value: t}}})
	}
	raw, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	s.Raw = raw
	return s
}

// reply is what a client gets.
type reply struct {
	status int
	header http.Header
	body   string
}

// post sends a body.
func (b *bench) post(contentType, body string) reply {
	r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	return reply{w.Code, w.Header(), w.Body.String()}
}

// ask sends a document with variables in JSON.
func (b *bench) ask(document, variables string) reply {
	b.Helper()
	body, err := json.Marshal(map[string]any{"query": document, "variables": json.RawMessage(variables)})
	b.must(err)
	return b.post("application/json", string(body))
}

// recording is what an agent uploads for a task of a kind.
func recording(t testing.TB, kind traceprof.Kind) []byte {
	t.Helper()
	if kind == traceprof.AsyncKind {
		data, err := os.ReadFile("../../../../../format/jfr/testdata/jdk25-profile.jfr.gz")
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	p, err := folded.NewDecoder().Decode(strings.NewReader("main;work 5\nmain;rest \"quoted\" <init> 2\n"), profile.NewSymbols(),
		profile.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := pprof.Encode(&file, p, 0); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}
