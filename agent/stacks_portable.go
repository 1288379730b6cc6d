package agent

import (
	"bytes"
	"fmt"
	"runtime/pprof"
	"strconv"
)

// portableReader reads the goroutine profile as text: for the goroutines with equal stacks and
// labels their number, the program counters, leaf first, and the labels. Every segment has a
// label of its own.
//
//	1 @ 0x47b1ce 0x40a36c 0x4822a1
//	# labels: {"dendro.segment":"7f2b…"}
type portableReader struct {
	text   bytes.Buffer
	frames frameCache
	stack  []frame
}

func (r *portableReader) read(wanted func(string) bool, found func(string, []frame)) error {
	r.text.Reset()
	if err := pprof.Lookup("goroutine").WriteTo(&r.text, 1); err != nil {
		return fmt.Errorf("goroutine profile: %w", err)
	}
	return r.scan(r.text.Bytes(), wanted, found)
}

// scan reads the text.
func (r *portableReader) scan(text []byte, wanted func(string) bool, found func(string, []frame)) error {
	var counters []byte
	for line := range bytes.Lines(text) {
		if _, list, ok := bytes.Cut(line, []byte(" @ ")); ok && line[0] != '#' {
			counters = list
			continue
		}
		_, labels, ok := bytes.Cut(line, []byte(`"`+labelKey+`":`)) // quotes in other labels are escaped
		if !ok || !bytes.HasPrefix(line, []byte("# labels: ")) {
			continue
		}
		quoted, _ := strconv.QuotedPrefix(string(labels))
		id, err := strconv.Unquote(quoted)
		if err != nil {
			return fmt.Errorf("goroutine profile: labels %q: %w", line, err)
		}
		if !wanted(id) {
			continue
		}
		r.stack = r.stack[:0]
		for counter := range bytes.FieldsSeq(counters) {
			pc, err := strconv.ParseUint(string(counter), 0, 64)
			if err != nil {
				return fmt.Errorf("goroutine profile: %w", err)
			}
			r.stack = append(r.stack, r.frames.of(uintptr(pc)))
		}
		found(id, r.stack)
	}
	return nil
}
