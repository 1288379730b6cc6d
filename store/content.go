package store

import (
	"encoding/hex"
	"slices"

	"github.com/dendroprof/dendro/profile"
)

// Contains reports whether the profile has content of that hash: as all of it, or as
// one of the parts that were added up (S4).
func (p *Profile) Contains(hash profile.Hash) bool {
	text := hash.String()
	return p.Hash == text || slices.Contains(p.Parts, text)
}

// AddContent makes Hash and Parts those of the sum of p and q. The hash of a sum
// is the sum of the hashes of its parts modulo 2^128, big-endian, and Parts is in
// byte order, so that the order of adding does not matter. Hashes that are not 32
// hexadecimal digits count as zero.
func (p *Profile) AddContent(q *Profile) {
	parts := append(p.parts(), q.parts()...)
	slices.Sort(parts)
	p.Hash, p.Parts = addHashes(p.Hash, q.Hash), parts
}

// parts returns the hashes of what the profile is made of, as a new slice.
func (p *Profile) parts() []string {
	if len(p.Parts) > 0 {
		return slices.Clone(p.Parts)
	}
	return []string{p.Hash}
}

func addHashes(a, b string) string {
	var x, y, sum profile.Hash
	hex.Decode(x[:], []byte(a))
	hex.Decode(y[:], []byte(b))
	carry := 0
	for i := len(sum) - 1; i >= 0; i-- {
		carry += int(x[i]) + int(y[i])
		sum[i] = byte(carry)
		carry >>= 8
	}
	return sum.String()
}
