package remote

import (
	"context"
	"io"
	"iter"

	"github.com/dendroprof/dendro/internal/transfer"
	"github.com/dendroprof/dendro/traceprof"
)

var _ traceprof.Store = (*Store)(nil)

// traceQuery runs a query of trace profiling.
func traceQuery[T any](ctx context.Context, s *Store, q transfer.TraceQuestion) (T, error) {
	var v transfer.TraceFacts[T]
	err := s.whole(ctx, s.query, "trace-question", &q, &v)
	return v.Value, err
}

// traceChange sends a change.
func traceChange[T any](ctx context.Context, s *Store, q transfer.TraceQuestion) (T, error) {
	var v transfer.TraceFacts[T]
	err := s.whole(ctx, s.change, "trace-change", &q, &v)
	return v.Value, err
}

// done is the empty answer to a change.
type done struct{}

// CreateTask adds a task.
func (s *Store) CreateTask(ctx context.Context, t traceprof.Task) (traceprof.Task, error) {
	return traceChange[traceprof.Task](ctx, s, transfer.TraceQuestion{Method: "CreateTask", Task: &t})
}

// Task returns a task.
func (s *Store) Task(ctx context.Context, id string) (traceprof.Task, error) {
	return traceQuery[traceprof.Task](ctx, s, transfer.TraceQuestion{Method: "Task", IDs: []string{id}})
}

// Tasks lists tasks.
func (s *Store) Tasks(ctx context.Context, q traceprof.TaskQuery) ([]traceprof.Task, error) {
	return traceQuery[[]traceprof.Task](ctx, s, transfer.TraceQuestion{Method: "Tasks", Tasks: q})
}

// StopTask ends a task.
func (s *Store) StopTask(ctx context.Context, id string, at int64) error {
	_, err := traceChange[done](ctx, s, transfer.TraceQuestion{Method: "StopTask", IDs: []string{id}, At: at})
	return err
}

// AppendLog adds lines to logs.
func (s *Store) AppendLog(ctx context.Context, lines ...traceprof.Log) error {
	_, err := traceChange[done](ctx, s, transfer.TraceQuestion{Method: "AppendLog", Log: lines})
	return err
}

// Logs returns logs.
func (s *Store) Logs(ctx context.Context, tasks ...string) ([]traceprof.Log, error) {
	return traceQuery[[]traceprof.Log](ctx, s, transfer.TraceQuestion{Method: "Logs", IDs: tasks})
}

// PutInstances stores reports of instances.
func (s *Store) PutInstances(ctx context.Context, list ...traceprof.Instance) error {
	_, err := traceChange[done](ctx, s, transfer.TraceQuestion{Method: "PutInstances", Instances: list})
	return err
}

// Instances lists instances.
func (s *Store) Instances(ctx context.Context, service string, since int64) ([]traceprof.Instance, error) {
	return traceQuery[[]traceprof.Instance](ctx, s, transfer.TraceQuestion{Method: "Instances", Service: service, At: since})
}

// PutSegments stores segments.
func (s *Store) PutSegments(ctx context.Context, list ...traceprof.Segment) error {
	_, err := traceChange[done](ctx, s, transfer.TraceQuestion{Method: "PutSegments", Put: list})
	return err
}

// Segments lists segments.
func (s *Store) Segments(ctx context.Context, q traceprof.SegmentQuery) ([]traceprof.Segment, error) {
	return traceQuery[[]traceprof.Segment](ctx, s, transfer.TraceQuestion{Method: "Segments", Segments: q})
}

// Endpoints lists endpoints.
func (s *Store) Endpoints(ctx context.Context, service, keyword string, limit int) ([]traceprof.Endpoint, error) {
	return traceQuery[[]traceprof.Endpoint](ctx, s, transfer.TraceQuestion{Method: "Endpoints", Service: service, Keyword: keyword, Limit: limit})
}

// Expire removes what is too old or too much.
func (s *Store) Expire(ctx context.Context, e traceprof.Expiry) (traceprof.Expired, error) {
	return traceChange[traceprof.Expired](ctx, s, transfer.TraceQuestion{Method: "Expire", Expiry: e})
}

// PutSnapshots uploads snapshots. When the answer is lost on the way back the same
// may be put again: what is there already stays.
func (s *Store) PutSnapshots(ctx context.Context, list ...traceprof.Snapshots) error {
	for i := range list {
		if err := list[i].Check(); err != nil {
			return err
		}
	}
	resp, err := s.upload(ctx, "trace-put", func(w io.Writer) error {
		return transfer.WriteSnapshots(w, func() error { return nil }, func(yield func(traceprof.Snapshots, error) bool) {
			for i := range list {
				if !yield(list[i], nil) {
					return
				}
			}
		})
	})
	if err != nil {
		return err
	}
	return s.read(ctx, resp, &transfer.TraceFacts[done]{})
}

// Snapshots streams snapshots.
func (s *Store) Snapshots(ctx context.Context, q traceprof.SnapshotQuery) iter.Seq2[traceprof.Snapshots, error] {
	return func(yield func(traceprof.Snapshots, error) bool) {
		rows, err := s.snapshots(ctx, q)
		if err != nil {
			yield(traceprof.Snapshots{}, err)
			return
		}
		placed(ctx, s, rows)(yield)
	}
}

func (s *Store) snapshots(ctx context.Context, q traceprof.SnapshotQuery) (iter.Seq2[traceprof.Snapshots, error], error) {
	resp, err := s.query(ctx, "trace-snapshots", &transfer.TraceQuestion{Snapshots: q})
	if err != nil {
		return nil, err
	}
	rows, err := transfer.ReadSnapshots(resp.Body)
	if err != nil {
		resp.Body.Close()
		return nil, s.broken(ctx, err)
	}
	return rows, nil
}
