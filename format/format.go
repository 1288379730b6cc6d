// Package format reads and writes profiles: it tells what a file is by its
// content, takes off compression and archives, and calls the reader of the
// format.
//
// Each format is a package below this one that knows only package profile. All
// is the explicit list of them, in the order in which they are tried; a further
// format is one more line there. Detection looks at the first bytes after
// decompression, never at the name of the file.
//
// A Reader belongs to one goroutine. It keeps the symbols and the decoders warm
// from file to file, which is where the speed with many similar files comes
// from. The package does not know stores, normalised names or runs.
package format

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/format/folded"
	"github.com/dendroprof/dendro/format/pprof"
	"github.com/dendroprof/dendro/profile"
)

// Format is one format of profiles.
type Format struct {
	Name       string   // short, for --format: "folded"
	Title      string   // for people: "folded stacks"
	Extensions []string // with the dot, the usual one first

	// Sniff tells from the first bytes, up to 64 KiB, whether content is of
	// this format. If there are fewer, they are the whole content.
	Sniff func(prefix []byte) bool
	// NewDecoder returns a decoder; nil for formats that are only written.
	NewDecoder func() Decoder
	// Encode writes table i of p, or with -1 all tables that the format can
	// hold in one file (else the default one). Nil for formats only read.
	Encode func(w io.Writer, p *profile.Profile, i int) error

	gzipped []string // extensions that are gzip by convention
}

// Decoder reads content of one format. It may keep what it learned for the next
// call with the same symbols; it belongs to one goroutine.
type Decoder interface {
	// Decode reads r to its end and returns the profile over s, checked.
	// Errors are *profile.ParseError with a place and without a source.
	Decode(r io.Reader, s *profile.Symbols, l profile.Limits) (*profile.Profile, error)
}

// All lists the formats in the order of detection: binary ones by their magic
// or wire format first, text that has only a convention last.
func All() []Format {
	return []Format{
		{Name: "pprof", Title: "pprof (profile.proto)", Extensions: []string{".pb.gz", ".pb", ".pprof", ".prof"}, gzipped: []string{".pprof", ".prof"},
			Sniff: pprof.Sniff, NewDecoder: func() Decoder { return pprof.NewDecoder() }, Encode: pprof.Encode},
		{Name: "folded", Title: "folded (collapsed) stacks", Extensions: []string{".folded", ".collapsed", ".txt"},
			Sniff: folded.Sniff, NewDecoder: func() Decoder { return folded.NewDecoder() }, Encode: folded.Encode},
	}
}

// Lookup returns the format of that name.
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

// refused are contents that are recognised and not read, with what to do.
var refused = []struct{ magic, what, hint string }{
	{"PERFILE2", "a perf.data file", "convert it: perf script -i FILE > FILE.txt"},
	{"SIMPLEPERF", "a simpleperf file", "convert it: simpleperf report-sample --protobuf"},
}

// detect returns the format of content that begins with prefix.
func detect(formats []Format, prefix []byte) (*Format, error) {
	if len(prefix) == 0 {
		return nil, fmt.Errorf("%w: it is empty", profile.ErrUnrecognized)
	}
	for _, r := range refused {
		if bytes.HasPrefix(prefix, []byte(r.magic)) {
			return nil, &profile.ParseError{Offset: -1, Err: fmt.Errorf("%s: %w", r.what, profile.ErrUnsupported), Hint: r.hint}
		}
	}
	for i := range formats {
		if formats[i].Sniff(prefix) {
			return &formats[i], nil
		}
	}
	return nil, profile.ErrUnrecognized
}

// claimed returns the format that a file's name claims beyond doubt.
func claimed(formats []Format, name string) *Format {
	_, ext := TrimExtensions(name)
	ext, _, _ = strings.Cut(ext, ".")
	for i := range formats {
		if ext != "txt" && ext != "" && slices.Contains(formats[i].Extensions, "."+ext) {
			return &formats[i]
		}
	}
	return nil
}

// Detect returns the format of content that begins with prefix, of which 64 KiB
// are enough. Content that is recognised but not read gives an error that wraps
// profile.ErrUnsupported, anything else profile.ErrUnrecognized.
func Detect(prefix []byte) (*Format, error) { return detect(All(), prefix) }

// KnownExtensions lists the extensions of all formats, compressions and
// archives, with the dot.
func KnownExtensions() []string {
	exts := []string{".gz", ".zst", ".zip", ".tar", ".tgz"}
	for _, f := range All() {
		for _, e := range f.Extensions {
			// .pb.gz is .pb behind .gz.
			if e = strings.TrimSuffix(e, ".gz"); !slices.Contains(exts, e) {
				exts = append(exts, e)
			}
		}
	}
	return exts
}

// TrimExtensions splits a file name into its stem and its known extensions:
// "json.orders.collapsed.gz" is "json.orders" and "collapsed.gz".
func TrimExtensions(name string) (stem, ext string) {
	known := KnownExtensions()
	stem = name
	for {
		e := path.Ext(stem)
		if e == "" || e == stem || !slices.Contains(known, strings.ToLower(e)) {
			return stem, strings.TrimPrefix(name[len(stem):], ".")
		}
		stem = strings.TrimSuffix(stem, e)
	}
}
