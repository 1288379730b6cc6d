package firefox

import (
	"fmt"
	"slices"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/profile"
)

// absent is null in a column of ids.
const absent = -1

// columnKind says what the numbers of a column are.
type columnKind uint8

const (
	idColumn    columnKind = iota // ids, lines, phases, and booleans as 0 and 1; null is absent
	wideColumn                    // addresses; null is absent
	timeColumn                    // milliseconds, kept as nanoseconds; null is 0
	deltaColumn                   // milliseconds since the row before, kept as picoseconds
	valueColumn                   // decimals; null is 0
	labelColumn                   // objects, as labels
)

// column is one column of a table, one entry per row.
type column struct {
	name string
	kind columnKind
	at   int64 // offset of the column, or of the rows
	seen bool

	ids    []int32 // of an idColumn
	wide   []int64 // of a wideColumn, timeColumn or deltaColumn
	values jsonscan.Decimals
	labels *labels
	clock  *jsonscan.Clock // of a timeColumn
}

// id returns the entry of a row, absent if the column is shorter or not there.
func (c *column) id(row int) int32 {
	if row < len(c.ids) {
		return c.ids[row]
	}
	return absent
}

// number returns the entry of a row as a line or column: 0 if there is none.
func (c *column) number(row int) int32 { return max(0, c.id(row)) }

// is reports whether the entry of a row is true.
func (c *column) is(row int) bool { return c.id(row) == 1 }

func (c *column) len() int {
	switch c.kind {
	case idColumn:
		return len(c.ids)
	case valueColumn:
		return len(c.values.Values)
	case labelColumn:
		return len(c.labels.ends)
	}
	return len(c.wide)
}

// read reads the column as an array.
func (c *column) read(s *jsonscan.Scanner) {
	c.seen = s.Kind() == jsonscan.Array
	if c.seen {
		c.ids, c.wide, c.values = c.ids[:0], c.wide[:0], jsonscan.Decimals{Values: c.values.Values[:0]}
	}
	start := s.Offset()
	switch c.kind {
	case idColumn:
		c.ids = jsonscan.Ints(s, c.ids, absent)
	case wideColumn:
		c.wide = jsonscan.Ints(s, c.wide, absent)
	case timeColumn:
		c.wide = jsonscan.Times(s, c.wide, 6, c.clock)
	case deltaColumn:
		c.wide = jsonscan.Fixeds(s, c.wide, 9)
	case valueColumn:
		c.values.Read(s)
	case labelColumn:
		for range s.Array() {
			c.labels.read(s)
		}
	}
	c.at = start
}

// readOne appends one entry of a row.
func (c *column) readOne(s *jsonscan.Scanner) {
	null := s.Kind() == jsonscan.Null
	switch c.kind {
	case idColumn:
		switch v := int64(absent); {
		case null:
			s.Skip()
			c.ids = append(c.ids, absent)
		case s.Kind() == jsonscan.Bool:
			if v = 0; s.Bool() {
				v = 1
			}
			c.ids = append(c.ids, int32(v))
		default:
			if v = s.Int(); int64(int32(v)) != v {
				s.Errorf("%d in column %s", v, c.name)
			}
			c.ids = append(c.ids, int32(v))
		}
	case wideColumn:
		v := s.Int()
		if null {
			v = absent
		}
		c.wide = append(c.wide, v)
	case timeColumn:
		c.wide = append(c.wide, c.clock.Read(s, 6))
	case deltaColumn:
		c.wide = append(c.wide, s.Fixed(9))
	case valueColumn:
		if err := c.values.Add(s.Decimal()); err != nil {
			s.Errorf("%v", err)
		}
	case labelColumn:
		c.labels.read(s)
	}
}

// grow makes room for n entries: columns of a table are equally long, so the first
// says how long the others will be.
func (c *column) grow(n int) {
	switch c.kind {
	case idColumn:
		c.ids = slices.Grow(c.ids[:0], n)
	case wideColumn, timeColumn, deltaColumn:
		c.wide = slices.Grow(c.wide[:0], n)
	case valueColumn:
		c.values.Values = slices.Grow(c.values.Values[:0], n)
	}
}

// pad appends null up to a length.
func (c *column) pad(n int) {
	for c.len() < n {
		switch c.kind {
		case idColumn:
			c.ids = append(c.ids, absent)
		case wideColumn:
			c.wide = append(c.wide, absent)
		case timeColumn, deltaColumn:
			c.wide = append(c.wide, 0)
		case valueColumn:
			c.values.Add(jsonscan.Decimal{}) // zero always fits
		case labelColumn:
			c.labels.ends = append(c.labels.ends, len(c.labels.list))
		}
	}
}

