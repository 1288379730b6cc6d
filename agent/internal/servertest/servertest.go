// Package servertest is a server of SkyWalking's protocol for the tests of the
// agent and of its modules. It remembers what agents report and hands out the
// tasks that a test orders, in the reply to the next poll or to any report.
//
// Tests make it fail, slow or demand a token through Gate. It checks what every
// server relies on: that the snapshots of a segment are numbered 0, 1, 2, … It
// analyses nothing.
package servertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	commonv3 "skywalking.apache.org/repo/goapi/collect/common/v3"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"
	managementv3 "skywalking.apache.org/repo/goapi/collect/management/v3"
)

// Server is a running server. It is safe for concurrent use.
type Server struct {
	Addr string // host:port

	// Gate is called before each call, with its method and the token it carries,
	// and may wait or return an error, which then is the call's. Set it first.
	Gate func(ctx context.Context, method, token string) error

	t    testing.TB
	grpc *grpc.Server

	mu   sync.Mutex
	seen Seen
	next map[string][]*commonv3.Command // by the method that hands them out
}

// Seen is what agents have reported.
type Seen struct {
	Calls     map[string]int // by method
	Instances []*managementv3.InstanceProperties
	Segments  []*agentv3.SegmentObject               // without repeats
	Snapshots map[string][]*profilev3.ThreadSnapshot // by segment, without repeats
	Polls     []*profilev3.ProfileTaskCommandQuery
	Finished  []string // tasks
	AtFinish  int      // snapshots received before the first of these
}

// New returns a server that listens until the test ends.
func New(t testing.TB, gate func(ctx context.Context, method, token string) error) *Server {
	s := &Server{Gate: gate, t: t, next: map[string][]*commonv3.Command{}}
	s.seen.Calls, s.seen.Snapshots = map[string]int{}, map[string][]*profilev3.ThreadSnapshot{}
	s.Listen("127.0.0.1:0")
	t.Cleanup(s.Kill)
	return s
}

// Listen starts the server, at the address where it was if addr is Addr.
func (s *Server) Listen(addr string) {
	s.t.Helper()
	listener, err := net.Listen("tcp", addr)
	for end := time.Now().Add(5 * time.Second); err != nil && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		listener, err = net.Listen("tcp", addr)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.Addr = listener.Addr().String()
	g := grpc.NewServer(
		grpc.UnaryInterceptor(func(ctx context.Context, r any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := s.enter(ctx, info.FullMethod); err != nil {
				return nil, err
			}
			return next(ctx, r)
		}),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := s.enter(stream.Context(), info.FullMethod); err != nil {
				return err
			}
			return next(srv, stream)
		}))
	managementv3.RegisterManagementServiceServer(g, management{s: s})
	agentv3.RegisterTraceSegmentReportServiceServer(g, segments{s: s})
	profilev3.RegisterProfileTaskServer(g, profiles{s: s})
	s.mu.Lock()
	s.grpc = g
	s.mu.Unlock()
	go g.Serve(listener)
}

// Kill ends the server and its connections at once.
func (s *Server) Kill() {
	s.mu.Lock()
	g := s.grpc
	s.mu.Unlock()
	g.Stop()
}

func (s *Server) enter(ctx context.Context, method string) error {
	s.mu.Lock()
	s.seen.Calls[method]++
	s.mu.Unlock()
	if s.Gate == nil {
		return nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	token := ""
	if list := md.Get("authentication"); len(list) > 0 {
		token = list[0]
	}
	return s.Gate(ctx, method, token)
}

// The methods that agents call.
const (
	Poll      = "/skywalking.v3.ProfileTask/getProfileTaskCommands"
	Snapshots = "/skywalking.v3.ProfileTask/collectSnapshot"
	Finish    = "/skywalking.v3.ProfileTask/reportTaskFinish"
	Segments  = "/skywalking.v3.TraceSegmentReportService/collect"
	Register  = "/skywalking.v3.ManagementService/reportInstanceProperties"
	KeepAlive = "/skywalking.v3.ManagementService/keepAlive"
)

// Order hands a command out in the reply to the next call of a method.
func (s *Server) Order(method string, args map[string]string) {
	c := &commonv3.Command{Command: "ProfileTaskQuery"}
	for k, v := range args {
		c.Args = append(c.Args, &commonv3.KeyStringValuePair{Key: k, Value: v})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next[method] = append(s.next[method], c)
}

// Task returns the arguments of a task of one minute, with the changes given as
// keys and values by turns.
func Task(id, endpoint string, changes ...string) map[string]string {
	now := fmt.Sprint(time.Now().UnixMilli())
	args := map[string]string{
		"SerialNumber": "serial of " + id, "TaskId": id, "EndpointName": endpoint, "Duration": "1", "MinDurationThreshold": "0",
		"DumpPeriod": "10", "MaxSamplingCount": "9", "StartTime": now, "CreateTime": now,
	}
	for i := 0; i+1 < len(changes); i += 2 {
		args[changes[i]] = changes[i+1]
	}
	return args
}

// commands takes what a method has to hand out.
func (s *Server) commands(method string) *commonv3.Commands {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.next[method]
	delete(s.next, method)
	return &commonv3.Commands{Commands: list}
}

// Seen returns what was reported so far.
func (s *Server) Seen() Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.seen
	c.Segments, c.Polls, c.Finished, c.Instances = slices.Clone(c.Segments), slices.Clone(c.Polls), slices.Clone(c.Finished),
		slices.Clone(c.Instances)
	c.Calls, c.Snapshots = map[string]int{}, map[string][]*profilev3.ThreadSnapshot{}
	for k, v := range s.seen.Calls {
		c.Calls[k] = v
	}
	for k, v := range s.seen.Snapshots {
		c.Snapshots[k] = slices.Clone(v)
	}
	return c
}

// Until waits until what was reported has a property, and returns it.
func (s *Server) Until(what string, holds func(Seen) bool) Seen {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		seen := s.Seen()
		if holds(seen) {
			return seen
		}
		if time.Now().After(end) {
			s.t.Fatalf("not within 20 s: %s; calls %v", what, seen.Calls)
		}
	}
}

