// Package pprof reads and writes profiles in the protocol buffer format of
// pprof, as runtime/pprof, async-profiler's converter, perf_to_profile and many
// others write it.
//
// Specification: https://github.com/google/pprof/blob/main/proto/profile.proto.
// Files of Go 1.26 and of async-profiler's converter 4.5 were seen. The format
// has no version; fields of numbers above 15 are skipped. docs/format/go.md
// says field by field what becomes of them. Dropped are: mappings and locations
// that no sample uses, is_folded of locations, values of zero, and the number of
// a label that is a string.
//
// The message is read whole, at most Limits.Message bytes of it, and decoded in
// place by two passes: one for what may be referred to, one for the samples.
// Functions, frames and stacks go into the Symbols; a Decoder that is used again
// with the same ones recognises them. There is no object per sample, label or
// location, as in github.com/google/pprof/profile, with which tests compare.
//
// Memory: decoding a message of 50 MB allocates 4 bytes per byte of it, itself
// included; one of 20 kB into empty Symbols 25. Whatever the content, it is no
// more than 512 bytes per byte of the message and 32 MiB, and time is at most
// proportional to the message, because what inlined calls and long names expand
// to is bounded.
//
// The package knows neither gzip nor archives; package format takes them off.
package pprof

import (
	"io"
	"strings"
	"time"

	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "pprof"

// Decoder decodes messages one after the other. It keeps its buffers and, for
// the Symbols of the last call, an index of their functions. It is not safe for
// concurrent use. The profiles that it returns do not refer to it.
type Decoder struct {
	buf     []byte
	links   links
	samples samples
}

// NewDecoder returns a Decoder.
func NewDecoder() *Decoder { return &Decoder{} }

// keepBytes is the message size above which buffers are not kept.
const keepBytes = 64 << 20

// Decode reads one profile from r up to its end. Functions, frames and stacks
// are added to s; nil means Symbols of its own. Errors are of type
// *profile.ParseError; Offset is the place in the message. After an error s may
// hold more than before, which does no harm.
func (d *Decoder) Decode(r io.Reader, s *profile.Symbols, l profile.Limits) (*profile.Profile, error) {
	if s == nil {
		s = profile.NewSymbols()
	}
	if d.links.warm == nil || d.links.symbols != s {
		d.links.warm = newWarm(s)
	}
	d.links.limits = l.WithDefaults()
	d.links.tables.take = l.Take
	var err error
	if d.buf, err = protobuf.ReadAll(r, d.buf, d.links.limits.Message); err != nil {
		return nil, err
	}
	d.links.msg = d.buf
	p, err := d.decode()
	if d.links.msg = nil; len(d.buf) > keepBytes {
		*d = Decoder{links: links{warm: d.links.warm}}
	}
	return p, err
}

func (d *Decoder) decode() (*profile.Profile, error) {
	l := &d.links
	l.found = findings{}
	if err := l.tables.read(l.msg, &l.found); err != nil {
		return nil, err
	}
	if err := l.link(&l.found); err != nil {
		return nil, err
	}
	l.reset()
	p := profile.New(l.symbols)
	if err := d.head(p); err != nil {
		return nil, err
	}
	if err := d.tables(p); err != nil {
		return nil, err
	}
	if err := l.linkMappings(); err != nil {
		return nil, err
	}
	d.samples.links = l
	if err := d.samples.read(p); err != nil {
		return nil, err
	}
	p.LabelSets, p.Threads = d.samples.sets.list, d.samples.sets.threads
	l.found.report(p)
	p.CountLost()
	return p.Checked()
}

// Prefixes of comments that stand for fields of Profile or of the format.
const (
	producedBy = "Produced by " // async-profiler's converter names itself so
	docURL     = "doc_url: "    // the format's field 15, for which Profile has no place
)

// head fills in what the profile says about itself.
func (d *Decoder) head(p *profile.Profile) (err error) {
	l := &d.links
	h := &l.head
	p.Format = Name
	if h.time != 0 {
		p.Start = time.Unix(0, h.time).UTC()
	}
	p.Duration = time.Duration(h.duration)
	if p.DropFrames, err = l.string(h.dropFrames); err != nil {
		return err
	}
	if p.KeepFrames, err = l.string(h.keepFrames); err != nil {
		return err
	}
	for _, ref := range l.comments {
		c, err := l.string(ref)
		if err != nil {
			return err
		}
		p.Comments = append(p.Comments, c)
		if name, ok := strings.CutPrefix(c, producedBy); ok && p.Profiler == "" {
			p.Profiler = name
		}
	}
	l.guess = p.Profiler == "async-profiler"
	url, err := l.string(h.docURL)
	if url != "" {
		p.Comments = append(p.Comments, docURL+url)
	}
	return err
}
