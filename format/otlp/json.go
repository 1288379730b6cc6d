package otlp

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/profile"
)

// decodeJSON reads the values of a content, one message each.
func decodeJSON(content []byte, l profile.Limits, k *linker) error {
	j := protobuf.Translator{Message: messageType.Message, Renamed: oldNames, Old: oldKey, Refuse: errOldDraft}
	for at := 0; ; {
		at += len(content[at:]) - len(bytes.TrimLeft(content[at:], " \t\r\n"))
		if at == len(content) {
			return nil
		}
		end := at + valueEnd(content[at:])
		if err := decodeOne(&j, content[at:end], l, k); err != nil {
			if pe, ok := err.(*profile.ParseError); ok && pe.Offset >= 0 {
				moved := *pe
				moved.Offset += int64(at)
				return &moved
			}
			return err
		}
		at = end
	}
}

// valueEnd returns the length of the object that text begins with, or all of it.
func valueEnd(text []byte) int {
	depth := 0
	for i, c := range protobuf.Structure(text) {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// oldNames are the names in JSON that a draft before 1.9 gave lists.
var oldNames = map[string]string{"sample": "samples", "line": "lines"}

// oldKey reports whether a draft before 1.8 had the key: indices of locations, lists of types.
func oldKey(key []byte, list bool) bool {
	switch string(key) {
	case "locationsStartIndex":
		return true
	case "sampleType", "periodType":
		return list
	}
	return false
}

// decodeOne gives one message to k.
func decodeOne(j *protobuf.Translator, text []byte, l profile.Limits, k *linker) error {
	msg, err := j.Binary(text, l)
	if err != nil {
		return err
	}
	err = protobuf.Place(k.current(msg, 0, len(msg)))
	if pe, ok := errors.AsType[*profile.ParseError](err); ok && pe.Offset >= 0 {
		moved := *pe
		moved.Offset = j.Place(text, int(pe.Offset), l)
		return &moved
	}
	return err
}

// EncodeJSON is Encode in the JSON form, on one line.
func EncodeJSON(w io.Writer, p *profile.Profile, table int) error {
	var buf bytes.Buffer
	if err := Encode(&buf, p, table); err != nil {
		return err
	}
	text, err := messageType.JSON(buf.Bytes())
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write otlp: %w", err)
	}
	return nil
}
