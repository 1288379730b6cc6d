package format

import (
	"fmt"
	"slices"
	"strings"
)

// Compression is how a file is compressed.
type Compression uint8

// The compressions that are written. Reading also knows archives.
const (
	Uncompressed Compression = iota
	Gzip
	Zstd
)

// suffixes of file names, with their dots, by Compression.
var suffixes = [...]string{Gzip: ".gz", Zstd: ".zst"}

// String returns "none", "gzip" or "zstd".
func (c Compression) String() string { return [...]string{"none", "gzip", "zstd"}[c] }

// ByExtension returns how a file of that name is written: its format by the
// extension, its compression by the suffix behind it or by what is customary
// for the extension.
func ByExtension(filename string) (*Format, Compression, error) {
	name, c := cutCompression(filename)
	for _, f := range formats {
		for _, ext := range f.Extensions {
			bare, inner := cutCompression("." + ext)
			if _, ok := cutSuffixFold(name, bare); !ok || inner != Uncompressed && inner != c {
				continue
			}
			if c == Uncompressed && slices.Contains(f.Gzipped, ext) {
				c = Gzip
			}
			return f, c, nil
		}
	}
	return nil, c, fmt.Errorf("no format has the extension of %q; known are .%s", filename, strings.Join(KnownExtensions(), " ."))
}

// KnownExtensions returns the extensions of all formats, without their leading
// dots, sorted.
func KnownExtensions() []string {
	var list []string
	for _, f := range formats {
		list = append(list, f.Extensions...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TrimExtensions splits a file name into a stem and its known extension with the
// compression behind it, without the dot between: `json.orders.collapsed.gz` is
// `json.orders` and `collapsed.gz`. Other extensions belong to the stem, which
// is never empty.
func TrimExtensions(filename string) (stem, ext string) {
	stem, _ = cutCompression(filename)
	longest := stem
	for _, known := range KnownExtensions() {
		if s, ok := cutSuffixFold(stem, "."+known); ok && len(s) < len(longest) && !emptyName(s) {
			longest = s
		}
	}
	if emptyName(longest) || len(longest) == len(filename) {
		return filename, ""
	}
	return longest, filename[len(longest)+1:]
}

// emptyName reports whether a path ends in no file name.
func emptyName(path string) bool { return path == "" || strings.HasSuffix(path, "/") }

func cutCompression(filename string) (string, Compression) {
	for _, c := range []Compression{Gzip, Zstd} {
		if name, ok := cutSuffixFold(filename, suffixes[c]); ok {
			return name, c
		}
	}
	return filename, Uncompressed
}

// cutSuffixFold is strings.CutSuffix for upper and lower case alike.
func cutSuffixFold(s, suffix string) (string, bool) {
	n := len(s) - len(suffix)
	if n < 0 || !strings.EqualFold(s[n:], suffix) {
		return s, false
	}
	return s[:n], true
}
