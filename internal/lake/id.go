package lake

import (
	"encoding/binary"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/dendroprof/dendro/store"
)

// FunctionID is the id of a function, store.FunctionID.
type FunctionID int64

// PathID is the id of a call path: xxh3-128 over the id of the parent (zeros for the
// outermost frame) and the function's id, big-endian. A lake may hold so many paths that
// 63 bits would collide.
type PathID [16]byte

// ids computes ids and detects collisions. The hashes are fields for tests.
type ids struct {
	hashFunction func(name string) FunctionID
	hashPath     func(content []byte) PathID
	names        map[FunctionID]string
	paths        map[PathID]uint64 // another hash of the same content
}

func newIDs() *ids {
	return &ids{
		hashFunction: func(name string) FunctionID { return FunctionID(store.FunctionID(name)) },
		hashPath:     func(content []byte) PathID { return xxh3.Hash128(content).Bytes() },
		names:        map[FunctionID]string{},
		paths:        map[PathID]uint64{},
	}
}

// function returns the id of a function and whether this is the first call for it.
func (s *ids) function(name string) (id FunctionID, first bool, err error) {
	id = s.hashFunction(name)
	switch have, known := s.names[id]; {
	case !known:
		s.names[id] = name
		return id, true, nil
	case have != name:
		return 0, false, fmt.Errorf("functions %q and %q have the same id %d: export them separately", have, name, id)
	}
	return id, false, nil
}

// path returns the id of the path that calls a function from a parent, and whether this
// is the first call for it.
func (s *ids) path(parent PathID, fn FunctionID) (id PathID, first bool, err error) {
	var content [24]byte
	copy(content[:], parent[:])
	binary.BigEndian.PutUint64(content[16:], uint64(fn))
	id = s.hashPath(content[:])
	check := xxh3.HashSeed(content[:], 1)
	switch have, known := s.paths[id]; {
	case !known:
		s.paths[id] = check
		return id, true, nil
	case have != check:
		return PathID{}, false, fmt.Errorf("two paths have the same id %x: export them separately", id)
	}
	return id, false, nil
}
