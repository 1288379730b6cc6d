package skywalking

import (
	"context"
	"fmt"
	"strings"

	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
	managementv3 "skywalking.apache.org/repo/goapi/collect/management/v3"

	"github.com/dendroprof/dendro/traceprof"
	"github.com/dendroprof/dendro/traceprof/ids"
)

// Session receives the encoded messages of one stream, request or batch of records, which
// are the same over gRPC, HTTP and Kafka. Data is pending when a method returns and durable
// when Wait returns. Errors that wrap ErrMalformed are about the message, all others about
// the store. A session is not for concurrent use and keeps no reference to messages.
type Session struct {
	agents   *Agents
	stream   *traceprof.Stream
	snapshot traceprof.Snapshot
	live     bool                  // messages were just sent: clocks can be compared
	instance traceprof.InstanceKey // that the last Ping or JVMMetrics named
}

// take is how a session takes a message.
type take = func(s *Session, ctx context.Context, msg []byte) error

// NewSession returns a session. Live tells that messages arrive when they are sent, not
// from a queue.
func (a *Agents) NewSession(live bool) *Session {
	s := &Session{agents: a, stream: a.opts.Intake.Stream(), live: live}
	s.snapshot.Frames = readFrames
	return s
}

// Wait returns when all data of the session is durable, or the error because of which some
// is not.
func (s *Session) Wait(ctx context.Context) error { return s.stream.Wait(ctx) }

// Snapshot stores a ThreadSnapshot. It blocks while too much data is pending.
func (s *Session) Snapshot(ctx context.Context, msg []byte) error {
	if err := readSnapshot(msg, &s.snapshot); err != nil {
		return err
	}
	return s.stream.Snapshot(ctx, &s.snapshot)
}

// Segment stores a SegmentObject.
func (s *Session) Segment(ctx context.Context, msg []byte) error {
	m := new(agentv3.SegmentObject)
	raw, err := decode(msg, m)
	if err != nil {
		return err
	}
	segment, some, err := segmentOf(m, raw)
	if err != nil || !some {
		return err
	}
	var clock int64
	if s.live {
		clock = segment.End
	}
	s.agents.opts.Dispatcher.Live().Seen(traceprof.InstanceKey{Service: segment.Service, Name: segment.Instance}, clock)
	return s.stream.Segment(ctx, segment)
}

// Segments stores a SegmentCollection.
func (s *Session) Segments(ctx context.Context, msg []byte) error {
	for pos := 0; pos < len(msg); {
		f, err := collectionShape.Next(msg, pos, len(msg))
		if err != nil {
			return fmt.Errorf("%w: SegmentCollection: %w", ErrMalformed, err)
		}
		if f.Num == 1 {
			if err := s.Segment(ctx, msg[f.Lo:f.Hi]); err != nil {
				return err
			}
		}
		pos = f.Hi
	}
	return nil
}

// instanceOf returns the instance that a message names, by the names that are stored.
func instanceOf(m interface {
	GetService() string
	GetServiceInstance() string
}) traceprof.InstanceKey {
	return traceprof.InstanceKey{Service: ids.ServiceName(m.GetService()), Name: ids.InstanceName(m.GetServiceInstance())}
}

// Properties stores InstanceProperties.
func (s *Session) Properties(ctx context.Context, msg []byte) error {
	m := new(managementv3.InstanceProperties)
	if _, err := decode(msg, m); err != nil {
		return err
	}
	p := instanceOf(m)
	now := s.agents.opts.Now()
	i := traceprof.Instance{Service: p.Service, Name: p.Name, Layer: m.GetLayer(), FirstSeen: now, LastSeen: now}
	for _, property := range m.GetProperties()[:min(len(m.GetProperties()), maxProperties)] {
		key, value := traceprof.CutName(property.GetKey(), maxProperty), traceprof.CutName(property.GetValue(), maxProperty)
		if key == "language" {
			i.Language = value
		}
		i.Properties = append(i.Properties, traceprof.Property{Key: key, Value: value})
	}
	s.agents.opts.Dispatcher.Live().Seen(p, 0)
	if strings.EqualFold(i.Language, "java") {
		s.agents.opts.Dispatcher.Live().SetReadsReplies(p)
	}
	return s.stream.Instance(ctx, i)
}

// Limits of an instance's properties. JVM arguments are the longest.
const (
	maxProperties = 256
	maxProperty   = 16 << 10 // characters
)

// Ping records an InstancePingPkg.
func (s *Session) Ping(_ context.Context, msg []byte) error {
	m := new(managementv3.InstancePingPkg)
	if _, err := decode(msg, m); err != nil {
		return err
	}
	s.instance = instanceOf(m)
	s.agents.opts.Dispatcher.Live().Seen(s.instance, 0)
	return nil
}

// JVMMetrics records a JVMMetricCollection. Of the metrics only the time is used: it shows the
// instance's clock, if they are live.
func (s *Session) JVMMetrics(_ context.Context, msg []byte) error {
	m := new(agentv3.JVMMetricCollection)
	if _, err := decode(msg, m); err != nil {
		return err
	}
	s.instance = instanceOf(m)
	var newest int64
	if s.live {
		for _, metric := range m.GetMetrics() {
			newest = max(newest, metric.GetTime())
		}
	}
	s.agents.opts.Dispatcher.Live().Seen(s.instance, newest)
	s.agents.opts.Dispatcher.Live().SetReadsReplies(s.instance) // only the Java agent has a JVM
	return nil
}
