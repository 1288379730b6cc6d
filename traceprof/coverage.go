package traceprof

import (
	"context"
	"math"
	"slices"
)

// Coverage tells how much of the expected time was sampled, of one segment or of all. An
// analysis shows only the covered time.
type Coverage struct {
	Segment  string `json:"segment,omitempty"`
	Instance string `json:"instance,omitempty"`

	// Known tells that the segments themselves arrived. Without them the expected time
	// is unknown.
	Known    bool  `json:"known"`
	Expected int64 `json:"expected"` // dumps, one per period of the task
	Received int64 `json:"received"`
	// Lost counts the missing sequence numbers before the last one that arrived: dumps
	// that were made and dropped, mostly in the agent's queue.
	Lost int64 `json:"lost"`
	// Late counts the dumps after the segment's end: some agents continue to sample the
	// thread. They count as received, but belong to other requests.
	Late int64 `json:"late,omitempty"`

	Span    int64 `json:"span"`    // ms in which dumps are expected
	Covered int64 `json:"covered"` // ms of Span between consecutive dumps without a hole

	// Holes counts the gaps between two received dumps of more than 3 periods and
	// 50 ms that are also more than 3 times as long as the segment's median.
	// Hole is the longest of them, HoleAt its start, both in ms.
	Holes  int64 `json:"holes,omitempty"`
	Hole   int64 `json:"hole,omitempty"`
	HoleAt int64 `json:"holeAt,omitempty"`

	// Period is the median time between two dumps, in ms; 0: fewer than two. Slow tells
	// that it is more than 1.5 times the task's: fewer dumps than expected are then no
	// loss.
	Period int64 `json:"period,omitempty"`
	Slow   bool  `json:"slow,omitempty"`

	// CPU tells that the dumps are samples of a CPU profile: they cover CPU time, no number
	// of them is expected, and Period, of which the task's is no part, is the time of one.
	CPU bool `json:"cpu,omitempty"`

	Share float64 `json:"share"` // Covered ÷ Span, 0 without a span
}

// Cover returns the coverage of a segment by a task. The segment is nil if it did not
// arrive. Go profiles have no expected number of samples; they cover the time that their
// samples represent.
func Cover(task *Task, seg *Segment, s *Snapshots) Coverage {
	c := Coverage{Segment: s.Segment, Known: seg != nil}
	from, to := int64(0), int64(0)
	if seg != nil {
		c.Instance = seg.Instance
		if from, to = seg.Start+task.MinDuration, seg.End; s.Len() == 0 || s.Time[0] >= task.Start {
			from = max(from, task.Start) // otherwise the clock of the agent is behind
		}
		c.Span = max(0, to-from)
	}
	if s.Language == GoProfiles {
		var nanos int64
		for i := range s.Count {
			c.Received += s.Count[i]
			nanos += s.Nanos[i]
		}
		if c.CPU = true; c.Received > 0 {
			c.Period = nanos / c.Received / nanosPerMilli
		}
		c.Covered = min(nanos/nanosPerMilli, c.Span)
		c.setShare()
		return c
	}
	c.Received = int64(s.Len())
	if task.Period > 0 {
		c.Expected = c.Span / task.Period
	}
	if n := s.Len(); n > 0 && s.Sequence[n-1] >= 0 {
		first, _ := slices.BinarySearch(s.Sequence, 0)
		c.Lost = int64(s.Sequence[n-1]) + 1 - int64(n-first)
	}
	c.Period = median(steps(s))
	c.Slow = task.Period > 0 && 2*c.Period > 3*task.Period
	if seg == nil {
		from, to = math.MinInt64, math.MaxInt64
	}
	c.addTimes(s, from, to, max(3*task.Period, 3*c.Period, shortestHole))
	c.setShare()
	return c
}

func (c *Coverage) setShare() {
	if c.Span > 0 {
		c.Share = float64(c.Covered) / float64(c.Span)
	}
}

// shortestHole is the longest gap between two dumps that is never a hole, in ms.
const shortestHole = 50

