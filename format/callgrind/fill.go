package callgrind

import (
	"math"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// fill makes a sample table of each event.
func (f *file) fill(l profile.Limits) error {
	calls := 0
	threads := make([]profile.ThreadID, len(f.graphs))
	for i, g := range f.graphs {
		calls += len(g.edges)
		if g.thread != "" {
			threads[i] = profile.ThreadID(len(f.p.Threads))
			f.p.Threads = append(f.p.Threads, profile.Thread{ID: g.thread})
		}
	}
	for event, name := range f.events {
		t := profile.Samples{}
		var factor int64
		t.Type, factor = valueType(name)
		sum := uint64(0)
		for i, g := range f.graphs {
			from := t.Len()
			f.samples(&t, g, event, l.Depth)
			for n := from; n < t.Len(); n++ {
				if uint64(t.Value[n]) > uint64(math.MaxInt64/factor) {
					return f.malformed("the costs of %s exceed 63 bits", name)
				}
				t.Value[n] *= factor
				if sum += uint64(t.Value[n]); sum > math.MaxInt64 {
					return f.malformed("the costs of %s add up to more than 63 bits", name)
				}
				if len(f.p.Threads) > 1 {
					t.Thread = append(t.Thread, threads[i])
				}
			}
		}
		f.p.Tables = append(f.p.Tables, t)
	}
	if calls > 0 {
		f.p.Warnf("the file is a call graph: own costs of functions are exact, call paths are estimated from %d pairs of caller and callee", calls)
	}
	return nil
}

// samples spreads the own costs of the functions of a graph over their contexts.
// What rounding leaves goes to the last one, so that they add up.
func (f *file) samples(t *profile.Samples, g *graph, event, maxDepth int) {
	list := g.contexts(event, maxDepth)
	s := f.p.Symbols
	stacks := make([]profile.StackID, len(list)) // of the callers of each context
	of := make([][]int32, len(g.nodes))          // contexts of each function
	sums := make([]float64, len(g.nodes))        // of their shares
	fns := make([]profile.Frame, len(g.nodes))
	for i := range g.nodes {
		fns[i] = f.frame(&g.nodes[i].nodeKey)
	}
	for i, c := range list {
		stacks[i] = profile.NoStack
		if c.parent != none {
			stacks[i] = s.Stack(stacks[c.parent], s.Frame(fns[list[c.parent].node]))
		}
		of[c.node] = append(of[c.node], int32(i))
		sums[c.node] += c.share
	}
	for i := range g.nodes {
		for _, own := range g.ownCosts(int32(i), event, len(of[i])) {
			fr := fns[i]
			fr.Line = own.line
			leaf := s.Frame(fr)
			given, share := int64(0), 0.0
			for n, c := range of[i] {
				share += list[c].share
				v := min(int64(math.Round(float64(own.cost)*(share/sums[i]))), own.cost) - given
				if n == len(of[i])-1 {
					v = own.cost - given
				}
				if v > 0 {
					given += v
					t.Add(s.Stack(stacks[c], leaf), v)
				}
			}
			if given < own.cost {
				t.Add(s.Stack(profile.NoStack, leaf), own.cost-given) // in no context
			}
		}
	}
}

// ownCost is what a function costs in a line; line 0 is not known.
type ownCost struct {
	line int32
	cost int64
}

// mostRows bounds the samples of one function. Where its lines, each in each
// context, would be more, it has no lines.
const mostRows = 1 << 14

// ownCosts returns the own costs of a function that has a number of contexts.
func (g *graph) ownCosts(n int32, event, contexts int) []ownCost {
	var list []ownCost
	sum := int64(0)
	for _, self := range g.nodes[n].selfs {
		if costs := g.rows[self.row]; event < len(costs) && costs[event] > 0 {
			list = append(list, ownCost{self.line, costs[event]})
			if sum += costs[event]; sum < 0 {
				return []ownCost{{0, math.MaxInt64}, {0, math.MaxInt64}} // too large; fill finds that
			}
		}
	}
	if len(list)*contexts <= mostRows {
		return list
	}
	return []ownCost{{0, sum}}
}

// unknown is what callgrind calls files and functions that it cannot name.
const unknown = "???"

// frame returns the frame of a function without a line.
func (f *file) frame(k *nodeKey) profile.Frame {
	fn := profile.Function{Name: k.name, File: k.file, Kind: profile.KindNative}
	if fn.Name == "" || fn.Name == unknown {
		fn.Name = "[unknown]"
	}
	if fn.File == unknown {
		fn.File = ""
	}
	switch {
	case f.p.Profiler == "xdebug":
		fn.Kind = profile.KindPHP
	case strings.Contains(fn.Name, "::"):
		fn.Kind = profile.KindCPP
	}
	var fr profile.Frame
	if k.object != unknown {
		fn.Module = k.object[strings.LastIndexByte(k.object, '/')+1:]
		if strings.Contains(k.object, "/") {
			fr.Module = f.p.Symbols.Module(profile.Module{Path: k.object})
		}
	}
	fr.Function = f.p.Symbols.Function(fn)
	return fr
}

// valueType returns the type of an event and what its counts are multiplied by.
// An event is its name and counts, but `cpu_(nanoseconds)` says its unit and
// Xdebug's times are converted.
func valueType(event string) (profile.ValueType, int64) {
	name, unit, ok := strings.Cut(event, "_(")
	unit = strings.TrimSuffix(unit, ")")
	if !ok || name == "" || unit == "" {
		name, unit = event, "count"
	}
	factor := int64(1)
	switch unit {
	case "10ns":
		unit, factor = "nanoseconds", 10
	case "ns":
		unit = "nanoseconds"
	case "µs", "us":
		unit = "microseconds"
	}
	if name == "Time" && unit != "count" {
		name = profile.Wall
	}
	return profile.ValueType{Name: name, Unit: unit, Original: event}, factor
}
