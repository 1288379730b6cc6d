package agent

import (
	"context"
	"reflect"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"

	commonv3 "skywalking.apache.org/repo/goapi/collect/common/v3"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
)

// Limits of a segment: its spans, as the Java agent has it, and the bytes of a text.
const (
	maxSpans = 300
	maxText  = 1024
)

// labelKey is the pprof label whose value is the id of a goroutine's segment.
const labelKey = "dendro.segment"

// Call describes a call that enters or leaves this process, to Entry and Exit.
type Call struct {
	Operation string // name of the endpoint, or of what is called
	Header    string // of Entry: the header sw8 as received, or empty
	Peer      string // of Exit: host:port of the callee
	Component int32  // SkyWalking's id of the library; 0 unknown
	Layer     int32  // SkyWalking's layer: 0 unknown, 1 database, 2 RPC, 3 HTTP, 4 messages, 5 cache
}

// segment collects the spans of one trace in one goroutine. It is safe for
// concurrent use: contexts travel to goroutines that have no segment of their own.
type segment struct {
	agent     *agent
	trace, id string
	start     time.Time

	mu      sync.Mutex
	spans   []*agentv3.SpanObject // in the order of their ids
	limited bool                  // spans were dropped
	ended   bool
	watched *watched // nil if it is not profiled
}

// span is one span of a segment; contexts hold the current one.
type span struct {
	*agentv3.SpanObject
	segment *segment
}

type contextKey struct{}

// current returns the span that a context is in, nil if there is none or its
// segment has ended.
func current(ctx context.Context) *span {
	s, _ := ctx.Value(contextKey{}).(*span)
	if s == nil {
		return nil
	}
	s.segment.mu.Lock()
	defer s.segment.mu.Unlock()
	if s.segment.ended {
		return nil
	}
	return s
}

// Segment runs f as a local span of the segment that ctx is in, or else as a
// segment of its own, which a task can select by its operation. The error of f
// marks the span as failed and is returned.
func Segment(ctx context.Context, operation string, f func(context.Context) error) error {
	a := running.Load()
	if a == nil {
		return f(ctx)
	}
	o := &agentv3.SpanObject{OperationName: operation, SpanType: agentv3.SpanType_Local}
	if s := current(ctx); s != nil {
		return s.segment.within(ctx, o, s, f)
	}
	return a.segment(ctx, o, nil, f)
}

// Go runs f in a new goroutine. If ctx is in a segment, so is f: in one of its
// own, which refers to it and is profiled while it is.
func Go(ctx context.Context, f func(context.Context)) {
	s, a := current(ctx), running.Load()
	if s == nil || a == nil {
		go f(ctx)
		return
	}
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	go a.segment(ctx, &agentv3.SpanObject{OperationName: name, SpanType: agentv3.SpanType_Local}, s, func(ctx context.Context) error {
		f(ctx)
		return nil
	})
}

// Entry runs f as a segment that begins with a call from outside. Directly inside
// another Entry it renames that one, as [Name] does; elsewhere in a segment it is a
// span of it.
func Entry(ctx context.Context, call Call, f func(context.Context) error) error {
	a := running.Load()
	if a == nil {
		return f(ctx)
	}
	o := call.span(agentv3.SpanType_Entry)
	if s := current(ctx); s != nil {
		if s.SpanId == 0 && s.SpanType == agentv3.SpanType_Entry {
			s.segment.rename(call.Operation)
			return f(ctx)
		}
		return s.segment.within(ctx, o, s, f)
	}
	if a.Identify == nil {
		if ref := parseHeader(call.Header); ref != nil {
			o.Refs = []*agentv3.SegmentReference{ref}
		}
	}
	return a.segment(ctx, o, nil, f)
}

// Exit runs f, which calls another process and hands header over as sw8 if it is
// not empty. Outside of a segment it only calls f.
func Exit(ctx context.Context, call Call, f func(ctx context.Context, header string) error) error {
	s := current(ctx)
	if s == nil || running.Load() == nil {
		return f(ctx, "")
	}
	o := call.span(agentv3.SpanType_Exit)
	return s.segment.within(ctx, o, s, func(ctx context.Context) error {
		header := ""
		if s.segment.agent.Identify == nil {
			header = s.segment.header(o)
		}
		return f(ctx, header)
	})
}

// span returns the span of a call.
func (c *Call) span(kind agentv3.SpanType) *agentv3.SpanObject {
	return &agentv3.SpanObject{OperationName: c.Operation, Peer: c.Peer, SpanType: kind, SpanLayer: agentv3.SpanLayer(c.Layer),
		ComponentId: c.Component}
}

// Name renames the segment that ctx is in, for routers that know the endpoint only
// after the segment has started. A task for the new name then profiles it.
func Name(ctx context.Context, operation string) {
	if s := current(ctx); s != nil {
		s.segment.rename(operation)
	}
}

func (s *segment) rename(operation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.spans[0].OperationName = operation
	if s.watched == nil {
		s.watched = s.agent.tasks.watch(s, operation)
	}
}

