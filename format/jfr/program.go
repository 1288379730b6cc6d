package jfr

// A program reads the content of one class: it puts the fields that are wanted
// into the slots of a record and passes over the others. What is passed over
// side by side is one step.
type program []step

type step struct {
	kind stepKind
	slot slot
	n    uint64  // of varints or bytes to pass over
	each program // of the elements of an array
}

type stepKind uint8

const (
	skipVarints stepKind = iota
	skipBytes
	skipString
	skipArray
	readVarint
	readByte
	readFloat // its bits
	readPlace // the place of a string or an array, which is then passed over
)

// slot is a place in a record. Events and constants of different classes use
// the same slots for fields of like meaning.
type slot uint8

const (
	noSlot slot = iota
	slotStart
	slotDuration
	slotThread
	slotStack
	slotState
	slotClass
	slotWeight
	slotAddress
	slotFailed
	slotID
	slotName
	slotValue
	slotTruncated
	slotFrames
	slotMethod
	slotContext
	slotLine
	slotType
	slotOSName
	slotOSThread
	slotJavaThread
	slotSpan
	slots
)

// record holds what a program read. Slots that its class has no field for are 0.
// A place is that of the string or array in the chunk.
type record [slots]uint64

// run reads content at c. What is cut off sets c.bad.
func (p program) run(c *cursor, r *record) {
	for i := range p {
		switch s := &p[i]; s.kind {
		case readVarint:
			r[s.slot] = c.varint()
		case skipVarints:
			c.skipVarints(s.n)
		case readByte:
			r[s.slot] = uint64(c.byte())
		case readFloat:
			r[s.slot] = c.uint32()
		case skipBytes:
			c.skip(s.n)
		case readPlace:
			r[s.slot] = uint64(c.i)
		case skipString:
			c.skipString()
		case skipArray:
			s.skipArray(c, r)
		}
	}
}

// skipArray passes over an array. Elements take at least a byte each, or the
// array is as good as empty.
func (s *step) skipArray(c *cursor, r *record) {
	n := c.varint()
	if len(s.each) == 0 || c.bad {
		return
	}
	if n > uint64(len(c.b)-c.i) {
		c.fail()
		return
	}
	if first := &s.each[0]; len(s.each) == 1 && first.kind == skipVarints {
		c.skipVarints(n * first.n) // first.n is at most maxSteps
		return
	}
	for ; n > 0 && !c.bad; n-- {
		s.each.run(c, r)
	}
}

// Limits of what classes inside each other come to.
const (
	maxNesting = 32
	maxSteps   = 1 << 14
)

// compiler makes a program from the description of a class.
type compiler struct {
	meta    *metadata
	want    map[string]slot
	program program
	fields  int
}

// compile returns the program that reads the wanted fields of a class and ends
// behind the last of them; with none wanted, the program that passes over all.
func (m *metadata) compile(id uint64, want map[string]slot) (program, error) {
	c := compiler{meta: m, want: want}
	if err := c.content(id, noSlot, 0); err != nil {
		return nil, err
	}
	p := c.program
	if want != nil {
		for len(p) > 0 && p[len(p)-1].slot == noSlot {
			p = p[:len(p)-1]
		}
	}
	return p, nil
}

// content adds the steps for content of a class.
func (c *compiler) content(id uint64, to slot, depth int) error {
	class := c.meta.classes[id]
	if class == nil {
		return errMetadata("there is no class %d", id)
	}
	if c.fields++; depth > maxNesting || c.fields > maxSteps {
		return errMetadata("class %s holds itself or too many others", class.name)
	}
	switch class.name {
	case "boolean", "byte":
		c.bytes(1, to)
	case "short", "char", "int", "long":
		c.varint(to)
	case "float":
		if to != noSlot {
			c.add(step{kind: readFloat, slot: to})
			return nil
		}
		c.bytes(4, noSlot)
	case "double":
		c.bytes(8, noSlot)
	case "java.lang.String":
		c.place(to)
		c.add(step{kind: skipString})
	default:
		for i := range class.fields {
			if err := c.field(&class.fields[i], depth); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *compiler) field(f *field, depth int) error {
	to := noSlot
	if depth == 0 {
		to = c.want[f.name]
	}
	switch {
	case f.array:
		return c.array(f, to, depth)
	case f.constant:
		c.varint(to)
		return nil
	}
	return c.content(f.class, to, depth+1)
}

func (c *compiler) array(f *field, to slot, depth int) error {
	element := compiler{meta: c.meta, fields: c.fields}
	if f.constant {
		element.varint(noSlot)
	} else if err := element.content(f.class, noSlot, depth+1); err != nil {
		return err
	}
	c.fields = element.fields
	c.place(to)
	c.add(step{kind: skipArray, each: element.program})
	return nil
}

func (c *compiler) varint(to slot) {
	if to != noSlot {
		c.add(step{kind: readVarint, slot: to})
		return
	}
	c.more(skipVarints, 1)
}

func (c *compiler) bytes(n uint64, to slot) {
	if to != noSlot {
		c.add(step{kind: readByte, slot: to})
		return
	}
	c.more(skipBytes, n)
}

func (c *compiler) place(to slot) {
	if to != noSlot {
		c.add(step{kind: readPlace, slot: to})
	}
}

// more adds to the step before if it is of the same kind.
func (c *compiler) more(kind stepKind, n uint64) {
	if last := len(c.program) - 1; last >= 0 && c.program[last].kind == kind {
		c.program[last].n += n
		return
	}
	c.add(step{kind: kind, n: n})
}

func (c *compiler) add(s step) { c.program = append(c.program, s) }
