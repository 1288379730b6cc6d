package otlp

import "strings"

// message is what one ProfilesData says, as tables of numbers. Repeated fields of
// all entries of a table lie in one slice, of which each entry has a part.
type message struct {
	strings    []string
	mappings   []mapping
	locations  []location
	lines      []line
	functions  []function
	links      []link
	attributes []attribute
	stacks     []part // of indices: locations, innermost first

	indices []int32 // of attributes and locations
	values  []int64
	times   []uint64

	resources []resource
	profiles  []profileMessage

	content []byte // samples are read from it when they are linked
}

// part is the place of an entry's elements in a slice of all.
type part struct{ lo, hi int32 }

type mapping struct {
	start, limit, offset uint64
	file                 int32
	attributes           part
}

type location struct {
	mapping    int32
	address    uint64
	lines      part // innermost first
	attributes part
	at         int
}

type line struct {
	function     int32
	line, column int64
}

type function struct {
	name, systemName, file int32
	startLine              int64
}

// link is a span of a trace; ids in hexadecimal, empty when unset.
type link struct{ trace, span string }

type attribute struct {
	key, unit int32
	value     value
}

// value is an AnyValue: a text, or a number. Values of other types are texts that
// say the same.
type value struct {
	isNumber bool
	number   int64
	text     string
	stringAt int32    // index of the text in strings, if not 0
	list     []string // of an array of texts
}

// resource is who sent profiles, and by what.
type resource struct {
	attributes              []keyValue
	scopeName, scopeVersion string
	profiles                part
}

type keyValue struct {
	key   string
	keyAt int32 // index in strings, if not 0
	value value
}

type profileMessage struct {
	sampleType, periodType typeRef
	period                 int64
	time, duration         uint64
	count                  int  // of samples
	body                   part // of message.content: the fields, samples among them
	attributes             part
	comments               []int32 // texts, of drafts that have a field for them
	id                     string  // 16 bytes; empty: none
	originalFormat         string  // of the payload that is left out
	at                     int
}

type typeRef struct{ name, unit int32 }

type sample struct {
	stack, link               int32
	attributes, values, times part
	at                        int
}

// text returns a string of the table; what is not there is empty.
func (m *message) text(i int32) string {
	if i < 0 || int(i) >= len(m.strings) {
		return ""
	}
	return m.strings[i]
}

// join makes a list of texts one text.
func (v *value) join() {
	if len(v.list) > 0 {
		v.text = strings.Join(v.list, ", ")
	}
}

// textOf returns what a value says.
func (m *message) textOf(v *value) string {
	if v.stringAt != 0 {
		return m.text(v.stringAt)
	}
	return v.text
}

// next returns the part of a slice from lo to its end.
func next(lo, hi int) part { return part{int32(lo), int32(hi)} }