// Segment returns the first segment with an operation, nil if there is none.
func (s *Seen) Segment(operation string) *agentv3.SegmentObject {
	for _, o := range s.Segments {
		if o.Spans[0].OperationName == operation {
			return o
		}
	}
	return nil
}

type management struct {
	managementv3.UnimplementedManagementServiceServer
	s *Server
}

// ReportInstanceProperties notes an instance.
func (m management) ReportInstanceProperties(_ context.Context, p *managementv3.InstanceProperties) (*commonv3.Commands, error) {
	m.s.mu.Lock()
	m.s.seen.Instances = append(m.s.seen.Instances, p)
	m.s.mu.Unlock()
	return m.s.commands(Register), nil
}

// KeepAlive only answers.
func (m management) KeepAlive(context.Context, *managementv3.InstancePingPkg) (*commonv3.Commands, error) {
	return m.s.commands(KeepAlive), nil
}

type segments struct {
	agentv3.UnimplementedTraceSegmentReportServiceServer
	s *Server
}

// Collect notes segments; one that comes again is ignored.
func (g segments) Collect(stream agentv3.TraceSegmentReportService_CollectServer) error {
	for {
		o, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(g.s.commands(Segments))
		}
		if err != nil {
			return err
		}
		g.s.mu.Lock()
		if !slices.ContainsFunc(g.s.seen.Segments, func(p *agentv3.SegmentObject) bool { return p.TraceSegmentId == o.TraceSegmentId }) {
			g.s.seen.Segments = append(g.s.seen.Segments, o)
		}
		g.s.mu.Unlock()
	}
}

type profiles struct {
	profilev3.UnimplementedProfileTaskServer
	s *Server
}

// GetProfileTaskCommands hands out what was ordered.
func (p profiles) GetProfileTaskCommands(_ context.Context, q *profilev3.ProfileTaskCommandQuery) (*commonv3.Commands, error) {
	p.s.mu.Lock()
	p.s.seen.Polls = append(p.s.seen.Polls, q)
	p.s.mu.Unlock()
	return p.s.commands(Poll), nil
}

// CollectSnapshot notes snapshots; one that comes again is ignored.
func (p profiles) CollectSnapshot(stream profilev3.ProfileTask_CollectSnapshotServer) error {
	for {
		o, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(p.s.commands(Snapshots))
		}
		if err != nil {
			return err
		}
		p.s.mu.Lock()
		list := p.s.seen.Snapshots[o.TraceSegmentId]
		switch n := int(o.Sequence); {
		case n == len(list):
			p.s.seen.Snapshots[o.TraceSegmentId] = append(list, o)
		case n > len(list):
			p.s.t.Errorf("segment %s: snapshot %d after %d", o.TraceSegmentId, n, len(list)-1)
		}
		p.s.mu.Unlock()
	}
}

// ReportTaskFinish notes the end of a task.
func (p profiles) ReportTaskFinish(_ context.Context, r *profilev3.ProfileTaskFinishReport) (*commonv3.Commands, error) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if len(p.s.seen.Finished) == 0 {
		for _, list := range p.s.seen.Snapshots {
			p.s.seen.AtFinish += len(list)
		}
	}
	p.s.seen.Finished = append(p.s.seen.Finished, r.TaskId)
	return &commonv3.Commands{}, nil
}
