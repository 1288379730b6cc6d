package calltree

import (
	"iter"
	"slices"

	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/profile"
)

// dropped says which samples a view drops for what their threads did. Nil columns drop
// none.
type dropped struct {
	category   []profile.CategoryID // of each stack
	categories []bool               // to drop

	state  []profile.StateID // of each row
	states []bool            // to drop
	idle   []bool            // states to drop, unless the thread wants a lock

	labels []profile.LabelsID // of each row
	wants  []bool             // sets of labels of threads that wait for a lock of another thread
}

// byCategory reports whether samples of a stack are dropped.
func (d *dropped) byCategory(stack int32) bool {
	return d.categories != nil && d.categories[d.category[stack]]
}

// byState reports whether the sample of a row is dropped.
func (d *dropped) byState(row int) bool {
	return d.states != nil && d.states[d.state[row]] ||
		d.idle != nil && d.idle[d.state[row]] && (d.wants == nil || !d.wants[d.labels[row]])
}

// dropped returns what the view drops. Only samples over time can be idle: an allocation
// is work, whatever the thread did.
func (s *Shown) dropped() *dropped {
	d := &dropped{state: s.rows.State}
	p, c := s.viewer.profile, s.viewer.categories
	if s.View.States != nil {
		if d.states = make([]bool, len(p.States)); d.state == nil {
			d.state = make([]profile.StateID, s.rows.Samples.Len())
		}
		for i := range d.states {
			d.states[i] = !slices.Contains(s.View.States, profile.StateID(i))
		}
	}
	if !s.View.NoIdle || s.allocations() {
		return d
	}
	if c != nil {
		d.category, d.categories = s.viewer.first.category, make([]bool, len(c.list))
		for i := range d.categories {
			d.categories[i] = c.list[i].Name == "Idle"
		}
	}
	if s.rows.State != nil {
		d.idle = column.Of(p.States, profile.Idle)
		d.labels, d.wants = s.rows.Labels, lockWaits(p, s.rows.Samples)
	}
	return d
}

// lockWaits returns the sets of labels of threads that wait for a lock which another
// thread holds; nil: samples have no labels.
func lockWaits(p *profile.Profile, rows *profile.Samples) []bool {
	if rows.Labels == nil {
		return nil
	}
	wants := make([]bool, len(p.LabelSets))
	for i, set := range p.LabelSets {
		wants[i] = slices.ContainsFunc(set, func(l profile.Label) bool { return l.Key == profile.LabelOwner })
	}
	return wants
}

// States returns the names of the states of the profile; that of no state is empty.
func (v *Viewer) States() []string { return v.profile.States }

// Sample is a sample of a view, whether it is counted or not.
type Sample struct {
	Node int32 // in the tree; NoNode: not counted
	Time int64 // nanoseconds since the start of the profile; 0 without times
	profile.Tags
}

// Samples yields the samples of the selected threads in the preview range, in order of
// time.
func (s *Shown) Samples() iter.Seq[Sample] {
	return func(yield func(Sample) bool) {
		for i := s.lo; i < s.hi; i++ {
			row := s.rows.row(i)
			one := Sample{Node: s.nodes[i], Tags: s.rows.Tags(row)}
			if s.rows.Time != nil {
				one.Time = s.rows.Time[row]
			}
			if !yield(one) {
				return
			}
		}
	}
}

// Labels returns a set of labels of the profile.
func (v *Viewer) Labels(id profile.LabelsID) []profile.Label { return v.profile.LabelSets[id] }
