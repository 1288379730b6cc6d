package agent_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"

	"github.com/dendroprof/dendro/agent"
	"github.com/dendroprof/dendro/agent/internal/servertest"
)

func TestMain(m *testing.M) {
	for _, v := range os.Environ() { // of the machine that runs the tests
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "SW_AGENT_") {
			os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}

// start starts an agent that polls often, for the time of a test, and checks that
// it leaves no goroutine behind.
func start(t *testing.T, s *servertest.Server, o agent.Options) (stop func()) {
	t.Helper()
	before := runtime.NumGoroutine()
	o.Server, o.Interval = s.Addr, 50*time.Millisecond
	o.Budget = 1 // the race detector makes a pass expensive
	if o.Service == "" {
		o.Service = "shop"
	}
	end, err := agent.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	stop = func() {
		once.Do(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			defer cancel()
			if err := end(ctx); err != nil {
				t.Log(err)
			}
			noneLeft(t, before)
		})
	}
	t.Cleanup(stop)
	return stop
}

// noneLeft wants no goroutine of the agent or its connection.
func noneLeft(t *testing.T, before int) {
	t.Helper()
	var text bytes.Buffer
	for range 100 {
		text.Reset()
		pprof.Lookup("goroutine").WriteTo(&text, 1)
		if !strings.Contains(text.String(), "dendro/agent.") && !strings.Contains(text.String(), "grpc.newClientStream") &&
			!strings.Contains(text.String(), "http2Client") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("there were %d goroutines before and are %d:\n%s", before, runtime.NumGoroutine(), &text)
}

// running waits until a task runs that was ordered.
func running(t *testing.T, s *servertest.Server, args map[string]string) {
	t.Helper()
	s.Order(servertest.Poll, args)
	s.Until("the task is delivered", func(seen servertest.Seen) bool {
		return len(seen.Polls) > 0 && fmt.Sprint(seen.Polls[len(seen.Polls)-1].LastCommandTime) == args["CreateTime"]
	})
}

// The functions that are sampled; their names are looked for in stacks.

//go:noinline
func compute(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

//go:noinline
func sleepy(d time.Duration) { time.Sleep(d) }

//go:noinline
func locked(d time.Duration) {
	var mu sync.Mutex
	mu.Lock()
	time.AfterFunc(d, mu.Unlock)
	mu.Lock()
}

//go:noinline
func receiving(d time.Duration) { <-time.After(d) }

// work does something until the server has seen something, at least once: a busy machine samples
// late.
func work(s *servertest.Server, f func(), holds func(servertest.Seen) bool) {
	f()
	for end := time.Now().Add(20 * time.Second); !holds(s.Seen()) && time.Now().Before(end); {
		f()
	}
}

// sampled sleeps until so many segments have snapshots.
func sampled(s *servertest.Server, segments int) {
	work(s, func() { sleepy(50 * time.Millisecond) }, func(seen servertest.Seen) bool { return len(seen.Snapshots) >= segments })
}

// in returns how long a function was seen, in ms, by the rule of the server, and
// how often.
func in(list []*profilev3.ThreadSnapshot, function string) (ms int64, n int) {
	last := -2
	for i, s := range list {
		if slices.ContainsFunc(s.Stack.CodeSignatures, func(f string) bool { return strings.Contains(f, function) }) {
			if n++; last == i-1 {
				ms += s.Time - list[i-1].Time
			}
			last = i
		}
	}
	return ms, n
}

// TestProfile goes the whole way of a task: four ways to spend time are measured,
// the child's too, other segments are not.
func TestProfile(t *testing.T) {
	s := servertest.New(t, nil)
	stop := start(t, s, agent.Options{Instance: "shop-1"})
	running(t, s, servertest.Task("t1", "checkout"))
	const part = 150 * time.Millisecond
	truth := map[string]float64{}
	measure := func(name string, f func(time.Duration)) {
		begin := time.Now()
		f(part)
		truth[name] = float64(time.Since(begin).Milliseconds())
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		agent.Segment(t.Context(), "other", func(context.Context) error { sleepyOther(4 * part); return nil })
	})
	child := make(chan struct{})
	err := agent.Segment(t.Context(), "checkout", func(ctx context.Context) error {
		agent.Go(ctx, func(context.Context) {
			work(s, func() { childWork(part) }, func(seen servertest.Seen) bool {
				for _, list := range seen.Snapshots {
					if _, n := in(list, "childWork"); n >= 3 {
						return true
					}
				}
				return false
			})
			close(child)
		})
		go inherits(6 * part)
		measure("compute", compute)
		measure("sleepy", sleepy)
		measure("locked", locked)
		measure("receiving", receiving)
		<-child
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	stop()
	seen := s.Seen()
	if len(seen.Snapshots) != 2 || !slices.Equal(seen.Finished, []string{"t1"}) {
		t.Fatalf("%d segments have snapshots, %v finished", len(seen.Snapshots), seen.Finished)
	}
	root := seen.Segment("checkout")
	list := seen.Snapshots[root.TraceSegmentId]
	if seen.AtFinish < len(list) {
		t.Errorf("the end was reported after %d of %d snapshots", seen.AtFinish, len(list))
	}
	// A stack is taken after its time and before the next one, so that of a call at most three
	// steps are not seen, which are long on a machine that does something else.
	steps := []int64{list[0].Time - root.Spans[0].StartTime, root.Spans[0].EndTime - list[len(list)-1].Time}
	for i := range list[1:] {
		steps = append(steps, list[i+1].Time-list[i].Time)
	}
	slices.Sort(steps)
	unseen := float64(steps[len(steps)-1] + steps[len(steps)-2] + steps[len(steps)-3])
	for name, want := range truth {
		got, n := in(list, "agent_test."+name+":")
		t.Logf("%s: %v ms, seen %d ms in %d snapshots", name, want, got, n)
		if math.Abs(float64(got)-want) > max(want/10, unseen)+10 {
			t.Errorf("%s took %v ms and was seen %d ms in %d snapshots", name, want, got, n)
		}
	}
	for id, list := range seen.Snapshots {
		for _, s := range list {
			f := s.Stack.CodeSignatures
			if strings.Contains(strings.Join(f, "\n"), "goexit") ||
				slices.ContainsFunc(f, func(f string) bool { return strings.Contains(f, "dendro/agent.") }) {
				t.Fatalf("stack %q", f)
			}
		}
		for _, f := range []string{"sleepyOther", "inherits"} {
			if _, n := in(list, f); n > 0 {
				t.Errorf("%s is in segment %s", f, id)
			}
		}
	}
	for _, o := range seen.Segments {
		if strings.HasSuffix(o.Spans[0].OperationName, "TestProfile.func2.1") || o.Spans[0].OperationName == "checkout" ||
			o.Spans[0].OperationName == "other" {
			continue
		}
		ref := o.Spans[0].Refs
		if len(ref) != 1 || ref[0].RefType != agentv3.RefType_CrossThread || ref[0].ParentTraceSegmentId != root.TraceSegmentId ||
			o.TraceId != root.TraceId {
			t.Errorf("the child is %v", o)
		}
		if _, n := in(seen.Snapshots[o.TraceSegmentId], "childWork"); n < 3 {
			t.Errorf("the child has %d snapshots", n)
		}
	}
	if p := seen.Instances; len(p) == 0 || p[0].Service != "shop" || p[0].ServiceInstance != "shop-1" {
		t.Errorf("registered %v", p)
	}
}

//go:noinline
func sleepyOther(d time.Duration) { time.Sleep(d) }

//go:noinline
func childWork(d time.Duration) { time.Sleep(d) }

//go:noinline
func inherits(d time.Duration) { time.Sleep(d) }

// TestKeepAlive requests two endpoints over one connection by turns: what the one
// does must not be booked on the other.
func TestKeepAlive(t *testing.T) {
	s := servertest.New(t, nil)
	mux, jobs := http.NewServeMux(), 0
	mux.HandleFunc("GET /jobs/{id}", func(http.ResponseWriter, *http.Request) {
		jobs++
		sampled(s, jobs)
	})
	mux.HandleFunc("/other", func(w http.ResponseWriter, _ *http.Request) {
		sleepyOther(50 * time.Millisecond)
		w.WriteHeader(http.StatusTeapot)
	})
	web := httptest.NewServer(agent.Handler(mux))
	defer web.Close()
	stop := start(t, s, agent.Options{})
	running(t, s, servertest.Task("t1", "GET:/jobs/{id}"))
	for range 4 {
		for _, path := range []string{"/jobs/7", "/other"} {
			answer, err := http.Get(web.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
	}
	stop()
	web.Close()
	seen := s.Seen()
	if len(seen.Snapshots) != 4 || len(seen.Segments) != 8 {
		t.Errorf("%d of %d segments have snapshots", len(seen.Snapshots), len(seen.Segments))
	}
	for id, list := range seen.Snapshots {
		_, work := in(list, "agent_test.sleepy:")
		_, other := in(list, "sleepyOther")
		if work < 1 || other > 0 {
			t.Errorf("segment %s has %d snapshots of its work and %d of another request", id, work, other)
		}
	}
	if o := seen.Segment("GET:/other"); o == nil || tag(o, "http.status_code") != "418" || o.Spans[0].ComponentId != 5004 {
		t.Errorf("segment %v", o)
	}
	if o := seen.Segment("GET:/jobs/{id}"); tag(o, "profile.period") == "" {
		t.Errorf("segment %v does not say its period", o)
	}
}

func tag(o *agentv3.SegmentObject, key string) string {
	for _, t := range o.Spans[0].Tags {
		if t.Key == key {
			return t.Value
		}
	}
	return ""
}

// labels returns the labels of this goroutine, as a profile shows them.
func labels(t *testing.T) string {
	t.Helper()
	var text bytes.Buffer
	pprof.Lookup("goroutine").WriteTo(&text, 1)
	for block := range strings.SplitSeq(text.String(), "\n\n") {
		if strings.Contains(block, "agent_test.labels") {
			_, rest, _ := strings.Cut(block, "# labels: ")
			line, _, _ := strings.Cut(rest, "\n")
			return line
		}
	}
	t.Error("this goroutine is in no profile")
	return ""
}

// TestLabels wants the user's labels beside ours during a segment, and only the
// user's afterwards.
func TestLabels(t *testing.T) {
	s := servertest.New(t, nil)
	start(t, s, agent.Options{})
	running(t, s, servertest.Task("t1", "checkout"))
	pprof.Do(t.Context(), pprof.Labels("user", "outer"), func(ctx context.Context) {
		agent.Segment(ctx, "checkout", func(ctx context.Context) error {
			if l := labels(t); !strings.Contains(l, `"user":"outer"`) || !strings.Contains(l, `"dendro.segment":`) {
				t.Errorf("in the segment: %s", l)
			}
			pprof.Do(ctx, pprof.Labels("user", "inner"), func(context.Context) {
				if l := labels(t); !strings.Contains(l, `"user":"inner"`) || !strings.Contains(l, `"dendro.segment":`) {
					t.Errorf("in pprof.Do: %s", l)
				}
				sampled(s, 1)
			})
			return nil
		})
		if l := labels(t); l != `{"user":"outer"}` {
			t.Errorf("after the segment: %s", l)
		}
		func() {
			defer func() { recover() }()
			agent.Segment(ctx, "checkout", func(context.Context) error { panic("of the host") })
		}()
		if l := labels(t); l != `{"user":"outer"}` {
			t.Errorf("after a panic: %s", l)
		}
	})
	if l := labels(t); l != "" {
		t.Errorf("after all: %s", l)
	}
	s.Until("the part with the user's own labels is sampled", func(seen servertest.Seen) bool {
		for _, list := range seen.Snapshots {
			if _, n := in(list, "agent_test.sleepy"); n > 0 {
				return true
			}
		}
		return false
	})
}

// TestRename profiles a segment whose endpoint is known late.
func TestRename(t *testing.T) {
	s := servertest.New(t, nil)
	stop := start(t, s, agent.Options{})
	running(t, s, servertest.Task("t1", "GET:/items/{id}"))
	agent.Segment(t.Context(), "GET:/items/7", func(ctx context.Context) error {
		return agent.Segment(ctx, "router", func(ctx context.Context) error {
			agent.Name(ctx, "GET:/items/{id}")
			sampled(s, 1)
			return nil
		})
	})
	stop()
	seen := s.Seen()
	o := seen.Segment("GET:/items/{id}")
	if o == nil || len(o.Spans) != 2 || len(seen.Snapshots[o.TraceSegmentId]) == 0 {
		t.Errorf("segments %v, snapshots of %d", seen.Segments, len(seen.Snapshots))
	}
}

// TestNested makes one segment of entries inside each other.
func TestNested(t *testing.T) {
	s := servertest.New(t, nil)
	stop := start(t, s, agent.Options{})
	nothing := func(context.Context) error { return nil }
	agent.Entry(t.Context(), agent.Call{Operation: "outer"}, func(ctx context.Context) error {
		return agent.Entry(ctx, agent.Call{Operation: "renamed"}, func(ctx context.Context) error {
			return agent.Segment(ctx, "inside", func(ctx context.Context) error {
				return agent.Entry(ctx, agent.Call{Operation: "deep"}, nothing)
			})
		})
	})
	stop()
	seen := s.Seen()
	o := seen.Segment("renamed")
	if len(seen.Segments) != 1 || o == nil || len(o.Spans) != 3 || o.Spans[2].OperationName != "deep" || o.Spans[2].ParentSpanId != 1 ||
		o.Spans[2].SpanType != agentv3.SpanType_Entry {
		t.Errorf("segments %v", seen.Segments)
	}
}

// TestLate uses a context after its segment has ended, in many goroutines.
func TestLate(t *testing.T) {
	s := servertest.New(t, nil)
	start(t, s, agent.Options{})
	var wait sync.WaitGroup
	for range 20 {
		agent.Segment(t.Context(), "job", func(ctx context.Context) error {
			for range 5 {
				wait.Go(func() {
					for range 50 {
						agent.Name(ctx, "late")
						agent.Segment(ctx, "late", func(context.Context) error { return nil })
						agent.Exit(ctx, agent.Call{}, func(context.Context, string) error { return nil })
					}
				})
			}
			return nil
		})
	}
	wait.Wait()
}

// TestThreshold samples only what is older than the threshold.
func TestThreshold(t *testing.T) {
	s := servertest.New(t, nil)
	stop := start(t, s, agent.Options{})
	running(t, s, servertest.Task("t1", "checkout", "MinDurationThreshold", "100"))
	// What a busy machine does late it does not do each time.
	const tries = 5
	for n := range tries {
		agent.Segment(t.Context(), "checkout", func(context.Context) error { sleepy(20 * time.Millisecond); return nil })
		agent.Segment(t.Context(), "checkout", func(context.Context) error { sampled(s, n+1); return nil })
	}
	stop()
	seen := s.Seen()
	soonest := int64(math.MaxInt64)
	for _, o := range seen.Segments {
		list, span := seen.Snapshots[o.TraceSegmentId], o.Spans[0]
		if len(list) == 0 {
			continue
		}
		first := list[0].Time - span.StartTime
		if soonest = min(soonest, first); first < 100 {
			t.Errorf("the first snapshot was taken after %d ms", first)
		}
	}
	if len(seen.Snapshots) < tries || soonest > 150 {
		t.Errorf("%d segments have snapshots, the first after %d ms", len(seen.Snapshots), soonest)
	}
}

// TestCount samples no more root segments than the task wants, their children too.
func TestCount(t *testing.T) {
	s := servertest.New(t, nil)
	stop := start(t, s, agent.Options{})
	running(t, s, servertest.Task("t1", "checkout", "MaxSamplingCount", "2"))
	for n := range 4 {
		agent.Segment(t.Context(), "checkout", func(ctx context.Context) error {
			done := make(chan struct{})
			agent.Go(ctx, func(context.Context) {
				if n < 2 {
					sampled(s, 2*n+2)
				} else {
					childWork(300 * time.Millisecond)
				}
				close(done)
			})
			<-done
			return nil
		})
	}
	s.Until("all segments", func(seen servertest.Seen) bool { return len(seen.Segments) >= 8 }) // a goroutine ends its own later
	stop()
	seen := s.Seen()
	if len(seen.Snapshots) != 4 || len(seen.Segments) != 8 {
		t.Errorf("%d of %d segments have snapshots, want those of 2 requests", len(seen.Snapshots), len(seen.Segments))
	}
}

// TestSlots lets ten requests run at a time: five are sampled.
func TestSlots(t *testing.T) {
	s := servertest.New(t, nil)
	stop := start(t, s, agent.Options{})
	running(t, s, servertest.Task("t1", "checkout"))
	for _, n := range []int{5, 9} { // slots must come back
		var wait, inside sync.WaitGroup
		inside.Add(10)
		for range 10 {
			wait.Go(func() {
				agent.Segment(t.Context(), "checkout", func(context.Context) error {
					inside.Done()
					inside.Wait()
					sampled(s, n)
					return nil
				})
			})
		}
		wait.Wait()
	}
	stop()
	if n := len(s.Seen().Snapshots); n != 9 { // five, and of the next five those up to nine
		t.Errorf("%d segments have snapshots", n)
	}
}

// TestTrace follows a request through two services.
func TestTrace(t *testing.T) {
	s := servertest.New(t, nil)
	stop := start(t, s, agent.Options{Instance: "one"})
	inner := httptest.NewServer(agent.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		fmt.Fprint(w, r.Header.Get("sw8"))
	})))
	client := &http.Client{Transport: agent.Transport(nil)}
	var header []byte
	err := agent.Segment(t.Context(), "job", func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, inner.URL+"/stock\xff", nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if header, err = io.ReadAll(answer.Body); r.Header.Get("sw8") != "" {
			t.Error("the caller's request was changed")
		}
		return errors.Join(err, errors.New("out of apples"))
	})
	if err == nil || len(header) == 0 {
		t.Errorf("error %v, header %q", err, header)
	}
	client.CloseIdleConnections()
	inner.Close()
	stop()
	seen := s.Seen()
	job, stock := seen.Segment("job"), seen.Segment("GET:/stock\uFFFD")
	if job == nil || stock == nil || len(job.Spans) != 2 {
		t.Fatalf("segments %v", seen.Segments)
	}
	exit, ref := job.Spans[1], stock.Spans[0].Refs[0]
	if exit.SpanType != agentv3.SpanType_Exit || "http://"+exit.Peer != inner.URL || exit.ParentSpanId != 0 ||
		exit.SpanLayer != agentv3.SpanLayer_Http {
		t.Errorf("the exit span is %v", exit)
	}
	if stock.TraceId != job.TraceId || ref.ParentTraceSegmentId != job.TraceSegmentId || ref.ParentSpanId != exit.SpanId ||
		ref.ParentService != "shop" ||
		ref.ParentServiceInstance != "one" || ref.ParentEndpoint != "job" || ref.NetworkAddressUsedAtPeer != exit.Peer {
		t.Errorf("the reference is %v", ref)
	}
	if !job.Spans[0].IsError || job.Spans[0].Logs[0].Data[1].Value != "out of apples" || exit.IsError {
		t.Errorf("the root span is %v", job.Spans[0])
	}
}

// TestRestart kills the server in mid-task: what was sampled meanwhile arrives, and
// the end too.
func TestRestart(t *testing.T) {
	s := servertest.New(t, nil)
	stop := start(t, s, agent.Options{})
	running(t, s, servertest.Task("t1", "checkout"))
	request := func(f func()) {
		agent.Segment(t.Context(), "checkout", func(context.Context) error { f(); return nil })
	}
	request(func() { sampled(s, 1) })
	s.Kill()
	request(func() { sleepy(time.Second) })
	s.Listen(s.Addr)
	request(func() { sampled(s, 3) })
	s.Until("all segments are there", func(seen servertest.Seen) bool { return len(seen.Segments) == 3 && len(seen.Snapshots) == 3 })
	registered := s.Until("the instance is registered again", func(seen servertest.Seen) bool { return len(seen.Instances) >= 2 })
	if len(registered.Finished) > 0 {
		t.Error("the task ended with the server")
	}
	stop()
	if f := s.Seen().Finished; !slices.Equal(f, []string{"t1"}) {
		t.Errorf("finished %v", f)
	}
}

// TestFinishAgain lets the report of the end fail at first.
func TestFinishAgain(t *testing.T) {
	var mu sync.Mutex
	fails := 2
	s := servertest.New(t, func(_ context.Context, method, _ string) error {
		mu.Lock()
		defer mu.Unlock()
		if method == servertest.Finish && fails > 0 {
			fails--
			return status.Error(codes.Unavailable, "not now")
		}
		return nil
	})
	start(t, s, agent.Options{})
	start := time.Now().Add(-time.Hour).UnixMilli()
	running(t, s, servertest.Task("t1", "a", "StartTime", fmt.Sprint(start)))
	running(t, s, servertest.Task("t2", "b", "CreateTime", fmt.Sprint(time.Now().UnixMilli()+1))) // replaces t1
	s.Until("the end is reported", func(seen servertest.Seen) bool { return slices.Equal(seen.Finished, []string{"t1"}) })
}

// TestAnyReply delivers a task with the reply to a report.
func TestAnyReply(t *testing.T) {
	s := servertest.New(t, nil)
	start(t, s, agent.Options{})
	s.Order(servertest.Segments, servertest.Task("t1", "checkout"))
	request := func() {
		agent.Segment(t.Context(), "checkout", func(context.Context) error { sleepy(30 * time.Millisecond); return nil })
	}
	request()
	s.Until("a request is profiled", func(seen servertest.Seen) bool { request(); return len(seen.Snapshots) > 0 })
}

// TestRefused runs against servers that refuse: the service works, the agent says
// once what is wrong.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name, want string
		gate       func(ctx context.Context, method, token string) error
		polls      int // most that are wanted, 0: any
	}{
		{"no profiling", "does not support trace profiling", func(_ context.Context, method, _ string) error {
			if method == servertest.Poll {
				return status.Error(codes.Unimplemented, "unknown service")
			}
			return nil
		}, 1},
		{"nothing", "does not support trace profiling", func(context.Context, string, string) error {
			return status.Error(codes.Unimplemented, "unknown service")
		}, 1},
		{"wrong token", "PermissionDenied", func(_ context.Context, _, token string) error {
			if token != "secret" {
				return status.Error(codes.PermissionDenied, "wrong token")
			}
			return nil
		}, 0},
		{"slow", "DeadlineExceeded", func(ctx context.Context, _, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := servertest.New(t, c.gate)
			var log lockedBuffer
			stop := start(t, s, agent.Options{Token: "guess", Logger: slog.New(slog.NewTextHandler(&log, nil))})
			for i := range 4000 {
				began := time.Now()
				agent.Segment(t.Context(), "checkout", func(context.Context) error { return nil })
				if d := time.Since(began); d > time.Second {
					t.Fatalf("segment %d took %v", i, d)
				}
			}
			time.Sleep(time.Second)
			stop()
			if text := log.String(); c.name != "slow" && !strings.Contains(text, c.want) {
				t.Errorf("log\n%s", text)
			}
			if text := log.String(); strings.Count(text, "\n") > 8 {
				t.Errorf("%d lines in the log\n%s", strings.Count(text, "\n"), text)
			}
			if n := s.Seen().Calls[servertest.Poll]; c.polls > 0 && n > c.polls {
				t.Errorf("%d polls", n)
			}
		})
	}
}

