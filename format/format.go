// Package format reads and writes profiles of all formats: it tells by its
// content what a file is, takes off compression, archives and byte order marks,
// and calls the decoder of the format.
//
//	file ─▶ gzip zstd zip tar, nested ─▶ UTF-16, BOM ─▶ Detect ─▶ Decoder ─▶ profile.Profile
//
// A format is a package below this one and one entry of the list in this file;
// nothing else knows which formats there are. A Reader belongs to one goroutine
// and keeps Symbols and decoders warm from file to file; Detect, Write and the
// functions about file names are for anyone.
//
// Text goes to its decoder as a stream, at whatever size. What must be held in
// memory whole is bounded by profile.Limits, and so is what compressed content
// may inflate to. File names decide nothing when reading: extensions serve
// writers, which have nothing else, and the names of benchmarks.
//
// The package does not walk directories, does not know runs or stores (package
// ingest) and does not change names (package normalize). docs/format describes
// detection, compression and each format.
package format

import (
	"fmt"
	"io"
	"strings"

	"github.com/dendroprof/dendro/format/folded"
	"github.com/dendroprof/dendro/format/pprof"
	"github.com/dendroprof/dendro/profile"
)

// Format is one file format. NewDecoder or Encode may be nil, not both.
type Format struct {
	// Name is short and stable: the value of Profile.Format and of --format.
	Name string
	// Title is for people.
	Title string
	// Extensions are with the dot; the first is the usual one. Suffixes of
	// compression are understood behind each.
	Extensions []string

	// Sniff reports whether content that begins with prefix is of this format.
	// A prefix shorter than PrefixSize is all of the content.
	Sniff func(prefix []byte) bool
	// NewDecoder returns a decoder for one goroutine; nil for a format that is
	// only written.
	NewDecoder func() Decoder
	// Encode writes one sample table, or with table -1 all that the format holds
	// in one file, uncompressed; nil for a format that is only read.
	Encode func(w io.Writer, p *profile.Profile, table int) error

	gzipped []string // Extensions that are gzip by custom though they do not say so
	whole   bool     // the decoder holds the content in memory whole
}

// Decoder reads profiles of one format. Decode reads r to its end and adds
// functions, frames and stacks to s; what a decoder learns about s it may keep
// for the next call. Errors that have a place are of type *profile.ParseError,
// without Source.
type Decoder interface {
	Decode(r io.Reader, s *profile.Symbols, l profile.Limits) (*profile.Profile, error)
}

// All lists all formats in the order in which Detect asks: what can be told for
// certain comes before what is guessed. A further format is one more entry.
func All() []Format {
	return []Format{
		{
			Name: pprof.Name, Title: "pprof (profile.proto)",
			Extensions: []string{".pb.gz", ".pb", ".pprof", ".prof"}, gzipped: []string{".pprof", ".prof"}, whole: true,
			Sniff: pprof.Sniff, NewDecoder: func() Decoder { return pprof.NewDecoder() }, Encode: pprof.Encode,
		},
		{
			Name: "folded", Title: "folded (collapsed) stacks",
			Extensions: []string{".folded", ".collapsed", ".txt"},
			Sniff:      folded.Sniff, NewDecoder: func() Decoder { return folded.NewDecoder() }, Encode: folded.Encode,
		},
	}
}

// Lookup returns the format of that name. The error lists the names there are.
func Lookup(name string) (*Format, error) {
	var names []string
	for _, f := range All() {
		if f.Name == name {
			return &f, nil
		}
		names = append(names, f.Name)
	}
	return nil, fmt.Errorf("no format %q; there are %s", name, strings.Join(names, ", "))
}
