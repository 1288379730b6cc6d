package remote

import (
	"context"
	"io"
	"iter"

	"github.com/dendroprof/dendro/app/internal/transfer"
	"github.com/dendroprof/dendro/traceprof"
)

var _ traceprof.Store = (*Store)(nil)

// CreateTask adds a task.
func (s *Store) CreateTask(ctx context.Context, t traceprof.Task) (traceprof.Task, error) {
	return call(ctx, s, transfer.CreateTask, t)
}

// Task returns a task.
func (s *Store) Task(ctx context.Context, id string) (traceprof.Task, error) {
	return call(ctx, s, transfer.Task, id)
}

// Tasks lists tasks.
func (s *Store) Tasks(ctx context.Context, q traceprof.TaskQuery) ([]traceprof.Task, error) {
	return call(ctx, s, transfer.Tasks, q)
}

// StopTask ends a task.
func (s *Store) StopTask(ctx context.Context, id string, at int64) error {
	_, err := call(ctx, s, transfer.StopTask, transfer.StopQuery{Task: id, At: at})
	return err
}

// AppendLog adds lines to logs.
func (s *Store) AppendLog(ctx context.Context, lines ...traceprof.Log) error {
	_, err := call(ctx, s, transfer.AppendLog, lines)
	return err
}

// Logs returns logs.
func (s *Store) Logs(ctx context.Context, tasks ...string) ([]traceprof.Log, error) {
	return call(ctx, s, transfer.Logs, tasks)
}

// PutInstances stores reports of instances.
func (s *Store) PutInstances(ctx context.Context, list ...traceprof.Instance) error {
	_, err := call(ctx, s, transfer.PutInstances, list)
	return err
}

// Instances lists instances.
func (s *Store) Instances(ctx context.Context, service string, since int64) ([]traceprof.Instance, error) {
	return call(ctx, s, transfer.Instances, transfer.InstancesQuery{Service: service, Since: since})
}

// PutSegments stores segments.
func (s *Store) PutSegments(ctx context.Context, list ...traceprof.Segment) error {
	_, err := call(ctx, s, transfer.PutSegments, list)
	return err
}

// Segments lists segments.
func (s *Store) Segments(ctx context.Context, q traceprof.SegmentQuery) ([]traceprof.Segment, error) {
	return call(ctx, s, transfer.Segments, q)
}

// Endpoints lists endpoints.
func (s *Store) Endpoints(ctx context.Context, service, keyword string, limit int) ([]traceprof.Endpoint, error) {
	return call(ctx, s, transfer.Endpoints, transfer.EndpointsQuery{Service: service, Keyword: keyword, Limit: limit})
}

// Expire removes expired traces.
func (s *Store) Expire(ctx context.Context, e traceprof.Expiry) (traceprof.Expired, error) {
	return call(ctx, s, transfer.Expire, e)
}

// PutSnapshots uploads snapshots. If the answer is lost, the same may be put again:
// snapshots that are stored stay.
func (s *Store) PutSnapshots(ctx context.Context, list ...traceprof.Snapshots) error {
	for i := range list {
		if err := list[i].Check(); err != nil {
			return err
		}
	}
	_, err := upload(ctx, s, transfer.PutSnapshots, func(w io.Writer) error {
		return transfer.WriteSnapshots(w, func() error { return nil }, func(yield func(traceprof.Snapshots, error) bool) {
			for i := range list {
				if !yield(list[i], nil) {
					return
				}
			}
		})
	})
	return err
}

// Snapshots streams snapshots.
func (s *Store) Snapshots(ctx context.Context, q traceprof.SnapshotQuery) iter.Seq2[traceprof.Snapshots, error] {
	return func(yield func(traceprof.Snapshots, error) bool) {
		rows, _, err := streamed(ctx, s, transfer.Snapshots, q, transfer.ReadSnapshots)
		if err != nil {
			yield(traceprof.Snapshots{}, err)
			return
		}
		placed(ctx, s, rows)(yield)
	}
}
