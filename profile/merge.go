package profile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/internal/column"
)

// Merger adds up profiles over one Symbols: samples of equal stack, thread and
// labels become one. Times, states and addresses are dropped; value types,
// threads, labels and frames are kept. The result does not depend on the order
// of the profiles.
type Merger struct {
	symbols *Symbols
	types   map[string]bool // names to keep; nil: all
	tables  []*mergeTable
	facts   *Interner // of out
	out     *Profile
	byName  string // name of the default type: the first profile's
}

type mergeTable struct {
	typ ValueType
	sum map[sampleKey]int64
	abs uint64 // of all values added: a bound of every sum
}

type sampleKey struct {
	stack  StackID
	thread ThreadID
	labels LabelsID
}

// NewMerger returns a merger of profiles over s that keeps the value types of
// the given names, or all of them.
func NewMerger(s *Symbols, types []string) *Merger {
	out := New(s)
	m := &Merger{symbols: s, facts: NewInterner(out), out: out}
	for _, t := range types {
		if m.types == nil {
			m.types = map[string]bool{}
		}
		m.types[t] = true
	}
	return m
}

// Add adds a profile. It fails when the profile has none of the types to keep,
// or when a sum could leave the int64 range; nothing is added then.
func (m *Merger) Add(p *Profile) error {
	if p.Symbols != m.symbols {
		return fmt.Errorf("profiles to merge must share their symbols")
	}
	var have []string
	var take []int
	abs := map[string]uint64{} // of each type; a profile may have a type twice
	for i := range p.Tables {
		t := &p.Tables[i]
		have = append(have, t.Type.Name)
		if m.types == nil || m.types[t.Type.Name] {
			take = append(take, i)
			key := t.Type.AddKey()
			if old := m.find(key); old != nil && abs[key] == 0 {
				abs[key] = old.abs
			}
			if abs[key] += absTotal(t.Value); abs[key] > math.MaxInt64 {
				return Malformed("the sum of %s exceeds 63 bits", t.Type.Name)
			}
		}
	}
	if len(take) == 0 {
		return fmt.Errorf("value types %q include none of the selected ones", have)
	}
	threads, labels := make([]ThreadID, len(p.Threads)), make([]LabelsID, len(p.LabelSets))
	for i, t := range p.Threads {
		threads[i] = m.facts.Thread(t)
	}
	for i, set := range p.LabelSets {
		labels[i] = m.facts.Labels(set)
	}
	for _, i := range take {
		t := &p.Tables[i]
		to := m.table(t.Type)
		to.abs += absTotal(t.Value)
		for n, st := range t.Stack {
			k := sampleKey{stack: st}
			if t.Thread != nil {
				k.thread = threads[t.Thread[n]]
			}
			if t.Labels != nil {
				k.labels = labels[t.Labels[n]]
			}
			to.sum[k] += t.Value[n]
		}
	}
	m.describe(p)
	return nil
}

// describe takes over what the profiles say of themselves: the earliest start,
// the sum of the durations, what all agree on.
func (m *Merger) describe(p *Profile) {
	o := m.out
	if m.byName == "" && len(p.Tables) > 0 {
		m.byName = p.Tables[p.Default].Type.Name
	}
	if o.Format == "" {
		o.Format, o.Profiler, o.ProfilerVersion, o.DropFrames, o.KeepFrames = p.Format, p.Profiler, p.ProfilerVersion, p.DropFrames, p.KeepFrames
	}
	if o.Start.IsZero() || !p.Start.IsZero() && p.Start.Before(o.Start) {
		o.Start = p.Start
	}
	o.Duration += p.Duration
	for _, c := range p.Comments {
		if !slices.Contains(o.Comments, c) {
			o.Comments = append(o.Comments, c)
		}
	}
}

func (m *Merger) find(key string) *mergeTable {
	for _, have := range m.tables {
		if have.typ.AddKey() == key {
			return have
		}
	}
	return nil
}

