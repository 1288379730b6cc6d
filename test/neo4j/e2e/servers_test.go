package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"

	"github.com/dendroprof/dendro/test/neo4j/server"
	"github.com/dendroprof/dendro/test/program"
)

// TestOfTwoServersOneIsKilled lets agents and pipelines write through two servers over one
// database while one of them is killed and started again: the other one refuses nothing,
// delivers a task that the dead one created, and nothing that any acknowledged is missing.
// Names of agents are hostile to Cypher.
func TestOfTwoServersOneIsKilled(t *testing.T) {
	where := place(t, "shared")
	t.Setenv("DENDRO_NEO4J_PASSWORD", server.Password)
	dir := t.TempDir()
	start := func() *program.Server {
		s, err := program.StartServer(dir, "--store", where, "--log-level", "error")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Kill)
		return s
	}
	servers := [2]*program.Server{start(), start()}
	dial := func(s *program.Server) *grpc.ClientConn {
		conn, err := grpc.NewClient(s.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	conns := [2]atomic.Pointer[grpc.ClientConn]{}
	addresses := [2]atomic.Pointer[string]{}
	for i, s := range servers {
		conns[i].Store(dial(s))
		addresses[i].Store(&s.HTTP)
	}

	poll := func(which int, instance string) int {
		c, err := profilev3.NewProfileTaskClient(conns[which].Load()).GetProfileTaskCommands(t.Context(),
			&profilev3.ProfileTaskCommandQuery{Service: "shop", ServiceInstance: instance, LastCommandTime: -1})
		if err != nil {
			t.Error(err)
			return 0
		}
		return len(c.GetCommands())
	}
	poll(1, "early") // it knows the tasks that there are
	must(t, dir, "task", "create", "--store", servers[0].HTTP, "--service", "shop", "--endpoint", "/checkout", "--duration", "5m")
	for until := time.Now().Add(10 * time.Second); poll(1, "i") == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the other server does not deliver the task")
		}
	}

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mu sync.Mutex
	acked := map[string]bool{} // segments and runs
	var refused, total [2]atomic.Int64
	work := func(name string, step func(which int, id string) error) func() {
		return func() {
			for n := 0; ctx.Err() == nil; n++ {
				which, id := n%2, fmt.Sprint(name, "-", n)
				total[which].Add(1)
				if err := step(which, id); err != nil {
					refused[which].Add(1)
					if which == 1 && ctx.Err() == nil {
						t.Errorf("the server that lives: %v", err)
					}
					time.Sleep(20 * time.Millisecond)
					continue
				}
				mu.Lock()
				acked[id] = true
				mu.Unlock()
			}
		}
	}
	var clients sync.WaitGroup
	for _, name := range hostile[:5] {
		clients.Go(work(name, func(which int, id string) error {
			stream, err := agentv3.NewTraceSegmentReportServiceClient(conns[which].Load()).Collect(t.Context())
			if err != nil {
				return err
			}
			now := time.Now().UnixMilli()
			err = stream.Send(&agentv3.SegmentObject{TraceId: id, TraceSegmentId: id, Service: "of " + id, ServiceInstance: id,
				Spans: []*agentv3.SpanObject{{OperationName: id, ParentSpanId: -1, StartTime: now - 10, EndTime: now}}})
			if err != nil && err != io.EOF { //nolint:errorlint // Send returns io.EOF itself
				return err
			}
			_, err = stream.CloseAndRecv()
			return err
		}))
	}
	clients.Go(work("run", func(which int, id string) error {
		r, err := http.Post(*addresses[which].Load()+"/api/v1/import?group=g&benchmark=b&run="+id, "application/octet-stream",
			strings.NewReader("main;f;g 3\n"))
		if err != nil {
			return err
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err == nil && (r.StatusCode != http.StatusOK || !strings.Contains(string(text), `"status":"stored"`)) {
			err = fmt.Errorf("%s: %s", r.Status, text)
		}
		return err
	}))
	const phase = 3 * time.Second
	for range 2 {
		time.Sleep(phase)
		servers[0].Kill()
		time.Sleep(phase)
		servers[0] = start()
		conns[0].Store(dial(servers[0]))
		addresses[0].Store(&servers[0].HTTP)
	}
	time.Sleep(phase)
	stop()
	clients.Wait()

	stored := map[string]bool{}
	for _, r := range cypher(t, graph, "MATCH (s:TraceSegment) RETURN s.id AS id UNION MATCH (r:TestRun)-[:HAS_PROFILE]->(:Profile) RETURN r.key AS id") {
		stored[r["id"].(string)] = true
	}
	lost := 0
	for id := range acked {
		if !stored[id] {
			lost++
		}
	}
	t.Logf("%d acknowledged, %d lost; the killed server refused %d of %d, the other %d of %d", len(acked), lost,
		refused[0].Load(), total[0].Load(), refused[1].Load(), total[1].Load())
	if lost > 0 || len(acked) < 50 || refused[0].Load() == 0 {
		t.Error("see above")
	}
	if poll(0, "late")+poll(1, "later") != 2 {
		t.Error("the task is not delivered by both")
	}
}
