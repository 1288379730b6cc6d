package format

import (
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
	LabelKeys []string // sorted
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
	for _, set := range p.LabelSets {
		for _, l := range set {
			if !slices.Contains(d.LabelKeys, l.Key) && len(d.LabelKeys) < mostLabelKeys {
				d.LabelKeys = append(d.LabelKeys, l.Key)
			}
		}
	}
	slices.Sort(d.LabelKeys)
	return d
}

// mostLabelKeys bounds the keys that are listed; profilers have a handful.
const mostLabelKeys = 100

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
