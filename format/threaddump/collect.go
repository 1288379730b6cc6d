package threaddump

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Collector adds thread dumps to a profile: Add for each text, then Finish.
type Collector struct {
	out    *stacktext.Recorder
	limits profile.Limits
	frames *stacktext.Frames
	parse  func(text []byte) (stacktext.JavaFrame, bool) // a frame
	lines  stacktext.Lines                               // of Add
	notes  stacktext.Notes
	at     time.Time // of all dumps, if not zero

	threads *stacktext.Table
	cpu     *stacktext.Table
	cpuSeen map[profile.ThreadID]int64 // processor time in the last dump with the thread
	deltas  bool                       // two dumps told the processor time of a thread

	time    int64  // of the dump in work, nanoseconds since 1970, or NoTime
	process []byte // that the dump in work is of
	dump    dump
	thread  thread
	name    []byte // of a lock
}

func newCollector(p *profile.Profile, l profile.Limits, frames *stacktext.Frames) *Collector {
	return &Collector{
		out:     stacktext.NewRecorder(p),
		limits:  l.WithDefaults(),
		threads: stacktext.NewTable(l),
		cpu:     stacktext.NewTable(l),
		frames:  frames,
		parse:   parseFrame,
		cpuSeen: map[profile.ThreadID]int64{},
		time:    stacktext.NoTime,
		dump:    dump{locks: map[string]int32{}, dead: map[deadlocked]int{}, named: map[int32]string{}},
	}
}

// dump is the threads of one dump. They wait here for its end, where it is known
// who holds a lock and who is in a deadlock.
type dump struct {
	rows   []row
	labels []profile.Label // of all rows, one behind the other

	locks  map[string]int32 // number of a lock by its address
	holder []profile.ThreadID
	dead   map[deadlocked]int // number of the deadlock that a thread is in
	named  map[int32]string   // of locks in a deadlock: the name of the holder
}

type row struct {
	stacktext.Row
	from, to int   // its labels
	waits    int32 // number of the lock that the thread waits for; noLock
	owned    bool  // its holder is among the labels
	cpu      int64 // nanoseconds since the thread cpuOf began; noCPU
	cpuOf    profile.ThreadID
}

const (
	noLock = -1
	noCPU  = -1
)

// deadlocked is a thread that the dump lists in a deadlock. Names are not unique,
// so the lock that it waits for belongs to it, if the dump tells.
type deadlocked struct {
	name string
	lock int32
}

// begin begins a dump. The time is that of the text; zero: unknown.
func (c *Collector) begin(at time.Time) {
	c.end()
	if !c.at.IsZero() {
		at = c.at
	}
	if !at.IsZero() {
		c.time = at.UnixNano()
	}
}

// thread is the thread in work. Its memory is reused.
type thread struct {
	open   bool
	name   []byte
	id     []byte // the operating system's, or the VM's behind a `#`
	state  []byte
	frames []profile.FrameID // innermost first
	labels []profile.Label
	waits  []byte // address of the lock that it waits for
	owned  bool   // the dump says who holds that
	holds  []int32
	cpu    int64
	cpuOf  profile.ThreadID // whose cpu is, if not its own: that of its carrier
	muted  bool             // what looks like frames belongs to something else

	foreign bool // lines between its frames mean nothing to a reader, and are many
}

// open begins a thread.
func (c *Collector) open() *thread {
	c.close()
	t := &c.thread
	*t = thread{
		open: true, cpu: noCPU,
		name: t.name[:0], id: t.id[:0], state: t.state[:0], frames: t.frames[:0], waits: t.waits[:0], holds: t.holds[:0],
		labels: t.labels[:0],
	}
	return t
}

// yes is the text of labels that only say that something is so.
var yes = []byte("true")

// label adds a label to the thread in work.
func (c *Collector) label(key string, text []byte) {
	c.thread.labels = append(c.thread.labels, c.out.Label(key, text))
}

// close adds the thread in work to its dump.
func (c *Collector) close() {
	t := &c.thread
	if !t.open {
		return
	}
	t.open = false
	stack := c.out.Stack(t.frames)
	state := t.state
	if string(state) == "RUNNABLE" && c.waitsInNative(stack) {
		state = inNativeWait
	}
	d := &c.dump
	r := row{
		Row: stacktext.Row{
			Stack: stack, Value: 1, Time: c.time,
			Thread: c.out.Thread(c.process, t.name, t.id), State: c.out.State(state),
		},
		from: len(d.labels), waits: noLock, owned: t.owned, cpu: t.cpu, cpuOf: t.cpuOf,
	}
	r.cpuOf = cmp.Or(r.cpuOf, r.Thread)
	d.labels = append(d.labels, t.labels...)
	r.to = len(d.labels)
	if len(t.waits) > 0 {
		r.waits = d.lock(t.waits)
	}
	for _, lock := range t.holds {
		if lock != r.waits {
			d.holder[lock] = r.Thread
		}
	}
	d.rows = append(d.rows, r)
}

// lock returns the number of the lock at an address.
func (d *dump) lock(address []byte) int32 {
	n, ok := d.locks[string(address)]
	if !ok {
		n = int32(len(d.holder))
		d.holder = append(d.holder, 0)
		d.locks[string(address)] = n
	}
	return n
}

