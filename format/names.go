package format

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Compression is how written content is compressed.
type Compression string

// The compressions.
const (
	None Compression = ""
	Gzip Compression = "gzip"
	Zstd Compression = "zstd"
)

// Suffixes of file names behind the extension of a format.
var (
	compressions = map[string]Compression{".gz": Gzip, ".zst": Zstd}
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
		if name == "" {
			name = "folded"
		}
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
// that extension, without compression and in lower case; or nil.
func extensionOf(formats []Format, name string) (*Format, string) {
	ext := extension(name)
	for i := range formats {
		if ext != "" && slices.ContainsFunc(formats[i].Extensions, func(e string) bool { return bare(e) == ext }) {
			return &formats[i], ext
		}
	}
	return nil, ""
}

// extension returns the last extension of a name in front of its compression.
func extension(name string) string { return path.Ext(bare(strings.ToLower(name))) }

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
	known := KnownExtensions()
	for stem = name; ; {
		e := path.Ext(stem)
		rest := strings.TrimSuffix(stem, e)
		if e == "" || rest == "" || strings.HasSuffix(rest, "/") || !slices.Contains(known, strings.ToLower(e)) {
			return stem, strings.TrimPrefix(name[len(stem):], ".")
		}
		stem = rest
	}
}
