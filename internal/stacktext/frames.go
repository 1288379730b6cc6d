package stacktext

import "github.com/dendroprof/dendro/profile"

// mostFrames is how many texts of frames are remembered. Beyond, everything is
// forgotten and learned again.
const mostFrames = 1 << 20

// Frames remembers which frame a text stands for, over many texts read into the
// same Symbols. The zero value is empty and ready.
type Frames struct {
	symbols *profile.Symbols
	index   map[string]int32
	entries []frameEntry
	last    int32 // the entry found or added last
}

type frameEntry struct {
	text  string
	frame profile.FrameID
	next  int32 // what came behind this one the last time: mostly comes again
}

// Use makes s the Symbols that frames belong to; other Symbols than before make
// everything forgotten.
func (f *Frames) Use(s *profile.Symbols) {
	if f.symbols != s || f.index == nil || len(f.entries) > mostFrames {
		*f = Frames{symbols: s, index: map[string]int32{}, entries: make([]frameEntry, 1, 64)}
	}
	f.last = 0
}

// Find returns the frame of text, if it is known.
func (f *Frames) Find(text []byte) (profile.FrameID, bool) {
	last := &f.entries[f.last]
	if next := &f.entries[last.next]; next.text == string(text) && last.next != 0 {
		f.last = last.next
		return next.frame, true
	}
	i, ok := f.index[string(text)]
	if !ok {
		return 0, false
	}
	last.next, f.last = i, i
	return f.entries[i].frame, true
}

// Add remembers what text, which Find did not know, stands for.
func (f *Frames) Add(text []byte, frame profile.FrameID) {
	if len(f.entries) > mostFrames {
		f.Use(f.symbols)
	}
	i := int32(len(f.entries))
	f.entries = append(f.entries, frameEntry{string(text), frame, 0})
	f.index[f.entries[i].text] = i
	f.entries[f.last].next, f.last = i, i
}
