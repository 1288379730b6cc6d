package bolt

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/dendroprof/dendro/internal/column"
)

// MaxName is the maximum length of a name in bytes: the server's indexes have no
// room for longer ones.
const MaxName = 4000

// StoredName returns the name under which a text is stored: the text, or its
// beginning and the hash of all of it.
func StoredName(name string) string {
	if len(name) <= MaxName {
		return name
	}
	tail := fmt.Sprintf("…#%016x", xxh3.HashString(name))
	n := MaxName - len(tail)
	for !utf8.RuneStart(name[n]) {
		n--
	}
	return name[:n] + tail
}

// StoredNames returns the stored names of texts.
func StoredNames(texts []string) []string {
	return column.Of(texts, StoredName)
}

// TextsID returns the id of a list of texts: 63 bits of xxh3-64 over the texts, each
// preceded by its length.
func TextsID(texts ...string) int64 {
	var buf []byte
	for _, s := range texts {
		buf = binary.AppendUvarint(buf, uint64(len(s)))
		buf = append(buf, s...)
	}
	return int64(xxh3.Hash(buf) >> 1)
}
