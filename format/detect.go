package format

import (
	"bytes"
	"fmt"

	"github.com/dendroprof/dendro/profile"
)

// PrefixSize is how much of the content decides what it is.
const PrefixSize = 64 << 10

// Detect returns the format of content that begins with prefix, which must be
// PrefixSize bytes long or all of the content. It sees through byte order marks
// and UTF-16, not through compression.
func Detect(prefix []byte) (*Format, bool) {
	prefix = charsetOf(prefix).prefix(prefix)
	for _, f := range formats {
		if f.Sniff(prefix) {
			return f, true
		}
	}
	return nil, false
}

// refused are files that profilers write and that nobody but them can read,
// with what their users can do about it.
var refused = []struct{ magic, name, hint string }{
	{"PERFILE2", "perf.data", "run `perf script` on it and read the output"},
}

// refusal returns why content of no known format is not read, and a hint.
func refusal(prefix []byte) (error, string) {
	if len(prefix) == 0 {
		return fmt.Errorf("%w: it is empty", profile.ErrUnrecognized), ""
	}
	for _, r := range refused {
		if bytes.HasPrefix(prefix, []byte(r.magic)) {
			return fmt.Errorf("%s: %w", r.name, profile.ErrUnsupported), r.hint
		}
	}
	return profile.ErrUnrecognized, ""
}
