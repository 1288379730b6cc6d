package pprof

import (
	"bytes"
	"compress/gzip"
	"io"

	"github.com/dendroprof/dendro/profile"
)

// Pack returns one sample table of p as Encode writes it, compressed with gzip.
func Pack(p *profile.Profile, table int) ([]byte, error) {
	var b bytes.Buffer
	packed := gzip.NewWriter(&b)
	if err := Encode(packed, p, table); err != nil {
		return nil, err
	}
	err := packed.Close()
	return b.Bytes(), err
}

// maxPacked is the maximum number of bytes before compression that Unpack reads.
const maxPacked = 64 << 20

// Unpack reads what Pack returned, with the names in symbols.
func Unpack(data []byte, symbols *profile.Symbols) (*profile.Profile, error) {
	packed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(packed, maxPacked))
	if err != nil {
		return nil, err
	}
	return NewDecoder().Decode(bytes.NewBuffer(plain), symbols, profile.Limits{}.WithDefaults())
}
