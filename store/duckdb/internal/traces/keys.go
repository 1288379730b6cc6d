package traces

// keyFilter reports which 64-bit keys were certainly not added: a split block Bloom
// filter (Putze, Sanders and Singler 2007, in the form that Parquet files have), in
// parts of a million keys. With 16 bits a key about one unknown key in 1,500 passes a
// full part. Keys must be well mixed. The zero value is empty.
type keyFilter struct {
	parts  []filterPart
	loaded bool // the keys of the file are in it
}

const (
	partKeys   = 1 << 20
	partBlocks = partKeys * 16 / 256
)

type filterPart struct {
	blocks [][8]uint32
	keys   int
}

// masks returns the bits of a key, one in each word of its block.
func masks(key uint64) (block int, bits [8]uint32) {
	salts := [8]uint32{0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31}
	for i, salt := range salts {
		bits[i] = 1 << (uint32(key) * salt >> 27)
	}
	return int(key >> 32 * partBlocks >> 32), bits
}

// add adds a key.
func (f *keyFilter) add(key uint64) {
	if n := len(f.parts); n == 0 || f.parts[n-1].keys == partKeys {
		f.parts = append(f.parts, filterPart{blocks: make([][8]uint32, partBlocks)})
	}
	p := &f.parts[len(f.parts)-1]
	block, bits := masks(key)
	for i := range bits {
		p.blocks[block][i] |= bits[i]
	}
	p.keys++
}

// mayHave reports whether a key may have been added.
func (f *keyFilter) mayHave(key uint64) bool {
	block, bits := masks(key)
next:
	for i := range f.parts {
		have := &f.parts[i].blocks[block]
		for k := range bits {
			if have[k]&bits[k] == 0 {
				continue next
			}
		}
		return true
	}
	return false
}

// len returns how many keys were added.
func (f *keyFilter) len() int {
	n := 0
	for i := range f.parts {
		n += f.parts[i].keys
	}
	return n
}