func (m *Merger) table(t ValueType) *mergeTable {
	if have := m.find(t.AddKey()); have != nil {
		have.typ = have.typ.Plus(t)
		return have
	}
	m.tables = append(m.tables, &mergeTable{typ: t, sum: map[sampleKey]int64{}})
	return m.tables[len(m.tables)-1]
}

// Profile returns the sum. Samples that cancelled are left out. The default
// type is the first profile's, if it is kept. Tables of one name whose values do not add
// are left out with a warning that says why; it is an error if none is left.
func (m *Merger) Profile() (*Profile, error) {
	p := m.out
	names := map[string][]string{} // keys of the types of a name
	for _, t := range m.tables {
		names[t.typ.Name] = append(names[t.typ.Name], t.typ.Key())
	}
	var reasons []string
	for _, t := range m.tables {
		if keys := names[t.typ.Name]; len(keys) > 1 {
			if keys[0] == t.typ.Key() {
				reasons = append(reasons, fmt.Sprintf("%s do not add: unit, scale or period differ", strings.Join(keys, " and ")))
			}
			continue
		}
		if t.typ.Name == m.byName {
			p.Default = len(p.Tables)
		}
		p.Tables = append(p.Tables, t.samples())
	}
	if len(p.Tables) == 0 && reasons != nil {
		return nil, errors.New(strings.Join(reasons, ", "))
	}
	for _, why := range reasons {
		p.Warnf("%s; they are left out", why)
	}
	return p, p.Check()
}

// samples lists the sums in the order of stacks, threads, labels.
func (t *mergeTable) samples() Samples {
	keys := make([]sampleKey, 0, len(t.sum))
	threads, labels := false, false
	for k, v := range t.sum {
		if v != 0 {
			keys = append(keys, k)
			threads, labels = threads || k.thread != 0, labels || k.labels != 0
		}
	}
	slices.SortFunc(keys, func(a, b sampleKey) int {
		return cmp.Or(cmp.Compare(a.stack, b.stack), cmp.Compare(a.thread, b.thread), cmp.Compare(a.labels, b.labels))
	})
	s := Samples{Type: t.typ}
	for _, k := range keys {
		s.Add(k.stack, t.sum[k])
		if threads {
			s.Thread = append(s.Thread, k.thread)
		}
		if labels {
			s.Labels = append(s.Labels, k.labels)
		}
	}
	return s
}

func absTotal(values []int64) uint64 {
	var sum uint64
	for _, v := range values {
		if v < 0 {
			v = -v
		}
		sum += uint64(v)
	}
	return sum
}

// Rename returns the profile over new Symbols in which every function is what
// rename makes of it: the profile itself if that changes none. Samples are not united.
func (p *Profile) Rename(rename func(Function) Function) *Profile {
	from, to := p.Symbols, NewSymbols()
	names := column.Of(from.Functions, rename)
	if slices.Equal(names, from.Functions) {
		return p
	}
	functions := column.Of(names, to.Function)
	modules := column.Of(from.Modules, to.Module)
	for _, c := range from.Categories[1:] {
		to.Category(c) // in the same order: ids stay
	}
	maps.Copy(to.Scripts, from.Scripts)
	to.Resources = slices.Clone(from.Resources)
	frames := make([]FrameID, len(from.Frames))
	for i, f := range from.Frames {
		f.Function, f.Module = functions[f.Function], modules[f.Module]
		frames[i] = to.Frame(f)
	}
	stacks := make([]StackID, from.Stacks.Len())
	for i := range stacks {
		parent := from.Parent(StackID(i))
		if parent != NoStack {
			parent = stacks[parent]
		}
		stacks[i] = to.Stack(parent, frames[from.Leaf(StackID(i))])
	}
	renamed := *p
	renamed.Symbols = to
	renamed.Tables = slices.Clone(p.Tables)
	for t := range renamed.Tables {
		column := slices.Clone(renamed.Tables[t].Stack)
		for i, st := range column {
			if st != NoStack {
				column[i] = stacks[st]
			}
		}
		renamed.Tables[t].Stack = column
	}
	return &renamed
}
