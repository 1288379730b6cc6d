package speedscope

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/internal/prefixtree"
	"github.com/dendroprof/dendro/profile"
)

// units are the value types of the units, and how many decimals a unit of time has
// in nanoseconds.
var units = map[string]struct {
	valueType profile.ValueType
	decimals  int
}{
	"none":         {profile.ValueType{Name: profile.Unclocked, Unit: "count"}, notTime},
	"bytes":        {profile.ValueType{Name: "bytes", Unit: "bytes"}, notTime},
	"nanoseconds":  {timeType, 0},
	"microseconds": {timeType, 3},
	"milliseconds": {timeType, 6},
	"seconds":      {timeType, 9},
}

const notTime = -1

// timeUnit returns how many decimals a unit of time has in nanoseconds; false for
// another unit.
func timeUnit(unit string) (decimals int, ok bool) {
	u, ok := units[unit]
	return u.decimals, ok && u.decimals != notTime
}

// timeType is the type of weights in a unit of time. The format does not say
// whether that is CPU or wall time.
var timeType = profile.ValueType{Name: "time", Unit: "nanoseconds"}

// times are the names of timeType of profilers that are known: py-spy leaves out threads that
// wait, but not those that wait for a processor.
var times = map[string]string{"py-spy": profile.Runnable, "rbspy": profile.Wall}

// linker makes a profile of a file.
type linker struct {
	file   *file
	p      *profile.Profile
	limits profile.Limits
	kind   profile.Kind // of all functions
	dotNet bool
	root   *regexp.Regexp // outermost frames that are no functions; or nil

	stacks []profile.StackID // of the nodes of file.tree
	states []profile.StateID // of the nodes
	tables []*jsonscan.Samples
	origin int64 // the earliest start, in nanoseconds
}

func (k *linker) link() error {
	f, p := k.file, k.p
	p.Profiler, p.ProfilerVersion, _ = strings.Cut(f.exporter, "@")
	if err := k.span(); err != nil {
		return err
	}
	k.dotNet = f.dotNet()
	k.kind, k.root = kindOf(p.Profiler, k.dotNet), f.pseudoRoot(p.Profiler)
	frames := k.frames()
	for _, pr := range f.profiles {
		if pr.kind == "evented" {
			if err := f.nest(pr); err != nil {
				return err
			}
		}
	}
	k.linkStacks(frames)
	for _, pr := range f.profiles {
		if err := k.profile(pr); err != nil {
			return err
		}
	}
	k.finish()
	return nil
}

// kindOf returns the kind of all functions of a file.
func kindOf(profiler string, dotNet bool) profile.Kind {
	switch {
	case dotNet:
		return profile.KindDotNet
	case profiler == "py-spy":
		return profile.KindPython
	case profiler == "rbspy":
		return profile.KindRuby
	}
	return profile.KindUnknown
}

// notYet is a frame that was not interned.
const notYet = profile.FrameID(-1)

// frames interns the frames of the file in its order, but for those that may be no
// functions.
func (k *linker) frames() []profile.FrameID {
	frames := make([]profile.FrameID, len(k.file.frames))
	for i, fr := range k.file.frames {
		if frames[i] = notYet; !k.isState(fr.name) && !k.isRoot(fr.name) {
			frames[i] = k.frame(fr)
		}
	}
	return frames
}

// frame interns a frame. One function may be several frames, as py-spy puts the
// line of the sample into each.
func (k *linker) frame(fr frame) profile.FrameID {
	fn := k.p.Symbols.Function(profile.Function{Name: fr.name, File: fr.file, Kind: k.kind})
	return k.p.Symbols.Frame(profile.Frame{Function: fn, Line: fr.line, Column: fr.column})
}

func (k *linker) isState(name string) bool {
	return k.dotNet && (name == cpuTime || name == unmanagedTime)
}

func (k *linker) isRoot(name string) bool { return k.root != nil && k.root.MatchString(name) }

