package jfr

import (
	"errors"

	"github.com/dendroprof/dendro/profile"
)

// poolID is a pool of constants that samples lead to. Others are passed over.
type poolID uint8

const (
	poolStack poolID = iota
	poolMethod
	poolClass
	poolSymbol
	poolString
	poolThread
	poolState
	poolFrameType
	poolOldObject
	poolCount
)

// constantClasses says what is read of the constants of each pool.
var constantClasses = [poolCount]struct {
	class string
	want  map[string]slot
}{
	poolStack:  {"jdk.types.StackTrace", map[string]slot{"truncated": slotTruncated, "frames": slotFrames}},
	poolMethod: {"jdk.types.Method", map[string]slot{"type": slotClass, "name": slotName}},
	poolClass:  {"java.lang.Class", map[string]slot{"name": slotName}},
	poolSymbol: {"jdk.types.Symbol", map[string]slot{"string": slotValue}},
	poolString: {"java.lang.String", nil},
	poolThread: {"java.lang.Thread", map[string]slot{"osName": slotOSName, "osThreadId": slotOSThread, "javaName": slotName,
		"javaThreadId": slotJavaThread}},
	poolState:     {"jdk.types.ThreadState", map[string]slot{"name": slotName}},
	poolFrameType: {"jdk.types.FrameType", map[string]slot{"description": slotName}},
	poolOldObject: {"jdk.types.OldObject", map[string]slot{"type": slotClass}},
}

// frameFields is what is read of the elements of a stack trace.
var frameFields = map[string]slot{"method": slotMethod, "lineNumber": slotLine, "type": slotType}

// pools has, for each pool, the constants of a chunk by number. The value of one
// is where it is in the chunk plus one or, once it was resolved, made by
// resolved.
type pools [poolCount]idTable

// resolved returns the value of a constant that became entry n of a table of the
// profile; n is -1 at least.
func resolved(n int32) int64 { return -int64(n) - 2 }

// entry is the inverse of resolved.
func entry(value int64) (n int32, ok bool) {
	if value >= 0 {
		return 0, false
	}
	return int32(-value - 2), true
}

func (p *pools) clear() {
	for i := range p {
		p[i].clear()
	}
}

// compileAll makes the programs of all constants and events that are read.
// Classes that the recording does not describe have none, nor have those whose
// description makes no sense; the latter are noted in m.broken.
func (m *metadata) compileAll() {
	for i, c := range constantClasses {
		id, ok := m.byName[c.class]
		if !ok {
			continue
		}
		m.poolOf[id] = poolID(i)
		m.constants[i] = m.reader(id, c.want)
	}
	if id, ok := m.byName["jdk.types.StackFrame"]; ok {
		m.frame = m.reader(id, frameFields)
	}
	m.compileEvents()
}

// reader returns the program that reads fields of a class, or nil if there can be
// none.
func (m *metadata) reader(id uint64, want map[string]slot) program {
	p, err := m.compile(id, want)
	if err != nil && m.broken == nil {
		m.broken = err
	}
	return p
}

// skipper returns the program that passes over constants of a class.
func (m *metadata) skipper(id uint64) (program, error) {
	if p, ok := m.skips[id]; ok {
		return p, nil
	}
	p, err := m.compile(id, nil)
	if err == nil {
		m.skips[id] = p
	}
	return p, err
}

var errConstants = errors.New("a pool of constants ends early")

// indexConstants finds the constants in the event at c. It returns the distance
// to the one before.
func (ch *chunk) indexConstants(c *cursor) (delta int64, err error) {
	c.varint() // size
	c.varint() // type
	c.varint() // start
	c.varint() // duration
	delta = int64(c.varint())
	c.byte() // why it was written
	for n := c.varint(); n > 0 && !c.bad; n-- {
		class, count := c.varint(), c.varint()
		skip, err := ch.meta.skipper(class)
		if err != nil {
			return 0, err
		}
		pool, wanted := ch.meta.poolOf[class]
		var table *idTable
		if wanted {
			table = &ch.pools[pool]
		}
		if err := indexPool(c, table, count, skip); err != nil {
			return 0, err
		}
	}
	if c.bad {
		return 0, profile.Malformed("%w", errConstants)
	}
	return delta, nil
}

// indexPool passes over count constants and puts where they are into table,
// which may be nil.
func indexPool(c *cursor, table *idTable, count uint64, skip program) error {
	var none record
	for ; count > 0; count-- {
		id := c.varint()
		at := c.i
		if skip.run(c, &none); c.bad {
			return profile.Malformed("%w", errConstants)
		}
		if table != nil {
			table.put(id, int64(at)+1)
		}
	}
	return nil
}
