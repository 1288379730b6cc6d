package jfr

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// class is the description of one type of event or constant.
type class struct {
	name   string
	fields []field
}

// field is one field of a class, in the order of the content.
type field struct {
	name     string
	class    uint64
	constant bool // the content is a number in the pool of class
	array    bool
}

// metadata is the description of all classes of a chunk, with the programs that
// read them.
type metadata struct {
	raw       []byte // what it was read from
	async     bool   // async-profiler or Datadog's fork of it wrote it
	datadog   bool
	broken    error // why one of the classes that matter cannot be read
	classes   map[uint64]*class
	byName    map[string]uint64
	events    []eventType
	eventOf   idTable // class of events → index in events
	poolOf    map[uint64]poolID
	constants [poolCount]program
	frame     program            // of one element of a stack trace
	skips     map[uint64]program // of constants, made when they are met
}

// load reads the metadata event at c, unless it repeats the one that was read
// last. The event's own times and number, which differ, come before body.
func (m *metadata) load(c *cursor) error {
	c.varint() // size
	c.varint() // type
	c.varint() // start
	c.varint() // duration
	c.varint() // number of this description
	if c.bad {
		return errMetadata("it is cut off")
	}
	body := c.b[c.i:]
	if m.raw != nil && bytes.Equal(body, m.raw) {
		return nil
	}
	fresh := metadata{classes: map[uint64]*class{}, byName: map[string]uint64{}, poolOf: map[uint64]poolID{}, skips: map[uint64]program{}}
	if err := fresh.parse(c); err != nil {
		return err
	}
	fresh.compileAll()
	fresh.raw = bytes.Clone(body)
	*m = fresh
	return nil
}

func errMetadata(format string, args ...any) error {
	return fmt.Errorf("%w metadata: %s", profile.ErrMalformed, fmt.Sprintf(format, args...))
}

// parse reads a table of strings and a tree of elements, whose names and
// attributes are numbers in it. A class element is anywhere in the tree, and a
// field element anywhere below its class; other elements are passed over.
func (m *metadata) parse(c *cursor) error {
	n := c.varint()
	if n > uint64(len(c.b)-c.i) {
		return errMetadata("it has %d strings", n)
	}
	strings := make([]string, n)
	var buf []byte
	for i := range strings {
		buf, _, _ = c.appendString(buf[:0])
		strings[i] = string(buf)
	}
	var current *class
	for left := []uint64{1}; len(left) > 0; { // children to come, of each level
		top := len(left) - 1
		if left[top] == 0 {
			left = left[:top]
			continue
		}
		left[top]--
		e := element{strings: strings}
		e.read(c)
		left = append(left, c.varint())
		if c.bad {
			return errMetadata("it ends inside an element")
		}
		switch e.name {
		case "class":
			current = m.addClass(&e)
		case "field":
			if current == nil {
				return errMetadata("a field of no class")
			}
			current.fields = append(current.fields, e.field())
		}
	}
	if len(m.classes) == 0 {
		return errMetadata("it has no classes")
	}
	return nil
}

// element is what matters of one element.
type element struct {
	strings             []string
	name                string
	attrName, attrID    string
	attrClass           string
	constant, dimension string
}

func (e *element) read(c *cursor) {
	e.name = e.text(c)
	for n := c.varint(); n > 0 && !c.bad; n-- {
		key, value := e.text(c), e.text(c)
		switch key {
		case "name":
			e.attrName = value
		case "id":
			e.attrID = value
		case "class":
			e.attrClass = value
		case "constantPool":
			e.constant = value
		case "dimension":
			e.dimension = value
		}
	}
}

func (e *element) text(c *cursor) string {
	i := c.varint()
	if i >= uint64(len(e.strings)) {
		c.fail()
		return ""
	}
	return e.strings[i]
}

func (e *element) field() field {
	id, _ := strconv.ParseUint(e.attrClass, 10, 64)
	return field{
		name: e.attrName, class: id, constant: e.constant == "true",
		array: e.dimension != "" && e.dimension != "0",
	}
}

// oracle replaces the names that JDK 9 and 10 have for what JDK 11 calls otherwise.
var oracle = strings.NewReplacer("com.oracle.jdk.", "jdk.", "com.oracle.jfr.types.", "jdk.types.")

func (m *metadata) addClass(e *element) *class {
	id, err := strconv.ParseUint(e.attrID, 10, 64)
	c := &class{name: oracle.Replace(e.attrName)}
	if err == nil {
		m.classes[id] = c
		m.byName[c.name] = id
		m.datadog = m.datadog || c.name == "datadog.DatadogProfilerConfig"
		m.async = m.async || m.datadog || slices.Contains(asyncClasses, c.name)
	}
	return c
}
