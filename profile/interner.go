package profile

import (
	"encoding/binary"
	"slices"

	"github.com/dendroprof/dendro/internal/intern"
)

// Interner adds threads, states and label sets to a profile, each different one once.
type Interner struct {
	p       *Profile
	threads map[Thread]ThreadID
	states  map[string]StateID
	labels  map[string]LabelsID
	key     []byte
}

// NewInterner returns an Interner for p.
func NewInterner(p *Profile) *Interner {
	return &Interner{p: p, threads: map[Thread]ThreadID{{}: 0}, states: map[string]StateID{"": 0}, labels: map[string]LabelsID{"": 0}}
}

// Thread returns the id of a thread.
func (in *Interner) Thread(t Thread) ThreadID { return intern.Number(in.threads, &in.p.Threads, t, t) }

// State returns the id of a state.
func (in *Interner) State(name string) StateID {
	return intern.Number(in.states, &in.p.States, name, name)
}

// Labels returns the id of a label set, of which it keeps a copy. The order of the labels
// counts.
func (in *Interner) Labels(set []Label) LabelsID {
	in.key = in.key[:0]
	for _, l := range set {
		in.key = binary.AppendVarint(appendTexts(in.key, l.Key, l.Text, l.Unit), l.Num)
	}
	if id, ok := in.labels[string(in.key)]; ok {
		return id
	}
	return intern.Number(in.labels, &in.p.LabelSets, string(in.key), slices.Clone(set))
}
