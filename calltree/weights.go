package calltree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree/internal/ranges"
	"github.com/dendroprof/dendro/profile"
)

// Weights selects the value of a sample in a view.
type Weights uint8

// The weights. The four for allocations need a table with an allocation or, as a
// negative value, a release of memory per sample; DeallocatedMemory and Retained also
// need addresses. Ranges apply first: a release matches an allocation only if both are
// in the preview range. A new allocation at an address replaces the one before.
const (
	AsRecorded        Weights = iota // its value
	Allocations                      // its value if that is positive
	DeallocationSites                // its value if that is negative
	DeallocatedMemory                // a release counts at the stack of its allocation
	Retained                         // an allocation without a later release
	Traced                           // the time until the next sample; for the last one the profile's interval
)

// weightNames maps the names of strategies, after a value type and a colon, to weights.
var weightNames = map[string]Weights{
	"allocations":          Allocations,
	"deallocations-sites":  DeallocationSites,
	"deallocations-memory": DeallocatedMemory,
	"retained-allocations": Retained,
	"traced":               Traced,
}

// nativeAllocations is the table of names without a value type, as in Firefox Profiler:
// `native-retained-allocations`.
const nativeAllocations = "native-allocations"

// jsAllocations is the table of allocations by scripts.
const jsAllocations = "js-allocations"

// allocations reports whether the view shows allocations and releases of memory instead
// of samples over time.
func (s *Shown) allocations() bool {
	switch s.View.Weights {
	case Allocations, DeallocationSites, DeallocatedMemory, Retained:
		return true
	}
	return s.rows.Type.Name == nativeAllocations || s.rows.Type.Name == jsAllocations
}

// ParseType returns the table and the weights of a name: a value type (empty: the
// default type), `traced` for the default type by time, or `TYPE:STRATEGY` with one of
// allocations, deallocations-sites, deallocations-memory, retained-allocations, traced.
// `native-STRATEGY` means the table native-allocations, even if another table has that
// name.
func (v *Viewer) ParseType(text string) (table int, w Weights, err error) {
	name, strategy := text, ""
	switch {
	case text == "traced":
		name, strategy = "", text
	case strings.HasPrefix(text, "native-") && weightNames[text[len("native-"):]] != AsRecorded:
		name, strategy = nativeAllocations, text[len("native-"):]
	case strings.Contains(text, ":"):
		at := strings.LastIndexByte(text, ':')
		if weightNames[text[at+1:]] != AsRecorded {
			name, strategy = text[:at], text[at+1:]
		}
	}
	table, err = v.profile.Table(name)
	return table, weightNames[strategy], err
}

// weigh returns the self values of n call nodes.
func (s *Shown) weigh(n int) (profile.ValueType, []int64, error) {
	r, self := &s.rows, make([]int64, n)
	switch w := s.View.Weights; w {
	case AsRecorded:
		s.add(self)
	case Allocations, DeallocationSites, DeallocatedMemory, Retained:
		if w >= DeallocatedMemory && r.Address == nil && r.n > 0 {
			return r.Type, nil, fmt.Errorf("the samples of %s have no addresses to match releases with allocations", r.Type.Name)
		}
		s.allocate(self)
	case Traced:
		if !s.traceable() {
			return r.Type, nil, fmt.Errorf("the samples of %s have no times, or weights of their own", r.Type.Name)
		}
		s.trace(func(_ int, node int32, time int64) { self[node] += time })
		return tracedType, self, nil
	default:
		return r.Type, nil, fmt.Errorf("unknown weights %d", w)
	}
	return r.Type, self, nil
}

// allocate adds the self values of a strategy for allocations, and moves each sample in
// s.nodes to the node for which it counts.
func (s *Shown) allocate(self []int64) {
	r := &s.rows
	live := map[uint64]int{} // the last allocation at an address
	kept := slices.Repeat([]int32{NoNode}, len(s.nodes))
	for i := s.lo; i < s.hi; i++ {
		row := r.row(i)
		value := r.Value[row]
		switch s.View.Weights {
		case Allocations:
			if value > 0 {
				kept[i] = s.nodes[i]
			}
		case DeallocationSites:
			if value < 0 {
				kept[i] = s.nodes[i]
			}
		case DeallocatedMemory, Retained:
			address := r.Address[row]
			if value >= 0 {
				live[address] = i
				if s.View.Weights == Retained {
					kept[i] = s.nodes[i]
				}
				continue
			}
			if at, ok := live[address]; ok {
				delete(live, address)
				if s.View.Weights == Retained {
					kept[at] = NoNode
				} else {
					kept[i] = s.nodes[at]
				}
			}
		}
	}
	s.nodes = kept
	s.add(self)
}

// add adds the values of the samples of the preview range to their nodes. Each part of
// the nodes is filled in its own pass over the samples, because random access to all
// nodes costs more.
func (s *Shown) add(self []int64) {
	ranges.Each(ranges.Parts(len(self)), func(_ int, p ranges.Part) {
		lo, hi := int32(p.Lo), int32(p.Hi)
		for i, node := range s.nodes[s.lo:s.hi] {
			if lo <= node && node < hi {
				self[node] += s.value(s.lo + i)
			}
		}
	})
}

// tracedType is the type of traced time: milliseconds with nanosecond resolution.
var tracedType = profile.ValueType{Name: "traced", Unit: "milliseconds", Scale: 6}

// traceable reports whether the samples have times and no weights.
func (s *Shown) traceable() bool {
	if !s.rows.timed() || s.rows.Type.Scale != 0 {
		return false
	}
	return !slices.ContainsFunc(s.rows.Value, func(v int64) bool { return v != 1 })
}

// trace calls visit for the samples of the preview range that have a node, with
// the time until the next sample.
func (s *Shown) trace(visit func(i int, node int32, time int64)) {
	for i := s.lo; i < s.hi; i++ {
		if s.nodes[i] == NoNode {
			continue
		}
		time := int64(s.viewer.profile.Interval)
		if i+1 < s.hi {
			time = s.rows.time(i+1) - s.rows.time(i)
		}
		visit(i, s.nodes[i], time)
	}
}
