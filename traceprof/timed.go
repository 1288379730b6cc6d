package traceprof

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// ReadProfile returns all snapshots of a task as a profile, see Profile, and the
// segments that they belong to, by id, if they are stored.
func ReadProfile(ctx context.Context, st Store, task *Task) (*profile.Profile, map[string]*Segment, error) {
	list, segments, err := snapshotsOf(ctx, st, task.ID)
	if err != nil {
		return nil, nil, err
	}
	p := Profile(map[string]int64{task.ID: task.Period}, list, segments)
	return p, segments, p.Check()
}

// Profile converts snapshots to a profile with times. A segment becomes a thread and, if
// segments has it, a marker. A dump counts one period of its task (periods has them by
// task), in ms of type `trace`; samples of Go profiles are of type `cpu`, in ns. The types
// have no period, so that tasks of different periods can be added and compared.
//
// Code signatures become functions and lines, without the Java agent's own frames, see
// role.
func Profile(periods map[string]int64, list []Snapshots, segments map[string]*Segment) *profile.Profile {
	b := profileBuilder{p: profile.New(nil), periods: periods, folded: map[*calltree.Forest]*folding{}}
	b.p.Format, b.p.Profiler = "skywalking", "SkyWalking agent"
	if len(list) > 0 {
		b.p.Interval = time.Duration(b.period(&list[0])) * time.Millisecond
	}
	b.start(list, segments)
	dumps := profile.Samples{Type: profile.NamedType(profile.Trace)}
	samples := profile.Samples{Type: profile.NamedType(profile.CPU)}
	for i := range list {
		if list[i].Language == GoProfiles {
			b.add(&samples, &list[i], segments[list[i].Segment])
		} else {
			b.add(&dumps, &list[i], segments[list[i].Segment])
		}
	}
	for _, t := range []profile.Samples{dumps, samples} {
		if t.Len() > 0 {
			b.p.Tables = append(b.p.Tables, t)
		}
	}
	slices.SortStableFunc(b.p.Markers, func(a, b profile.Marker) int { return cmp.Compare(a.Start, b.Start) })
	return b.p
}

// profileBuilder converts snapshots to a profile.
type profileBuilder struct {
	p       *profile.Profile
	first   int64            // ms: the profile's start
	periods map[string]int64 // ms, by task
	folded  map[*calltree.Forest]*folding
}

// period returns the value of one dump, in ms; a CPU profile has a period of its own.
func (b *profileBuilder) period(s *Snapshots) int64 {
	if s.Language == GoProfiles {
		return max(1, Cover(new(Task), nil, s).Period)
	}
	return max(1, b.periods[s.Task])
}

// start sets the start and duration of the profile.
func (b *profileBuilder) start(list []Snapshots, segments map[string]*Segment) {
	var from, to int64
	known := false
	span := func(a, z int64) {
		if !known {
			from, to, known = a, z, true
		}
		from, to = min(from, a), max(to, z)
	}
	for i := range list {
		for _, t := range list[i].Time {
			span(t, t)
		}
		if s := segments[list[i].Segment]; s != nil {
			span(s.Start, s.End)
		}
	}
	if known {
		b.first = from
		b.p.Start, b.p.Duration = time.UnixMilli(from).UTC(), time.Duration(b.nanos(to))
	}
}

// farthest is the latest time in a profile, in ms: two centuries.
const farthest = 200 * 366 * 24 * 60 * Minute

// nanos returns a time in ns since the profile's start, at most farthest: agents may send
// any time.
func (b *profileBuilder) nanos(ms int64) int64 {
	d := ms - b.first
	if d < 0 || d > farthest { // times come after the first: below 0 is an overflow
		d = farthest
	}
	return d * nanosPerMilli
}

// add adds the snapshots of a segment to a table.
func (b *profileBuilder) add(t *profile.Samples, s *Snapshots, seg *Segment) {
	thread := profile.Thread{Name: s.Segment, ID: s.Segment}
	if seg != nil {
		thread.Name, thread.Process = seg.Operation, seg.Instance
	}
	id := profile.ThreadID(len(b.p.Threads))
	b.p.Threads = append(b.p.Threads, thread)
	if seg != nil {
		b.p.Markers = append(b.p.Markers, profile.Marker{
			Name: seg.Endpoint, Start: b.nanos(seg.Start), End: max(b.nanos(seg.Start), b.nanos(seg.End)), Thread: id,
			Fields: []profile.Label{{Key: "trace", Text: seg.Trace}, {Key: "segment", Text: seg.ID}},
		})
	}
	for i, path := range s.Path {
		stack, value := profile.NoStack, b.period(s)
		if path != calltree.NoNode {
			stack = b.folding(s).stack(b.p.Symbols, s, path)
		}
		if s.Language == GoProfiles {
			value = min(max(0, s.Nanos[i]), maxStep) // so that no sum overflows
		}
		t.Add(stack, value)
		t.Time, t.Thread = append(t.Time, b.nanos(s.Time[i])), append(t.Thread, id)
	}
}

// folding returns the folding of a dictionary.
func (b *profileBuilder) folding(s *Snapshots) *folding {
	f := b.folded[s.Stacks.Origin()]
	if f == nil {
		f = &folding{codes: map[int32]code{}, paths: map[int32]foldedPath{}}
		b.folded[s.Stacks.Origin()] = f
	}
	return f
}

// folding converts the paths of one dictionary to stacks of functions and lines, without
// the agent's own frames.
type folding struct {
	codes map[int32]code // by function of the dictionary
	paths map[int32]foldedPath
}

// foldedPath is a converted path. Glue has the stack of its caller.
type foldedPath struct {
	stack   profile.StackID
	above   profile.StackID // the stack without its innermost frame
	name    string          // of that frame
	belowIt bool            // the path ends in glue below that frame, which may be a stub
}

// stack returns the stack of a path.
func (f *folding) stack(sym *profile.Symbols, s *Snapshots, path int32) profile.StackID {
	var climbed []int32
	at := foldedPath{stack: profile.NoStack, above: profile.NoStack}
	for ; path != calltree.NoNode; path = s.Stacks.Paths.Parent[path] {
		if known, ok := f.paths[path]; ok {
			at = known
			break
		}
		climbed = append(climbed, path)
	}
	for _, p := range slices.Backward(climbed) {
		at = at.call(sym, f.code(s, s.Stacks.Paths.Item[p]))
		f.paths[p] = at
	}
	return at.stack
}

func (f *folding) code(s *Snapshots, fn int32) code {
	c, ok := f.codes[fn]
	if !ok {
		c = parseSignature(s.Stacks.Functions[fn].Name, s.Language)
		f.codes[fn] = c
	}
	return c
}

// call returns the path with one more frame.
func (at foldedPath) call(sym *profile.Symbols, c code) foldedPath {
	if c.role == glue {
		at.belowIt = true
		return at
	}
	above := at.stack
	if c.role == original && at.belowIt && at.name == c.fn.Name {
		above = at.above // it replaces its stub
	}
	frame := profile.Frame{Function: sym.Function(c.fn), Line: c.line}
	if c.native {
		frame.Type = profile.FrameNative
	}
	return foldedPath{stack: sym.Stack(above, sym.Frame(frame)), above: above, name: c.fn.Name}
}