// table is one table: columns, of which the first decides how many rows there are.
// The field `length` of a table repeats that, or is wrong.
type table struct {
	name    string
	columns []column

	schema []*column // of a raw table: the column of each element of a row
}

func newTable(name string, columns ...column) table {
	return table{name: name, columns: columns}
}

func ids(name string) column    { return column{name: name, kind: idColumn} }
func wide(name string) column   { return column{name: name, kind: wideColumn} }
func deltas(name string) column { return column{name: name, kind: deltaColumn} }
func values(name string) column { return column{name: name, kind: valueColumn} }

// longest returns the length of the longest column.
func (t *table) longest() (n int) {
	for i := range t.columns {
		n = max(n, t.columns[i].len())
	}
	return n
}

// rows returns the number of rows.
func (t *table) rows() int {
	if len(t.columns) == 0 {
		return 0 // it is not in the file
	}
	return t.columns[0].len()
}

// col returns the column of a name, an empty one if the table is not in the file.
func (t *table) col(name string) *column {
	if c := t.find(name); c != nil {
		return c
	}
	return &column{name: name}
}

// find returns the column of a name, or nil.
func (t *table) find(name string) *column {
	for i := range t.columns {
		if t.columns[i].name == name {
			return &t.columns[i]
		}
	}
	return nil
}

// read reads a table; other is called for keys that are no column and may leave
// their values unread.
func (t *table) read(s *jsonscan.Scanner, other func(key string)) {
	for key := range s.Object() {
		switch c := t.find(string(key)); {
		case string(key) == "schema" && s.Kind() == jsonscan.Object:
			t.readSchema(s)
		case string(key) == "data" && t.schema != nil:
			t.readRows(s)
		case string(key) == "data" && c == nil:
			s.Fail(&profile.ParseError{
				Offset: s.Offset(), Err: fmt.Errorf("a raw Firefox profile with rows in front of their schema: %w", profile.ErrUnsupported),
				Hint: "open it in https://profiler.firefox.com and save it again",
			})
		case c != nil:
			c.grow(t.longest())
			c.read(s)
		case other != nil:
			other(string(key))
		}
	}
}

// maxSchema bounds the elements of a row of a raw table.
const maxSchema = 100

// readSchema reads which element of a row is in which column.
func (t *table) readSchema(s *jsonscan.Scanner) {
	t.schema = make([]*column, maxSchema)
	for key := range s.Object() {
		c := t.find(string(key))
		if k := s.Kind(); c == nil || k != jsonscan.Number && k != jsonscan.String {
			continue
		}
		if i := s.Int(); i >= 0 && i < maxSchema {
			t.schema[i] = c
			c.seen = true
		} else {
			s.Errorf("%s is in element %d of a row", c.name, i)
		}
	}
}

// readRows reads rows by the schema.
func (t *table) readRows(s *jsonscan.Scanner) {
	start := s.Offset()
	for row := range s.Array() {
		for i := range s.Array() {
			if i < maxSchema && t.schema[i] != nil {
				t.schema[i].readOne(s)
			}
		}
		for i := range t.columns {
			if t.columns[i].seen {
				t.columns[i].pad(row + 1)
			}
		}
		// Two names for one element cannot be, but rows may be of any length.
		t.columns[0].pad(row + 1)
	}
	for i := range t.columns {
		t.columns[i].at = start
	}
}

// errorf makes an error about a row of a column.
func (t *table) errorf(c *column, row int, format string, args ...any) error {
	err := profile.Malformed("%s.%s[%d] %s", t.name, c.name, row, fmt.Sprintf(format, args...))
	return &profile.ParseError{Offset: c.at, Err: err}
}

// texts is a table of strings: the strings of a file are many and most are read
// once, so they lie behind each other.
type texts struct {
	bytes []byte
	ends  []int64
	seen  bool
}

func (t *texts) read(s *jsonscan.Scanner) {
	t.seen, t.bytes, t.ends = true, t.bytes[:0], t.ends[:0]
	for range s.Array() {
		t.bytes = append(t.bytes, s.Bytes()...)
		t.ends = append(t.ends, int64(len(t.bytes)))
	}
}

func (t *texts) len() int { return len(t.ends) }

// text returns the string of an id that is in range.
func (t *texts) text(id int32) string {
	start := int64(0)
	if id > 0 {
		start = t.ends[id-1]
	}
	return string(t.bytes[start:t.ends[id]])
}

// optional returns the string of an id, or "" if it is none.
func (t *texts) optional(id int32) string {
	if id < 0 || int(id) >= len(t.ends) {
		return ""
	}
	return t.text(id)
}
