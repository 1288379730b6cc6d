package skywalking

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"
	asyncv10 "skywalking.apache.org/repo/goapi/collect/language/asyncprofiler/v10"

	"github.com/dendroprof/dendro/app/internal/server/skywalking/uploads"
	"github.com/dendroprof/dendro/traceprof"
)

func (a *Agents) collectAsync(c *call) error { return a.collectRecording(c, traceprof.AsyncKind) }

// collectPprof is like collectAsync: the messages of the two services differ only in their
// names, which are not sent.
func (a *Agents) collectPprof(c *call) error { return a.collectRecording(c, traceprof.PprofKind) }

// collectRecording receives one recording. The agent sends metadata, waits for the answer
// and sends the content in chunks:
//
//	agent   metadata {task, instance, size}, with an error if profiling failed
//	server  proceed, or too large
//	agent   content …, end
//
// The answer waits until the budget has room for the size, if many agents finish at once.
func (a *Agents) collectRecording(c *call, kind traceprof.Kind) (err error) {
	up := upload{agents: a, kind: kind}
	defer up.close()
	if err := c.each(func(msg []byte) error { return up.handle(c, msg) }); err != nil {
		a.counts.uploads.WithLabelValues("broken").Inc()
		return err
	}
	return up.finish(c.Context())
}

// upload is one recording that is being received.
type upload struct {
	agents *Agents
	kind   traceprof.Kind

	who     traceprof.InstanceKey
	task    *traceprof.Task // nil: unknown, the content is dropped
	taskID  string
	begun   bool
	content []byte
	left    int64 // announced bytes that did not arrive yet
	held    int64 // of the budget
	ended   bool  // no content is expected: it was refused, or there is none
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
		u.content = append(u.content, m.GetContent()...)
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
		if message == "" {
			message = "the agent could not profile and gave no reason"
		}
		return answer(failed), u.report(ctx, traceprof.Failed, message)
	case a.uploads == nil || meta.GetType() == oversize || u.left > uploads.MaxSize:
		u.ended = true
		return answer(oversize), u.report(ctx, traceprof.TooLarge, fmt.Sprintf("a recording of %d bytes", u.left))
	}
	task, err := a.store.Task(ctx, u.taskID)
	switch {
	case errors.Is(err, traceprof.ErrNoTask) || err == nil && task.Kind != u.kind:
		a.log.WarnContext(ctx, "dropped the recording of an unknown task", "task", u.taskID, "service", u.who.Service, "instance", u.who.Name)
		return answer(proceed), nil
	case err != nil:
		return nil, err
	}
	size := max(u.left, 0)
	if err := a.budget.acquire(ctx, size); err != nil {
		return nil, err
	}
	u.task, u.held = &task, size
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
	if len(u.content) > 0 {
		err = a.uploads.Put(ctx, u.task, u.who.Name, u.content)
	}
	switch {
	case errors.Is(err, uploads.ErrUnreadable):
		count("failed")
		return u.report(ctx, traceprof.Failed, err.Error())
	case err != nil:
		count("broken")
		return err
	}
	count("stored")
	return u.report(ctx, traceprof.Finished, "")
}

func (u *upload) report(ctx context.Context, e traceprof.Event, text string) error {
	return u.agents.dispatcher.Report(ctx, u.who.Name, u.taskID, e, text)
}

func (u *upload) close() {
	u.agents.budget.release(u.held)
	u.held, u.content = 0, nil
}

// budget limits the memory for data that is being received.
type budget struct {
	mu   sync.Mutex
	free int64
	wake chan struct{} // closed by release
}

func newBudget(n int64) *budget { return &budget{free: n, wake: make(chan struct{})} }

// acquire waits until n bytes are free and reserves them; n is at most the whole budget.
func (b *budget) acquire(ctx context.Context, n int64) error {
	for {
		b.mu.Lock()
		if b.free >= n {
			b.free -= n
			b.mu.Unlock()
			return nil
		}
		wake := b.wake
		b.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryAcquire reserves n bytes if they are free.
func (b *budget) tryAcquire(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.free < n {
		return false
	}
	b.free -= n
	return true
}

// release frees n bytes.
func (b *budget) release(n int64) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += n
	close(b.wake)
	b.wake = make(chan struct{})
}
