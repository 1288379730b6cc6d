package skywalking

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/traceprof"
)

// ErrMalformed is wrapped by errors about messages that cannot be decoded, over any
// protocol: the sender is at fault.
var ErrMalformed = errors.New("malformed message")

// Limits of messages, far above what agents send: about a hundred bytes, 500 frames and 300 spans.
const (
	maxID      = 1024    // bytes of the id of a task, a trace or a segment
	maxFrames  = 1 << 16 // of a stack: a frame of two bytes takes eighty in memory
	maxEntries = 1 << 16 // messages in a message: a span of two bytes takes 250 in memory
)

// decode decodes a message. Protobuf refuses strings that are not UTF-8; here their
// invalid bytes become the replacement character, so that one broken character in a
// name does not lose a whole report. It returns the bytes that were decoded.
func decode(data []byte, into proto.Message) ([]byte, error) {
	desc := into.ProtoReflect().Descriptor()
	lenient := proto.UnmarshalOptions{DiscardUnknown: true}
	if len(data) > maxEntries {
		if _, err := entries(data, desc); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrMalformed, desc.Name(), err)
		}
	}
	err := lenient.Unmarshal(data, into)
	if err == nil {
		return data, nil
	}
	if repaired, ok := repair(nil, data, desc, 0); ok {
		if err = lenient.Unmarshal(repaired, into); err == nil {
			return repaired, nil
		}
	}
	return nil, fmt.Errorf("%w: %s: %w", ErrMalformed, desc.Name(), err)
}

// entries returns the number of messages in a message, before they are made.
func entries(data []byte, desc protoreflect.MessageDescriptor) (n int, err error) {
	for pos := 0; pos < len(data); {
		f, err := anyShape.Next(data, pos, len(data))
		if err != nil {
			return n, err
		}
		pos = f.Hi
		if field := desc.Fields().ByNumber(protoreflect.FieldNumber(f.Num)); f.Type == wire.Bytes && field != nil && field.Message() != nil {
			inner, err := entries(data[f.Lo:f.Hi], field.Message())
			if err != nil {
				return n, err
			}
			if n += 1 + inner; n > maxEntries {
				return n, errEntries
			}
		}
	}
	return n, nil
}

var errEntries = fmt.Errorf("it has more than %d spans, tags and other parts", maxEntries)

// maxNesting limits how deep repaired messages may nest; agents nest five levels.
const maxNesting = 16

// repair appends a message to b, with the strings made valid UTF-8. It returns false
// if the bytes are not a message.
func repair(b, data []byte, desc protoreflect.MessageDescriptor, depth int) ([]byte, bool) {
	if depth > maxNesting {
		return nil, false
	}
	for pos := 0; pos < len(data); {
		f, err := anyShape.Next(data, pos, len(data))
		if err != nil {
			return nil, false
		}
		pos = f.Hi
		field := desc.Fields().ByNumber(protoreflect.FieldNumber(f.Num))
		switch payload := data[f.Lo:f.Hi]; {
		case f.Type != wire.Bytes || field == nil:
			b = append(b, data[f.At:f.Hi]...)
		case field.Kind() == protoreflect.StringKind:
			b = wire.AppendBytes(b, f.Num, valid(payload))
		case field.Kind() == protoreflect.MessageKind:
			inner, ok := repair(nil, payload, field.Message(), depth+1)
			if !ok {
				return nil, false
			}
			b = wire.AppendBytes(b, f.Num, inner)
		default:
			b = append(b, data[f.At:f.Hi]...)
		}
	}
	return b, true
}

// valid returns text with bytes that are not UTF-8 replaced; text itself if there are
// none.
func valid(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	return bytes.ToValidUTF8(text, []byte("\uFFFD"))
}

// Shapes of messages that are read in place: ThreadSnapshot and ThreadStack arrive a
// hundred thousand times a second. anyShape accepts any message.
var (
	anyShape        wire.Shape
	collectionShape = wire.Shape{1: wire.AsBytes}
	snapshotShape   = wire.Shape{1: wire.AsBytes, 2: wire.AsBytes, 3: wire.AsVarint, 4: wire.AsVarint, 5: wire.AsBytes}
	stackShape      = wire.Shape{1: wire.AsBytes}
)

// readSnapshot reads a ThreadSnapshot without copying: s refers to msg. Of a stack in
// several parts, which no encoder writes, it uses the last.
func readSnapshot(msg []byte, s *traceprof.Snapshot) error {
	s.Task, s.Segment, s.Time, s.Sequence, s.Stack = nil, nil, 0, 0, nil
	for pos := 0; pos < len(msg); {
		f, err := snapshotShape.Next(msg, pos, len(msg))
		if err != nil {
			return fmt.Errorf("%w: ThreadSnapshot: %w", ErrMalformed, err)
		}
		switch f.Num {
		case 1:
			s.Task = valid(msg[f.Lo:f.Hi])
		case 2:
			s.Segment = valid(msg[f.Lo:f.Hi])
		case 3:
			s.Time = int64(f.Value)
		case 4:
			s.Sequence = int32(f.Value)
		case 5:
			s.Stack = msg[f.Lo:f.Hi]
		}
		pos = f.Hi
	}
	if len(s.Task) > maxID || len(s.Segment) > maxID {
		return fmt.Errorf("%w: ThreadSnapshot: an id of more than %d bytes", ErrMalformed, maxID)
	}
	return nil
}

// readFrames yields the code signatures of a ThreadStack, outermost first, for
// traceprof.Snapshot.Frames.
func readFrames(stack []byte, yield func(signature []byte) bool) error {
	frames := 0
	for pos := 0; pos < len(stack); {
		f, err := stackShape.Next(stack, pos, len(stack))
		if err != nil {
			return fmt.Errorf("%w: ThreadStack: %w", ErrMalformed, err)
		}
		if f.Num == 1 {
			if frames++; frames > maxFrames {
				return fmt.Errorf("%w: ThreadStack: more than %d frames", ErrMalformed, maxFrames)
			}
			if !yield(valid(stack[f.Lo:f.Hi])) {
				return nil
			}
		}
		pos = f.Hi
	}
	return nil
}
