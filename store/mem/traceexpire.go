package mem

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/dendroprof/dendro/traceprof"
)

// Expire implements traceprof.Store.
func (t *traces) Expire(ctx context.Context, e traceprof.Expiry) (traceprof.Expired, error) {
	x := remover{t: t}
	err := t.change(ctx, func() error { return e.Run(&x) })
	return x.out, err
}

// remover implements traceprof.Remover. The caller holds the lock.
type remover struct {
	t   *traces
	out traceprof.Expired
}

func (x *remover) StoredTasks() ([]traceprof.StoredTask, error) {
	sampled := map[string]traceprof.StoredTask{}
	for id, s := range x.t.snapshots {
		sampled[id] = traceprof.StoredTask{End: s.arrived, Bytes: s.bytes()}
	}
	return traceprof.StoredTasks(slices.Collect(maps.Values(x.t.tasks)), sampled), nil
}

func (x *remover) SegmentBytes() (n int64, err error) {
	for _, s := range x.t.segments {
		n += segmentBytes(&s)
	}
	return n, nil
}

func (x *remover) RemoveBefore(before int64) error {
	maps.DeleteFunc(x.t.instances, func(_ traceprof.InstanceKey, i traceprof.Instance) bool {
		expired := i.LastSeen < before
		if expired {
			x.out.Instances++
		}
		return expired
	})
	maps.DeleteFunc(x.t.logs, func(k traceprof.Log, _ traceprof.Log) bool {
		_, known := x.t.tasks[k.Task]
		return !known && k.Time < before
	})
	for _, s := range x.t.loose() {
		if s.Arrived() < before {
			x.removeSegment(&s)
		}
	}
	return nil
}

func (x *remover) RemoveLoose(bytes int64) (freed int64, err error) {
	for _, s := range x.t.loose() {
		if freed >= bytes {
			break
		}
		freed += x.removeSegment(&s)
	}
	return freed, nil
}

func (x *remover) removeSegment(s *traceprof.Segment) (freed int64) {
	delete(x.t.segments, s.ID)
	x.out.Segments++
	return segmentBytes(s)
}

func (x *remover) RemoveTasks(list []traceprof.StoredTask) (freed int64, err error) {
	removed := map[string]bool{}
	for _, task := range list {
		removed[task.ID] = true
	}
	own := x.t.profiled(slices.Collect(maps.Keys(removed))...)
	for _, task := range list {
		freed += task.Bytes
		if task.Known {
			x.out.Tasks++
		}
		delete(x.t.tasks, task.ID)
		delete(x.t.snapshots, task.ID)
	}
	maps.DeleteFunc(x.t.logs, func(k traceprof.Log, _ traceprof.Log) bool { return removed[k.Task] })
	for _, s := range x.t.loose() {
		if own.has(&s) {
			freed += x.removeSegment(&s)
		}
	}
	return freed, nil
}

// profiledSet holds segments with snapshots, and their traces.
type profiledSet struct{ segments, traces map[string]bool }

func (p profiledSet) has(s *traceprof.Segment) bool { return p.segments[s.ID] || p.traces[s.Trace] }

// profiled returns the segments and traces with snapshots of tasks.
func (t *traces) profiled(tasks ...string) profiledSet {
	p := profiledSet{map[string]bool{}, map[string]bool{}}
	for _, task := range tasks {
		if s := t.snapshots[task]; s != nil {
			for id := range s.segments {
				p.segments[id] = true
				if trace := t.segments[id].Trace; trace != "" {
					p.traces[trace] = true
				}
			}
		}
	}
	return p
}

// loose returns the segments of no task, oldest first.
func (t *traces) loose() []traceprof.Segment {
	kept := t.profiled(slices.Collect(maps.Keys(t.snapshots))...)
	var list []traceprof.Segment
	for _, s := range t.segments {
		if !kept.has(&s) {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b traceprof.Segment) int {
		return cmp.Or(cmp.Compare(a.Arrived(), b.Arrived()), cmp.Compare(a.ID, b.ID))
	})
	return list
}

func segmentBytes(s *traceprof.Segment) int64 {
	return int64(len(s.ID) + len(s.Trace) + len(s.Raw) + 100)
}