// TestToken sends the token with every call.
func TestToken(t *testing.T) {
	s := servertest.New(t, func(_ context.Context, method, token string) error {
		if token != "secret" {
			t.Errorf("%s came with the token %q", method, token)
		}
		return nil
	})
	t.Setenv("SW_AGENT_AUTHENTICATION", "secret")
	stop := start(t, s, agent.Options{})
	running(t, s, servertest.Task("t1", "checkout"))
	agent.Segment(t.Context(), "checkout", func(context.Context) error { sampled(s, 1); return nil })
	stop()
	if seen := s.Seen(); len(seen.Calls) != 5 {
		t.Errorf("calls %v", seen.Calls)
	}
}

// TestTLS reaches the second of two servers, over TLS.
func TestTLS(t *testing.T) {
	s := servertest.New(t, nil)
	web := httptest.NewTLSServer(nil) // for its certificate
	defer web.Close()
	config := web.TLS.Clone()
	config.NextProtos = []string{"h2"}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			outer, err := listener.Accept()
			if err != nil {
				return
			}
			inner, err := net.Dial("tcp", s.Addr)
			if err != nil {
				outer.Close()
				continue
			}
			go func() { io.Copy(inner, outer); inner.Close() }()
			go func() { io.Copy(outer, inner); outer.Close() }()
		}
	}()
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	stop, err := agent.Start(agent.Options{Service: "shop", Server: "127.0.0.1:1, " + listener.Addr().String(),
		TLS: &tls.Config{RootCAs: roots}})
	if err != nil {
		t.Fatal(err)
	}
	s.Until("the instance is registered", func(seen servertest.Seen) bool { return len(seen.Instances) == 1 })
	if err := stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestPatterns names endpoints by the patterns of a mux.
