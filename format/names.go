package format

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

// Compression is how written content is compressed.
type Compression string

// The compressions.
const (
	None Compression = ""
	Gzip Compression = "gzip"
	Zstd Compression = "zstd"
	LZ4  Compression = "lz4"
)

// Suffixes of file names behind the extension of a format.
var (
	compressions = map[string]Compression{".gz": Gzip, ".zst": Zstd, ".lz4": LZ4}
	archives     = []string{".zip", ".tar", ".tgz"}
)

// Target returns how to write a file: in the format of the given name, or else
// of the file's extension, or folded when both are empty or the file is "-";
// compressed as the suffix says or as is customary for the extension.
func Target(file, name string) (*Format, Compression, error) {
	byName, ext := extensionOf(All(), file)
	f := byName
	switch {
	case name != "" || file == "" || file == "-":
		name = cmp.Or(name, "folded")
		var err error
		if f, err = Lookup(name); err != nil {
			return nil, None, err
		}
	case f == nil:
		return nil, None, fmt.Errorf("the name %q does not say which format to write: end it in %s, or name one with --format", file, strings.Join(written(), ", "))
	}
	if f.Encode == nil {
		return nil, None, fmt.Errorf("%s is read, not written", f.Title)
	}
	c := compressions[strings.ToLower(path.Ext(file))]
	if c == None && byName != nil && f.Name == byName.Name && slices.Contains(f.gzipped, ext) {
		c = Gzip
	}
	return f, c, nil
}

// written returns the extensions of the formats that can be written.
func written() (list []string) {
	for _, f := range All() {
		if f.Encode != nil {
			list = append(list, f.Extensions...)
		}
	}
	return list
}

// extensionOf returns the format that the extension of a name is known for, and
// that extension, without compression and in lower case; or nil. Of several the
// longest counts: .firefox.json before .json.
func extensionOf(formats []Format, name string) (format *Format, ext string) {
	base := path.Base(bare(strings.ToLower(name)))
	for i := range formats {
		for _, e := range formats[i].Extensions {
			if e = bare(e); len(e) > len(ext) && strings.HasSuffix(base, e) {
				format, ext = &formats[i], e
			}
		}
	}
	return format, ext
}

// bare returns a name or extension without the suffix of a compression.
func bare(name string) string {
	if ext := path.Ext(name); compressions[ext] != None {
		return strings.TrimSuffix(name, ext)
	}
	return name
}

// KnownExtensions lists the extensions of all formats, compressions and
// archives, each with its dot: .pb.gz is .pb and .gz.
func KnownExtensions() []string {
	exts := slices.Sorted(maps.Keys(compressions))
	exts = append(exts, archives...)
	for _, f := range All() {
		for _, e := range f.Extensions {
			if e = bare(e); !slices.Contains(exts, e) {
				exts = append(exts, e)
			}
		}
	}
	return exts
}

// TrimExtensions splits a file name into its stem and its known extensions,
// without the dot between: "json.orders.collapsed.gz" is "json.orders" and
// "collapsed.gz". The stem is never empty.
func TrimExtensions(name string) (stem, ext string) {
	known := longestFirst()
	for stem = name; ; {
		lower := strings.ToLower(stem)
		i := slices.IndexFunc(known, func(e string) bool {
			rest, ok := strings.CutSuffix(lower, e)
			return ok && rest != "" && !strings.HasSuffix(rest, "/")
		})
		if i < 0 {
			return stem, strings.TrimPrefix(name[len(stem):], ".")
		}
		stem = stem[:len(stem)-len(known[i])]
	}
}

// longestFirst returns the known extensions, of which no later one ends in an earlier one.
var longestFirst = sync.OnceValue(func() []string {
	known := KnownExtensions()
	slices.SortStableFunc(known, func(a, b string) int { return len(b) - len(a) })
	return known
})
