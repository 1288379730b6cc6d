package format

import (
	"fmt"
	"slices"

	"github.com/dendroprof/dendro/profile"
)

// PrefixSize is how much of the content decides what it is.
const PrefixSize = 64 << 10

// Detect returns the format of content that begins with prefix, which must be
// PrefixSize bytes long or all of the content. It sees through byte order marks
// and UTF-16, not through compression. The error, a *profile.ParseError, wraps
// profile.ErrUnsupported for what is known and not read, with a hint, and
// profile.ErrUnrecognized for anything else.
func Detect(prefix []byte) (*Format, error) { return detect(All(), prefix) }

func detect(formats []Format, prefix []byte) (*Format, error) {
	prefix = charsetOf(prefix).prefix(prefix)
	if len(prefix) == 0 {
		return nil, &profile.ParseError{Offset: -1, Err: fmt.Errorf("%w: it is empty", profile.ErrUnrecognized)}
	}
	for i := range formats {
		if formats[i].Certain != nil && formats[i].Certain(prefix) {
			return &formats[i], nil
		}
	}
	if err := refuse(prefix); err != nil {
		return nil, err
	}
	for i := range formats {
		if formats[i].Sniff != nil && formats[i].Sniff(prefix) {
			return &formats[i], nil
		}
	}
	return nil, &profile.ParseError{Offset: -1, Err: profile.ErrUnrecognized}
}

// claimed returns the format that a file's name claims beyond doubt. Names
// decide nothing when the content does, but whoever calls a file x.folded wants
// to hear what is wrong with its lines, not that nobody knows them.
func claimed(formats []Format, name string) *Format {
	format, ext := extensionOf(formats, name)
	if format == nil || format.NewDecoder == nil || slices.Contains(vague, ext) {
		return nil
	}
	return format
}

// vague are extensions that many files have that are no profiles.
var vague = []string{".txt", ".json", ".html", ".svg", ".prof", ".trace"}
