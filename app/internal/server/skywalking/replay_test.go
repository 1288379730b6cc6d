package skywalking_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	commonv3 "skywalking.apache.org/repo/goapi/collect/common/v3"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
	asyncv10 "skywalking.apache.org/repo/goapi/collect/language/asyncprofiler/v10"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"
	managementv3 "skywalking.apache.org/repo/goapi/collect/management/v3"

	"github.com/dendroprof/dendro/app/internal/server/skywalking/uploads"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
	"github.com/dendroprof/dendro/traceprof"
)

// event is one line of a recording.
type event struct {
	Wall     int64           `json:"wall"`
	Call     int             `json:"call"`
	Ev       string          `json:"ev"`
	Method   string          `json:"method"`
	Raw      []byte          `json:"raw"`
	Commands []recordCommand `json:"commands"`
	Code     string          `json:"code"`
}

type recordCommand struct {
	Command string      `json:"command"`
	Args    [][2]string `json:"args"`
}

// readRecording reads a recording.
func readRecording(name string) (list []event, err error) {
	f, err := os.Open(filepath.Join("testdata", name+".jsonl.gz"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, lines.Err()
}

// recording reads a recording with another id of the recorder's task, which is as
// long.
func recording(t *testing.T, name, recorded, task string) []event {
	t.Helper()
	list, err := readRecording(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		list[i].Raw = bytes.ReplaceAll(list[i].Raw, []byte(recorded), []byte(task))
		for _, c := range list[i].Commands {
			for i := range c.Args {
				c.Args[i][1] = strings.ReplaceAll(c.Args[i][1], recorded, task)
			}
		}
	}
	return list
}

func TestRecordingsAreWhole(t *testing.T) {
	manifest, err := os.ReadFile(filepath.Join("testdata", "MANIFEST"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(manifest)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		content, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(content)); got != sum {
			t.Errorf("%s has the sum %s", name, got)
		}
		n++
	}
	if n != 5 {
		t.Errorf("%d recordings", n)
	}
}

// plan is a recording and the task that its recorder handed out.
type plan struct {
	name     string
	recorded string // the recorder's id of it
	task     traceprof.Task
}

func plans() []plan {
	task := func(service, endpoint string, created, start, threshold, period int64, most int) traceprof.Task {
		return traceprof.Task{Kind: traceprof.TraceKind, Service: service, ServiceID: "c2hvcA==.1", Endpoint: endpoint, Created: created,
			Start: start, Duration: traceprof.Minute, MinDuration: threshold, Period: period, MaxSegments: most}
	}
	const id = "1700000000000_c2hvcA==.1"
	return []plan{
		{"python-agent", id, task("shop-py", "/checkout", 1795215559054, 1795215559832, 0, 10, 5)},
		{"java-agent", id, task("shop-java", "GET:/checkout", 1795215716345, 1795215719494, 0, 10, 5)},
		{"java-push", id, task("shop-java", "GET:/checkout", 1795216953012, 1795216959108, 0, 10, 5)},
		{"java-deep", id, task("shop-java", "GET:/deep", 1795216976121, 1795216980698, 100, 50, 3)},
		{"java-async", "1700000000001_c2hvcA==.1", traceprof.Task{Kind: traceprof.AsyncKind, Service: "shop-java", ServiceID: "c2hvcA==.1",
			Created: 1795216037569, Start: 1795216037569, Duration: 15_000, Events: []string{"CPU"}}},
	}
}

// TestReplays sends what real agents sent, in the recorded order and with the
// recorded times on the server's clock, and compares the commands it answers with
// those that the agents followed, and what the server then holds with what was
// sent.
func TestReplays(t *testing.T) {
	for _, p := range plans() {
		t.Run(p.name, func(t *testing.T) {
			b := newBench(t)
			task, err := b.mem.CreateTask(b.ctx, p.task)
			if err != nil {
				t.Fatal(err)
			}
			r := &replay{bench: b, task: task, calls: map[int]*replayed{}, want: map[string]map[int32]string{}}
			for _, e := range recording(t, p.name, p.recorded, task.ID) {
				b.clock.Store(e.Wall)
				r.play(e)
			}
			r.end()
			r.check()
		})
	}
}

// replay is a recording being played.
type replay struct {
	*bench
	task  traceprof.Task
	calls map[int]*replayed

	pushed   int // commands that came earlier than they did from the recorder
	notified int
	want     map[string]map[int32]string // snapshots by segment and sequence
	segments []string
	finished int
	recorded int // bytes of a JFR file
}

// replayed is one call. Unary ones are made when their message comes.
type replayed struct {
	stream grpc.ClientStream
	cancel context.CancelFunc
	reply  *commonv3.Commands
	err    error
	both   bool
	read   bool
}

func isStream(method string) (stream, both bool) {
	for _, d := range published {
		for _, m := range d.Streams {
			if method == "/"+d.ServiceName+"/"+m.StreamName {
				return true, m.ServerStreams
			}
		}
	}
	return false, false
}

func (r *replay) play(e event) {
	r.Helper()
	c := r.calls[e.Call]
	switch e.Ev {
	case "start":
		c = &replayed{reply: new(commonv3.Commands)}
		r.calls[e.Call] = c
		if stream, both := isStream(e.Method); stream {
			ctx, cancel := context.WithCancel(r.ctx)
			c.cancel, c.both = cancel, both
			if c.stream, c.err = r.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: both}, e.Method,
				grpc.ForceCodecV2(rawCodec{})); c.err != nil {
				r.Fatal(c.err)
			}
		}
	case "msg":
		r.sent(e)
		if c.stream == nil {
			c.err = r.conn.Invoke(r.ctx, e.Method, &e.Raw, c.reply, grpc.ForceCodecV2(rawCodec{}))
		} else if err := c.stream.SendMsg(&e.Raw); err != nil {
			r.Errorf("call %d %s: %v", e.Call, e.Method, err)
		}
	case "reply":
		switch {
		case c.both: // the server speaks while the client goes on
			c.err = c.stream.RecvMsg(c.reply)
			c.read = true
		case c.stream != nil:
			if err := c.stream.CloseSend(); err != nil {
				r.Fatal(err)
			}
			c.err = c.stream.RecvMsg(c.reply)
		}
		r.compare(e, c.reply)
	case "end":
		if c.both {
			if err := c.stream.CloseSend(); err != nil {
				r.Fatal(err)
			}
			if err := c.stream.RecvMsg(new(commonv3.Commands)); err != nil && err.Error() != "EOF" {
				c.err = err
			}
		}
		if got := status.Code(c.err).String(); got != e.Code {
			r.Errorf("call %d %s ends with %s, recorded %s: %v", e.Call, e.Method, got, e.Code, c.err)
		}
		if c.cancel != nil {
			c.cancel()
		}
		delete(r.calls, e.Call)
	}
}

