package mem

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/dendroprof/dendro/traceprof"
)

// Expire implements traceprof.Store.
func (t *traces) Expire(ctx context.Context, e traceprof.Expiry) (out traceprof.Expired, err error) {
	err = t.change(ctx, func() error {
		ends := t.ends()
		if e.Before != 0 {
			for key, i := range t.instances {
				if i.LastSeen < e.Before {
					delete(t.instances, key)
					out.Instances++
				}
			}
			var over []string
			for task, end := range ends {
				if end < e.Before {
					over = append(over, task)
				}
			}
			t.removeTasks(over, &out)
			maps.DeleteFunc(t.logs, func(k logKey, _ traceprof.Log) bool {
				_, known := t.tasks[k.task]
				return !known && k.time < e.Before
			})
			for _, s := range t.loose() {
				if s.Start < e.Before {
					delete(t.segments, s.ID)
					out.Segments++
				}
			}
		}
		if e.MaxBytes != 0 {
			t.shrink(e, ends, &out)
		}
		return nil
	})
	return out, err
}

// ends returns when the tasks end that are known or have snapshots.
func (t *traces) ends() map[string]int64 {
	ends := map[string]int64{}
	for id, s := range t.snapshots {
		ends[id] = s.newest()
	}
	for id, task := range t.tasks {
		ends[id] = task.End()
	}
	return ends
}

// shrink removes the oldest things until what is left is small enough.
func (t *traces) shrink(e traceprof.Expiry, ends map[string]int64, out *traceprof.Expired) {
	excess := t.bytes() - e.MaxBytes
	for _, s := range t.loose() {
		if excess <= 0 {
			return
		}
		delete(t.segments, s.ID)
		out.Segments++
		excess -= segmentBytes(&s)
	}
	tasks := slices.SortedFunc(maps.Keys(ends), func(a, b string) int {
		return cmp.Or(cmp.Compare(ends[a], ends[b]), cmp.Compare(a, b))
	})
	for _, id := range tasks {
		if t.bytes() <= e.MaxBytes {
			return
		}
		if _, known := t.tasks[id]; !known || ends[id] <= e.Now {
			t.removeTasks([]string{id}, out)
		}
	}
}

// removeTasks removes tasks with their logs, snapshots and the segments of their
// traces that no other task has.
func (t *traces) removeTasks(ids []string, out *traceprof.Expired) {
	own, gone := t.profiled(ids...), map[string]bool{}
	for _, id := range ids {
		if _, ok := t.tasks[id]; ok {
			out.Tasks++
		}
		gone[id] = true
		delete(t.tasks, id)
		delete(t.snapshots, id)
	}
	maps.DeleteFunc(t.logs, func(k logKey, _ traceprof.Log) bool { return gone[k.task] })
	for _, s := range t.loose() {
		if own.has(&s) {
			delete(t.segments, s.ID)
			out.Segments++
		}
	}
}

// profiledSet are segments with snapshots, and their traces.
type profiledSet struct{ segments, traces map[string]bool }

func (p profiledSet) has(s *traceprof.Segment) bool { return p.segments[s.ID] || p.traces[s.Trace] }

// profiled returns what tasks have profiled.
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
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// bytes counts what segments and snapshots take.
func (t *traces) bytes() int64 {
	n := int64(0)
	for _, s := range t.segments {
		n += segmentBytes(&s)
	}
	for _, s := range t.snapshots {
		n += s.bytes()
	}
	return n
}

func segmentBytes(s *traceprof.Segment) int64 {
	return int64(len(s.ID) + len(s.Trace) + len(s.Raw) + 100)
}
