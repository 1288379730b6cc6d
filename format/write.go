package format

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/dendroprof/dendro/profile"
)

// Compression is how written content is compressed.
type Compression string

// The compressions.
const (
	None Compression = ""
	Gzip Compression = "gzip"
	Zstd Compression = "zstd"
)

// Target returns how to write a file: in the format of the given name, or of
// the file's extension, or folded when both are empty; compressed as the
// extension says.
func Target(file, name string) (*Format, Compression, error) {
	lower := strings.ToLower(file)
	compression := None
	switch {
	case strings.HasSuffix(lower, ".gz"):
		compression = Gzip
	case strings.HasSuffix(lower, ".zst"):
		compression = Zstd
	}
	f, err := target(lower, name)
	if err != nil {
		return nil, None, err
	}
	if f.Encode == nil {
		return nil, None, fmt.Errorf("%s is read, not written", f.Title)
	}
	if compression == None && slices.ContainsFunc(f.gzipped, func(e string) bool { return strings.HasSuffix(lower, e) }) {
		compression = Gzip
	}
	return f, compression, nil
}

func target(file, name string) (*Format, error) {
	if name != "" {
		return Lookup(name)
	}
	if file == "" || file == "-" {
		return Lookup("folded")
	}
	bare := strings.TrimSuffix(strings.TrimSuffix(file, ".gz"), ".zst")
	var known []string
	for _, f := range All() {
		for _, e := range f.Extensions {
			if strings.HasSuffix(bare, strings.TrimSuffix(e, ".gz")) {
				return &f, nil
			}
			known = append(known, e)
		}
	}
	return nil, fmt.Errorf("the name %q does not say which format to write: end it in %s, or name one with --format", file, strings.Join(known, ", "))
}

// Write writes table i of p (-1: all that the format holds).
func Write(w io.Writer, p *profile.Profile, i int, f *Format, c Compression) error {
	switch c {
	case Gzip:
		z := gzip.NewWriter(w)
		if err := f.Encode(z, p, i); err != nil {
			return err
		}
		return z.Close()
	case Zstd:
		z, err := zstd.NewWriter(w)
		if err != nil {
			return err
		}
		if err := f.Encode(z, p, i); err != nil {
			z.Close()
			return err
		}
		return z.Close()
	}
	return f.Encode(w, p, i)
}
