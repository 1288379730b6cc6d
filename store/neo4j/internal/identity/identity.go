// Package identity has the ids of what a graph holds, which follow from their content, so that
// all importers compute the same.
//
// Functions, paths and measurements have 63 bits: store.FunctionID of the stored name, and
// like it the upper 63 bits of xxh3-64. Benchmarks have a key of text. The documentation of
// the schema (store/neo4j/FORMAT.md) has test vectors.
package identity

import (
	"encoding/binary"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/testrun"
)

// Root is the parent of a root in ids.
const Root = int64(0)

// Path returns the id of the path that calls a function from a parent, or from
// Root.
func Path(parent, function int64) int64 {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(parent))
	binary.BigEndian.PutUint64(b[8:], uint64(function))
	return int64(xxh3.Hash(b[:]) >> 1)
}

// Measurement returns the id of the metrics of a benchmark in a run.
func Measurement(b testrun.Benchmark, run string) int64 { return bolt.TextsID(b.Group, b.Name, run) }

// Benchmark returns the key of a benchmark: group and name with a slash in
// between, slashes of the group escaped, so that no two benchmarks share one.
func Benchmark(b testrun.Benchmark) string {
	var key []byte
	for i := range len(b.Group) {
		if c := b.Group[i]; c == '/' || c == '\\' {
			key = append(key, '\\')
		}
		key = append(key, b.Group[i])
	}
	return string(key) + "/" + b.Name
}

// Collision returns the error for two things with one id.
func Collision(id int64, a, b string) error {
	return fmt.Errorf("%q and %q have the same id %d: rename one of them with a rule", a, b, id)
}
