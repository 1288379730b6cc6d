package pprof

import (
	"bytes"
	"encoding/binary"
	"io"

	googlepprof "github.com/google/pprof/profile"

	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/profile"
)

// TextName is the name, in Profile.Format, of the formats that came before protocol
// buffers and that no other reader has (contention and threads of C++, heap, contention
// and CPU of Java), and of what pprof prints with -raw and -traces.
const TextName = "pprof-text"

// textStarts are what these begin with.
var textStarts = []string{"--- heapz ", "--- contentionz ", "--- threadz ", "--- Thread "}

// SniffText reports whether content that begins with prefix is of one of these formats.
// The CPU profile of Java has words of the machine: 0, 3, 1, the period in microseconds, 0.
func SniffText(prefix []byte) bool {
	for _, start := range textStarts {
		if bytes.HasPrefix(prefix, []byte(start)) {
			return start != "--- Thread " || bytes.Contains(prefix, []byte(" stack: ---"))
		}
	}
	return sniffRaw(prefix) || sniffTraces(prefix) || isJavaCPU(prefix, binary.LittleEndian, 8) || isJavaCPU(prefix, binary.BigEndian, 8) ||
		isJavaCPU(prefix, binary.LittleEndian, 4) || isJavaCPU(prefix, binary.BigEndian, 4)
}

func isJavaCPU(prefix []byte, order binary.ByteOrder, size int) bool {
	var v [5]uint64
	if len(prefix) < size*len(v) {
		return false
	}
	for i := range v {
		if v[i] = uint64(order.Uint32(prefix[size*i:])); size == 8 {
			v[i] = order.Uint64(prefix[size*i:])
		}
	}
	return v[0] == 0 && v[1] == 3 && v[2] == 1 && v[3] > 0 && v[3] < 1<<40 && v[4] == 0
}

// textDecoder reads these formats with the parser of pprof itself, and what that makes of
// them as protocol buffers.
type textDecoder struct{ Decoder }

// NewTextDecoder returns a decoder of the older formats. It holds the file in memory.
func NewTextDecoder() profile.Decoder { return &textDecoder{} }

// Decode implements profile.Decoder. The errors have no place.
func (d *textDecoder) Decode(r io.Reader, s *profile.Symbols, l profile.Limits) (*profile.Profile, error) {
	content, err := protobuf.ReadAll(r, nil, l.WithDefaults().Message)
	if err != nil {
		return nil, err
	}
	traces := sniffTraces(content)
	var parsed *googlepprof.Profile
	switch {
	case sniffRaw(content):
		parsed, err = parseRaw(content)
	case traces:
		parsed, err = parseTraces(content)
	default:
		parsed, err = googlepprof.ParseData(content)
	}
	var message bytes.Buffer
	if err == nil {
		err = parsed.WriteUncompressed(&message)
	}
	if err != nil {
		return nil, &profile.ParseError{Offset: -1, Err: profile.Malformed("%v", err)}
	}
	p, err := d.Decoder.Decode(&message, s, l)
	if err != nil {
		return nil, &profile.ParseError{Offset: -1, Err: err.(*profile.ParseError).Err} // of the message, not the file
	}
	p.Format = TextName
	if traces {
		p.Warnf("pprof -traces prints rounded values without files and lines: import the profile itself if you have it")
	}
	return p, nil
}
