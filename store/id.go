package store

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/dendroprof/dendro/testrun"
)

// ProfileID is the stable key of a profile in every engine: 16 hexadecimal
// digits, the xxh3-64 of its identity (group, benchmark, run and the name of
// the value type, each behind its length).
type ProfileID string

// IDOf returns the id of the profile of a benchmark in a run.
func IDOf(b testrun.Benchmark, run, valueType string) ProfileID {
	var buf []byte
	for _, s := range []string{b.Group, b.Name, run, valueType} {
		buf = binary.AppendUvarint(buf, uint64(len(s)))
		buf = append(buf, s...)
	}
	return ProfileID(hex.EncodeToString(binary.BigEndian.AppendUint64(nil, xxh3.Hash(buf))))
}

// FunctionID is the id of a function wherever ids follow from content, in graphs and in
// lakes: the upper 63 bits of xxh3-64 over its name. It is never negative, also in
// languages without unsigned numbers.
func FunctionID(name string) int64 { return int64(xxh3.HashString(name) >> 1) }

// idDigits is the length of an id.
const idDigits = 16

// IsShort reports whether id is only the beginning of an id.
func (id ProfileID) IsShort() bool { return len(id) < idDigits }

// UnmarshalText parses an id as users write it: at least 4 digits that no other id begins
// with.
func (id *ProfileID) UnmarshalText(text []byte) error {
	digits := strings.ToLower(strings.TrimSpace(string(text)))
	if len(digits) < 4 || len(digits) > idDigits || strings.Trim(digits, "0123456789abcdef") != "" {
		return fmt.Errorf("%.60q is not a profile id (16 hexadecimal digits, as `dendro runs --profiles` prints them, or at least the first 4 of them)", text)
	}
	*id = ProfileID(digits)
	return nil
}
