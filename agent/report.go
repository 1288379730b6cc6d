package agent

import (
	"context"
	"io"
	"maps"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	commonv3 "skywalking.apache.org/repo/goapi/collect/common/v3"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"
	managementv3 "skywalking.apache.org/repo/goapi/collect/management/v3"
)

// Capacities: what waits for the server, and what one call brings.
const (
	snapshotCapacity = 4500
	segmentCapacity  = 3000
	batch            = 500
)

// layer is SkyWalking's layer of services with an agent.
const layer = "GENERAL"

// reporter sends what the agent has to report. It is safe for concurrent use, but
// each of sendSegments and sendSnapshots is called by one goroutine at a time.
type reporter struct {
	agent     *agent
	snapshots outbox[*profilev3.ThreadSnapshot]
	segments  outbox[*agentv3.SegmentObject]

	mu      sync.Mutex
	ended   []string        // tasks whose end is not reported yet
	failing map[string]bool // what failed when it was tried last
}

func newReporter(a *agent) *reporter {
	r := &reporter{agent: a, failing: map[string]bool{}}
	r.snapshots = outbox[*profilev3.ThreadSnapshot]{queue: make(chan *profilev3.ThreadSnapshot, snapshotCapacity), name: "snapshots",
		reporter: r}
	r.segments = outbox[*agentv3.SegmentObject]{queue: make(chan *agentv3.SegmentObject, segmentCapacity), name: "segments", reporter: r}
	return r
}

// outbox is a bounded queue of messages of one kind.
type outbox[T any] struct {
	name     string
	reporter *reporter
	queue    chan T
	pending  []T // sent, but not accepted
	dropped  atomic.Uint64
}

// put queues a message and reports whether there was room. It never blocks.
func (o *outbox[T]) put(message T) bool {
	select {
	case o.queue <- message:
		return true
	default:
		if o.dropped.Add(1) == 1 {
			o.reporter.agent.Logger.Warn("agent: the server is too slow or away; the queue is full and drops", "what", o.name, "capacity", cap(o.queue))
		}
		return false
	}
}

