package skywalking

import (
	"context"

	"google.golang.org/protobuf/proto"
)

func (a *Agents) reportProperties(ctx context.Context, msg []byte) (proto.Message, error) {
	s := a.NewSession(true)
	if err := s.Properties(ctx, msg); err != nil {
		return nil, err
	}
	return nothing, s.Wait(ctx)
}

func (a *Agents) keepAlive(ctx context.Context, msg []byte) (proto.Message, error) {
	p, err := a.ping(msg)
	if err != nil {
		return nil, err
	}
	if !a.opts.Dispatcher.Live().ReadsReplies(p) {
		return nothing, nil // other agents ignore the reply, but a task in it would count as delivered
	}
	return a.push(ctx, p)
}

func (a *Agents) collectJVM(ctx context.Context, msg []byte) (proto.Message, error) {
	p, err := a.jvmMetrics(msg, true)
	if err != nil {
		return nil, err
	}
	return a.push(ctx, p)
}

func (a *Agents) collectSegments(c *call) error {
	s := a.NewSession(true)
	if err := c.each(func(msg []byte) error { return s.Segment(c.Context(), msg) }); err != nil {
		return err
	}
	return a.end(c, s)
}

func (a *Agents) collectSegmentsInSync(ctx context.Context, msg []byte) (proto.Message, error) {
	s := a.NewSession(true)
	if err := s.Segments(ctx, msg); err != nil {
		return nil, err
	}
	return nothing, s.Wait(ctx)
}

func (a *Agents) collectSnapshots(c *call) error {
	s := a.NewSession(true)
	if err := c.each(func(msg []byte) error { return s.Snapshot(c.Context(), msg) }); err != nil {
		return err
	}
	return a.end(c, s)
}

// end answers a stream when its data is durable.
func (a *Agents) end(c *call, s *Session) error {
	if err := s.Wait(c.Context()); err != nil {
		return err
	}
	return c.SendMsg(nothing)
}

// ignore accepts and drops a message.
func (a *Agents) ignore(context.Context, []byte) (proto.Message, error) { return nothing, nil }

// ignoreStream accepts a stream and drops its messages.
func (a *Agents) ignoreStream(c *call) error {
	dropped := a.counts.ignored.WithLabelValues(c.method)
	if err := c.each(func([]byte) error { dropped.Inc(); return nil }); err != nil {
		return err
	}
	return c.SendMsg(nothing)
}
