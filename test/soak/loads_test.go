//go:build linux

package soak

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"

	"github.com/dendroprof/dendro/test/program"
)

// acknowledged are the names of what the server acknowledged.
type acknowledged struct {
	mu    sync.Mutex
	names []string
}

func (a *acknowledged) add(names ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.names = append(a.names, names...)
}

// lacks returns how many of the names a query of one column does not have.
func (a *acknowledged) lacks(t *testing.T, dir, sql string) (lost, all int) {
	t.Helper()
	stored := map[string]bool{}
	for _, row := range program.Rows(t, program.Must(t, dir, "sql", "--store", "s.duckdb", "-o", "json", "--rows", "0", sql)) {
		for _, v := range row {
			stored[fmt.Sprint(v)] = true
		}
	}
	for _, name := range a.names {
		if !stored[name] {
			lost++
		}
	}
	return lost, len(a.names)
}

// agents are connections to the server, one for each worker.
type agents struct {
	mu    sync.Mutex
	conns map[int]*grpc.ClientConn
}

// of returns the connection of a worker. It connects again quickly after a kill.
func (a *agents) of(s *soak, worker int) *grpc.ClientConn {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conns[worker] == nil {
		quick := backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.5, MaxDelay: 300 * time.Millisecond}
		conn, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: quick, MinConnectTimeout: 5 * time.Second}))
		if err != nil {
			panic(err) // of the options
		}
		if a.conns == nil {
			a.conns = map[int]*grpc.ClientConn{}
		}
		a.conns[worker] = conn
		s.t.Cleanup(func() { conn.Close() })
	}
	return a.conns[worker]
}

// limit ends calls that hang.
const limit = 20 * time.Second

// segments sends streams of segments, as agents do.
type segments struct {
	agents
	acknowledged
}

func newSegments() *segments { return &segments{} }

func (*segments) name() string    { return "segments, 20 a stream" }
func (*segments) workers() int    { return 8 }
func (*segments) needsDisk() bool { return true }

