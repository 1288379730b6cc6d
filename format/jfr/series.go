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

// series collects samples of one kind, column by column.
type series struct {
	stack   []profile.StackID
	time    []int64
	thread  []profile.ThreadID
	state   []profile.StateID
	labels  []profile.LabelsID // nil: no row has any
	value   []int64
	count   []int64  // nil: each sample is one
	address []uint64 // of native memory

	hasThreads, hasStates bool
	period                period
}

// sample is one row of a series.
type sample struct {
	stack  profile.StackID
	time   int64
	thread profile.ThreadID
	state  profile.StateID
	labels profile.LabelsID
	value  int64
}

func (s *series) add(r sample) {
	if len(s.stack) == cap(s.stack) {
		s.grow()
	}
	s.stack = append(s.stack, r.stack)
	s.time = append(s.time, r.time)
	s.thread = append(s.thread, r.thread)
	s.state = append(s.state, r.state)
	s.value = append(s.value, r.value)
	if s.labels == nil && r.labels != 0 {
		s.labels = make([]profile.LabelsID, len(s.stack)-1, cap(s.stack))
	}
	if s.labels != nil {
		s.labels = append(s.labels, r.labels)
	}
	s.hasThreads = s.hasThreads || r.thread != 0
	s.hasStates = s.hasStates || r.state != 0
}

// grow makes room for as many rows again. Append alone grows long columns by a
// quarter, which copies them several times as often.
func (s *series) grow() {
	n := max(len(s.stack), 64)
	s.stack = slices.Grow(s.stack, n)
	s.time = slices.Grow(s.time, n)
	s.thread = slices.Grow(s.thread, n)
	s.state = slices.Grow(s.state, n)
	s.value = slices.Grow(s.value, n)
}

// row returns row i.
func (s *series) row(i int) sample {
	r := sample{stack: s.stack[i], time: s.time[i], thread: s.thread[i], state: s.state[i], value: s.value[i]}
	if s.labels != nil {
		r.labels = s.labels[i]
	}
	return r
}

// set replaces row i.
func (s *series) set(i int, r sample) {
	s.stack[i], s.time[i], s.thread[i], s.state[i], s.value[i] = r.stack, r.time, r.thread, r.state, r.value
	if s.labels != nil {
		s.labels[i] = r.labels
	}
}

// truncate keeps the first n rows.
func (s *series) truncate(n int) {
	s.stack, s.time, s.thread = s.stack[:n], s.time[:n], s.thread[:n]
	s.state, s.value = s.state[:n], s.value[:n]
	if s.labels != nil {
		s.labels = s.labels[:n]
	}
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
	hasCPUTime := len(r.series[cpuTime].stack)+len(r.series[cpuDatadog].stack) > 0
	for i := range r.series {
		s := &r.series[i]
		if len(s.stack) == 0 {
			continue
		}
		t := &seriesTypes[i]
		if t.samples != "" {
			r.addTable(s, profile.ValueType{Name: t.samples, Unit: countUnit, Original: t.original}, s.counts(), t.lasts)
		}
		if t.value != "" && !(seriesID(i) == execution && hasCPUTime) {
			r.addTable(s, profile.ValueType{Name: t.value, Unit: t.unit, Original: t.original}, s.value, t.lasts)
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
			dropped += len(s.stack)
			*s = series{}
		}
		kept = kept || len(s.stack) > 0
	}
	return dropped
}

// counts returns how many samples each row stands for.
func (s *series) counts() []int64 {
	if s.count != nil {
		return s.count
	}
	return slices.Repeat([]int64{1}, len(s.stack))
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
		Stack: nonZero(s.stack, values, zeros), Time: nonZero(s.time, values, zeros),
	}
	if s.hasThreads {
		table.Thread = nonZero(s.thread, values, zeros)
	}
	if s.hasStates {
		table.State = nonZero(s.state, values, zeros)
	}
	if s.labels != nil {
		table.Labels = nonZero(s.labels, values, zeros)
	}
	if s.address != nil {
		table.Address = nonZero(s.address, values, zeros)
	}
	r.p.Tables = append(r.p.Tables, table)
}

// nonZero returns the rows of a column where values is not 0.
func nonZero[T any](column []T, values []int64, zeros int) []T {
	if zeros == 0 {
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