// flush sends what is queued. Messages that were not accepted are sent again by the
// next flush, unless the server will never accept them.
func (o *outbox[T]) flush(ctx context.Context, send func(context.Context, []T) error) error {
	for {
		for len(o.pending) < batch && len(o.queue) > 0 {
			o.pending = append(o.pending, <-o.queue)
		}
		if len(o.pending) == 0 {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		err := send(ctx, o.pending)
		cancel()
		if err != nil {
			o.reporter.failed(o.name, err)
			if !permanent(err) {
				return err
			}
			o.dropped.Add(uint64(len(o.pending)))
		} else {
			o.reporter.succeeded(o.name)
		}
		o.pending = slices.Delete(o.pending, 0, len(o.pending))
	}
}

// permanent reports whether the same call would fail again.
func permanent(err error) bool {
	code := status.Code(err)
	return code == codes.Unimplemented || code == codes.InvalidArgument
}

// failed logs a failure, unless the same thing failed before.
func (r *reporter) failed(what string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.failing[what] && status.Code(err) != codes.Canceled {
		r.failing[what] = true
		r.agent.Logger.Warn("agent: failed, trying again", "what", what, "server", r.agent.Server, "error", err)
	}
}

// succeeded logs the end of failures.
func (r *reporter) succeeded(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failing[what] {
		r.failing[what] = false
		r.agent.Logger.Info("agent: works again", "what", what)
	}
}

// finished lets the end of a task be reported once its snapshots are.
func (r *reporter) finished(task string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = append(r.ended, task)
}

// sendSegments sends the queued segments.
func (r *reporter) sendSegments(ctx context.Context) error {
	return r.segments.flush(ctx, func(ctx context.Context, list []*agentv3.SegmentObject) error {
		if r.agent.Send != nil {
			return r.records(ctx, "skywalking-segments", len(list), func(i int) (string, proto.Message) {
				return list[i].TraceSegmentId, list[i]
			})
		}
		stream, err := agentv3.NewTraceSegmentReportServiceClient(r.agent.conn).Collect(ctx)
		return r.stream(stream, err, len(list), func(i int) error { return stream.Send(list[i]) })
	})
}

// sendSnapshots sends the queued snapshots, then the ends of tasks.
func (r *reporter) sendSnapshots(ctx context.Context) error {
	r.mu.Lock()
	ended := slices.Clone(r.ended)
	r.mu.Unlock()
	err := r.snapshots.flush(ctx, func(ctx context.Context, list []*profilev3.ThreadSnapshot) error {
		if r.agent.Send != nil {
			return r.records(ctx, "skywalking-profilings", len(list), func(i int) (string, proto.Message) {
				return list[i].TaskId + strconv.Itoa(int(list[i].Sequence)), list[i]
			})
		}
		stream, err := profilev3.NewProfileTaskClient(r.agent.conn).CollectSnapshot(ctx)
		return r.stream(stream, err, len(list), func(i int) error { return stream.Send(list[i]) })
	})
	for _, task := range ended {
		if err != nil {
			break
		}
		err = r.finish(ctx, task)
	}
	return err
}

// finish reports the end of a task.
func (r *reporter) finish(ctx context.Context, task string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := profilev3.NewProfileTaskClient(r.agent.conn).ReportTaskFinish(ctx, &profilev3.ProfileTaskFinishReport{
		Service: r.agent.Service, ServiceInstance: r.agent.Instance, TaskId: task,
	})
	if err != nil {
		r.failed("end of task", err)
		if !permanent(err) {
			return err
		}
	} else {
		r.succeeded("end of task")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = slices.DeleteFunc(r.ended, func(id string) bool { return id == task })
	return nil
}

// collecting is the end of a stream of messages.
type collecting interface {
	CloseAndRecv() (*commonv3.Commands, error)
}

// stream sends n messages over a stream that was opened, and waits for the reply.
func (r *reporter) stream(s collecting, err error, n int, send func(i int) error) error {
	if err != nil {
		return err
	}
	for i := 0; i < n && err == nil; i++ {
		err = send(i)
	}
	if err != nil && err != io.EOF { // EOF: the reply has the reason
		return err
	}
	reply, err := s.CloseAndRecv()
	if err == nil {
		r.agent.tasks.receive(reply)
	}
	return err
}

// records hands n messages to Options.Send.
func (r *reporter) records(ctx context.Context, topic string, n int, message func(i int) (key string, m proto.Message)) error {
	list := make([]Record, 0, n)
	for i := range n {
		key, m := message(i)
		value, err := proto.Marshal(m)
		if err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
		list = append(list, Record{Topic: topic, Key: key, Value: value})
	}
	return r.agent.Send(ctx, list)
}

// register reports the instance with its properties.
func (r *reporter) register(ctx context.Context) {
	m := &managementv3.InstanceProperties{Service: r.agent.Service, ServiceInstance: r.agent.Instance, Properties: properties(), Layer: layer}
	manage(ctx, r, "register-"+r.agent.Instance, m, managementv3.NewManagementServiceClient(r.agent.conn).ReportInstanceProperties)
}

// keepAlive reports that the instance lives.
func (r *reporter) keepAlive(ctx context.Context) {
	m := &managementv3.InstancePingPkg{Service: r.agent.Service, ServiceInstance: r.agent.Instance, Layer: layer}
	manage(ctx, r, r.agent.Instance, m, managementv3.NewManagementServiceClient(r.agent.conn).KeepAlive)
}

// manage sends a message about the instance. It is not sent again: the next comes.
func manage[M proto.Message](ctx context.Context, r *reporter, key string, m M,
	call func(context.Context, M, ...grpc.CallOption) (*commonv3.Commands, error)) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if r.agent.Send != nil {
		if err := r.records(ctx, "skywalking-managements", 1, func(int) (string, proto.Message) { return key, m }); err != nil {
			r.failed("instance", err)
			return
		}
	} else {
		reply, err := call(ctx, m)
		if err != nil {
			r.failed("instance", err)
			return
		}
		r.agent.tasks.receive(reply)
	}
	r.succeeded("instance")
}

// properties describe the process.
func properties() []*commonv3.KeyStringValuePair {
	name, _ := os.Hostname()
	p := map[string]string{
		"language": "go", "OS Name": runtime.GOOS, "hostname": name, "Process No.": strconv.Itoa(os.Getpid()),
		"ipv4": strings.Join(addresses(), ","), "go.version": runtime.Version(), "agent": "dendro",
	}
	var list []*commonv3.KeyStringValuePair
	for _, k := range slices.Sorted(maps.Keys(p)) {
		list = append(list, pair(k, strings.ToValidUTF8(p[k], "\uFFFD")))
	}
	return list
}

// addresses lists the machine's IPv4 addresses without loopback.
func addresses() (list []string) {
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			list = append(list, n.IP.String())
		}
	}
	return list
}
