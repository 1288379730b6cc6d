package iceberg

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

// ids computes ids, tells which ones are new and detects collisions. The hashes are
// fields for tests.
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

// forget makes all ids new again.
func (s *ids) forget() {
	clear(s.names)
	clear(s.paths)
}

// function returns whether this is the first call for a function. An id is
// hashFunction(name).
func (s *ids) function(id FunctionID, name string) (first bool, err error) {
	switch have, known := s.names[id]; {
	case !known:
		s.names[id] = name
		return true, nil
	case have != name:
		return false, fmt.Errorf("functions %q and %q have the same id %d: export them separately", have, name, id)
	}
	return false, nil
}

// content is what the id of a path is a hash of.
func content(parent PathID, fn FunctionID) (content [24]byte) {
	copy(content[:], parent[:])
	binary.BigEndian.PutUint64(content[16:], uint64(fn))
	return content
}

// path returns whether this is the first call for the path that calls a function from a
// parent. An id is hashPath(content(parent, fn)).
func (s *ids) path(id, parent PathID, fn FunctionID) (first bool, err error) {
	c := content(parent, fn)
	check := xxh3.HashSeed(c[:], 1)
	switch have, known := s.paths[id]; {
	case !known:
		s.paths[id] = check
		return true, nil
	case have != check:
		return false, fmt.Errorf("two paths have the same id %x: export them separately", id)
	}
	return false, nil
}
