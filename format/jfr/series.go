package jfr

import (
	"slices"

	"github.com/dendroprof/dendro/profile"
)

// seriesID is a kind of sample. In a profile each is one value type, or two: how
// much, and how often.
type seriesID uint8

const (
	cpuTime    seriesID = iota // jdk.CPUTimeSample
	cpuDatadog                 // datadog.ExecutionSample
	execution
	wall
	native
	alloc
	allocDatadog // datadog.ObjectSample
	allocSampled // jdk.ObjectAllocationSample
	live
	malloc
	lock
	monitorWait
	sleep
	socketRead
	socketWrite
	fileRead
	fileWrite
	methodTrace
	oldObjects
	seriesCount
)

// Names of value types that only JFR has.
const (
	NativeSamples = "native-samples" // threads found in native code
	MonitorWait   = "monitor-wait"   // nanoseconds in Object.wait
	Sleep         = "sleep"          // nanoseconds in Thread.sleep
	SocketRead    = "socket-read"    // nanoseconds, as the following
	SocketWrite   = "socket-write"
	FileRead      = "file-read"
	FileWrite     = "file-write"
	MethodTrace   = "method-trace" // nanoseconds in the traced methods
	OldObjects    = "old-objects"  // sampled objects that were alive long after
)

const (
	nanoseconds = "nanoseconds"
	byteUnit    = "bytes"
	countUnit   = "count"
)

// seriesTypes are the value types of each series: of the value, and of the
// number of samples. An empty name is no table.
var seriesTypes = [seriesCount]struct {
	value, unit string
	samples     string
	original    string
	lasts       bool // the value is the duration of the event
}{
	cpuTime:      {profile.CPU, nanoseconds, "", "jdk.CPUTimeSample", false},
	cpuDatadog:   {profile.CPU, nanoseconds, "", "datadog.ExecutionSample", false},
	execution:    {profile.CPU, nanoseconds, profile.CPUSamples, "jdk.ExecutionSample", false},
	wall:         {profile.Wall, nanoseconds, profile.WallSamples, "profiler.WallClockSample", false},
	native:       {"", "", NativeSamples, "jdk.NativeMethodSample", false},
	alloc:        {profile.Alloc, byteUnit, profile.AllocSamples, "jdk.ObjectAllocationInNewTLAB", false},
	allocDatadog: {profile.Alloc, byteUnit, profile.AllocSamples, "datadog.ObjectSample", false},
	allocSampled: {profile.Alloc, byteUnit, profile.AllocSamples, "jdk.ObjectAllocationSample", false},
	live:         {profile.Live, byteUnit, profile.LiveSamples, "profiler.LiveObject", false},
	malloc:       {profile.Malloc, byteUnit, "", "profiler.Malloc", false},
	lock:         {profile.Lock, nanoseconds, profile.LockSamples, "jdk.JavaMonitorEnter", true},
	monitorWait:  {MonitorWait, nanoseconds, "", "jdk.JavaMonitorWait", true},
	sleep:        {Sleep, nanoseconds, "", "jdk.ThreadSleep", true},
	socketRead:   {SocketRead, nanoseconds, "", "jdk.SocketRead", true},
	socketWrite:  {SocketWrite, nanoseconds, "", "jdk.SocketWrite", true},
	fileRead:     {FileRead, nanoseconds, "", "jdk.FileRead", true},
	fileWrite:    {FileWrite, nanoseconds, "", "jdk.FileWrite", true},
	methodTrace:  {MethodTrace, nanoseconds, "", "jdk.MethodTrace", true},
	oldObjects:   {"", "", OldObjects, "jdk.OldObjectSample", false},
}

// series collects samples of one kind.
type series struct {
	profile.Samples
	count  []int64 // nil: each sample is one
	period period
}

// sample is one row of a series.
type sample struct {
	stack profile.StackID
	time  int64
	value int64
	profile.Tags
}

func (s *series) add(r sample) {
	if s.Len() == cap(s.Stack) {
		s.Grow(max(s.Len(), 64)) // append alone copies long columns several times as often
	}
	s.Append(r.stack, r.value, r.time, r.Tags)
}

// row returns row i.
func (s *series) row(i int) sample {
	r := sample{stack: s.Stack[i], value: s.Value[i], Tags: s.Tags(i)}
	if s.Time != nil {
		r.time = s.Time[i]
	}
	return r
}

// period is what one sample stands for, if all samples of a series agree.
type period struct {
	value      int64 // 0: unknown
	unit, name string
	mixed      bool
}

