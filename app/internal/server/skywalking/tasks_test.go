package skywalking_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	commonv3 "skywalking.apache.org/repo/goapi/collect/common/v3"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
	asyncv10 "skywalking.apache.org/repo/goapi/collect/language/asyncprofiler/v10"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"
	profilecompat "skywalking.apache.org/repo/goapi/collect/language/profile/v3/compat"
	managementv3 "skywalking.apache.org/repo/goapi/collect/management/v3"
	pprofv10 "skywalking.apache.org/repo/goapi/collect/pprof/v10"

	"github.com/dendroprof/dendro/traceprof"
)

func (b *bench) poll(instance string, last int64) *commonv3.Commands {
	b.Helper()
	reply, err := profilev3.NewProfileTaskClient(b.conn).GetProfileTaskCommands(b.ctx,
		&profilev3.ProfileTaskCommandQuery{Service: "shop", ServiceInstance: instance, LastCommandTime: last})
	if err != nil {
		b.Fatal(err)
	}
	return reply
}

func (b *bench) jvm(instance string, at int64) *commonv3.Commands {
	b.Helper()
	reply, err := agentv3.NewJVMMetricReportServiceClient(b.conn).Collect(b.ctx,
		&agentv3.JVMMetricCollection{Service: "shop", ServiceInstance: instance, Metrics: []*agentv3.JVMMetric{{Time: at - 1000}, {Time: at}}})
	if err != nil {
		b.Fatal(err)
	}
	return reply
}

func (b *bench) ping(service, instance string) *commonv3.Commands {
	b.Helper()
	reply, err := managementv3.NewManagementServiceClient(b.conn).KeepAlive(b.ctx,
		&managementv3.InstancePingPkg{Service: service, ServiceInstance: instance})
	if err != nil {
		b.Fatal(err)
	}
	return reply
}

func (b *bench) properties(m *managementv3.InstanceProperties) {
	b.Helper()
	if _, err := managementv3.NewManagementServiceClient(b.conn).ReportInstanceProperties(b.ctx, m); err != nil {
		b.Fatal(err)
	}
}

func property(key, value string) *commonv3.KeyStringValuePair {
	return &commonv3.KeyStringValuePair{Key: key, Value: value}
}

func TestPollTellsATask(t *testing.T) {
	b := newBench(t)
	if got := b.poll("shop-1", -1); len(got.GetCommands()) != 0 {
		t.Fatalf("commands without a task: %v", got)
	}
	b.pass(2 * time.Second)
	task := b.task("/checkout")
	name, list := args(t, b.poll("shop-1", -1))
	serial := list[0]
	want := [][2]string{
		serial, {"TaskId", task.ID}, {"EndpointName", "/checkout"}, {"Duration", "1"}, {"MinDurationThreshold", "0"},
		{"DumpPeriod", "10"}, {"MaxSamplingCount", "5"}, {"StartTime", fmt.Sprint(task.Start)}, {"CreateTime", fmt.Sprint(task.Created)},
	}
	if diff := cmp.Diff(want, list); diff != "" || name != "ProfileTaskQuery" || serial[0] != "SerialNumber" || len(serial[1]) != 36 {
		t.Errorf("%s, serial %v: %s", name, serial, diff)
	}
	// Who knows it is not told again; who restarted is, under another serial.
	if got := b.poll("shop-1", task.Created); len(got.GetCommands()) != 0 {
		t.Errorf("told again: %v", got)
	}
	if _, again := args(t, b.poll("shop-1", -1)); again[0] == serial {
		t.Error("a serial was used twice")
	}
	// An agent of before 8.4 asks a service without a package.
	old, err := profilecompat.NewProfileTaskClient(b.conn).GetProfileTaskCommands(b.ctx,
		&profilev3.ProfileTaskCommandQuery{Service: "shop", ServiceInstance: "old", LastCommandTime: -1})
	if err != nil {
		t.Fatal(err)
	}
	if name, _ := args(t, old); name != "ProfileTaskQuery" {
		t.Errorf("the old service answers %s", name)
	}
	if err := b.dispatcher.Live().Write(b.ctx, true); err != nil {
		t.Fatal(err)
	}
	if i, ok := b.instance("shop", "shop-1"); !ok || i.Polled != b.clock.Load() {
		t.Errorf("the poll is not stored: %+v", i)
	}
}