// segment runs f as a segment with the root span o. parent is the span that started
// this goroutine, nil if the segment is none of Go.
func (a *agent) segment(ctx context.Context, o *agentv3.SpanObject, parent *span, f func(context.Context) error) error {
	s := &segment{agent: a, id: a.newID(), start: time.Now()}
	switch {
	case parent != nil:
		s.trace = parent.segment.trace
		o.Refs = []*agentv3.SegmentReference{parent.reference()}
	case a.Identify != nil:
		if trace, id := a.Identify(ctx); trace != "" {
			s.trace, s.id = trace, trace+"."+id+"."+strconv.FormatUint(a.serial.Add(1), 10)
		}
	case len(o.Refs) > 0:
		s.trace = o.Refs[0].TraceId
	}
	if s.trace == "" {
		s.trace = a.newID()
	}
	o.ParentSpanId = -1
	o.StartTime = s.start.UnixMilli()
	s.spans = append(s.spans, o)
	if a.tasks.busy() {
		return a.labelled(ctx, s, parent, f)
	}
	return run(ctx, s, f)
}

// labelled runs a segment while a task runs: its goroutine carries the segment's id
// as a label, beside those of ctx, until the segment ends.
func (a *agent) labelled(ctx context.Context, s *segment, parent *span, f func(context.Context) error) error {
	defer keepLabels(ctx)()
	ctx = pprof.WithLabels(ctx, pprof.Labels(labelKey, s.id))
	pprof.SetGoroutineLabels(ctx)
	if parent != nil {
		s.watched = a.tasks.watchChild(s, parent.segment)
	} else {
		s.watched = a.tasks.watch(s, s.spans[0].OperationName)
	}
	return run(ctx, s, f)
}

// run runs the function of a segment. Its frame marks the goroutine that the
// segment belongs to: others inherit the label, but not the frame.
//
//go:noinline
func run(ctx context.Context, s *segment, f func(context.Context) error) error {
	root := &span{SpanObject: s.spans[0], segment: s}
	failed := true
	var err error
	defer func() { s.end(root, failed, err) }()
	err = f(context.WithValue(ctx, contextKey{}, root))
	failed = err != nil
	return err
}

// within runs f in a span of its own.
func (s *segment) within(ctx context.Context, o *agentv3.SpanObject, parent *span, f func(context.Context) error) (err error) {
	if !s.add(o, parent) {
		return f(ctx)
	}
	failed := true
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.ended {
			finish(o, failed, err)
		}
	}()
	err = f(context.WithValue(ctx, contextKey{}, &span{SpanObject: o, segment: s}))
	failed = err != nil
	return err
}

// add opens a span and reports whether the segment takes it.
func (s *segment) add(o *agentv3.SpanObject, parent *span) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || len(s.spans) >= maxSpans {
		s.limited = true
		return false
	}
	o.SpanId, o.ParentSpanId = int32(len(s.spans)), parent.SpanId
	o.StartTime = time.Now().UnixMilli()
	s.spans = append(s.spans, o)
	return true
}

// finish ends a span.
func finish(o *agentv3.SpanObject, failed bool, err error) {
	o.EndTime = time.Now().UnixMilli()
	if failed {
		o.IsError = true
		text := "panic or runtime.Goexit"
		if err != nil {
			text = err.Error()
		}
		o.Logs = append(o.Logs, &agentv3.Log{Time: o.EndTime,
			Data: []*commonv3.KeyStringValuePair{pair("event", "error"), pair("message", text)}})
	}
}

// end ends the segment and hands it to the reporter.
func (s *segment) end(root *span, failed bool, err error) {
	s.mu.Lock()
	finish(root.SpanObject, failed, err)
	s.ended = true
	watched := s.watched
	s.mu.Unlock()
	var tags []*commonv3.KeyStringValuePair
	if watched != nil {
		tags = watched.release()
	}
	s.mu.Lock()
	root.Tags = append(root.Tags, tags...)
	for _, o := range s.spans {
		if o.EndTime == 0 { // of a goroutine that still runs
			o.EndTime = root.EndTime
		}
		clean(o)
	}
	o := &agentv3.SegmentObject{
		TraceId: s.trace, TraceSegmentId: s.id, Spans: s.spans,
		Service: s.agent.Service, ServiceInstance: s.agent.Instance, IsSizeLimited: s.limited,
	}
	s.mu.Unlock()
	s.agent.out.segments.put(o) // nothing changes the spans of a segment that has ended
}

// clean makes short UTF-8 texts of those that come from outside: protobuf has no
// others, and clients choose how long a path is.
func clean(o *agentv3.SpanObject) {
	valid := func(text *string) {
		if len(*text) > maxText {
			*text = strings.Clone((*text)[:maxText])
		}
		*text = strings.ToValidUTF8(*text, "\uFFFD")
	}
	valid(&o.OperationName)
	valid(&o.Peer)
	for _, t := range o.Tags {
		valid(&t.Value)
	}
	for _, l := range o.Logs {
		for _, d := range l.Data {
			valid(&d.Value)
		}
	}
}

// tag adds tags to a span.
func (s *span) tag(tags ...*commonv3.KeyStringValuePair) {
	s.segment.mu.Lock()
	defer s.segment.mu.Unlock()
	if !s.segment.ended {
		s.Tags = append(s.Tags, tags...)
	}
}

// newID returns an id in the form of the Java agent's.
func (a *agent) newID() string {
	b := make([]byte, 0, 80)
	b = append(b, a.process...)
	b = append(b, '.')
	b = strconv.AppendUint(b, a.serial.Add(1), 10)
	b = append(b, '.')
	return string(strconv.AppendInt(b, time.Now().UnixMilli()*10_000, 10))
}

func pair(key, value string) *commonv3.KeyStringValuePair {
	return &commonv3.KeyStringValuePair{Key: key, Value: value}
}