// Frames of .NET's exporters that are no functions: the leaf says whether managed
// code ran, the outermost frames name process and thread.
const (
	cpuTime       = "CPU_TIME"
	unmanagedTime = "UNMANAGED_CODE_TIME"
)

var dotNetRoot = regexp.MustCompile(`^(?:\(Non-Activities\)|Threads|Thread \([0-9]+\)|Process(?:32|64)? .*)$`)

// pySpyRoot are the outermost frames that py-spy adds for what the profile is of.
var pySpyRoot = regexp.MustCompile(`^(?:thread \(|process [0-9]+:)`)

// pseudoRoot returns which outermost frames of a file are no functions, or nil.
func (f *file) pseudoRoot(profiler string) *regexp.Regexp {
	switch {
	case f.dotNet():
		return dotNetRoot
	case profiler == "py-spy":
		return pySpyRoot
	}
	return nil
}

// dotNet reports whether the file has the pseudo frames of .NET.
func (f *file) dotNet() bool {
	return slices.ContainsFunc(f.frames, func(fr frame) bool { return fr.name == cpuTime || fr.name == unmanagedTime })
}

// linkStacks interns the stacks of all nodes. Outermost frames that are no
// functions are left out; a leaf that is a state is put aside.
func (k *linker) linkStacks(frames []profile.FrameID) {
	tree := &k.file.tree
	known, unknown := len(frames), 0
	k.file.frames = append(k.file.frames, frame{name: profile.NoName})
	frames = append(frames, notYet)
	k.stacks = make([]profile.StackID, tree.Len())
	k.states = make([]profile.StateID, tree.Len())
	facts := profile.NewInterner(k.p)
	for n := range k.stacks {
		parent := k.stackOf(tree.Parent[n])
		item := min(int(tree.Item[n]), known)
		if item == known {
			unknown++
		}
		name := k.file.frames[item].name
		switch {
		case k.isState(name):
			k.stacks[n], k.states[n] = parent, facts.State(name)
		case parent == profile.NoStack && k.isRoot(name):
			k.stacks[n] = profile.NoStack
		default:
			fr := &frames[item]
			if *fr == notYet {
				*fr = k.frame(k.file.frames[item])
			}
			k.stacks[n] = k.p.Symbols.Stack(parent, *fr)
		}
	}
	k.p.WarnCount(unknown, "%d frames of call paths are not in the list of %d frames; they count as %s", known, profile.NoName)
}

func (k *linker) stackOf(node int32) profile.StackID {
	if node == prefixtree.Root {
		return profile.NoStack
	}
	return k.stacks[node]
}

// span finds the earliest start and the duration of the profiles in time.
func (k *linker) span() error {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, p := range k.file.profiles {
		u, ok := units[p.unit]
		if !ok || u.decimals == notTime {
			continue
		}
		start, err := k.file.clock.Nanos(p.start, u.decimals)
		end, err2 := k.file.clock.Nanos(p.end, u.decimals)
		if err != nil || err2 != nil {
			return p.malformed("a start or end that does not fit 63 bits of nanoseconds")
		}
		first, last = min(first, start), max(last, end)
	}
	if first > last || last-first < 0 {
		first, last = 0, 0
	}
	k.origin, k.p.Duration = first, time.Duration(last-first)
	return nil
}

func (p *oneProfile) malformed(format string, args ...any) *profile.ParseError {
	return &profile.ParseError{Offset: p.at, Err: profile.Malformed(format, args...)}
}

