package transfer

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"
)

// coder encodes values into b, or decodes them from it. The same calls do both, so that
// the two cannot differ. After an error it does nothing more.
type coder struct {
	b       []byte
	reading bool
	err     error
}

func (c *coder) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
	}
}

// part codes what fill codes, after its length: a reader skips the rest, which it does not know.
func (c *coder) part(fill func()) {
	if !c.reading {
		before := c.b
		c.b = nil
		fill()
		c.b = append(binary.AppendUvarint(before, uint64(len(c.b))), c.b...)
		return
	}
	n := c.count(0)
	rest := c.b[n:]
	c.b = c.b[:n]
	fill()
	c.b = rest
}

// appended are how many fields of a struct the first release did not know: it does not send them.
var appended = map[reflect.Type]int{}

// code codes a value by its type: a struct as a part with its exported fields in their order, a
// slice as its length and elements, a pointer as a truth value and what it points to.
// Empty slices and maps are decoded as nil, except []byte.
func code[T any](c *coder, v *T) { c.value(reflect.ValueOf(v).Elem()) }

func (c *coder) value(v reflect.Value) {
	if c.err != nil {
		return
	}
	switch v.Kind() {
	case reflect.String:
		if s := c.text(v); c.reading && c.err == nil {
			v.SetString(s)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if x := c.int(v.Int); c.reading && v.OverflowInt(x) {
			c.fail("%d does not fit its field", x)
		} else if c.reading {
			v.SetInt(x)
		}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		if x := c.int(func() int64 { return int64(v.Uint()) }); c.reading && (x < 0 || v.OverflowUint(uint64(x))) {
			c.fail("%d does not fit its field", x)
		} else if c.reading {
			v.SetUint(uint64(x))
		}
	case reflect.Bool:
		if x := c.bool(!c.reading && v.Bool()); c.reading {
			v.SetBool(x)
		}
	case reflect.Float64:
		c.float(v)
	default:
		c.composite(v)
	}
}

func (c *coder) composite(v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		c.time(x)
	case *error:
		c.failure(x)
	case *[]byte:
		c.bytes(x)
	case *[]int32:
		column(c, x)
	case *[]int64:
		column(c, x)
	case *map[string]string:
		c.textMap(x)
	default:
		switch v.Kind() {
		case reflect.Struct:
			c.part(func() {
				for i := range v.NumField() {
					if c.reading && len(c.b) == 0 && i >= v.NumField()-appended[v.Type()] {
						return
					}
					if f := v.Field(i); f.CanSet() {
						c.value(f)
					}
				}
			})
		case reflect.Array:
			for i := range v.Len() {
				c.value(v.Index(i))
			}
		case reflect.Slice:
			c.slice(v)
		case reflect.Pointer:
			switch there := c.bool(!c.reading && !v.IsNil()); {
			case !there:
				v.SetZero()
				return
			case c.reading:
				v.Set(reflect.New(v.Type().Elem()))
			}
			c.value(v.Elem())
		default:
			c.fail("a value of type %s", v.Type())
		}
	}
}

func (c *coder) slice(v reflect.Value) {
	n := c.count(v.Len())
	if c.reading {
		v.SetZero()
	}
	for i := range n {
		if c.reading { // memory grows with what was decoded
			v.Grow(1)
			v.SetLen(i + 1)
		}
		if c.value(v.Index(i)); c.err != nil {
			return
		}
	}
}

func (c *coder) uvarint() uint64 {
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.fail("a number is cut or too long")
		c.b = nil
		return 0
	}
	c.b = c.b[n:]
	return v
}

// count codes a number of elements of at least a byte each.
func (c *coder) count(n int) int {
	if !c.reading {
		c.b = binary.AppendUvarint(c.b, uint64(n))
		return n
	}
	v := c.uvarint()
	if v > uint64(len(c.b)) {
		c.fail("%d elements in %d bytes", v, len(c.b))
		return 0
	}
	return int(v)
}

