// Package shape measures folded profiles: how many lines, call nodes and
// distinct paths they have, how deep they are and how much of a run's paths
// earlier runs had already.
//
// A Meter takes the profiles of one benchmark in the order of their runs. Paths
// are compared twice, with the names as they are and with the names that a
// caller's function maps them to, because volatile names decide nearly
// everything: raw paths of recorded histories hardly recur.
//
// The package parses text in the plainest way there is and shares no code with
// the generator or the importers, so that it can judge both. It keeps every
// distinct path in a map: it is for suites of some hundred profiles.
package shape

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Meter accumulates the profiles of one benchmark. The zero value keeps names
// as they are.
type Meter struct {
	// Names maps a frame to the name under which it counts as normalised; nil
	// keeps it.
	Names func(frame string) string

	raw, norm forest
	mapped    map[string]string
	profiles  int
	bytes     int64
	lines     int64
	frames    int64
	maxDepth  int
	samples   int64
}

// Figures are the results of a Meter; see Row for their order.
type Figures struct {
	Profiles int
	Bytes    float64 // per profile
	Lines    float64 // per profile
	Samples  float64 // per profile
	Depth    float64 // mean frames of a line
	MaxDepth int
	Raw      Paths // with names as they are
	Norm     Paths // with names mapped
}

// Paths are the figures that depend on what names count as equal.
type Paths struct {
	Nodes            float64 // per profile, ancestors included
	Self             float64 // part of the nodes with samples of their own
	Functions        float64 // per profile
	Distinct         int     // paths of all profiles
	DistinctFuncs    int
	Second           float64 // part of the second profile's paths that the first had
	Sixth            float64 // part of the sixth's paths that the first five had
	Last             float64 // mean of the last five profiles against all before
	NodesPerDistinct float64 // logical nodes per distinct path
}

// forest is the union of the trees seen so far. A path is a chain of (parent
// path, function), numbered from 1; 0 is above the roots.
type forest struct {
	funcs map[string]uint32
	paths map[uint64]uint32
	// seenIn and selfIn hold the last profile that had the path (from 1).
	seenIn, selfIn []int
	funcIn         []int
	nodes, selfs   int64
	functions      int64
	recurred       []float64
	now, old       int64 // nodes of the current profile, and those of them seen before
}

// Add measures one more profile. The lines are folded stacks with a count
// behind the last space.
func (m *Meter) Add(text []byte) error {
	if m.mapped == nil {
		m.mapped = map[string]string{}
		m.raw.init()
		m.norm.init()
	}
	m.profiles++
	m.bytes += int64(len(text))
	m.raw.begin()
	m.norm.begin()
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\n")
		cut := bytes.LastIndexByte(line, ' ')
		if cut < 0 {
			return fmt.Errorf("shape: line without count: %.60q", line)
		}
		n, err := strconv.ParseInt(string(line[cut+1:]), 10, 64)
		if err != nil {
			return fmt.Errorf("shape: %w", err)
		}
		m.lines++
		m.samples += n
		depth := 0
		raw, norm := uint32(0), uint32(0)
		for frame := range strings.SplitSeq(string(line[:cut]), ";") {
			depth++
			mapped, ok := m.mapped[frame]
			if !ok {
				mapped = frame
				if m.Names != nil {
					mapped = m.Names(frame)
				}
				m.mapped[frame] = mapped
			}
			raw = m.raw.step(raw, frame, m.profiles)
			norm = m.norm.step(norm, mapped, m.profiles)
		}
		m.raw.selfAt(raw, m.profiles)
		m.norm.selfAt(norm, m.profiles)
		m.frames += int64(depth)
		m.maxDepth = max(m.maxDepth, depth)
	}
	m.raw.end()
	m.norm.end()
	return nil
}

func (f *forest) init() {
	f.funcs, f.paths = map[string]uint32{}, map[uint64]uint32{}
	f.seenIn, f.selfIn = make([]int, 1), make([]int, 1)
}

