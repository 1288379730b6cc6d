package otlp

import (
	"encoding/binary"

	"github.com/dendroprof/dendro/profile"
)

// who returns thread and labels of a sample.
func (k *linker) who(s *sample) (who, error) {
	if len(s.Attributes) == 0 && s.Link == 0 && len(k.common) == 0 {
		return who{}, nil
	}
	indices := s.Attributes
	short, isShort := shortKey(indices, s.Link)
	if isShort {
		if w, ok := k.shortWhom[short]; ok {
			return w, nil
		}
		w, err := k.newWho(s, indices)
		k.shortWhom[short] = w
		return w, err
	}
	k.key = binary.AppendUvarint(k.key[:0], uint64(uint32(s.Link)))
	for _, i := range indices {
		k.key = binary.AppendUvarint(k.key, uint64(uint32(i)))
	}
	if w, ok := k.whom[string(k.key)]; ok {
		return w, nil
	}
	key := string(k.key)
	w, err := k.newWho(s, indices)
	k.whom[key] = w
	return w, err
}

// shortKey returns at most three small indices of attributes as one number, which a map
// finds faster than a text. Most samples have no more, and no link.
func shortKey(indices []int32, link int32) (key uint64, ok bool) {
	if len(indices) > 3 || link != 0 {
		return 0, false
	}
	for _, i := range indices {
		if i < 0 || i >= 1<<21-1 {
			return 0, false
		}
		key = key<<21 | uint64(i+1)
	}
	return key, true
}

// newWho makes thread and labels of the attributes and the link of a sample.
func (k *linker) newWho(s *sample, indices []int32) (who, error) {
	var th profile.Thread
	work := size(k.common)
	labels := make([]profile.Label, 0, len(indices)+2)
	for _, i := range indices {
		a, ok := k.attribute(i)
		if !ok {
			continue
		}
		l := k.label(k.m.Tables.text(a.Key), k.m.Tables.text(a.Unit), &a.Value)
		work += 1 + size([]profile.Label{l})
		if !lift(&th, l) {
			labels = append(labels, l)
		}
	}
	if s.Link > 0 && int(s.Link) < len(k.m.Tables.Links) {
		l := &k.m.Tables.Links[s.Link]
		for _, id := range []struct{ key, text string }{{keyTrace, hexID(l.Trace)}, {keySpan, hexID(l.Span)}} {
			if id.text != "" {
				labels = append(labels, profile.Label{Key: id.key, Text: id.text})
			}
		}
	} else if s.Link != 0 {
		k.notes.references++
	}
	labels = append(labels, k.common...)
	if err := k.spend(len(indices)+work, int(s.At.At)); err != nil {
		return who{}, err
	}
	return who{k.facts.Thread(th), k.facts.Labels(labels)}, nil
}

// size returns how many bytes the texts of labels have, which many samples may share.
func size(labels []profile.Label) (n int) {
	for i := range labels {
		n += len(labels[i].Key) + len(labels[i].Text) + len(labels[i].Unit)
	}
	return n
}