func TestPushInRepliesToReports(t *testing.T) {
	b := newBench(t)
	b.properties(&managementv3.InstanceProperties{Service: "shop", ServiceInstance: "java",
		Properties: []*commonv3.KeyStringValuePair{property("language", "java")}})
	b.properties(&managementv3.InstanceProperties{Service: "shop", ServiceInstance: "python",
		Properties: []*commonv3.KeyStringValuePair{property("language", "python")}})
	task := b.task("/checkout")
	if name, list := args(t, b.jvm("jvm", start)); name != "ProfileTaskQuery" || list[1][1] != task.ID {
		t.Errorf("reply to metrics: %s %v", name, list)
	}
	if name, list := args(t, b.ping("shop", "java")); name != "ProfileTaskQuery" || list[1][1] != task.ID {
		t.Errorf("reply to keep-alive: %s %v", name, list)
	}
	for what, reply := range map[string]*commonv3.Commands{
		"metrics again": b.jvm("jvm", start), "keep-alive again": b.ping("shop", "java"), "keep-alive after metrics": b.ping("shop", "jvm"),
		"an agent that does not read replies": b.ping("shop", "python"), "another service": b.ping("other", "java"),
	} {
		if len(reply.GetCommands()) != 0 {
			t.Errorf("%s: told %v", what, reply)
		}
	}
	got := b.logs(task.ID)
	slices.Sort(got)
	if diff := cmp.Diff([]string{"java NOTIFIED", "jvm NOTIFIED"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFinish(t *testing.T) {
	b := newBench(t)
	task := b.task("/checkout")
	client := profilev3.NewProfileTaskClient(b.conn)
	for _, id := range []string{task.ID, "1_unknown", ""} {
		if _, err := client.ReportTaskFinish(b.ctx, &profilev3.ProfileTaskFinishReport{Service: "shop", ServiceInstance: "shop-1",
			TaskId: id}); err != nil {
			t.Errorf("finish of %q: %v", id, err)
		}
	}
	if diff := cmp.Diff([]string{"shop-1 EXECUTION_FINISHED"}, b.logs(task.ID)); diff != "" {
		t.Error(diff)
	}
}

func TestOtherKindsOfTask(t *testing.T) {
	b := newBench(t)
	async, err := b.dispatcher.Create(b.ctx, traceprof.Task{Kind: traceprof.AsyncKind, ServiceID: "c2hvcA==.1", Service: "shop",
		Duration: 15_000, Instances: []string{"shop-1"}, Events: []string{"CPU", "ALLOC"}, Arguments: "interval=1ms"})
	if err != nil {
		t.Fatal(err)
	}
	pprof, err := b.dispatcher.Create(b.ctx, traceprof.Task{Kind: traceprof.PprofKind, ServiceID: "c2hvcA==.1", Service: "shop",
		Duration: 2 * traceprof.Minute, Period: 7, Instances: []string{"shop-1"}, Events: []string{"MUTEX"}})
	if err != nil {
		t.Fatal(err)
	}
	ask := map[string]func(instance string) *commonv3.Commands{
		"AsyncProfilerTaskQuery": func(instance string) *commonv3.Commands {
			reply, err := asyncv10.NewAsyncProfilerTaskClient(b.conn).GetAsyncProfilerTaskCommands(b.ctx,
				&asyncv10.AsyncProfilerTaskCommandQuery{Service: "shop", ServiceInstance: instance})
			if err != nil {
				t.Fatal(err)
			}
			return reply
		},
		"PprofTaskQuery": func(instance string) *commonv3.Commands {
			reply, err := pprofv10.NewPprofTaskClient(b.conn).GetPprofTaskCommands(b.ctx,
				&pprofv10.PprofTaskCommandQuery{Service: "shop", ServiceInstance: instance})
			if err != nil {
				t.Fatal(err)
			}
			return reply
		},
	}
	want := map[string][][2]string{
		"AsyncProfilerTaskQuery": {{"TaskId", async.ID}, {"Duration", "15"}, {"ExecArgs", "event=cpu,alloc,interval=1ms"},
			{"CreateTime", fmt.Sprint(async.Created)}},
		"PprofTaskQuery": {{"TaskId", pprof.ID}, {"Events", "mutex"}, {"Duration", "2"}, {"CreateTime", fmt.Sprint(pprof.Created)},
			{"DumpPeriod", "7"}},
	}
	for kind, poll := range ask {
		name, list := args(t, poll("shop-1"))
		if diff := cmp.Diff(want[kind], list[1:]); diff != "" || name != kind || list[0][0] != "SerialNumber" {
			t.Errorf("%s, want %s: %s", name, kind, diff)
		}
		if got := poll("shop-2"); len(got.GetCommands()) != 0 {
			t.Errorf("%s: an instance that was not chosen is told %v", kind, got)
		}
	}
}

// TestClocks: what an agent could not send for a while says nothing about its clock, but a clock
// that is ahead or far behind is found at once.
func TestClocks(t *testing.T) {
	b := newBench(t)
	want := map[string]int64{"right": -20, "ahead": 3_600_000, "behind": -3_600_000}
	for name, skew := range want {
		b.jvm(name, start+skew)
	}
	want["waited"] = 0
	b.jvm("waited", start-50_000)
	b.pass(time.Second)
	b.jvm("right", start+1000-20)
	b.end()
	for name, skew := range want {
		if got, _ := b.instance("shop", name); got.Skew != skew {
			t.Errorf("%s: %d, want %d", name, got.Skew, skew)
		}
	}
}

// TestStartByItsClock: agents begin a task by their own clocks, so one whose clock is known to be wrong
// is sent the start by that clock, also when its report was written to the store meanwhile.
func TestStartByItsClock(t *testing.T) {
	b := newBench(t)
	task := b.task("/checkout")
	for name, skew := range map[string]int64{"unknown": 0, "right": -20, "slow": -9_000, "behind": -3_600_000, "ahead": 3_600_000} {
		want := task.Start
		if name != "unknown" {
			b.jvm(name, start+skew)
			if err := b.dispatcher.Live().Write(b.ctx, true); err != nil {
				t.Fatal(err)
			}
		}
		if skew < -10_000 || skew > 10_000 {
			want += skew
		}
		tasks, err := b.dispatcher.Poll(b.ctx, traceprof.TraceKind, "shop", name, -1)
		if err != nil || len(tasks) != 1 || tasks[0].Start != want || tasks[0].Created != task.Created {
			t.Errorf("%s: %+v, want a start %d ms after that of the task: %v", name, tasks, want-task.Start, err)
		}
	}
}

func TestInstances(t *testing.T) {
	b := newBench(t)
	b.properties(&managementv3.InstanceProperties{Service: "shop", ServiceInstance: "shop-1", Layer: "MESH",
		Properties: []*commonv3.KeyStringValuePair{
			property("language", "java"), property("OS Name", "Linux"), property("ipv4", "10.0.0.1"), property("ipv4", "10.0.0.2"),
		}})
	want := traceprof.Instance{Service: "shop", Name: "shop-1", Layer: "MESH", Language: "java", FirstSeen: start, LastSeen: start,
		Properties: []traceprof.Property{{Key: "language", Value: "java"}, {Key: "OS Name", Value: "Linux"}, {Key: "ipv4", Value: "10.0.0.1"},
			{Key: "ipv4", Value: "10.0.0.2"}}}
	got, _ := b.instance("shop", "shop-1")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// An instance that is only heard of is there soon, and its clock is compared.
	b.pass(time.Minute)
	b.jvm("shop-1", start+3_660_000-300)
	b.ping("shop", "shop-2")
	eventually(t, "both were seen", func() bool {
		one, _ := b.instance("shop", "shop-1")
		_, two := b.instance("shop", "shop-2")
		return two && one.LastSeen == start+60_000
	})
	got, _ = b.instance("shop", "shop-1")
	if got.Skew != 3_600_000-300 || got.Language != "java" || len(got.Properties) != 4 {
		t.Errorf("%+v", got)
	}
	// A report each second is not a write each second.
	b.pass(time.Second)
	b.ping("shop", "shop-1")
	time.Sleep(2500 * time.Millisecond)
	if got, _ = b.instance("shop", "shop-1"); got.LastSeen != start+60_000 {
		t.Errorf("written after a second: %+v", got)
	}
	// When the server ends, what it knows is written.
	b.end()
	if got, _ = b.instance("shop", "shop-1"); got.LastSeen != start+61_000 {
		t.Errorf("not written at the end: %+v", got)
	}
}

// TestNamesAreMended: what is no UTF-8, blank or too long is kept under a name
// that can be asked for, on every path the same.
func TestNamesAreMended(t *testing.T) {
	b := newBench(t)
	raw := []byte("\x0a\x03a\xffb\x12\x01 ") // service, instance
	for _, method := range []string{"/skywalking.v3.ManagementService/reportInstanceProperties", "/skywalking.v3.ManagementService/keepAlive",
		"/skywalking.v3.ProfileTask/getProfileTaskCommands", "/ProfileTask/reportTaskFinish"} {
		if err := b.conn.Invoke(b.ctx, method, &raw, new(commonv3.Commands), grpc.ForceCodecV2(rawCodec{})); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	if _, ok := b.instance("a\uFFFDb", "_blank"); !ok {
		list, err := b.mem.Instances(b.ctx, "", 0)
		t.Errorf("instances %+v %v", list, err)
	}
}
