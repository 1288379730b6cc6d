package mem

import (
	"context"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/traceprof"
)

// taskSnapshots are the snapshots of one task over its dictionary of stacks,
// which goes with the task.
type taskSnapshots struct {
	stacks       *calltree.Forest
	translations calltree.Translations
	segments     map[string]*segmentSnapshots
	arrived      int64 // the newest of them, in ms
}

// segmentSnapshots are those of one segment, by sequence.
type segmentSnapshots struct {
	language traceprof.Language
	rows     map[int32]snapshot
}

type snapshot struct {
	time         int64
	path         int32
	count, nanos int64
}

// PutSnapshots implements traceprof.Store.
func (t *traces) PutSnapshots(ctx context.Context, list ...traceprof.Snapshots) error {
	for i := range list {
		if err := list[i].Check(); err != nil {
			return err
		}
	}
	return t.change(ctx, func() error {
		for i := range list {
			if list[i].Len() > 0 {
				t.taskSnapshots(list[i].Task).put(&list[i])
			}
		}
		return nil
	})
}

// taskSnapshots returns the snapshots of a task, none at first.
func (t *traces) taskSnapshots(task string) *taskSnapshots {
	s := t.snapshots[task]
	if s == nil {
		s = &taskSnapshots{stacks: new(calltree.Forest), segments: map[string]*segmentSnapshots{}, arrived: math.MinInt64}
		t.snapshots[task] = s
	}
	return s
}

func (s *taskSnapshots) put(part *traceprof.Snapshots) {
	seg := s.segments[part.Segment]
	if seg == nil {
		seg = &segmentSnapshots{language: part.Language, rows: map[int32]snapshot{}}
		s.segments[part.Segment] = seg
	}
	if seg.language != part.Language {
		return
	}
	s.arrived = max(s.arrived, part.Arrived())
	var tr *calltree.Translation
	for i, sequence := range part.Sequence {
		if _, ok := seg.rows[sequence]; ok {
			continue
		}
		row := snapshot{time: part.Time[i], path: calltree.NoNode}
		if p := part.Path[i]; p != calltree.NoNode {
			if tr == nil {
				tr = s.translations.Of(part.Stacks, s.stacks)
			}
			row.path = tr.Path(part.Stacks, p)
		}
		if part.Language == traceprof.GoProfiles {
			row.count, row.nanos = part.Count[i], part.Nanos[i]
		}
		seg.rows[sequence] = row
	}
}

// SampledSegments implements traceprof.Store.
func (t *traces) SampledSegments(ctx context.Context, q traceprof.SnapshotQuery) (list []traceprof.SampledSegment, err error) {
	err = t.look(ctx, func() {
		for task, s := range t.snapshots {
			if len(q.Tasks) > 0 && !slices.Contains(q.Tasks, task) {
				continue
			}
			for segment := range s.segments {
				if len(q.Segments) == 0 || slices.Contains(q.Segments, segment) {
					list = append(list, traceprof.SampledSegment{Task: task, Segment: segment})
				}
			}
		}
	})
	slices.SortFunc(list, traceprof.SampledSegment.Compare)
	return list, err
}

// Snapshots implements traceprof.Store. It holds the lock for one value at a time.
func (t *traces) Snapshots(ctx context.Context, q traceprof.SnapshotQuery) iter.Seq2[traceprof.Snapshots, error] {
	return func(yield func(traceprof.Snapshots, error) bool) {
		list, err := t.SampledSegments(ctx, q)
		for i := 0; i < len(list) && err == nil; i++ {
			var value *traceprof.Snapshots
			if err = t.look(ctx, func() { value = t.segmentSnapshots(list[i]) }); err == nil && value != nil && !yield(*value, nil) {
				return
			}
		}
		if err != nil {
			yield(traceprof.Snapshots{}, err)
		}
	}
}

// segmentSnapshots returns the stored snapshots of a segment, or nil if it was removed.
func (t *traces) segmentSnapshots(at traceprof.SampledSegment) *traceprof.Snapshots {
	s := t.snapshots[at.Task]
	if s == nil || s.segments[at.Segment] == nil {
		return nil
	}
	seg := s.segments[at.Segment]
	v := &traceprof.Snapshots{Task: at.Task, Segment: at.Segment, Language: seg.language, Stacks: s.stacks.Snapshot()}
	for _, sequence := range slices.Sorted(maps.Keys(seg.rows)) {
		row := seg.rows[sequence]
		v.Sequence, v.Time, v.Path = append(v.Sequence, sequence), append(v.Time, row.time), append(v.Path, row.path)
		if seg.language == traceprof.GoProfiles {
			v.Count, v.Nanos = append(v.Count, row.count), append(v.Nanos, row.nanos)
		}
	}
	return v
}

// bytes returns the memory of the snapshots and their stacks.
func (s *taskSnapshots) bytes() int64 {
	n := int64(8 * s.stacks.Paths.Len())
	for i := range s.stacks.Functions {
		n += int64(len(s.stacks.Functions[i].Name))
	}
	for segment, seg := range s.segments {
		n += int64(len(segment) + 16*len(seg.rows))
	}
	return n
}
