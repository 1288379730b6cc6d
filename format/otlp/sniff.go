package otlp

import (
	"bytes"
	"slices"

	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/internal/wire"
)

// sniffLen is the length from which a prefix is taken as cut: a shorter one is
// the whole content.
const sniffLen = 64 << 10

// Sniff reports whether content that begins with prefix is OTLP profiles: JSON
// with their keys, or messages whose fields and those inside have their wire
// types. It has no magic number; pprof, which has the same first fields, must be
// asked first.
func Sniff(prefix []byte) bool {
	if looksJSON(prefix) {
		return sniffJSON(prefix)
	}
	cut := len(prefix) >= sniffLen
	pos, end := 0, len(prefix)
	if size, ok := framed(prefix); ok {
		pos = 4
		if size <= end-pos {
			end, cut = pos+size, false
		} else if !cut {
			return false
		}
	}
	parts := 0
	for pos < end {
		f, isCut, ok := sniffed(messageType.Message, prefix, pos, end, cut)
		if !ok {
			return false
		}
		shape := protobuf.Of[tables]().Message
		if f.Num == 1 {
			shape = protobuf.Of[resource]().Message
		}
		n, ok := fits(shape, prefix, f, isCut)
		if !ok {
			return false
		}
		parts += n
		pos = f.Hi
	}
	return parts > 0
}

// sniffed reads a field that the schema must know. Where the prefix is cut, its
// last field is: it then ends with the prefix.
func sniffed(s *protobuf.Message, msg []byte, pos, end int, cut bool) (f wire.Field, isCut, ok bool) {
	f, err := s.Next(msg, pos, end)
	if err == nil {
		return f, false, s.Known(f.Num)
	}
	if broken, _ := err.(*wire.Error); !cut || broken == nil || !broken.Cut || f.Type != wire.Bytes || !s.Known(f.Num) {
		return f, false, false
	}
	f.Hi = end
	if f.Lo == 0 || f.Lo > end {
		f.Lo = end
	}
	return f, true, true
}

// fits counts the fields of a message that the schema knows; any other is no fit.
func fits(s *protobuf.Message, msg []byte, f wire.Field, cut bool) (n int, ok bool) {
	for pos := f.Lo; pos < f.Hi; n++ {
		g, _, ok := sniffed(s, msg, pos, f.Hi, cut)
		if !ok {
			return n, cut && n > 3 && f.Hi-pos < 16 // a tag or length that is cut
		}
		pos = g.Hi
	}
	return n, true
}

// jsonKeys tell the JSON form; one of a profile besides those that other signals
// have too.
var jsonKeys = [][]byte{[]byte(`"stringTable"`), []byte(`"scopeProfiles"`), []byte(`"sampleType"`), []byte(`"stackIndex"`),
	[]byte(`"stackTable"`), []byte(`"locationTable"`)}

func sniffJSON(prefix []byte) bool {
	if !bytes.Contains(prefix, []byte(`"resourceProfiles"`)) && !bytes.Contains(prefix, []byte(`"dictionary"`)) {
		return false
	}
	return slices.ContainsFunc(jsonKeys, func(key []byte) bool { return bytes.Contains(prefix, key) })
}