func (f *forest) begin() { f.now, f.old = 0, 0 }

func (f *forest) step(parent uint32, name string, profile int) uint32 {
	fn, ok := f.funcs[name]
	if !ok {
		fn = uint32(len(f.funcs))
		f.funcs[name] = fn
		f.funcIn = append(f.funcIn, 0)
	}
	if f.funcIn[fn] != profile {
		f.funcIn[fn] = profile
		f.functions++
	}
	key := uint64(parent)<<32 | uint64(fn)
	id, ok := f.paths[key]
	if !ok {
		id = uint32(len(f.seenIn))
		f.paths[key] = id
		f.seenIn = append(f.seenIn, 0)
		f.selfIn = append(f.selfIn, 0)
	}
	if f.seenIn[id] != profile {
		if f.seenIn[id] != 0 {
			f.old++
		}
		f.seenIn[id] = profile
		f.now++
		f.nodes++
	}
	return id
}

func (f *forest) selfAt(id uint32, profile int) {
	if f.selfIn[id] != profile {
		f.selfIn[id] = profile
		f.selfs++
	}
}

func (f *forest) end() {
	f.recurred = append(f.recurred, float64(f.old)/float64(max(f.now, 1)))
}

func (f *forest) figures(profiles int) Paths {
	n := float64(profiles)
	p := Paths{
		Nodes:            float64(f.nodes) / n,
		Self:             float64(f.selfs) / float64(max(f.nodes, 1)),
		Functions:        float64(f.functions) / n,
		Distinct:         len(f.paths),
		DistinctFuncs:    len(f.funcs),
		NodesPerDistinct: float64(f.nodes) / float64(max(len(f.paths), 1)),
	}
	if profiles > 1 {
		p.Second = f.recurred[1]
		last := f.recurred[max(1, profiles-5):]
		for _, x := range last {
			p.Last += x / float64(len(last))
		}
	}
	if profiles > 5 {
		p.Sixth = f.recurred[5]
	}
	return p
}

// Figures returns the measurements so far.
func (m *Meter) Figures() Figures {
	n := float64(max(m.profiles, 1))
	return Figures{
		Profiles: m.profiles,
		Bytes:    float64(m.bytes) / n,
		Lines:    float64(m.lines) / n,
		Samples:  float64(m.samples) / n,
		Depth:    float64(m.frames) / float64(max(m.lines, 1)),
		MaxDepth: m.maxDepth,
		Raw:      m.raw.figures(m.profiles),
		Norm:     m.norm.figures(m.profiles),
	}
}

// Header is the first line of a table of figures, Row one of its lines.
const Header = "| history | n | text kB | lines | samples | depth mean/max | nodes norm (raw) | self>0 | seen in 1 | in 5 | last | nodes per path | distinct paths | functions per profile | distinct functions |\n" +
	"|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"

// Row formats the figures as a line of a Markdown table.
func (f Figures) Row(name string) string {
	two := func(format string, a, b any) string { return fmt.Sprintf(format+" ("+format+")", a, b) }
	n, r := f.Norm, f.Raw
	return fmt.Sprintf("| %s | %d | %.0f | %.0f | %.0f | %.1f / %d | %s | %.2f | %s | %s | %s | %s | %s | %s | %s |",
		name, f.Profiles, f.Bytes/1e3, f.Lines, f.Samples, f.Depth, f.MaxDepth,
		two("%.0f", n.Nodes, r.Nodes), n.Self, two("%.2f", n.Second, r.Second), two("%.2f", n.Sixth, r.Sixth),
		two("%.2f", n.Last, r.Last), two("%.1f", n.NodesPerDistinct, r.NodesPerDistinct),
		two("%d", n.Distinct, r.Distinct), two("%.0f", n.Functions, r.Functions), two("%d", n.DistinctFuncs, r.DistinctFuncs))
}
