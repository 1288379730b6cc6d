package folded

import (
	"github.com/zeebo/xxh3"

	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/profile"
)

// maxCached bounds each cache of a Decoder. Names that are new in every run
// would fill them without end; a full cache is emptied and learns again.
const maxCached = 1 << 20 // entries

// noFrame is the FrameID of a piece of text that is no frame: only blanks.
const noFrame profile.FrameID = -1

// frameCache finds the frame of a piece of text, as spelled.
type frameCache struct {
	index   intern.Index // of spelled
	spelled []spelling
	most    int      // bound of spelled
	texts   []string // of frames by FrameID; empty for those of other readers
}

// spelling is one way to write a frame.
type spelling struct {
	text  string // shares its memory with the function's name when that is equal
	frame profile.FrameID
}

func (c *frameCache) clear() { c.index, c.spelled, c.texts = intern.Index{}, nil, nil }

// find returns the frame of a piece that was added. Hash is that of the piece.
func (c *frameCache) find(hash uint64, piece []byte) (profile.FrameID, bool) {
	i, ok := c.index.Find(hash, func(i int32) bool { return c.spelled[i].text == string(piece) })
	if !ok {
		return 0, false
	}
	return c.spelled[i].frame, true
}

// match returns the length of the text of a frame if the given text begins with
// that frame, else 0.
func (c *frameCache) match(frame profile.FrameID, text []byte) int {
	if int(frame) >= len(c.texts) {
		return 0
	}
	n := len(c.texts[frame])
	if n > len(text) || n < len(text) && text[n] != ';' || c.texts[frame] != string(text[:n]) {
		return 0
	}
	return n
}

// add remembers the frame of a text that find does not know.
func (c *frameCache) add(hash uint64, text string, frame profile.FrameID) {
	if len(c.spelled) >= c.most {
		c.clear()
	}
	c.index.Add(hash, int32(len(c.spelled)))
	c.spelled = append(c.spelled, spelling{text, frame})
	if frame == noFrame {
		return
	}
	for len(c.texts) <= int(frame) {
		c.texts = append(c.texts, "")
	}
	c.texts[frame] = text
}

// stackCache finds the stack of a whole line by the 128-bit hash of its text.
// The text itself is not kept: with a seed that nobody knows, two of a billion
// stacks have the same hash with a probability of 1 to 10^20.
type stackCache struct {
	seed  uint64
	slots []stackSlot
	used  int
	most  int // bound of used
}

type stackSlot struct {
	hash  xxh3.Uint128
	stack profile.StackID
	depth int32 // frames of the stack, plus one; 0: empty slot
}

func (c *stackCache) clear() { c.slots, c.used = nil, 0 }

func (c *stackCache) hash(text []byte) xxh3.Uint128 { return xxh3.Hash128Seed(text, c.seed) }

// find returns the stack with the given hash and its number of frames.
func (c *stackCache) find(hash xxh3.Uint128) (stack profile.StackID, depth int, ok bool) {
	if len(c.slots) == 0 {
		return 0, 0, false
	}
	mask := uint64(len(c.slots) - 1)
	for i := hash.Lo & mask; ; i = (i + 1) & mask {
		s := &c.slots[i]
		if s.depth == 0 {
			return 0, 0, false
		}
		if s.hash == hash {
			return s.stack, int(s.depth - 1), true
		}
	}
}

// add remembers a stack that find does not know.
func (c *stackCache) add(hash xxh3.Uint128, stack profile.StackID, depth int) {
	if c.used >= c.most {
		c.clear()
	}
	if c.used*2 >= len(c.slots) {
		old := c.slots
		c.slots = make([]stackSlot, max(256, 4*len(old)))
		for _, s := range old {
			if s.depth != 0 {
				c.put(s)
			}
		}
	}
	c.put(stackSlot{hash, stack, int32(depth + 1)})
	c.used++
}

func (c *stackCache) put(s stackSlot) {
	mask := uint64(len(c.slots) - 1)
	i := s.hash.Lo & mask
	for c.slots[i].depth != 0 {
		i = (i + 1) & mask
	}
	c.slots[i] = s
}