// compare compares commands with the recorded ones. A task may come earlier: in
// the reply to the first report of the JVM instead of that to a poll. The
// recorder knew no configurations.
func (r *replay) compare(e event, reply *commonv3.Commands) {
	r.Helper()
	var got []recordCommand
	for _, c := range reply.GetCommands() {
		rc := recordCommand{Command: c.GetCommand()}
		for _, a := range c.GetArgs() {
			rc.Args = append(rc.Args, [2]string{a.GetKey(), a.GetValue()})
		}
		got = append(got, rc)
	}
	if strings.HasSuffix(e.Method, "/fetchConfigurations") {
		return
	}
	for i := range got {
		r.notified++
		got[i].Args[0][1] = ""
	}
	if strings.HasSuffix(e.Method, "JVMMetricReportService/collect") && len(e.Commands) != len(got) {
		if r.pushed += len(got); len(got) == 0 && r.pushed == 0 {
			r.Errorf("call %d %s at %d: the task was not told", e.Call, e.Method, e.Wall)
		}
		return
	}
	want := e.Commands
	for i := range want {
		want[i].Args[0][1] = ""
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		r.Errorf("call %d %s at %d: %s", e.Call, e.Method, e.Wall, diff)
	}
}

// sent notes what the server is to hold of a message.
func (r *replay) sent(e event) {
	decode := func(m proto.Message) {
		if err := proto.Unmarshal(e.Raw, m); err != nil {
			r.Fatal(err)
		}
	}
	switch e.Method {
	case collectSnapshot:
		m := new(profilev3.ThreadSnapshot)
		decode(m)
		if r.want[m.GetTraceSegmentId()] == nil {
			r.want[m.GetTraceSegmentId()] = map[int32]string{}
		}
		r.want[m.GetTraceSegmentId()][m.GetSequence()] = fmt.Sprint(m.GetTime(), m.GetStack().GetCodeSignatures())
	case collectSegment:
		m := new(agentv3.SegmentObject)
		decode(m)
		r.segments = append(r.segments, m.GetTraceSegmentId())
	case "/skywalking.v3.ProfileTask/reportTaskFinish":
		r.finished++
	case "/skywalking.v10.AsyncProfilerTask/collect":
		m := new(asyncv10.AsyncProfilerData)
		decode(m)
		if r.recorded += len(m.GetContent()); len(m.GetContent()) > 0 {
			r.finished++
		}
	case "/skywalking.v3.ManagementService/reportInstanceProperties":
		decode(new(managementv3.InstanceProperties))
	}
}