func (l *segments) step(ctx context.Context, s *soak, worker, n int) error {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	stream, err := agentv3.NewTraceSegmentReportServiceClient(l.of(s, worker)).Collect(ctx)
	if err != nil {
		return err
	}
	var ids []string
	for i := range 20 {
		id := fmt.Sprintf("segment-%d-%d-%d", worker, n, i)
		ids = append(ids, id)
		if err := stream.Send(segment(id, worker)); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	if _, err = stream.CloseAndRecv(); err == nil {
		l.add(ids...)
	}
	return err
}

// segment is a segment of one request with three spans.
func segment(id string, worker int) *agentv3.SegmentObject {
	now := time.Now().UnixMilli()
	m := &agentv3.SegmentObject{TraceId: "trace of " + id, TraceSegmentId: id, Service: "shop", ServiceInstance: fmt.Sprint("shop-", worker)}
	for i, name := range []string{"GET:/checkout", "Cache/get", "SELECT orders"} {
		m.Spans = append(m.Spans, &agentv3.SpanObject{SpanId: int32(i), ParentSpanId: int32(i) - 1, OperationName: name,
			StartTime: now - 100, EndTime: now, SpanType: []agentv3.SpanType{agentv3.SpanType_Entry, agentv3.SpanType_Exit,
				agentv3.SpanType_Exit}[i]})
	}
	return m
}

func (l *segments) missing(t *testing.T, dir string) (lost, all int) {
	return l.lacks(t, dir, "SELECT id FROM segment")
}

// snapshots sends the dumps of one segment, as agents do for a profiling task.
type snapshots struct {
	agents
	acknowledged
}

func newSnapshots() *snapshots { return &snapshots{} }

func (*snapshots) name() string    { return "snapshots, 30 a stream" }
func (*snapshots) workers() int    { return 8 }
func (*snapshots) needsDisk() bool { return true }

func (l *snapshots) step(ctx context.Context, s *soak, worker, n int) error {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	stream, err := profilev3.NewProfileTaskClient(l.of(s, worker)).CollectSnapshot(ctx)
	if err != nil {
		return err
	}
	const dumps = 30
	id := fmt.Sprintf("profiled-%d-%d", worker, n)
	for i := range int32(dumps) {
		m := &profilev3.ThreadSnapshot{TaskId: fmt.Sprint("task ", worker), TraceSegmentId: id, Sequence: i, Time: time.Now().UnixMilli(),
			Stack: &profilev3.ThreadStack{}}
		for depth := range int32(40) {
			m.Stack.CodeSignatures = append(m.Stack.CodeSignatures,
				fmt.Sprintf("com.shop.Class%d.method%d:%d", depth, (depth*(i%7)+int32(n%50))%97, depth))
		}
		if err := stream.Send(m); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	if _, err = stream.CloseAndRecv(); err == nil {
		l.add(id)
	}
	return err
}

func (l *snapshots) missing(t *testing.T, dir string) (lost, all int) {
	return l.lacks(t, dir, "SELECT segment FROM sampled_segment WHERE received >= 30")
}

// polls asks for tasks.
type polls struct{ agents }

func newPolls() *polls { return &polls{} }

func (*polls) name() string                               { return "polls for tasks" }
func (*polls) workers() int                               { return 4 }
func (*polls) needsDisk() bool                            { return false }
func (*polls) missing(*testing.T, string) (lost, all int) { return 0, 0 }

func (l *polls) step(ctx context.Context, s *soak, worker, _ int) error {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	_, err := profilev3.NewProfileTaskClient(l.of(s, worker)).GetProfileTaskCommands(ctx, &profilev3.ProfileTaskCommandQuery{
		Service: "shop", ServiceInstance: fmt.Sprint("shop-", worker), LastCommandTime: -1})
	return err
}

// imports pushes profiles, as a pipeline does.
type imports struct{ acknowledged }

func newImports() *imports { return &imports{} }

func (*imports) name() string    { return "imports of a profile" }
func (*imports) workers() int    { return 2 }
func (*imports) needsDisk() bool { return true }

func (l *imports) step(ctx context.Context, s *soak, worker, n int) error {
	run := fmt.Sprintf("run-%d-%d", worker, n)
	var body strings.Builder
	for i := range 300 {
		fmt.Fprintf(&body, "main;handle;f%d;g%d;h%d %d\n", i%11, i%37, i, 1+(i*n)%9)
	}
	answer, err := call(ctx, http.MethodPost, s.http+"/api/v1/import?group=soak&benchmark=b&run="+run, "application/octet-stream",
		body.String())
	if err != nil {
		return err
	}
	if !strings.Contains(answer, `"status":"stored"`) && !strings.Contains(answer, `"status":"unchanged"`) {
		return errors.New(answer)
	}
	l.add(run)
	return nil
}

func (l *imports) missing(t *testing.T, dir string) (lost, all int) {
	return l.lacks(t, dir, "SELECT run FROM profiles WHERE grp = 'soak'")
}

// queries reads what pages and commands read. Nearly all have answers also while the disk is
// full: DuckDB breaks off those that run when it gives up the database after a failed write.
type queries struct{}

func (queries) name() string                               { return "queries" }
func (queries) workers() int                               { return 4 }
func (queries) needsDisk() bool                            { return true }
func (queries) missing(*testing.T, string) (lost, all int) { return 0, 0 }

func (queries) step(ctx context.Context, s *soak, worker, n int) error {
	graphql := func(document string) func() error {
		return func() error {
			body, err := json.Marshal(map[string]string{"query": document})
			if err != nil {
				return err
			}
			answer, err := call(ctx, http.MethodPost, s.http+"/graphql", "application/json", string(body))
			if err == nil && strings.Contains(answer, `"errors"`) {
				err = errors.New(answer)
			}
			return err
		}
	}
	get := func(path string) func() error {
		return func() error {
			_, err := call(ctx, http.MethodGet, s.http+path, "", "")
			return err
		}
	}
	all := []func() error{
		graphql(`{ listServices(layer: "GENERAL") { id name } }`),
		graphql(`{ queryBasicTraces(condition: {traceState: ALL, queryOrder: BY_DURATION, paging: {pageSize: 20}}) { traces { segmentId duration } } }`),
		get("/api/v1/runs?last=10"),
		get("/metrics"),
		get("/api/v1/profiles?last=5"),
	}
	return all[(worker+n)%len(all)]()
}

// call sends a request and returns the answer, or an error if the status is not 200.
func call(ctx context.Context, method, address, contentType, body string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewBufferString(body))
	if err != nil {
		return "", err
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		err = cmp.Or(err, fmt.Errorf("%s: %.300s", resp.Status, text))
	}
	return string(text), err
}