// int codes an integer, which value returns when encoding.
func (c *coder) int(value func() int64) int64 {
	if !c.reading {
		c.b = binary.AppendVarint(c.b, value())
		return 0
	}
	u := c.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// text codes any bytes and returns them when decoding.
func (c *coder) text(v reflect.Value) string {
	if !c.reading {
		s := v.String()
		c.b = append(binary.AppendUvarint(c.b, uint64(len(s))), s...)
		return ""
	}
	n := c.count(0)
	s := string(c.b[:n])
	c.b = c.b[n:]
	return s
}

// bytes codes a slice and whether it is nil.
func (c *coder) bytes(v *[]byte) {
	if there := c.bool(*v != nil); !there {
		*v = nil
		return
	}
	n := c.count(len(*v))
	if !c.reading {
		c.b = append(c.b, *v...)
		return
	}
	if c.err == nil {
		*v, c.b = append([]byte{}, c.b[:n]...), c.b[n:]
	}
}

// bool codes a truth value and returns it.
func (c *coder) bool(v bool) bool {
	if !c.reading {
		var b byte
		if v {
			b = 1
		}
		c.b = append(c.b, b)
		return v
	}
	if len(c.b) == 0 || c.b[0] > 1 {
		c.fail("a truth value is missing or neither")
		return false
	}
	v, c.b = c.b[0] == 1, c.b[1:]
	return v
}

func (c *coder) float(v reflect.Value) {
	if !c.reading {
		c.b = binary.LittleEndian.AppendUint64(c.b, math.Float64bits(v.Float()))
		return
	}
	if len(c.b) < 8 {
		c.fail("a number is cut")
		return
	}
	v.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(c.b)))
	c.b = c.b[8:]
}

// time codes an instant to the nanosecond. It is decoded in UTC.
func (c *coder) time(v *time.Time) {
	if there := c.bool(!v.IsZero()); !there {
		return
	}
	sec, nsec := v.Unix(), int32(v.Nanosecond())
	code(c, &sec)
	code(c, &nsec)
	if c.reading {
		if nsec < 0 || nsec >= 1e9 {
			c.fail("%d nanoseconds of a second", nsec)
			return
		}
		*v = time.Unix(sec, int64(nsec)).UTC()
	}
}

// textMap codes a map in the order of its keys.
func (c *coder) textMap(v *map[string]string) {
	keys := slices.Sorted(maps.Keys(*v))
	values := make([]string, len(keys))
	for i, k := range keys {
		values[i] = (*v)[k]
	}
	code(c, &keys)
	code(c, &values)
	if !c.reading {
		return
	}
	if *v = nil; len(values) != len(keys) {
		c.fail("%d values of %d keys", len(values), len(keys))
	}
	if c.err == nil && len(keys) > 0 {
		*v = make(map[string]string, len(keys))
		for i, k := range keys {
			(*v)[k] = values[i]
		}
	}
}

// list codes the elements of a slice with a function of their own.
func list[T any](c *coder, v *[]T, element func(*T)) {
	n := c.count(len(*v))
	if c.reading {
		*v = nil
	}
	for i := 0; i < n && c.err == nil; i++ {
		if c.reading {
			*v = append(*v, *new(T))
		}
		element(&(*v)[i])
	}
}

// column codes integers as they are.
func column[T ~int16 | ~int32 | ~int64](c *coder, v *[]T) {
	n := c.count(len(*v))
	if !c.reading {
		for _, x := range *v {
			c.b = binary.AppendVarint(c.b, int64(x))
		}
		return
	}
	*v = make([]T, n)
	for i := range *v {
		u := c.uvarint()
		x := int64(u>>1) ^ -int64(u&1)
		if (*v)[i] = T(x); int64((*v)[i]) != x {
			c.fail("%d does not fit its field", x)
		}
		if c.err != nil {
			return
		}
	}
}

// indexes codes numbers from 0 to below limit as differences.
func (c *coder) indexes(v *[]int32, limit int) {
	n := c.count(len(*v))
	if c.reading {
		*v = make([]int32, n)
	}
	var last int64
	for i := range *v {
		if !c.reading {
			c.b = binary.AppendVarint(c.b, int64((*v)[i])-last)
			last = int64((*v)[i])
			continue
		}
		u := c.uvarint()
		last += int64(u>>1) ^ -int64(u&1)
		if last < 0 || last >= int64(limit) {
			c.fail("index %d in a table of %d", last, limit)
		}
		if c.err != nil {
			return
		}
		(*v)[i] = int32(last)
	}
}