// end adds the samples of the dump in work.
func (c *Collector) end() {
	c.close()
	d := &c.dump
	for i := range d.rows {
		r := &d.rows[i]
		labels := d.labels[r.from:r.to:r.to]
		if owner := c.owner(r); owner != "" {
			labels = append(labels, profile.Label{Key: profile.LabelOwner, Text: owner})
		}
		if group := c.deadlock(r); group > 0 {
			labels = append(labels, profile.Label{Key: profile.LabelDeadlock, Num: int64(group)})
		}
		r.Labels = c.out.Labels(labels)
		c.threads.Add(r.Row)
		c.addCPU(r)
	}
	d.rows, d.holder, d.labels = d.rows[:0], d.holder[:0], d.labels[:0]
	clear(d.locks)
	clear(d.dead)
	clear(d.named)
}

// owner returns the name of the thread that holds what a thread waits for. It is empty if
// nobody does, or if the labels of the row have it.
func (c *Collector) owner(r *row) string {
	if r.waits == noLock || r.owned {
		return ""
	}
	if holder := c.dump.holder[r.waits]; holder != 0 {
		return c.out.Profile.Threads[holder].Name
	}
	return c.dump.named[r.waits]
}

// deadlock returns the number of the deadlock that a thread is in, or 0.
func (c *Collector) deadlock(r *row) int {
	if len(c.dump.dead) == 0 {
		return 0
	}
	name := c.out.Profile.Threads[r.Thread].Name
	if n := c.dump.dead[deadlocked{name, r.waits}]; n > 0 {
		return n
	}
	return c.dump.dead[deadlocked{name, noLock}]
}

// addCPU adds what a thread has used since the dump before. A thread that has
// used less than before is another one of the same name and id.
func (c *Collector) addCPU(r *row) {
	if r.cpu == noCPU {
		return
	}
	before, ok := c.cpuSeen[r.cpuOf]
	c.cpuSeen[r.cpuOf] = r.cpu
	if !ok || r.cpu < before {
		return
	}
	c.deltas = true
	if r.cpu == before {
		return
	}
	used := r.Row
	used.Value, used.Thread = r.cpu-before, r.cpuOf
	if !c.cpu.Add(used) {
		c.notes.Add("processor times that add up to more than 63 bits were left out", "processor times were left out", 0)
	}
}

// addFrame adds the next frame, going outwards, of the thread in work.
func (c *Collector) addFrame(text []byte) error {
	t := &c.thread
	if len(t.frames) >= c.limits.Depth {
		return profile.TooDeep(c.limits.Depth)
	}
	frame, ok := c.frames.Java(text, c.parse)
	if !ok {
		return errNoFrame
	}
	t.frames = append(t.frames, frame)
	return nil
}

// addFrameLine is addFrame for the rest of line number line of a text, which begins
// as a frame does; if it is none, that is noted.
func (c *Collector) addFrameLine(text []byte, line int) error {
	err := c.addFrame(text)
	if errors.Is(err, errNoFrame) {
		c.notes.Add("a line that begins as a frame is none", "lines that begin as frames are none", line)
		return nil
	}
	return err
}

// addWait says that the thread in work waits for a lock.
func (c *Collector) addWait(address, class []byte) {
	t := &c.thread
	if len(t.waits) > 0 {
		return
	}
	t.waits = append(t.waits, address...)
	c.label(profile.LabelLock, c.lockName(address, class))
}

// addHold says that the thread in work holds a lock. A thread that waits for a
// lock does not hold it, though HotSpot says so of Object.wait, which gives it
// back while it waits.
func (c *Collector) addHold(address, class []byte) {
	t := &c.thread
	if string(t.waits) == string(address) {
		return
	}
	lock := c.dump.lock(address)
	if slices.Contains(t.holds, lock) {
		return
	}
	if len(t.holds) == mostHeld {
		c.notes.Add("a thread holds more than 64 locks; the others are left out", "locks beyond the 64th of a thread are left out", 0)
		return
	}
	t.holds = append(t.holds, lock)
	c.label(profile.LabelHolds, c.lockName(address, class))
}

// mostHeld is how many locks of a thread become labels.
const mostHeld = 64

// lockName returns `class@address`, valid until the next call. Without a class the
// address is all there is, and mostly of that form already.
func (c *Collector) lockName(address, class []byte) []byte {
	if len(class) == 0 {
		return address
	}
	c.name = append(append(append(c.name[:0], class...), '@'), address...)
	return c.name
}

// Finish adds the tables to the profile, `threads` and, if two dumps told the
// processor time of a thread, `cpu`. If the profile has no Start, it is the time of the
// first dump. Afterwards the Collector must not be used.
func (c *Collector) Finish() {
	c.end()
	p := c.out.Profile
	p.Dumps = true
	timed, start := c.start()
	p.Tables = append(p.Tables, c.threads.Samples(profile.NamedType(profile.Threads), timed, start))
	if c.deltas {
		c.cpu.First = c.threads.First
		p.Tables = append(p.Tables, c.cpu.Samples(profile.NamedType(profile.CPU), timed, start))
	}
	p.Warnings = c.notes.Warnings(p.Warnings)
}

// start returns the time from which the samples count, and sets it in the profile. It
// reports false if no dump has a time.
func (c *Collector) start() (timed bool, start int64) {
	first, last, p := c.threads.First, c.threads.Last, c.out.Profile
	switch {
	case first > last:
		return false, 0
	case !p.Start.IsZero():
		return true, p.Start.UnixNano()
	}
	p.Start = time.Unix(0, first).UTC()
	p.Duration = time.Duration(last - first)
	return true, first
}

// vm names the program that wrote the dumps: `OpenJDK 64-Bit Server VM` and what
// is in parentheses.
func (c *Collector) vm(name, version string) {
	if p := c.out.Profile; p.Profiler == "" && name != "" {
		p.Profiler, p.ProfilerVersion = name, version
	}
}

var errNoFrame = profile.Malformed("not a frame")
