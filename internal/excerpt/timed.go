package excerpt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/traceprof"
)

// Profile returns the snapshots in ranges of segments returned by Find as a profile
// with times, see traceprof.Profile. If several tasks sampled one segment, the first
// counts unless the choice names one.
func (c *Choice) Profile(ctx context.Context, st traceprof.Store, segments []Segment, ranges []traceprof.Range) (*profile.Profile, error) {
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
	seen := map[string]bool{}
	for s, err := range st.Snapshots(ctx, q) {
		if err != nil {
			return nil, err
		}
		if seen[s.Segment] {
			continue
		}
		seen[s.Segment] = true
		if s = within(s, ranges); s.Len() > 0 {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: %w", c, ErrNothing)
	}
	periods, err := periodsOf(ctx, st, list)
	if err != nil {
		return nil, err
	}
	p := traceprof.Profile(periods, list, known)
	return p, p.Check()
}

// periodsOf returns the periods of the tasks of snapshots, which are ordered by task.
// For an unknown task it is estimated from its dumps.
func periodsOf(ctx context.Context, st traceprof.Store, list []traceprof.Snapshots) (map[string]int64, error) {
	periods := map[string]int64{}
	for len(list) > 0 {
		id, n := list[0].Task, 1
		for n < len(list) && list[n].Task == id {
			n++
		}
		t, err := st.Task(ctx, id)
		switch {
		case errors.Is(err, traceprof.ErrNoTask): // of an archive, or it expired
			periods[id] = periodOf(list[:n])
		case err != nil:
			return nil, err
		default:
			periods[id] = t.Period
		}
		list = list[n:]
	}
	return periods, nil
}

// within returns the snapshots in the ranges of their segment.
func within(s traceprof.Snapshots, ranges []traceprof.Range) traceprof.Snapshots {
	ranges = slices.DeleteFunc(slices.Clone(ranges), func(r traceprof.Range) bool { return r.Segment != s.Segment })
	keep := func(t int64) bool {
		return slices.ContainsFunc(ranges, func(r traceprof.Range) bool { return r.Start <= t && t <= r.End })
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
