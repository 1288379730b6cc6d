package agent

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// portableReader reads the goroutine profile that runtime/pprof writes. It decodes
// only the samples that are wanted. Goroutines with equal stacks and labels are one
// sample there; every segment has a label of its own.
type portableReader struct {
	written, content bytes.Buffer
	samples          [][]byte
	locations        map[uint64][]byte
	functions        map[uint64][]byte
	strings          [][]byte
	stack            []frame
}

// profileDepth is how many frames the runtime keeps of a stack.
var profileDepth = stackDepth(os.Getenv("GODEBUG"))

func stackDepth(settings string) int {
	depth := 128
	for setting := range strings.SplitSeq(settings, ",") {
		if text, ok := strings.CutPrefix(setting, "profstackdepth="); ok {
			if n, err := strconv.Atoi(text); err == nil && n >= 0 {
				depth = min(n, 1024)
			}
		}
	}
	return depth
}

// Fields of the messages of profile.proto. Locations and functions have their id in
// the same field.
const (
	profileSample, profileLocation, profileFunction, profileString = 2, 4, 5, 6
	sampleLocation, sampleLabel                                    = 1, 3
	labelName, labelText                                           = 1, 2
	locationLine, lineFunction, lineNumber                         = 4, 1, 2
	idField, functionName                                          = 1, 2
)

func (r *portableReader) read(wanted func(string) bool, found func(string, []frame)) error {
	r.written.Reset()
	if err := pprof.Lookup("goroutine").WriteTo(&r.written, 0); err != nil {
		return fmt.Errorf("goroutine profile: %w", err)
	}
	z, err := gzip.NewReader(&r.written)
	if err != nil {
		return fmt.Errorf("goroutine profile: %w", err)
	}
	r.content.Reset()
	if _, err := io.Copy(&r.content, z); err != nil {
		return fmt.Errorf("goroutine profile: %w", err)
	}
	if err := r.decode(wanted, found); err != nil {
		return fmt.Errorf("goroutine profile: %w", err)
	}
	return nil
}

// decode reads the content.
func (r *portableReader) decode(wanted func(string) bool, found func(string, []frame)) error {
	if err := r.split(); err != nil {
		return err
	}
	key := -1
	for i, s := range r.strings {
		if string(s) == labelKey {
			key = i
		}
	}
	if key < 0 {
		return nil
	}
	for _, sample := range r.samples {
		id, locations, err := r.sample(sample, uint64(key))
		if err == nil && id != "" && wanted(id) {
			r.stack = r.stack[:0]
			for len(locations) > 0 && err == nil {
				number, n := protowire.ConsumeVarint(locations)
				if n < 0 {
					return protowire.ParseError(n)
				}
				locations = locations[n:]
				err = r.location(number)
			}
			if err == nil {
				if len(r.stack) < profileDepth { // the writer leaves goexit out
					r.stack = append(r.stack, frame{kind: exitFrame})
				}
				found(id, r.stack)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// split sorts the parts of the profile by kind.
func (r *portableReader) split() error {
	r.samples, r.strings = r.samples[:0], r.strings[:0]
	r.locations, r.functions = map[uint64][]byte{}, map[uint64][]byte{}
	return fields(r.content.Bytes(), func(number protowire.Number, _ uint64, b []byte) error {
		switch number {
		case profileSample:
			r.samples = append(r.samples, b)
		case profileString:
			r.strings = append(r.strings, b)
		case profileLocation, profileFunction:
			id, err := varint(b, idField)
			if number == profileLocation {
				r.locations[id] = b
			} else {
				r.functions[id] = b
			}
			return err
		}
		return nil
	})
}

// sample returns our label of a sample and its locations, leaf first, as varints.
func (r *portableReader) sample(b []byte, key uint64) (id string, locations []byte, err error) {
	err = fields(b, func(number protowire.Number, v uint64, b []byte) error {
		switch {
		case number == sampleLocation && b == nil: // not packed
			locations = protowire.AppendVarint(locations, v)
		case number == sampleLocation:
			locations = b
		case number == sampleLabel:
			name, err := varint(b, labelName)
			if err != nil || name != key {
				return err
			}
			text, err := varint(b, labelText)
			id = r.text(text)
			return err
		}
		return nil
	})
	return id, locations, err
}

// location appends the frames of a location to the stack.
func (r *portableReader) location(id uint64) error {
	return fields(r.locations[id], func(number protowire.Number, _ uint64, b []byte) error {
		if number != locationLine {
			return nil
		}
		function, err := varint(b, lineFunction)
		if err != nil {
			return err
		}
		line, err := varint(b, lineNumber)
		if err != nil {
			return err
		}
		name, err := varint(r.functions[function], functionName)
		r.stack = append(r.stack, newFrame(r.text(name), int(line)))
		return err
	})
}

func (r *portableReader) text(i uint64) string {
	if i >= uint64(len(r.strings)) {
		return ""
	}
	return string(r.strings[i])
}

// varint returns the last value of a varint field, 0 if the message has none.
func varint(message []byte, field protowire.Number) (value uint64, err error) {
	err = fields(message, func(number protowire.Number, v uint64, b []byte) error {
		if number == field && b == nil {
			value = v
		}
		return nil
	})
	return value, err
}

// fields calls f for each field of a message: with the value of a varint, or the
// bytes, which are not nil, of a field that has a length.
func fields(message []byte, f func(number protowire.Number, value uint64, b []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var value uint64
		var b []byte
		switch kind {
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			b, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if kind == protowire.VarintType || kind == protowire.BytesType {
			if err := f(number, value, b); err != nil {
				return err
			}
		}
	}
	return nil
}
