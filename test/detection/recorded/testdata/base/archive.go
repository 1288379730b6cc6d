package billing

import (
	"encoding/binary"
	"hash/crc32"
)

// Archive writes sales in a compact form, in blocks that each end with a checksum and a
// digest of their text.
func Archive(sales []Sale) []byte {
	var out []byte
	for len(sales) > 0 {
		n := min(64, len(sales))
		from := len(out)
		for i := range sales[:n] {
			out = appendSale(out, &sales[i])
		}
		block := out[from:]
		out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(block))
		out = binary.LittleEndian.AppendUint64(out, digest(block))
		sales = sales[n:]
	}
	return out
}

func appendSale(out []byte, s *Sale) []byte {
	out = appendText(out, s.Customer)
	out = appendText(out, s.SKU)
	out = appendText(out, s.Name)
	out = appendNumber(out, uint64(s.Quantity))
	return appendNumber(out, uint64(s.Cents))
}

// appendText packs a text: runs of one character become a count.
//
//go:noinline
func appendText(out []byte, s string) []byte {
	out = appendNumber(out, uint64(len(s)))
	for i := 0; i < len(s); {
		j := i + 1
		for j < len(s) && s[j] == s[i] {
			j++
		}
		if j-i > 3 {
			out = append(out, 0, byte(j-i), s[i])
		} else {
			out = append(out, s[i:j]...)
		}
		i = j
	}
	return out
}

//go:noinline
func appendNumber(out []byte, n uint64) []byte { return binary.AppendUvarint(out, n) }

// digest mixes the bytes of a block.
func digest(block []byte) uint64 {
	h := uint64(len(block))
	for i, c := range block {
		h = mix(h, uint64(c)+uint64(i))
	}
	return h
}

//go:noinline
func mix(h, v uint64) uint64 {
	h ^= v * 0x9e3779b97f4a7c15
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 32
	return h
}