// median returns the median, of an even number the upper one; 0 if empty.
func median(list []int64) int64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// steps returns the times between dumps with consecutive numbers.
func steps(s *Snapshots) (list []int64) {
	for i := 1; i < s.Len(); i++ {
		if int64(s.Sequence[i]) == int64(s.Sequence[i-1])+1 {
			list = append(list, s.Time[i]-s.Time[i-1])
		}
	}
	return list
}

// addTimes adds the times between dumps, within from and to. A gap of more than longest,
// not counting a period for each dump lost in it, is a hole.
func (c *Coverage) addTimes(s *Snapshots, from, to, longest int64) {
	for i, t := range s.Time {
		if t > to {
			c.Late++
		}
		if i == 0 {
			continue
		}
		a, b := max(s.Time[i-1], from), min(t, to)
		lost := max(0, int64(s.Sequence[i])-int64(s.Sequence[i-1])-1)
		switch {
		case b <= a:
		case t-s.Time[i-1]-min(lost, math.MaxInt32)*min(c.Period, math.MaxInt32) > longest:
			if c.Holes++; b-a > c.Hole {
				c.Hole, c.HoleAt = b-a, a
			}
		case lost == 0:
			c.Covered += b - a
		}
	}
}

// TaskCoverage is the coverage of a task: the sum, and that of each segment with
// snapshots, in byte order of ids. In the sum, Period is the median of the segments and
// Slow tells that at least one is slow.
type TaskCoverage struct {
	Coverage
	Requests int        `json:"requests"` // traces; a segment that did not arrive counts as one
	Segments []Coverage `json:"segments"`
}

// CoverTask returns the coverage of a task.
func CoverTask(ctx context.Context, st Store, task *Task) (*TaskCoverage, error) {
	list, segments, err := snapshotsOf(ctx, st, task.ID)
	if err != nil {
		return nil, err
	}
	return coverTask(task, list, segments), nil
}

func coverTask(task *Task, list []Snapshots, segments map[string]*Segment) *TaskCoverage {
	sum := &TaskCoverage{Segments: []Coverage{}}
	sum.Known = len(list) > 0
	var periods []int64
	traces := map[string]bool{}
	for i := range list {
		seg := segments[list[i].Segment]
		if seg == nil {
			sum.Requests++
		} else {
			traces[seg.Trace] = true
		}
		c := Cover(task, seg, &list[i])
		sum.Segments = append(sum.Segments, c)
		sum.Known = sum.Known && c.Known
		sum.Expected, sum.Received, sum.Lost, sum.Late = sum.Expected+c.Expected, sum.Received+c.Received, sum.Lost+c.Lost, sum.Late+c.Late
		sum.Span += c.Span
		if sum.Holes += c.Holes; c.Hole > sum.Hole {
			sum.Hole, sum.HoleAt = c.Hole, c.HoleAt
		}
		if c.Known {
			sum.Covered += c.Covered
		}
		if c.Period > 0 {
			periods = append(periods, c.Period)
		}
		sum.Slow, sum.CPU = sum.Slow || c.Slow, sum.CPU || c.CPU
	}
	sum.Requests += len(traces)
	sum.Period = median(periods)
	sum.setShare()
	return sum
}

// snapshotsOf returns the snapshots of a task, and the segments that they belong
// to, by id, if they are stored.
func snapshotsOf(ctx context.Context, st Store, task string) ([]Snapshots, map[string]*Segment, error) {
	var list []Snapshots
	var ids []string
	for s, err := range st.Snapshots(ctx, SnapshotQuery{Tasks: []string{task}}) {
		if err != nil {
			return nil, nil, err
		}
		list, ids = append(list, s), append(ids, s.Segment)
	}
	if len(list) == 0 {
		return nil, nil, nil
	}
	segments, err := st.Segments(ctx, SegmentQuery{IDs: ids, NoRaw: true})
	if err != nil {
		return nil, nil, err
	}
	byID := map[string]*Segment{}
	for i := range segments {
		byID[segments[i].ID] = &segments[i]
	}
	return list, byID, nil
}