// profile adds the samples of one profile.
func (k *linker) profile(p *oneProfile) error {
	unit, ok := units[p.unit]
	if !ok {
		return p.malformed("a profile in unit %.40q", p.unit)
	}
	switch {
	case p.kind != "sampled" && p.kind != "evented":
		return p.malformed("a profile of type %.40q", p.kind)
	case p.times != nil && unit.decimals == notTime:
		return p.malformed("a second unit")
	case p.weighed && len(p.weights)+len(p.times) != len(p.nodes):
		return p.malformed("%d samples with %d weights", len(p.nodes), len(p.weights)+len(p.times))
	}
	if name := times[k.p.Profiler]; name != "" && unit.decimals != notTime {
		unit.valueType.Name = name
	}
	t := k.table(unit.valueType)
	thread := k.thread(p)
	at, err := k.file.clock.Nanos(p.start, max(0, unit.decimals))
	if err != nil {
		return p.malformed("start: %v", err)
	}
	for i, n := range p.nodes {
		w := jsonscan.Decimal{Digits: 1}
		switch {
		case p.times != nil:
			w = jsonscan.Decimal{Digits: p.times[i], Decimals: unit.decimals}
		case p.weighed:
			w = p.weights[i]
		}
		if unit.decimals != notTime {
			v, err := w.Fixed(unit.decimals)
			if err != nil {
				return p.malformed("weight %d does not fit 63 bits of nanoseconds", i)
			}
			w = jsonscan.Decimal{Digits: v}
			if i == 0 && v > 0 && k.p.Profiler == "py-spy" { // whose weights are the interval between samples
				t.Type.Period, t.Type.PeriodUnit = v, t.Type.Unit
			}
			t.Time = append(t.Time, at-k.origin)
			if before := at; v > 0 { // time does not go back where weights are negative
				at += v
				if at < before {
					return p.malformed("the time of sample %d does not fit 63 bits of nanoseconds", i)
				}
			}
		}
		if err := t.Values.Add(w); err != nil {
			return p.malformed("%v", err)
		}
		t.Stack = append(t.Stack, k.stackOf(n))
		t.Thread = append(t.Thread, thread)
		if k.dotNet {
			state := profile.StateID(0)
			if n != prefixtree.Root {
				state = k.states[n]
			}
			t.State = append(t.State, state)
		}
		if len(t.Stack)%profile.SumRows == 0 {
			t.Bound(k.limits)
		}
	}
	p.nodes, p.weights, p.times = nil, nil, nil
	return nil
}

func (k *linker) table(vt profile.ValueType) *jsonscan.Samples {
	for _, t := range k.tables {
		if t.Type.Name == vt.Name {
			return t
		}
	}
	k.tables = append(k.tables, &jsonscan.Samples{Samples: profile.Samples{Type: vt, Intervals: vt.Unit == "nanoseconds"}})
	return k.tables[len(k.tables)-1]
}

// threadName is how py-spy and .NET name a profile: by process, thread and the
// thread's name.
var threadName = regexp.MustCompile(`^(?:Process (.*?) )?Thread (\S+)(?: "(.*)")?$`)

// thread adds the thread of a profile; a profile without a name has none.
func (k *linker) thread(p *oneProfile) profile.ThreadID {
	if p.name == "" {
		return 0
	}
	t := profile.Thread{Name: p.name}
	if m := threadName.FindStringSubmatch(p.name); m != nil {
		t = profile.Thread{Name: m[3], ID: strings.Trim(m[2], "()"), Process: m[1]}
		if !strings.HasSuffix(p.name, `"`) {
			t.Name = p.name
		}
	}
	k.p.Threads = append(k.p.Threads, t)
	return profile.ThreadID(len(k.p.Threads) - 1)
}

// finish moves the tables into the profile and says what was mended.
func (k *linker) finish() {
	if len(k.tables) == 0 {
		k.table(units["none"].valueType)
		k.p.Warnf("the file holds no profiles")
	}
	for _, t := range k.tables {
		k.p.Tables = append(k.p.Tables, t.Done())
	}
	k.p.WarnCount(k.file.repairs.closed, "%d frames were closed by a close of a frame outside of them")
	k.p.WarnCount(k.file.repairs.ignored, "%d closes of frames that were not open were left out")
	k.p.WarnCount(k.file.repairs.left, "%d frames were still open at the end and were closed there")
	k.p.WarnCount(k.file.repairs.backward, "%d events are earlier than the one before and were moved to its time")
	if k.p.Profiler == "py-spy" && len(k.file.profiles) > 1 {
		k.p.Warnf("py-spy begins each thread at time 0 and leaves out when it was idle, so times of threads do not compare")
	}
}
