// Package lines keeps the lines of what services push: one profile per service, type, version and
// day, beside the windows, whose vectors have functions only.
//
//	intake.Lines of the workers ─▶ sum with the stored profile ─▶ bounded ─▶ pprof ─▶ continuous.LineStore
//
// Lines are no part of what a push is acknowledged for: they are stored on a clock, so that a
// push does not wait for them, and those of the last hour are lost if the process is killed.
package lines

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/format/pprof"
	"github.com/dendroprof/dendro/profile"
)

// Limits of one profile. The stacks with the smallest values are together in the function
// continuous.Other.
const (
	maxStacks = 10_000  // with values of their own
	maxFrames = 200_000 // of all stacks, where common callers count once
	maxText   = 2 << 20 // bytes of names and places of functions
)

// sum adds up samples by their stacks, of names as they were pushed.
type sum struct {
	room    int // how many times the limits
	symbols *profile.Symbols
	values  map[profile.StackID]int64
	text    int
}

func newSum(room int) *sum {
	return &sum{room: room, symbols: profile.NewSymbols(), values: map[profile.StackID]int64{}}
}

// add adds values of stacks, the largest first; those without room become Other.
func (s *sum) add(from *profile.Symbols, values map[profile.StackID]int64) error {
	in := &copying{sum: s, from: from, frames: map[profile.FrameID]profile.FrameID{}}
	for _, st := range slices.SortedFunc(maps.Keys(values), func(a, b profile.StackID) int {
		if values[a] != values[b] {
			return int(min(max(values[b]-values[a], -1), 1))
		}
		return int(a - b)
	}) {
		to := in.stack(st)
		if s.values[to] > 1<<63-1-values[st] {
			return fmt.Errorf("the values of a stack add up to more than 63 bits")
		}
		s.values[to] += values[st]
	}
	return nil
}

// copying copies stacks of other tables.
type copying struct {
	*sum
	from   *profile.Symbols
	frames map[profile.FrameID]profile.FrameID
	path   []profile.FrameID
}

func (c *copying) stack(st profile.StackID) profile.StackID {
	c.path = c.from.Path(st, c.path[:0])
	if len(c.values) < c.room*maxStacks && c.symbols.Stacks.Len()+len(c.path) <= c.room*maxFrames && c.names() {
		to := profile.NoStack
		for _, frame := range c.path {
			to = c.symbols.Stack(to, c.frames[frame])
		}
		return to
	}
	other := c.symbols.Function(profile.Function{Name: continuous.Other, Kind: profile.KindLabel})
	return c.symbols.Stack(profile.NoStack, c.symbols.Frame(profile.Frame{Function: other}))
}

// names copies the frames of a path, unless there is no room for the names of their functions.
// Of frames it keeps the line and what is inlined: with addresses, which nobody asks for, every
// line would be there several times.
func (c *copying) names() bool {
	for _, id := range c.path {
		if _, known := c.frames[id]; known {
			continue
		}
		frame := &c.from.Frames[id]
		f := &c.from.Functions[frame.Function]
		n := len(f.Name) + len(f.SystemName) + len(f.Module) + len(f.File) + len(f.Language)
		before := len(c.symbols.Functions)
		if c.text+n > c.room*maxText {
			return false
		}
		own := c.symbols.Function(profile.Function{Name: f.Name, SystemName: f.SystemName, Module: f.Module, File: f.File,
			StartLine: f.StartLine, Language: f.Language})
		if len(c.symbols.Functions) > before {
			c.text += n
		}
		c.frames[id] = c.symbols.Frame(profile.Frame{Function: own, Line: frame.Line, InlineDepth: frame.InlineDepth})
	}
	return true
}

// bounded returns the sum, or if it exceeds the limits, one without its smallest stacks.
func (s *sum) bounded() (*sum, error) {
	if len(s.values) <= maxStacks && s.symbols.Stacks.Len() <= maxFrames && s.text <= maxText {
		return s, nil
	}
	small := newSum(1)
	return small, small.add(s.symbols, s.values)
}

// merge returns what is stored with what is new; nil: nothing is stored.
func merge(stored *continuous.Lines, list []*intake.Lines) (*continuous.Lines, error) {
	first := list[0]
	all := newSum(2)
	out := &continuous.Lines{Series: first.Series, Day: first.Day}
	if stored != nil {
		p, err := decode(stored.Profile)
		if err != nil {
			return nil, err
		}
		values := map[profile.StackID]int64{}
		for i, st := range p.Tables[0].Stack {
			values[st] += p.Tables[0].Value[i]
		}
		if err := all.add(p.Symbols, values); err != nil {
			return nil, err
		}
		out.Windows, out.Covered = stored.Windows, stored.Covered
	}
	for _, l := range list {
		if err := all.add(l.Symbols, l.Values); err != nil {
			return nil, err
		}
		out.Windows, out.Covered = out.Windows+l.Windows, out.Covered+l.Covered
	}
	all, err := all.bounded()
	if err != nil {
		return nil, err
	}
	p := profile.New(all.symbols)
	p.Start, p.Duration = out.Day, out.Covered
	p.PeriodType, p.PeriodUnit = first.Series.Type.PeriodType, first.Series.Type.PeriodUnit
	table := profile.Samples{Type: first.Type}
	for _, st := range slices.Sorted(maps.Keys(all.values)) {
		table.Add(st, all.values[st])
	}
	p.Tables = append(p.Tables, table)
	if err := p.Check(); err != nil {
		return nil, err
	}
	out.Profile, err = pprof.Pack(p, 0)
	return out, err
}

// decode reads a stored profile.
func decode(data []byte) (*profile.Profile, error) {
	p, err := pprof.Unpack(data, profile.NewSymbols())
	if err == nil && len(p.Tables) != 1 {
		err = fmt.Errorf("%d value types in place of one", len(p.Tables))
	}
	return p, err
}
