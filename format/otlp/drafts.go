package otlp

import (
	"errors"
	"fmt"

	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
)

// The signal has no version in its messages, and its drafts gave the same numbers to other
// fields. Messages of opentelemetry-proto 1.8 and 1.9 are rewritten with the numbers of 1.10
// before they are read; older ones are refused.
//
//	of a sample     1.8, 1.9   1.10       of a profile         1.8   1.9
//	attributes      3          2          comments             7     -
//	link            4          3          id … payload         8-11  7-10
//	values          2          4          attributes           12    11

// fieldComments is a number that no draft uses: where comments are after rewriting.
const fieldComments = 15

// The numbers of 1.10 for those of a sample of 1.8 and 1.9, and of a profile of 1.8.
var (
	oldSample  = [...]int{1: 1, 2: 4, 3: 2, 4: 3, 5: 5}
	oldProfile = [...]int{1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: fieldComments, 8: 7, 9: 8, 10: 9, 11: 10, 12: 11}
)

// errOldDraft refuses a message of opentelemetry-proto 1.7 or older, at a place or -1.
func errOldDraft(at int64) *profile.ParseError {
	return &profile.ParseError{
		Offset: at, Err: fmt.Errorf("a message of opentelemetry-proto 1.7 or older: %w", profile.ErrUnsupported),
		Hint: "drafts from 1.8 on are read: update the exporter or the collector",
	}
}

// draft is what the fields of a message show of its draft.
type draft struct {
	sample  bool // samples are those of 1.8 or 1.9
	profile bool // profiles are those of 1.8

	decided      bool // a sample shows of which draft they are
	dictionaries int
	attributes   int    // entries of the dictionary's table
	doubtful     bool   // some samples have a field 2 that may be attributes or values
	largest      uint64 // number in such a field
	untimed      bool   // some such samples have no time: what they count must be values
}

// anyShape has no rules: a draft is found out by the wire types of its fields.
var anyShape wire.Shape

// toSamples are the fields that lead from a message to its samples.
var toSamples = [...]int{1, 2, 2, 2}

// draftOf finds out of which draft a message is. What is malformed is left to the reader.
func draftOf(msg []byte, pos, end int) (d draft, err error) {
	err = eachField(msg, pos, end, func(f wire.Field) error {
		switch {
		case f.Num > 2:
			return errOldDraft(int64(f.At)) // the tables of 1.6, which had no dictionary
		case f.Num == 2:
			if d.dictionaries++; d.dictionaries > 1 {
				return protobuf.Malformed(f.At, "a second dictionary: are these several messages without lengths in front?").(*profile.ParseError)
			}
			return eachField(msg, f.Lo, f.Hi, func(g wire.Field) error {
				if g.Type != wire.Bytes {
					return errOldDraft(int64(g.At))
				}
				if g.Num == 6 {
					d.attributes++
				}
				return nil
			})
		}
		return d.scan(msg, f, toSamples[1:])
	})
	var refused *profile.ParseError
	switch {
	case errors.As(err, &refused):
		return d, err
	case err != nil:
		return draft{}, nil
	case d.profile:
		d.sample = true
	case !d.decided:
		// Attributes are entries of the table; a sample that has neither a value nor a time
		// makes no sense in 1.10.
		d.sample = d.doubtful && (d.untimed || d.largest >= uint64(d.attributes))
	}
	return d, nil
}

// eachField calls use with the fields of the message [pos, end).
func eachField(msg []byte, pos, end int, use func(f wire.Field) error) error {
	for pos < end {
		f, err := anyShape.Next(msg, pos, end)
		if err != nil {
			return err
		}
		if err := use(f); err != nil {
			return err
		}
		pos = f.Hi
	}
	return nil
}

