package pprof

import "github.com/dendroprof/dendro/internal/wire"

// sniffLen is the length from which a prefix is taken as cut: a shorter one is
// the whole file.
const sniffLen = 64 << 10

// Sniff reports whether content that begins with prefix is a pprof profile. The
// format has no magic number, so all of the prefix must parse as one: fields 1
// to 15 with their wire types, and the first messages in them with theirs. A
// prefix shorter than 64 KiB is taken as the whole file, which must then have a
// sample type and an empty first string.
func Sniff(prefix []byte) bool {
	var s sniffer
	for pos := 0; pos < len(prefix); {
		f, err := sniffed(prefix, pos)
		if err != nil {
			broken, _ := err.(*wire.Error)
			return broken != nil && broken.Cut && len(prefix) >= sniffLen && (f.Num == 0 || profileShape.Known(f.Num)) && s.evident()
		}
		if !profileShape.Known(f.Num) || !s.take(prefix, f) {
			return false
		}
		pos = f.Hi
	}
	if len(prefix) >= sniffLen {
		return s.evident()
	}
	return s.types > 0 && s.strings > 0
}

// sniffed is profileShape.next for the usual field, of bytes.
func sniffed(prefix []byte, pos int) (f wire.Field, err error) {
	if tag := prefix[pos]; tag&0x87 == wire.Bytes && profileShape[tag>>3]&wire.AsBytes != 0 {
		f = wire.Field{Num: int(tag >> 3), Type: wire.Bytes, At: pos}
		f.Lo, f.Hi, err = wire.Payload(prefix, pos+1, len(prefix))
		return f, err
	}
	return profileShape.Next(prefix, pos, len(prefix))
}

// sniffer counts what speaks for pprof.
type sniffer struct {
	types, strings int
	messages       int // samples, mappings, locations and functions
}

// evident reports whether a cut prefix is surely pprof: no other binary format
// has three messages of these shapes in a row by chance.
func (s *sniffer) evident() bool { return s.types > 0 || s.messages >= 3 }

// looked is how many messages are looked into. Where so many are right, others
// are the decoder's to judge.
const looked = 64

var messageShapes = [16]*wire.Shape{
	fieldSample: &sampleShape, fieldMapping: &mappingShape, fieldLocation: &locationShape, fieldFunction: &functionShape,
}

func (s *sniffer) take(msg []byte, f wire.Field) bool {
	switch f.Num {
	case fieldString:
		s.strings++
		return s.strings > 1 || f.Lo == f.Hi
	case fieldSampleType:
		s.types++
		return fits(&valueTypeShape, msg, f)
	case fieldPeriodType:
		return fits(&valueTypeShape, msg, f)
	}
	if shape := messageShapes[f.Num]; shape != nil {
		s.messages++
		return s.messages > looked || fits(shape, msg, f)
	}
	return true
}

// fits reports whether the payload of f is a message of the given shape.
func fits(s *wire.Shape, msg []byte, f wire.Field) bool {
	for pos := f.Lo; pos < f.Hi; {
		g, err := s.Next(msg, pos, f.Hi)
		if err != nil || !s.Known(g.Num) {
			return false
		}
		pos = g.Hi
	}
	return true
}
