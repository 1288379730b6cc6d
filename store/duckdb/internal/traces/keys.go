package traces

import (
	"slices"

	"github.com/parquet-go/parquet-go/bloom"
)

// keyFilter reports which 64-bit keys were certainly not added: Bloom filters of a million
// keys each. With 16 bits a key about one unknown key in 1,500 passes a full one. Keys must
// be well mixed. The zero value is empty.
type keyFilter struct {
	parts  []filterPart
	loaded bool // the keys of the file are in it
}

const (
	partKeys   = 1 << 20
	partBlocks = partKeys * 16 / 256
)

type filterPart struct {
	bloom.SplitBlockFilter
	keys int
}

// add adds a key.
func (f *keyFilter) add(key uint64) {
	if n := len(f.parts); n == 0 || f.parts[n-1].keys == partKeys {
		f.parts = append(f.parts, filterPart{make(bloom.SplitBlockFilter, partBlocks), 0})
	}
	p := &f.parts[len(f.parts)-1]
	p.Insert(key)
	p.keys++
}

// mayHave reports whether a key may have been added.
func (f *keyFilter) mayHave(key uint64) bool {
	return slices.ContainsFunc(f.parts, func(p filterPart) bool { return p.Check(key) })
}

// len returns how many keys were added.
func (f *keyFilter) len() (n int) {
	for _, p := range f.parts {
		n += p.keys
	}
	return n
}
