package skywalking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	asyncv10 "skywalking.apache.org/repo/goapi/collect/language/asyncprofiler/v10"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/skywalking/uploads"
	"github.com/dendroprof/dendro/traceprof"
)

// recorded returns a method that receives one recording of a kind. The messages of the services of
// async-profiler and pprof differ only in their names, which are not sent. The agent sends metadata, waits
// for the answer and sends the content in chunks:
//
//	agent   metadata {task, instance, size}, with an error if profiling failed
//	server  proceed, or too large
//	agent   content …, end
//
// The answer waits until the budget has room for the size, if many agents finish at once. The
// log of the task has why a recording did not arrive: agents send it once.
func recorded(kind traceprof.Kind) stream {
	return func(a *Agents, c *call) error {
		up := upload{agents: a, kind: kind}
		defer up.close()
		err := c.each(func(msg []byte) error { return up.handle(c, msg) })
		if err == nil {
			err = up.finish(c.Context())
		}
		if err != nil {
			a.counts.uploads.WithLabelValues("broken").Inc()
			if up.task != nil {
				why := "the recording was not stored: " + status.Convert(err).Message()
				err = errors.Join(err, up.report(context.WithoutCancel(c.Context()), traceprof.Failed, why))
			}
		}
		return err
	}
}

// upload is one recording that is being received.
type upload struct {
	agents *Agents
	kind   traceprof.Kind

	who    traceprof.InstanceKey
	task   *traceprof.Task // nil: unknown, the content is dropped
	taskID string
	begun  bool
	left   int64 // announced bytes that did not arrive yet
	client string
	late   *time.Timer // drops the content
	ended  bool        // no content is expected: it was refused, or there is none

	mu      sync.Mutex
	content []byte
	held    int64 // of the budget
	over    bool  // the content was dropped
}

// handle handles one message.
func (u *upload) handle(c *call, msg []byte) error {
	m := new(asyncv10.AsyncProfilerData)
	if _, err := decode(msg, m); err != nil {
		return err
	}
	if meta := m.GetMetaData(); meta != nil {
		answer, err := u.begin(c.Context(), meta, m.GetErrorMessage())
		if err != nil {
			return err
		}
		return c.SendMsg(answer)
	}
	if !u.begun {
		return fmt.Errorf("%w: %s: content before its metadata", ErrMalformed, m.ProtoReflect().Descriptor().Name())
	}
	n := int64(len(m.GetContent()))
	if u.ended || n == 0 {
		return nil
	}
	if u.left -= n; u.left < 0 {
		return fmt.Errorf("%w: more content than the metadata announced", ErrMalformed)
	}
	if u.task != nil {
		return u.add(m.GetContent())
	}
	return nil
}

// begin decides whether the agent may proceed, and returns the answer.
func (u *upload) begin(ctx context.Context, meta *asyncv10.AsyncProfilerMetaData, message string) (proto.Message, error) {
	if u.begun {
		return nil, fmt.Errorf("%w: metadata twice", ErrMalformed)
	}
	a := u.agents
	u.begun, u.who, u.taskID, u.left = true, instanceOf(meta), meta.GetTaskId(), int64(meta.GetContentSize())
	answer := func(status asyncv10.AsyncProfilingStatus) proto.Message {
		return &asyncv10.AsyncProfilerCollectionResponse{Type: status}
	}
	const proceed, failed, oversize = asyncv10.AsyncProfilingStatus_PROFILING_SUCCESS,
		asyncv10.AsyncProfilingStatus_EXECUTION_TASK_ERROR, asyncv10.AsyncProfilingStatus_TERMINATED_BY_OVERSIZE
	switch {
	case meta.GetType() == failed:
		u.ended = true
		message = cmp.Or(message, "the agent could not profile and gave no reason")
		return answer(failed), u.report(ctx, traceprof.Failed, message)
	case a.opts.Uploads == nil || meta.GetType() == oversize || u.left > uploads.MaxSize:
		u.ended = true
		return answer(oversize), u.report(ctx, traceprof.TooLarge, fmt.Sprintf("a recording of %d bytes", u.left))
	}
	task, err := a.opts.Store.Task(ctx, u.taskID)
	switch {
	case errors.Is(err, traceprof.ErrNoTask) || err == nil && task.Kind != u.kind:
		a.opts.Log.WarnContext(ctx, "dropped the recording of an unknown task", "task", u.taskID, "service", u.who.Service,
			"instance", u.who.Name)
		return answer(proceed), nil
	case err != nil:
		return nil, err
	}
	u.task = &task
	size := max(u.left, 0)
	if err := a.budget.Acquire(ctx, server.Client(ctx), size, uploadWait); err != nil {
		return nil, status.Error(codes.ResourceExhausted, err.Error())
	}
	u.held, u.client = size, server.Client(ctx)
	u.late = time.AfterFunc(uploadTime(size), u.drop)
	return answer(proceed), nil
}

// finish stores the complete recording.
func (u *upload) finish(ctx context.Context) error {
	a := u.agents
	count := func(outcome string) { a.counts.uploads.WithLabelValues(outcome).Inc() }
	if u.ended || u.task == nil {
		count("refused")
		return nil
	}
	err := fmt.Errorf("%w: it is empty", uploads.ErrUnreadable)
	u.late.Stop()
	if u.dropped() {
		return errLate
	}
	if len(u.content) > 0 {
		var end func()
		if end, err = a.alone(ctx); err != nil {
			return err
		}
		err = a.opts.Uploads.Put(ctx, u.task, u.who.Name, u.content)
		end()
	}
	switch {
	case errors.Is(err, uploads.ErrUnreadable):
		count("failed")
		return u.report(ctx, traceprof.Failed, err.Error())
	case err != nil:
		return err
	}
	count("stored")
	return u.report(ctx, traceprof.Finished, "")
}

func (u *upload) report(ctx context.Context, e traceprof.Event, text string) error {
	return u.agents.opts.Dispatcher.Report(ctx, u.who.Name, u.taskID, e, text)
}

// Times of a recording: to wait for memory while other agents send theirs, and to arrive, which
// takes two minutes and the time at a slow rate.
const (
	uploadWait = 5 * time.Minute
	uploadRate = 64 << 10 // bytes per second
)

func uploadTime(size int64) time.Duration {
	return 2*time.Minute + time.Duration(size/uploadRate)*time.Second
}

var errLate = status.Error(codes.DeadlineExceeded, "the recording did not arrive in time")

// add adds content, unless the recording is late.
func (u *upload) add(content []byte) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.over {
		return errLate
	}
	u.content = append(u.content, content...)
	return nil
}

func (u *upload) dropped() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.over
}

// drop frees the memory of a recording that is late. Its stream may go on for long.
func (u *upload) drop() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.over = true
	u.agents.budget.Release(u.client, u.held)
	u.held, u.content = 0, nil
}

func (u *upload) close() {
	if u.late != nil {
		u.late.Stop()
	}
	u.drop()
}

// alone waits until no other recording or Go profile is being read: a few bytes of one may stand for
// a gigabyte in memory.
func (a *Agents) alone(ctx context.Context) (end func(), err error) {
	select {
	case a.reading <- struct{}{}:
		return func() { <-a.reading }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
