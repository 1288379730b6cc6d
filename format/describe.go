package format

import (
	"cmp"
	"slices"
	"time"

	"github.com/dendroprof/dendro/profile"
)

// Description is what a profile holds, in numbers.
type Description struct {
	Types     []TypeDescription
	Functions int // in use
	Stacks    int // in use, each counted once
	Depth     int // frames of the deepest stack
	Threads   int
	Markers   int
	Start     time.Time     // zero when unknown
	Duration  time.Duration // as recorded, or from the first sample to the last
	States    []string
	Labels    []LabelDescription // of the default sample table, by key
}

// LabelDescription is what a sample table holds of one label.
type LabelDescription struct {
	Key    string
	Values []LabelValue // the largest first; a sample with several counts for each
	None   int64        // the total of samples without the label
	More   int          // values beyond mostLabelValues
}

// LabelValue is the total of the samples with one value of a label.
type LabelValue struct {
	Value string
	Total int64 // in the unit of the type times 10^Scale
}

// TypeDescription is what a sample table holds.
type TypeDescription struct {
	Type    profile.ValueType
	Default bool
	Samples int
	NoStack int   // samples without a stack
	Total   int64 // in the type's unit times 10^Scale
}

// Describe counts what is in a profile. It takes time in proportion to the
// samples and to the Symbols.
func Describe(p *profile.Profile) Description {
	d := Description{Threads: len(p.Threads) - 1, Markers: len(p.Markers), Start: p.Start, Duration: p.Duration, States: p.States[1:]}
	used := make([]bool, p.Symbols.Stacks.Len())
	leaves := make([]bool, len(used))
	first, last, timed := int64(0), int64(0), false
	for i := range p.Tables {
		t := &p.Tables[i]
		td := TypeDescription{Type: t.Type, Default: i == p.Default, Samples: int(t.Count()), Total: t.Total()}
		for _, st := range t.Stack {
			if st == profile.NoStack {
				td.NoStack++
				continue
			}
			leaves[st] = true
			for ; st != profile.NoStack && !used[st]; st = p.Symbols.Parent(st) {
				used[st] = true
			}
		}
		for _, at := range t.Time {
			if !timed {
				first, last, timed = at, at, true
			}
			first, last = min(first, at), max(last, at)
		}
		d.Types = append(d.Types, td)
	}
	if d.Duration == 0 {
		d.Duration = time.Duration(last - first)
	}
	d.countStacks(p.Symbols, used, leaves)
	if len(p.Tables) > 0 {
		d.Labels = DescribeLabels(p, p.Default)
	}
	return d
}

// mostLabelKeys and mostLabelValues bound what is listed; profilers have a handful of keys.
const (
	mostLabelKeys   = 100
	mostLabelValues = 20
)

// DescribeLabels adds up a sample table of a profile by the values of each label.
func DescribeLabels(p *profile.Profile, table int) []LabelDescription {
	if len(p.LabelSets) == 1 {
		return nil
	}
	totals, sum := make([]int64, len(p.LabelSets)), int64(0)
	t := &p.Tables[table]
	for row, st := range t.Stack {
		if st != profile.NoStack {
			sum += t.Value[row]
			totals[t.Tags(row).Labels] += t.Value[row]
		}
	}
	type amount struct {
		total int64
		set   int // the last one that was added
	}
	add := func(to *amount, set int) {
		if to.set <= set { // a set counts once
			to.total, to.set = to.total+totals[set], set+1
		}
	}
	type key struct {
		amount
		values map[string]amount
	}
	byKey := map[string]*key{}
	for i, set := range p.LabelSets {
		for j := range set {
			of := byKey[set[j].Key]
			if of == nil {
				if len(byKey) == mostLabelKeys {
					continue
				}
				of = &key{values: map[string]amount{}}
				byKey[set[j].Key] = of
			}
			add(&of.amount, i)
			text := set[j].Value()
			value := of.values[text]
			add(&value, i)
			of.values[text] = value
		}
	}
	list := make([]LabelDescription, 0, len(byKey))
	for name, of := range byKey {
		d := LabelDescription{Key: name, None: sum - of.total}
		for text, value := range of.values {
			d.Values = append(d.Values, LabelValue{text, value.total})
		}
		slices.SortFunc(d.Values, func(a, b LabelValue) int { return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Value, b.Value)) })
		d.More = max(0, len(d.Values)-mostLabelValues)
		d.Values = d.Values[:len(d.Values)-d.More]
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b LabelDescription) int { return cmp.Compare(a.Key, b.Key) })
	return list
}

func (d *Description) countStacks(s *profile.Symbols, used, leaves []bool) {
	depth := make([]int32, len(used))
	functions := make([]bool, len(s.Functions))
	for st := range used {
		if !used[st] {
			continue
		}
		depth[st] = 1
		if parent := s.Parent(profile.StackID(st)); parent != profile.NoStack {
			depth[st] += depth[parent]
		}
		d.Depth = max(d.Depth, int(depth[st]))
		if leaves[st] {
			d.Stacks++
		}
		if fn := s.Frames[s.Leaf(profile.StackID(st))].Function; !functions[fn] {
			functions[fn] = true
			d.Functions++
		}
	}
}