// scan looks at what the message in f contains, down the path to the samples.
func (d *draft) scan(msg []byte, f wire.Field, path []int) error {
	if f.Type != wire.Bytes {
		return nil
	}
	if len(path) == 0 {
		if d.decided {
			return nil
		}
		return d.scanSample(msg, f)
	}
	types := 0
	return eachField(msg, f.Lo, f.Hi, func(g wire.Field) error {
		if len(path) == 1 {
			if g.Num == 1 {
				types++
			}
			if g.Num == 3 && g.Type != wire.Fixed64 || g.Num == 5 && g.Type == wire.Varint || g.Num > 12 || types > 1 {
				return errOldDraft(int64(g.At)) // indices of locations, a time, a second sample type
			}
			d.profile = d.profile || g.Num == 12 || g.Num == 8 && g.Type == wire.Bytes || g.Num == 9 && g.Type == wire.Varint ||
				g.Num == 7 && g.Type == wire.Varint
		}
		if g.Num == path[0] {
			return d.scan(msg, g, path[1:])
		}
		return nil
	})
}

// scanSample looks at a sample. Lists may be packed or not; a link is a number.
func (d *draft) scanSample(msg []byte, f wire.Field) error {
	var has [6]wire.Field
	largest := uint64(0)
	err := eachField(msg, f.Lo, f.Hi, func(g wire.Field) error {
		if g.Num == 5 && g.Type == wire.Varint || g.Num > 5 {
			return errOldDraft(int64(g.At)) // a link, times
		}
		has[g.Num] = g
		if g.Num != 2 || g.Type == wire.Varint {
			largest = max(largest, has[2].Value)
			return nil
		}
		for pos := g.Lo; pos < g.Hi; {
			v, after, err := wire.Uvarint(msg, pos, g.Hi)
			if err != nil {
				return err
			}
			largest, pos = max(largest, v), after
		}
		return nil
	})
	second, packed := has[2].Num != 0, has[2].Num != 0 && has[2].Type == wire.Bytes
	switch {
	case err != nil:
		return err
	case has[3].Num != 0 && has[3].Type == wire.Bytes, packed && has[4].Num != 0 && has[4].Type == wire.Varint:
		d.decided, d.sample = true, true // attributes, or a link behind values
	case has[4].Num != 0:
		d.decided = true // values
	case second:
		d.doubtful, d.untimed, d.largest = true, d.untimed || has[5].Num == 0, max(d.largest, largest)
	}
	return nil
}

// upgrade appends the message [pos, end) with the numbers of 1.10. Path leads to the
// samples.
func (d *draft) upgrade(b, msg []byte, pos, end int, path []int) ([]byte, error) {
	var numbers []int
	switch {
	case len(path) == 0:
		numbers = oldSample[:]
	case len(path) == 1 && d.profile:
		numbers = oldProfile[:]
	}
	err := eachField(msg, pos, end, func(f wire.Field) error {
		num := f.Num
		if numbers != nil {
			if num = 0; f.Num < len(numbers) {
				num = numbers[f.Num]
			}
		}
		switch {
		case num == 0:
		case len(path) > 0 && f.Num == path[0] && f.Type == wire.Bytes:
			inner, err := d.upgrade(nil, msg, f.Lo, f.Hi, path[1:])
			if err != nil {
				return err
			}
			b = wire.AppendBytes(b, num, inner)
		case f.Type == wire.Bytes:
			b = wire.AppendBytes(b, num, msg[f.Lo:f.Hi])
		default:
			b = append(append(b, byte(num<<3|f.Type)), msg[f.Lo:f.Hi]...)
		}
		return nil
	})
	return b, err
}

// protobuf reads the message [pos, end) of any draft and links it.
func (k *linker) protobuf(content []byte, pos, end int) error {
	d, err := draftOf(content, pos, end)
	if err != nil {
		return err
	}
	if !d.sample && !d.profile {
		return k.current(content, pos, end)
	}
	upgraded, err := d.upgrade(make([]byte, 0, end-pos), content, pos, end, toSamples[:])
	if err == nil {
		err = k.current(upgraded, 0, len(upgraded))
	}
	var pe *profile.ParseError
	if err = protobuf.Place(err); errors.As(err, &pe) {
		moved := *pe
		moved.Offset = -1 // it is a place in the message as rewritten
		return &moved
	}
	return err
}

// current reads a message that has the numbers of 1.10.
func (k *linker) current(content []byte, pos, end int) error {
	m := &message{content: content}
	d := &protobuf.Decoder{Repair: true, Expand: k.limits.Take}
	if err := messageType.DecodeAt(d, m, content, wire.Field{Lo: pos, Hi: end}); err != nil {
		return err
	}
	return k.add(m)
}
