package pprof

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
			_, cut := err.(*cutError)
			return cut && len(prefix) >= sniffLen && (f.num == 0 || known(&profileShape, f.num)) && s.evident()
		}
		if !known(&profileShape, f.num) || !s.take(prefix, f) {
			return false
		}
		pos = f.hi
	}
	if len(prefix) >= sniffLen {
		return s.evident()
	}
	return s.types > 0 && s.strings > 0
}

// sniffed is profileShape.next for the usual field, of bytes.
func sniffed(prefix []byte, pos int) (f field, err error) {
	if tag := prefix[pos]; tag&0x87 == wireBytes && profileShape[tag>>3]&asBytes != 0 {
		f = field{num: int(tag >> 3), wire: wireBytes, at: pos}
		f.lo, f.hi, err = payload(prefix, pos+1, len(prefix))
		return f, err
	}
	return profileShape.next(prefix, pos, len(prefix))
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

var messageShapes = [16]*shape{
	fieldSample: &sampleShape, fieldMapping: &mappingShape, fieldLocation: &locationShape, fieldFunction: &functionShape,
}

func (s *sniffer) take(msg []byte, f field) bool {
	switch f.num {
	case fieldString:
		s.strings++
		return s.strings > 1 || f.lo == f.hi
	case fieldSampleType:
		s.types++
		return fits(&valueTypeShape, msg, f)
	case fieldPeriodType:
		return fits(&valueTypeShape, msg, f)
	}
	if shape := messageShapes[f.num]; shape != nil {
		s.messages++
		return s.messages > looked || fits(shape, msg, f)
	}
	return true
}

func known(s *shape, num int) bool { return num < len(s) && s[num] != 0 }

// fits reports whether the payload of f is a message of the given shape.
func fits(s *shape, msg []byte, f field) bool {
	for pos := f.lo; pos < f.hi; {
		g, err := s.next(msg, pos, f.hi)
		if err != nil || !known(s, g.num) {
			return false
		}
		pos = g.hi
	}
	return true
}
