package skywalking_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	asyncv10 "skywalking.apache.org/repo/goapi/collect/language/asyncprofiler/v10"
	pprofv10 "skywalking.apache.org/repo/goapi/collect/pprof/v10"

	"github.com/dendroprof/dendro/app/internal/server/skywalking/uploads"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/traceprof"
)

// pprofTask makes a task of Go's profiler on the service shop.
func (b *bench) pprofTask() traceprof.Task {
	b.Helper()
	task, err := b.dispatcher.Create(b.ctx, traceprof.Task{Kind: traceprof.PprofKind, ServiceID: "c2hvcA==.1", Service: "shop",
		Duration: traceprof.Minute, Period: 1, Instances: []string{"shop-1"}, Events: []string{"CPU"}})
	if err != nil {
		b.Fatal(err)
	}
	return task
}

// goroutines returns a pprof file that Go's profiler made.
func goroutines(t *testing.T) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&buf, 0); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// upload sends a recording in pieces once the server says so, and returns what it
// said.
func (b *bench) upload(task string, size int, recording []byte) (pprofv10.PprofProfilingStatus, error) {
	b.Helper()
	stream, err := pprofv10.NewPprofTaskClient(b.conn).Collect(b.ctx)
	if err != nil {
		b.Fatal(err)
	}
	meta := &pprofv10.PprofMetaData{Service: "shop", ServiceInstance: "shop-1", TaskId: task, ContentSize: int32(size)}
	if err := stream.Send(&pprofv10.PprofData{Metadata: meta}); err != nil {
		b.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil {
		return 0, err
	}
	for len(recording) > 0 {
		n := min(len(recording), 1000)
		if err := stream.Send(&pprofv10.PprofData{Result: &pprofv10.PprofData_Content{Content: recording[:n]}}); err != nil {
			break // the server ended it
		}
		recording = recording[n:]
	}
	if err := stream.CloseSend(); err != nil {
		b.Fatal(err)
	}
	if _, err = stream.Recv(); errors.Is(err, io.EOF) {
		err = nil
	}
	return answer.GetStatus(), err
}

func TestUpload(t *testing.T) {
	const success, oversize = pprofv10.PprofProfilingStatus_PPROF_PROFILING_SUCCESS, pprofv10.PprofProfilingStatus_PPROF_TERMINATED_BY_OVERSIZE
	good := goroutines(t)
	for _, tt := range []struct {
		name      string
		size      int
		recording []byte
		unknown   bool
		answer    pprofv10.PprofProfilingStatus
		code      codes.Code
		log       []string // but for what follows the first sentence
		stored    int
	}{
		{"good", len(good), good, false, success, codes.OK, []string{"shop-1 EXECUTION_FINISHED"}, 1},
		{"too large", uploads.MaxSize + 1, nil, false, oversize, codes.OK, []string{"shop-1 UPLOAD_FILE_TOO_LARGE_ERROR"}, 0},
		{"as large as allowed", uploads.MaxSize, good, false, success, codes.OK, []string{"shop-1 EXECUTION_FINISHED"}, 1},
		{"garbage", 7, []byte("garbage"), false, success, codes.OK, []string{"shop-1 EXECUTION_TASK_ERROR"}, 0},
		{"cut", len(good), good[:len(good)/2], false, success, codes.OK, []string{"shop-1 EXECUTION_TASK_ERROR"}, 0},
		{"empty", 0, nil, false, success, codes.OK, []string{"shop-1 EXECUTION_TASK_ERROR"}, 0},
		{"negative size", -1, nil, false, success, codes.OK, []string{"shop-1 EXECUTION_TASK_ERROR"}, 0},
		{"more than announced", 100, good, false, success, codes.InvalidArgument, []string{"shop-1 EXECUTION_TASK_ERROR"}, 0},
		{"unknown task", len(good), good, true, success, codes.OK, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			task := b.pprofTask()
			id := task.ID
			if tt.unknown {
				id = "1_unknown"
			}
			answer, err := b.upload(id, tt.size, tt.recording)
			if answer != tt.answer || status.Code(err) != tt.code {
				t.Errorf("answered %v, %v", answer, err)
			}
			var log []string
			for _, line := range b.logs(task.ID) {
				line, _, _ = strings.Cut(line, ":")
				log = append(log, line)
			}
			if diff := cmp.Diff(tt.log, log); diff != "" {
				t.Error(diff)
			}
			profiles, err := b.mem.Profiles(b.ctx, store.Query{Runs: []string{task.ID}})
			if err != nil || len(profiles) != tt.stored {
				t.Fatalf("%d profiles stored, %v", len(profiles), err)
			}
			for _, p := range profiles {
				if got := p.Benchmark.String(); got != "shop/pprof:instance=shop-1" || !p.Run.Date.Equal(time.UnixMilli(task.Start)) || !p.HasSource {
					t.Errorf("profile %+v", p)
				}
			}
		})
	}
}

// TestUploadThatFailed: an agent says that it could not profile.
func TestUploadThatFailed(t *testing.T) {
	b := newBench(t)
	task, err := b.dispatcher.Create(b.ctx, traceprof.Task{Kind: traceprof.AsyncKind, ServiceID: "c2hvcA==.1", Service: "shop",
		Duration: 15_000, Instances: []string{"shop-1"}, Events: []string{"CPU"}})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := asyncv10.NewAsyncProfilerTaskClient(b.conn).Collect(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&asyncv10.AsyncProfilerData{
		MetaData: &asyncv10.AsyncProfilerMetaData{Service: "shop", ServiceInstance: "shop-1", TaskId: task.ID,
			Type: asyncv10.AsyncProfilingStatus_EXECUTION_TASK_ERROR},
		Result: &asyncv10.AsyncProfilerData_ErrorMessage{ErrorMessage: "perf_event_open failed"},
	}); err != nil {
		t.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = stream.Recv()
	}
	if !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"shop-1 EXECUTION_TASK_ERROR: perf_event_open failed"}, b.logs(task.ID)); diff != "" {
		t.Error(diff)
	}
}

// TestUploadsWaitForRoom: agents that announce more than there is room for are
// told to go on one after the other, and one that vanishes gives its room back.
func TestUploadsWaitForRoom(t *testing.T) {
	b := newBench(t)
	task := b.pprofTask()
	announce := func(ctx context.Context) pprofv10.PprofTask_CollectClient {
		stream, err := pprofv10.NewPprofTaskClient(b.conn).Collect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		meta := &pprofv10.PprofMetaData{Service: "shop", ServiceInstance: "shop-1", TaskId: task.ID, ContentSize: uploads.MaxSize}
		if err := stream.Send(&pprofv10.PprofData{Metadata: meta}); err != nil {
			t.Fatal(err)
		}
		return stream
	}
	ctx, vanish := context.WithCancel(b.ctx)
	for range 4 { // the half that one client may have
		if _, err := announce(ctx).Recv(); err != nil {
			t.Fatal(err)
		}
	}
	next := announce(b.ctx)
	answered := make(chan error, 1)
	go func() { _, err := next.Recv(); answered <- err }()
	select {
	case err := <-answered:
		t.Fatalf("the next was answered: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	vanish()
	select {
	case err := <-answered:
		if err != nil {
			t.Errorf("after the others vanished: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the others gave nothing back")
	}
}
