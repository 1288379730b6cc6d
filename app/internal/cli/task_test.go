package cli

import (
	"context"
	"errors"

	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/protobuf/proto"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/traceprof"
)

// traceStart is when the tasks of the scripts begin, in ms.
const traceStart = 1_700_000_000_000

// sampledStore makes the store of the scripts: service shop with two tasks of its
// checkout, of which the second sampled two requests of one trace well and one of
// another with losses, and the first nothing.
func sampledStore(ctx context.Context, where string) (err error) {
	st, err := (&command.Env{}).OpenAt(ctx, where, engines.Write)
	if err != nil {
		return err
	}
	return errors.Join(fillSampled(ctx, st), st.Close())
}

// fillSampled fills a store with two tasks and what one of them sampled.
func fillSampled(ctx context.Context, st store.Store) (err error) {
	traces := st.(traceprof.Store)
	order := traceprof.Task{Kind: traceprof.TraceKind, Service: "shop", ServiceID: "c2hvcA==.1", Endpoint: "/chekout", Created: traceStart,
		Start:    traceStart,
		Duration: traceprof.Minute, Period: tracetest.Period, MaxSegments: 5}
	if _, err := traces.CreateTask(ctx, order); err != nil {
		return err
	}
	order.Endpoint, order.Created, order.Start = "/checkout", traceStart+100_000, traceStart+100_000
	task, err := traces.CreateTask(ctx, order)
	if err != nil {
		return err
	}
	at := order.Start
	segments := []traceprof.Segment{requestSegment("s1", "t1", at+1000, 100), requestSegment("s2", "t1", at+1010, 50),
		requestSegment("s3", "t2", at+2000, 60)}
	pictures := map[string]string{
		"s1": "@0 main-handle-load-wait main-handle-load-wait main-handle-load-wait main-handle-load-wait main-handle-render main-handle-render main-handle-render.write main-handle-render.write main-handle main-handle",
		"s2": "@0 run-job run-job run-job-step run-job-step run-job",
		"s3": "@0 main-handle-load main-handle-load @4 main-handle-render main-handle-render",
	}
	var list []traceprof.Snapshots
	for i := range segments {
		s := tracetest.Picture(task.ID, segments[i].ID, pictures[segments[i].ID])
		for j := range s.Time {
			s.Time[j] += segments[i].Start
		}
		list = append(list, s)
	}
	// Of a request of a task that is gone only snapshots are left.
	list = append(list, tracetest.Picture("gone", "s4", "@0 main-handle main-handle"))
	return errors.Join(
		traces.PutInstances(ctx, traceprof.Instance{Service: "shop", Name: "one@test", Language: "java", FirstSeen: at, LastSeen: at + 70_000,
			Polled: at + 60_000}),
		traces.PutSegments(ctx, segments...),
		traces.PutSnapshots(ctx, list...),
		traces.AppendLog(ctx, traceprof.Log{Task: task.ID, Instance: "one@test", Event: traceprof.Notified, Time: at + 500},
			traceprof.Log{Task: task.ID, Instance: "one@test", Event: traceprof.Finished, Time: at + 60_500}))
}

// requestSegment makes a segment of two spans, the second in the middle of the
// first.
func requestSegment(id, trace string, start, latency int64) traceprof.Segment {
	raw, err := proto.Marshal(&agentv3.SegmentObject{Spans: []*agentv3.SpanObject{
		{SpanId: 1, ParentSpanId: 0, StartTime: start + latency/2, EndTime: start + latency*3/4, OperationName: "render",
			SpanType: agentv3.SpanType_Local},
		{SpanId: 0, ParentSpanId: -1, StartTime: start, EndTime: start + latency, OperationName: "/checkout", SpanType: agentv3.SpanType_Entry},
	}})
	if err != nil {
		panic(err) // of a message that is written here
	}
	return traceprof.Segment{ID: id, Trace: trace, Service: "shop", Instance: "one@test", Endpoint: "/checkout", Operation: "/checkout",
		Start: start, End: start + latency, Raw: raw}
}

// sampled is a command of scripts: it fills the store of the script.
func sampled(ts *testscript.TestScript, neg bool, args []string) {
	where := ts.Getenv("DENDRO_STORE")
	if neg || len(args) > 0 || where == "" {
		ts.Fatalf("usage: sampled, with DENDRO_STORE set")
	}
	if st, ok := ts.Value(servedStore{}).(store.Store); ok {
		ts.Check(fillSampled(context.Background(), st))
		return
	}
	ts.Check(sampledStore(context.Background(), ts.MkAbs(where)))
}