func TestPatterns(t *testing.T) {
	s := servertest.New(t, nil)
	stop := start(t, s, agent.Options{})
	mux := http.NewServeMux()
	for _, p := range []string{"/{$}", "/static/", "GET /items/{id}", "POST example.com/{rest...}"} {
		mux.HandleFunc(p, func(http.ResponseWriter, *http.Request) {})
	}
	h := agent.Handler(mux)
	want := []string{}
	for _, c := range []struct{ method, url, want string }{
		{"GET", "/", "GET:/"}, {"GET", "/static/a.css", "GET:/static/a.css"}, {"GET", "/items/7", "GET:/items/{id}"},
		{"POST", "http://example.com/a/b", "POST:/{rest...}"}, {"GET", "/nowhere", "GET:/nowhere"},
	} {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(c.method, c.url, nil))
		want = append(want, c.want)
	}
	stop()
	got := []string{}
	for _, o := range s.Seen().Segments {
		got = append(got, o.Spans[0].OperationName)
	}
	if !slices.Equal(got, want) {
		t.Errorf("endpoints %q, want %q", got, want)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestWithout calls everything with no agent running.
func TestWithout(t *testing.T) {
	called := 0
	f := func(context.Context) error { called++; return errors.New("kept") }
	if err := agent.Segment(t.Context(), "a", f); err == nil || err.Error() != "kept" {
		t.Error(err)
	}
	if err := agent.Entry(t.Context(), agent.Call{}, f); err == nil {
		t.Error(err)
	}
	agent.Exit(t.Context(), agent.Call{}, func(ctx context.Context, header string) error {
		if header != "" {
			t.Error(header)
		}
		return f(ctx)
	})
	done := make(chan struct{})
	agent.Go(t.Context(), func(ctx context.Context) { f(ctx); agent.Name(ctx, "b"); close(done) })
	<-done
	w := httptest.NewRecorder()
	agent.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called++ })).ServeHTTP(w,
		httptest.NewRequest(http.MethodGet, "/", nil))
	if called != 5 {
		t.Errorf("%d calls", called)
	}
}

// TestOptions wants clear errors.
func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o         agent.Options
		env, want string
	}{
		{agent.Options{}, "", "SW_AGENT_NAME"},
		{agent.Options{Service: "a", Server: " , "}, "", "no server"},
		{agent.Options{Service: "a", Budget: 2}, "", "budget 2 out of range"},
		{agent.Options{Service: "a", Interval: -1}, "", "out of range"},
		{agent.Options{Service: "a"}, "soon", `"soon" is no number of seconds`},
	} {
		t.Setenv("SW_AGENT_COLLECTOR_GET_PROFILE_TASK_INTERVAL", c.env)
		if stop, err := agent.Start(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.o, err, c.want)
			if stop != nil {
				stop(t.Context())
			}
		}
	}
	t.Setenv("SW_AGENT_COLLECTOR_GET_PROFILE_TASK_INTERVAL", "1")
	s := servertest.New(t, nil)
	start(t, s, agent.Options{})
	if _, err := agent.Start(agent.Options{Service: "b"}); err == nil || !strings.Contains(err.Error(), "already started") {
		t.Error(err)
	}
}
