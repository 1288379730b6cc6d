package intake

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
)

// Lines are the samples of one service, type and version on one day that were stored as windows
// since they were last taken, with the lines of their stacks.
type Lines struct {
	Series  continuous.Series // as in continuous.Lines
	Day     time.Time
	Windows int64
	Covered time.Duration
	Type    profile.ValueType
	Values  map[profile.StackID]int64 // self values, of stacks of Symbols
	Symbols *profile.Symbols          // of profile.Symbols.Snapshot
}

// lineSet collects the lines of what a worker adds. A sample costs one addition under the number
// that its stack has in the tables of the worker; what the stacks are is looked up by whoever
// takes the lines. It is safe for concurrent use.
type lineSet struct {
	max, share int // stacks that wait, and those of one service
	lost       *atomic.Int64

	mu      sync.Mutex
	lines   map[lineKey]*Lines
	stacks  map[string]int // that wait, by service
	all     int
	symbols *profile.Symbols // of the worker
	view    *profile.Symbols // its snapshot
	retired []*Lines         // of tables that the worker has dropped
}

// lineKey is what Lines are of.
type lineKey struct {
	service string
	version continuous.Label
	typ     continuous.Type
	day     int64
}

// stackBytes is about what a stack in Lines takes, and ownStacks how many stacks Lines without one
// count for.
const (
	stackBytes = 40
	ownStacks  = 16
)

func newLineSet(o *Options, lost *atomic.Int64) *lineSet {
	stacks := o.MaxBytes / stackBytes / int64(o.Workers)
	return &lineSet{max: int(stacks), share: int(o.part(stacks)), lost: lost, lines: map[lineKey]*Lines{}, stacks: map[string]int{}}
}

// linedTable is a table of the push that has lines. Its rows are those of Worker.lineRows from
// one index to another, and their series those of sets.
type linedTable struct {
	sets     *sets
	typ      continuous.Type
	values   profile.ValueType
	start    time.Time
	length   time.Duration
	from, to int
}

// lineRow is a sample: its series, its stack and its value.
type lineRow struct {
	set   int32
	stack profile.StackID
	self  int64
}

// hasLines reports whether some of a table's first stacks have lines: those of texts have none.
func (w *Worker) hasLines(samples *profile.Samples) bool {
	const looked = 16
	for _, st := range samples.Stack[:min(len(samples.Stack), looked)] {
		for x := st; x != profile.NoStack; x = w.symbols.Parent(x) {
			if w.symbols.Frames[w.symbols.Leaf(x)].Line > 0 {
				return true
			}
		}
	}
	return false
}

// collect adds the lines of a push whose windows wait for their commit. What is acknowledged is
// the windows: the lines of a commit that fails, and of repeats, are counted with the others.
func (s *lineSet) collect(w *Worker) {
	if len(w.lined) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.symbols != w.symbols {
		s.retire()
		s.symbols = w.symbols
	}
	s.view = w.symbols.Snapshot()
	for i := range w.lined {
		t := &w.lined[i]
		of := make([]*Lines, len(t.sets.list))
		for _, r := range w.lineRows[t.from:t.to] {
			l := of[r.set]
			if l == nil {
				if l = s.linesOf(t, &t.sets.list[r.set]); l == nil {
					s.lost.Add(1)
					continue
				}
				of[r.set] = l
				l.Windows++
				l.Covered += t.length
			}
			s.add(l, r.stack, r.self)
		}
	}
}

// linesOf returns the lines that samples of a series belong to; nil: there is no room.
func (s *lineSet) linesOf(t *linedTable, series *continuous.Series) *Lines {
	day := continuous.DayOf(t.start)
	k := lineKey{service: series.Service, typ: t.typ, day: day.Unix()}
	version := series.Labels.Version()
	if version != nil {
		k.version = version[0]
	}
	l := s.lines[k]
	if l == nil && s.spend(k.service, ownStacks) {
		l = &Lines{Series: continuous.Series{Service: series.Service, Type: t.typ, Labels: version}, Day: day, Type: t.values,
			Values: map[profile.StackID]int64{}}
		s.lines[k] = l
	}
	return l
}

// add adds a sample. One of a further stack is lost if too many wait.
func (s *lineSet) add(l *Lines, st profile.StackID, self int64) {
	sum, known := l.Values[st]
	if sum > maxValue-self || !known && !s.spend(l.Series.Service, 1) {
		s.lost.Add(1)
		return
	}
	l.Values[st] = sum + self
}

// spend counts stacks of a service that will wait, and reports whether there is room.
func (s *lineSet) spend(service string, stacks int) bool {
	n := s.stacks[service] + stacks
	if s.all+stacks > s.max || n > s.share {
		return false
	}
	s.all += stacks
	s.stacks[service] = n
	return true
}

// retire sets the lines aside, because the worker has dropped the tables that they are of. Those
// that were set aside before and nobody took are lost: the tables take a lot of memory.
func (s *lineSet) retire() {
	for _, l := range s.retired {
		s.lost.Add(int64(len(l.Values)))
		s.forget(l)
	}
	s.retired = nil
	for k, l := range s.lines {
		l.Symbols = s.view
		s.retired = append(s.retired, l)
		delete(s.lines, k)
	}
}

func (s *lineSet) forget(l *Lines) {
	n := ownStacks + len(l.Values)
	s.all -= n
	if s.stacks[l.Series.Service] -= n; s.stacks[l.Series.Service] <= 0 {
		delete(s.stacks, l.Series.Service)
	}
}

// take returns the lines that are due, and those of dropped tables, and forgets them.
func (s *lineSet) take(due func(*Lines) bool) []*Lines {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.retired
	s.retired = nil
	for k, l := range s.lines {
		if due(l) {
			l.Symbols = s.view
			list = append(list, l)
			delete(s.lines, k)
		}
	}
	for _, l := range list {
		s.forget(l)
	}
	return list
}

// TakeLines returns the lines that are due, and others that cannot wait, each for one caller.
func (in *Intake) TakeLines(due func(*Lines) bool) (list []*Lines) {
	for _, s := range in.lines {
		list = append(list, s.take(due)...)
	}
	return list
}
