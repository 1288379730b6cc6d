// Package xhprof reads what the PHP profilers XHProf and Tideways return
// (xhprof_disable, tideways_xhprof_disable), as JSON and as PHP serialises it: for each
// pair of caller and callee the number of calls and the wall time, processor time and
// memory of all of them, callees included.
//
//	"run==>fib": {"ct": 3, "wt": 2408, "cpu": 2380, "mu": 2592, "pmu": 0}
//
// The self value of a function is that of the calls to it less that of its own calls.
// Paths are estimated by package callgraph. docs/format/scripting.md lists what it does not
// keep.
package xhprof

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/format/internal/callgraph"
	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "xhprof"

// NewDecoder returns a decoder.
func NewDecoder() profile.Decoder {
	return stacktext.Either('a', stacktext.NewDecoder(Name, readPHP), jsonscan.NewDecoder(Name, readJSON))
}

// Sniff reports whether content that begins with prefix is of this format.
func Sniff(prefix []byte) bool {
	if bytes.HasPrefix(prefix, []byte("a:")) {
		return bytes.Contains(prefix, []byte(`s:2:"wt";`)) &&
			(bytes.Contains(prefix, []byte("==>")) || bytes.Contains(prefix, []byte(`"main()"`)))
	}
	for path := range jsonscan.NewOutline(prefix) {
		if pair, ok := strings.CutSuffix(path, ".wt"); ok && (strings.Contains(pair, "==>") || pair == "main()") {
			return true
		}
	}
	return false
}

// The values of a pair, in the order of events, microseconds in front of bytes.
const (
	wall = iota
	cpu
	memory
	events
)

// file is one file.
type file struct {
	p      *profile.Profile
	limits profile.Limits
	graph  *callgraph.Graph
	selfs  [][events]int64 // by function: of calls to it less of its calls
	has    [events]bool
	err    error
}

func newFile(p *profile.Profile, l profile.Limits) *file {
	p.Profiler = Name
	return &file{p: p, limits: l, graph: callgraph.New(p.Symbols)}
}

func readJSON(s *jsonscan.Scanner, p *profile.Profile, l profile.Limits) error {
	f := newFile(p, l)
	for key := range s.Object() {
		pair := string(key)
		var values [events]int64
		for key := range s.Object() {
			if i, factor := f.event(string(key)); i >= 0 {
				values[i] = s.Fixed(factor)
			}
		}
		if f.pair(pair, values); f.err != nil {
			s.Errorf("%v", f.err)
		}
	}
	if err := s.End(); err != nil {
		return err
	}
	return f.fill()
}

// event returns the event of a key and the decimals that its values get; -1 for others.
// Microseconds become nanoseconds.
func (f *file) event(key string) (event, decimals int) {
	switch key {
	case "wt":
		event, decimals = wall, 3
	case "cpu":
		event, decimals = cpu, 3
	case "mu":
		event = memory
	default:
		return -1, 0
	}
	f.has[event] = true
	return event, decimals
}

// pair adds a pair of caller and callee, or an outermost function.
func (f *file) pair(name string, values [events]int64) {
	caller, callee, ok := strings.Cut(name, "==>")
	if !ok {
		caller, callee = "", name
	}
	for i, v := range values {
		if i != memory && v < 0 {
			values[i] = 0 // clocks of different processors
		}
	}
	to := f.node(callee)
	f.add(to, values, 1)
	if ok {
		from := f.node(caller)
		f.add(from, values, -1)
		if !f.graph.AddCall(from, to, values[:]...) {
			f.tooMuch()
		}
	}
}

func (f *file) add(n int32, values [events]int64, sign int64) {
	for i, v := range values {
		sum := &f.selfs[n][i]
		if *sum > 1<<61 || *sum < -1<<61 || v > 1<<61 || v < -1<<61 {
			f.tooMuch()
			return
		}
		*sum += sign * v
	}
}

func (f *file) tooMuch() { f.err = fmt.Errorf("the values add up to more than 62 bits") }

// node returns a function. fib@3 is the call of fib that is nested in three others.
func (f *file) node(name string) int32 {
	level := int64(0)
	if i := strings.LastIndexByte(name, '@'); i > 0 {
		if n, err := strconv.ParseInt(name[i+1:], 10, 32); err == nil && n > 0 {
			name, level = name[:i], n
		}
	}
	name = cmp.Or(name, profile.NoName)
	fn := f.p.Symbols.Function(profile.Function{Name: name, Kind: profile.KindPHP})
	n := f.graph.Node(profile.Frame{Function: fn}, int32(level))
	for int(n) >= len(f.selfs) {
		f.selfs = append(f.selfs, [events]int64{})
	}
	return n
}

// fill makes the sample tables.
func (f *file) fill() error {
	if f.err == nil && !f.has[wall] {
		f.err = fmt.Errorf("no wall times (wt)")
	}
	less := int64(0)
	for n := range f.selfs {
		values := &f.selfs[n]
		for i := range values {
			if i != memory && values[i] < 0 {
				less -= values[i]
				values[i] = 0
			}
		}
		if !f.graph.AddSelf(int32(n), 0, values[:]...) {
			f.tooMuch()
		}
	}
	if f.err != nil {
		return &profile.ParseError{Offset: -1, Err: profile.Malformed("%w", f.err)}
	}
	for event, t := range []profile.ValueType{
		profile.NamedType(profile.Wall), profile.NamedType(profile.CPU), {Name: "memory", Unit: "bytes", Original: "mu"},
	} {
		if !f.has[event] {
			continue
		}
		samples := profile.Samples{Type: t}
		by := event
		if event == memory {
			by = wall // memory may be negative: freed
		}
		f.graph.Samples(&samples, event, by, f.limits.Depth)
		f.p.Tables = append(f.p.Tables, samples)
	}
	callgraph.Warn(f.p, f.graph.Pairs())
	if less > math.MaxInt32 {
		f.p.Warnf("functions have %d ms less than their calls", less/1e6)
	}
	return nil
}