// end breaks off the calls that the recording does not end, as the agent was
// killed, once what they brought has arrived.
func (r *replay) end() {
	slices.Sort(r.segments)
	r.segments = slices.Compact(r.segments)
	eventually(r.T, "all segments are stored", func() bool {
		held, err := r.mem.Segments(r.ctx, traceprof.SegmentQuery{})
		return err == nil && len(held) == len(r.segments)
	})
	for _, c := range r.calls {
		if c.cancel != nil {
			c.cancel()
		}
	}
	r.bench.end()
}

// check compares what is held with what was sent.
func (r *replay) check() {
	r.Helper()
	got := map[string]map[int32]string{}
	for id, s := range r.snapshots(r.task.ID) {
		got[id] = map[int32]string{}
		for i := range s.Len() {
			got[id][s.Sequence[i]] = fmt.Sprint(s.Time[i], names(s, i))
		}
	}
	if diff := gocmp.Diff(r.want, got); diff != "" {
		r.Errorf("snapshots: %s", diff)
	}
	held, err := r.mem.Segments(r.ctx, traceprof.SegmentQuery{})
	if err != nil {
		r.Fatal(err)
	}
	var ids []string
	for _, s := range held {
		ids = append(ids, s.ID)
		if s.Service != r.task.Service || s.Instance != "shop-1" || s.Latency() < 0 || s.Operation == "" {
			r.Errorf("segment %+v", s)
		}
	}
	slices.Sort(ids)
	if diff := gocmp.Diff(r.segments, ids); diff != "" {
		r.Errorf("segments: %s", diff)
	}
	var notified, finished int
	for _, line := range r.logs(r.task.ID) {
		switch line {
		case "shop-1 NOTIFIED":
			notified++
		case "shop-1 EXECUTION_FINISHED":
			finished++
		default:
			r.Errorf("the task's log has %q", line)
		}
	}
	if finished != r.finished || notified != r.notified || notified == 0 || r.pushed > 1 {
		r.Errorf("notified %d times, told %d times, of these %d early; finished %d, reported %d", notified, r.notified, r.pushed, finished, r.finished)
	}
	if i, ok := r.instance(r.task.Service, "shop-1"); !ok || max(i.Skew, -i.Skew) > 60_000 {
		r.Errorf("instance %+v", i)
	}
	if r.recorded > 0 {
		r.checkRecording()
	}
}

// checkRecording looks for the JFR file in the forest.
func (r *replay) checkRecording() {
	r.Helper()
	profiles, err := r.mem.Profiles(r.ctx, store.Query{Runs: []string{r.task.ID}})
	if err != nil || len(profiles) == 0 {
		r.Fatalf("%d profiles, %v", len(profiles), err)
	}
	for _, p := range profiles {
		want := testrun.Benchmark{Group: r.task.Service, Name: "async-profiler:instance=shop-1"}
		if p.Benchmark != want || p.Sum == 0 {
			r.Errorf("profile %+v", p)
		}
	}
	tree, err := uploads.New(r.mem, uploads.Options{}).Tree(r.ctx, &r.task, []string{"shop-1", "shop-2"}, uploads.ExecutionSample)
	if err != nil || len(tree.Parent) < 10 || tree.Signature[0] != "all" || tree.Parent[0] != -1 {
		r.Fatalf("%+v, %v", tree, err)
	}
	if !slices.ContainsFunc(tree.Signature, func(s string) bool { return strings.Contains(s, "HashMap") || strings.Contains(s, "java") }) {
		r.Errorf("no function of the JDK in %q", tree.Signature)
	}
}
