// Package otlp reads and writes profiles of OpenTelemetry: the messages
// ProfilesData and ExportProfilesServiceRequest of the signal "profiles", status
// v1development, as protocol buffers and as JSON.
//
// Specification: opentelemetry/proto/profiles/v1development/profiles.proto as of
// the Go types go.opentelemetry.io/proto/otlp/profiles/v1development v0.4.0, of
// which tests use recordings. The field numbers of earlier drafts mean other
// things; those of 1.8 and 1.9 are read, older ones refused (drafts.go).
//
// What samples refer to lies in one dictionary per message. A content may be
// several messages: JSON values behind each other (a line each, as the file
// exporter of the collector writes them) or protocol buffers with a length of
// four bytes in front. All become one profile.Profile: each sample type is a
// sample table, and those of equal value types are one. docs/format/otlp.md says
// field by field what becomes of them.
//
// A message is read whole, at most Limits.Message bytes, first into structs (message.go;
// JSON is translated) and from there into Symbols (link.go, samples.go). Memory is at most 512 bytes per byte of the content and
// 32 MiB, and time is proportional to it, because what inlined calls expand to is
// bounded.
//
// The package does not receive anything: no gRPC, no HTTP.
package otlp

import (
	"encoding/binary"
	"io"
	"math"
	"regexp"

	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "otlp"

// Decoder reads contents one after the other and keeps its buffer. It belongs to
// one goroutine; the profiles that it returns do not refer to it.
type Decoder struct {
	buf []byte
}

// NewDecoder returns a Decoder.
func NewDecoder() *Decoder { return &Decoder{} }

// keepBytes is the size of a content above which the buffer is not kept.
const keepBytes = 64 << 20

// Decode reads all of r into one profile over s; with s nil it gets Symbols of
// its own. Errors are of type *profile.ParseError; Offset is the place in r.
func (d *Decoder) Decode(r io.Reader, s *profile.Symbols, l profile.Limits) (*profile.Profile, error) {
	l = l.WithDefaults()
	var err error
	if d.buf, err = protobuf.ReadAll(r, d.buf, min(l.Message, math.MaxInt32)); err != nil {
		return nil, err
	}
	k := newLinker(profile.New(s), l, len(d.buf))
	err = decodeAll(d.buf, l, k)
	if len(d.buf) > keepBytes {
		d.buf = nil
	}
	if err != nil {
		return nil, protobuf.Place(err)
	}
	p := k.finish()
	p.CountLost()
	return p.Checked()
}

// decodeAll reads the messages of a content and gives them to k.
func decodeAll(content []byte, l profile.Limits, k *linker) error {
	if looksJSON(content) {
		return decodeJSON(content, l, k)
	}
	if _, ok := framed(content); !ok {
		return k.protobuf(content, 0, len(content))
	}
	for at := 0; at < len(content); {
		if at += 4; at > len(content) {
			return protobuf.Malformed(at-4, "the length of a message is cut")
		}
		end := at + int(binary.BigEndian.Uint32(content[at-4:]))
		if end > len(content) {
			return protobuf.Malformed(at-4, "a message of %d bytes in the last %d", end-at, len(content)-at)
		}
		if err := k.protobuf(content, at, end); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// framed reports whether a content begins with the length of a message, and how
// long that is. A length below 16 MiB begins with a byte that no message has.
func framed(content []byte) (int, bool) {
	if len(content) < 5 || content[0] != 0 {
		return 0, false
	}
	size := int(binary.BigEndian.Uint32(content))
	return size, size > 0
}

// looksJSON reports whether content begins with a JSON object. A message of
// protocol buffers may begin with the same two characters, a line feed and a brace
// (field 1 of 123 bytes), so the first key is looked at too.
func looksJSON(content []byte) bool {
	return jsonStart.Match(content[:min(len(content), 1<<10)])
}

var jsonStart = regexp.MustCompile(`^(?:\xEF\xBB\xBF)?[ \t\r\n]*\{[ \t\r\n]*(?:\}|"[A-Za-z0-9_$.@ -]*"[ \t\r\n]*:)`)
