package baseline

import (
	"hash/maphash"
	"math"
	"sync"
)

// dictionary numbers function names for all workers. Ids are dense, in the
// order of first sight.
type dictionary struct {
	mapName func(string) string // nil keeps names

	mu     sync.Mutex
	ids    map[string]int32
	names  []string
	stored int // names[:stored] are in the database
}

func newDictionary(mapName func(string) string) *dictionary {
	return &dictionary{mapName: mapName, ids: map[string]int32{}}
}

// id returns the id of a frame as it is in the text.
func (d *dictionary) id(frame string) int32 {
	name := frame
	if d.mapName != nil {
		name = d.mapName(frame)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	id, ok := d.ids[name]
	if !ok {
		id = int32(len(d.names))
		d.ids[name] = id
		d.names = append(d.names, name)
	}
	return id
}

// size returns how many names there are.
func (d *dictionary) size() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.names)
}

// symbols is one worker's view of the dictionary: frames it has seen before
// cost a hash and a comparison, without a lock and without an allocation. Open
// addressing with linear probing; at most half of the slots are taken. A slot
// is 16 bytes and the names lie in one slab, so that the table of a usual
// profile stays in the second-level cache.
type symbols struct {
	dict  *dictionary
	seed  maphash.Seed
	slots []symbol
	slab  []byte
	used  int
}

// symbol is a frame as it is in the text; empty slots have length 0.
type symbol struct {
	tag    uint32 // upper half of the hash
	off    uint32 // in the slab
	length uint32
	id     int32
}

func newSymbols(dict *dictionary) *symbols {
	return &symbols{dict: dict, seed: maphash.MakeSeed(), slots: make([]symbol, 1<<13)}
}

func (s *symbols) id(frame []byte) int32 {
	h := maphash.Bytes(s.seed, frame)
	mask := uint64(len(s.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		e := &s.slots[i]
		if e.length == 0 {
			break
		}
		if e.tag == uint32(h>>32) && int(e.length) == len(frame) &&
			string(s.slab[e.off:e.off+e.length]) == string(frame) {
			return e.id
		}
	}
	id := s.dict.id(string(frame))
	// An empty frame would look like an empty slot, and a slab of 4 GB is full;
	// both are looked up in the dictionary every time.
	if len(frame) == 0 || len(s.slab)+len(frame) > math.MaxUint32 {
		return id
	}
	if 2*s.used >= len(s.slots) {
		s.grow()
	}
	s.put(h, symbol{uint32(h >> 32), uint32(len(s.slab)), uint32(len(frame)), id})
	s.slab = append(s.slab, frame...)
	s.used++
	return id
}

func (s *symbols) put(h uint64, e symbol) {
	mask := uint64(len(s.slots) - 1)
	i := h & mask
	for s.slots[i].length != 0 {
		i = (i + 1) & mask
	}
	s.slots[i] = e
}

func (s *symbols) grow() {
	old := s.slots
	s.slots = make([]symbol, 2*len(old))
	for _, e := range old {
		if e.length != 0 {
			s.put(maphash.Bytes(s.seed, s.slab[e.off:e.off+e.length]), e)
		}
	}
}
