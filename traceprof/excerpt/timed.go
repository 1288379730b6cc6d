package excerpt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/traceprof"
	"github.com/dendroprof/dendro/traceprof/spans"
)

// Timed returns the snapshots of a choice as a profile with times: see
// traceprof.Profile. Of several tasks that sampled a segment the first counts
// unless the choice names one.
func (c *Choice) Timed(ctx context.Context, st traceprof.Store) (*profile.Profile, error) {
	segments, err := c.Find(ctx, st)
	if err != nil {
		return nil, err
	}
	ranges, err := c.RangesOf(segments, func(s *Segment) ([]spans.Span, error) { return spans.Of(s.Raw) })
	if err != nil {
		return nil, err
	}
	return c.TimedOf(ctx, st, segments, ranges)
}

// TimedOf is Timed of segments that were found and ranges in them.
func (c *Choice) TimedOf(ctx context.Context, st traceprof.Store, segments []Segment, ranges []traceprof.Range) (*profile.Profile, error) {
	q := traceprof.SnapshotQuery{}
	if c.Task != "" {
		q.Tasks = []string{c.Task}
	}
	known := map[string]*traceprof.Segment{}
	for i := range segments {
		q.Segments = append(q.Segments, segments[i].ID)
		if segments[i].Known {
			known[segments[i].ID] = &segments[i].Segment
		}
	}
	var list []traceprof.Snapshots
	var task string
	for s, err := range st.Snapshots(ctx, q) {
		if err != nil {
			return nil, err
		}
		if task == "" {
			task = s.Task
		}
		if s.Task == task {
			if s = within(s, ranges); s.Len() > 0 {
				list = append(list, s)
			}
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: %w", c, ErrNothing)
	}
	t, err := st.Task(ctx, task)
	if errors.Is(err, traceprof.ErrNoTask) {
		t, err = traceprof.Task{ID: task, Period: periodOf(list)}, nil // of an archive, or it expired
	}
	if err != nil {
		return nil, err
	}
	p := traceprof.Profile(&t, list, known)
	return p, p.Check()
}

// within returns the snapshots that lie in the ranges of their segment.
func within(s traceprof.Snapshots, ranges []traceprof.Range) traceprof.Snapshots {
	keep := func(t int64) bool {
		return slices.ContainsFunc(ranges, func(r traceprof.Range) bool { return r.Segment == s.Segment && r.Start <= t && t <= r.End })
	}
	out := traceprof.Snapshots{Task: s.Task, Segment: s.Segment, Language: s.Language, Stacks: s.Stacks}
	for i, t := range s.Time {
		if !keep(t) {
			continue
		}
		out.Sequence, out.Time, out.Path = append(out.Sequence, s.Sequence[i]), append(out.Time, t), append(out.Path, s.Path[i])
		if s.Language == traceprof.GoProfiles {
			out.Count, out.Nanos = append(out.Count, s.Count[i]), append(out.Nanos, s.Nanos[i])
		}
	}
	return out
}

// periodOf returns the median time between two dumps, in ms, at least 1.
func periodOf(list []traceprof.Snapshots) int64 {
	var steps []int64
	for i := range list {
		s := &list[i]
		for j := 1; j < s.Len(); j++ {
			if s.Sequence[j] == s.Sequence[j-1]+1 {
				steps = append(steps, s.Time[j]-s.Time[j-1])
			}
		}
	}
	if len(steps) == 0 {
		return 1
	}
	slices.Sort(steps)
	return max(1, steps[len(steps)/2])
}