// merge adds the period of the samples of another chunk.
func (p *period) merge(q period) {
	switch {
	case *p == period{}:
		*p = q
	case *p != q:
		*p = period{mixed: true}
	}
}

// makeTables makes the value types of all series that have samples.
func (r *recording) makeTables() {
	r.found.twiceAllocated = r.keepFirst(alloc, allocDatadog, allocSampled)
	r.found.twiceCPU = r.keepFirst(cpuTime, cpuDatadog)
	hasCPUTime := r.series[cpuTime].Len()+r.series[cpuDatadog].Len() > 0
	for i := range r.series {
		s := &r.series[i]
		if s.Len() == 0 {
			continue
		}
		t := &seriesTypes[i]
		if t.samples != "" {
			r.addTable(s, profile.ValueType{Name: t.samples, Unit: countUnit, Original: t.original}, s.counts(), t.lasts)
		}
		if t.value != "" && !(seriesID(i) == execution && hasCPUTime) {
			r.addTable(s, profile.ValueType{Name: t.value, Unit: t.unit, Original: t.original}, s.Value, t.lasts)
		}
	}
	for i := range r.p.Tables {
		if r.p.Tables[i].Type.Name != profile.Malloc { // calls of free have no stack by design
			r.p.Tables[i].CountLost(r.p.Symbols)
		}
	}
	if len(r.p.Tables) == 0 {
		r.p.Tables = []profile.Samples{{Type: profile.NamedType(profile.CPUSamples)}}
		r.p.Warnf("the recording has no samples among its %d events", r.found.otherEvents)
	}
	r.chooseDefault()
}

// keepFirst keeps, of series that measure the same in different ways, the first that has
// samples, and returns the number of samples that it dropped.
func (r *recording) keepFirst(ids ...seriesID) (dropped int) {
	kept := false
	for _, id := range ids {
		s := &r.series[id]
		if kept {
			dropped += s.Len()
			*s = series{}
		}
		kept = kept || s.Len() > 0
	}
	return dropped
}

// counts returns how many samples each row stands for.
func (s *series) counts() []int64 {
	if s.count != nil {
		return s.count
	}
	return slices.Repeat([]int64{1}, s.Len())
}

// addTable adds a table of the samples of s whose value is not 0, if there are
// any. Columns are shared by the tables of a series where all values count.
func (r *recording) addTable(s *series, t profile.ValueType, values []int64, lasts bool) {
	zeros := 0
	for _, v := range values {
		if v == 0 {
			zeros++
		}
	}
	if zeros == len(values) {
		return
	}
	if p := s.period; p.value > 0 && (t.Unit == p.unit || t.Name == profile.CPUSamples || t.Name == profile.WallSamples) {
		t.Period, t.PeriodUnit, t.PeriodName = p.value, p.unit, p.name
	}
	table := profile.Samples{
		Type: t, Value: nonZero(values, values, zeros), Intervals: lasts && t.Unit == nanoseconds,
		Stack: nonZero(s.Stack, values, zeros), Thread: nonZero(s.Thread, values, zeros), State: nonZero(s.State, values, zeros),
		Labels: nonZero(s.Labels, values, zeros), Address: nonZero(s.Address, values, zeros),
	}
	if table.Time = nonZero(s.Time, values, zeros); table.Time == nil {
		table.Time = make([]int64, table.Len()) // all at the start
	}
	r.p.Tables = append(r.p.Tables, table)
}

// nonZero returns the rows of a column where values is not 0; nil for a column that is not there.
func nonZero[T any](column []T, values []int64, zeros int) []T {
	if zeros == 0 || column == nil {
		return slices.Clip(column)
	}
	out := make([]T, 0, len(column)-zeros)
	for i, v := range values {
		if v != 0 {
			out = append(out, column[i])
		}
	}
	return out
}

// chooseDefault chooses the value type that the recording was made for: what the
// profiler was asked for or, if that is not known, the first there is.
func (r *recording) chooseDefault() {
	order := []string{
		r.made.purpose(), profile.CPU, profile.CPUSamples, profile.Wall, profile.WallSamples,
		profile.Alloc, profile.Live, profile.Malloc, profile.Lock, MethodTrace, profile.Threads,
	}
	for _, name := range order {
		for i := range r.p.Tables {
			if name != "" && r.p.Tables[i].Type.Name == name {
				r.p.Default = i
				r.p.Interval = interval(r.p.Tables[i].Type, r.made)
				return
			}
		}
	}
}
