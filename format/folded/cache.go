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
	most    int     // bound of spelled
	last    []int32 // of frames by FrameID: one of their spellings, plus one; 0: of another reader
}

// spelling is one way to write a frame.
type spelling struct {
	text   string // shares its memory with the function's name when that is equal
	frame  profile.FrameID
	caller profile.FrameID // the frame as a caller: with Limits.Sums only its function
}

func (c *frameCache) clear() { c.index, c.spelled, c.last = intern.Index{}, nil, nil }

// find returns the spelling of a piece that was added. Hash is that of the piece.
func (c *frameCache) find(hash uint64, piece []byte) (int32, bool) {
	return c.index.Find(hash, func(i int32) bool { return c.spelled[i].text == string(piece) })
}

// match returns the last spelling of a frame and its length if the given text begins
// with it; else the length is 0.
func (c *frameCache) match(frame profile.FrameID, text []byte) (at int32, length int) {
	if int(frame) >= len(c.last) || c.last[frame] == 0 {
		return 0, 0
	}
	at = c.last[frame] - 1
	spelled := c.spelled[at].text
	n := len(spelled)
	if n > len(text) || n < len(text) && text[n] != ';' || spelled != string(text[:n]) {
		return 0, 0
	}
	return at, n
}

// add remembers a spelling that find does not know and returns its number.
func (c *frameCache) add(hash uint64, s spelling) int32 {
	if len(c.spelled) >= c.most {
		c.clear()
	}
	at := int32(len(c.spelled))
	c.index.Add(hash, at)
	c.spelled = append(c.spelled, s)
	if s.frame != noFrame {
		c.last = append(c.last, make([]int32, max(0, int(max(s.frame, s.caller))+1-len(c.last)))...)
		c.last[s.frame], c.last[s.caller] = at+1, at+1
	}
	return at
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
	hash    xxh3.Uint128
	stack   profile.StackID
	depth   int32 // frames of the stack, plus one; 0: empty slot
	content profile.StackHash
}

func (c *stackCache) clear() { c.slots, c.used = nil, 0 }

func (c *stackCache) hash(text []byte) xxh3.Uint128 { return xxh3.Hash128Seed(text, c.seed) }

// find returns the slot of the stack with the given hash, or nil.
func (c *stackCache) find(hash xxh3.Uint128) *stackSlot {
	if len(c.slots) == 0 {
		return nil
	}
	mask := uint64(len(c.slots) - 1)
	for i := hash.Lo & mask; ; i = (i + 1) & mask {
		s := &c.slots[i]
		if s.depth == 0 {
			return nil
		}
		if s.hash == hash {
			return s
		}
	}
}

// add remembers a stack that find does not know.
func (c *stackCache) add(s stackSlot) {
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
	c.put(s)
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
