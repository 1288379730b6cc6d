package skywalking

import (
	"context"

	"google.golang.org/protobuf/proto"
)

// stored returns a method that stores its message.
func stored(taken take) unary {
	return func(a *Agents, ctx context.Context, msg []byte) (proto.Message, error) {
		s := a.NewSession(true)
		if err := taken(s, ctx, msg); err != nil {
			return nil, err
		}
		return nothing, s.Wait(ctx)
	}
}

// reported returns a method that records a report about an instance and replies with its tasks, if its agent
// reads replies: for another agent, a task in the reply would count as delivered.
func reported(taken take) unary {
	return func(a *Agents, ctx context.Context, msg []byte) (proto.Message, error) {
		s := a.NewSession(true)
		if err := taken(s, ctx, msg); err != nil || !a.opts.Dispatcher.Live().ReadsReplies(s.instance) {
			return nothing, err
		}
		return a.push(ctx, s.instance)
	}
}

// collected returns a method that stores the messages of a stream, and answers when they are durable.
func collected(taken take) stream {
	return func(a *Agents, c *call) error {
		s := a.NewSession(true)
		err := c.each(func(msg []byte) error { return taken(s, c.Context(), msg) })
		if err == nil {
			err = s.Wait(c.Context())
		}
		if err != nil {
			return err
		}
		return c.SendMsg(nothing)
	}
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
