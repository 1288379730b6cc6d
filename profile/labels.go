package profile

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/internal/column"
)

// Value returns the value of a label as text: a number with its unit.
func (l *Label) Value() string {
	switch {
	case l.Text != "":
		return l.Text
	case l.Unit == "":
		return strconv.FormatInt(l.Num, 10)
	}
	return strconv.FormatInt(l.Num, 10) + " " + l.Unit
}

// NoLabel is the value of a label in the frames of ByLabels for samples without it.
const NoLabel = "(none)"

// ByLabels returns a profile of the samples whose labels keep returns true for; nil keeps
// all. The stacks get a frame KEY=VALUE of KindLabel for each key of root, the first
// outermost, and for each key of leaf, the last innermost. Samples without a stack get none.
// Frames and stacks are added to the symbols of p.
func (p *Profile) ByLabels(keep func(set []Label) bool, root, leaf []string) *Profile {
	out := *p
	out.Tables = make([]Samples, len(p.Tables))
	kept := column.Of(p.LabelSets, func(set []Label) bool { return keep == nil || keep(set) })
	g := grouping{symbols: p.Symbols, sets: p.LabelSets, root: root, leaf: leaf, stacks: map[grouped]StackID{}}
	for i := range p.Tables {
		from, to := &p.Tables[i], &out.Tables[i]
		to.Type, to.Intervals, to.Summed = from.Type, from.Intervals, from.Summed
		for row, st := range from.Stack {
			tags := from.Tags(row)
			if !kept[tags.Labels] {
				continue
			}
			if st != NoStack && len(root)+len(leaf) > 0 {
				st = g.stack(st, tags.Labels)
			}
			at := int64(0)
			if from.Time != nil {
				at = from.Time[row]
			}
			to.Append(st, from.Value[row], at, tags)
			if from.Address != nil {
				to.Address = append(to.Address, from.Address[row])
			}
		}
		if from.Time != nil && to.Time == nil {
			to.Time = make([]int64, to.Len())
		}
	}
	return &out
}

// grouping adds the frames of labels to stacks.
type grouping struct {
	symbols    *Symbols
	sets       [][]Label
	root, leaf []string
	stacks     map[grouped]StackID // made so far
}

// grouped is a stack of a profile under the frames of a label set.
type grouped struct {
	stack  StackID
	labels LabelsID
}

// stack returns the stack with the frames of a label set around it.
func (g *grouping) stack(st StackID, set LabelsID) StackID {
	out := g.below(st, set)
	return g.frames(out, set, g.leaf)
}

// below returns the stack below the frames of the root. Nothing recurses.
func (g *grouping) below(st StackID, set LabelsID) StackID {
	var path []StackID
	at := st
	out, ok := StackID(0), false
	for at != NoStack {
		if out, ok = g.stacks[grouped{at, set}]; ok {
			break
		}
		path = append(path, at)
		at = g.symbols.Parent(at)
	}
	if !ok {
		out = g.frames(NoStack, set, g.root)
	}
	for _, s := range slices.Backward(path) {
		out = g.symbols.Stack(out, g.symbols.Leaf(s))
		g.stacks[grouped{s, set}] = out
	}
	return out
}

func (g *grouping) frames(st StackID, set LabelsID, keys []string) StackID {
	for _, key := range keys {
		fn := Function{Name: key + "=" + labelValues(g.sets[set], key), Kind: KindLabel}
		st = g.symbols.Stack(st, g.symbols.Frame(Frame{Function: g.symbols.Function(fn)}))
	}
	return st
}

// labelValues returns the values of a key in a label set, joined, or NoLabel.
func labelValues(set []Label, key string) string {
	var values []string
	for i := range set {
		if set[i].Key == key {
			values = append(values, set[i].Value())
		}
	}
	if len(values) == 0 {
		return NoLabel
	}
	return strings.Join(values, ",")
}
