package transfer

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// coder writes values to b, or reads them from it: the same calls do both, so
// that the two cannot differ. After an error it does nothing more.
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

// finish demands that everything was read.
func (c *coder) finish() error {
	if c.err == nil && len(c.b) > 0 {
		c.fail("%d bytes too many", len(c.b))
	}
	return c.err
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

// count codes the length of something whose every element takes a byte at least.
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

// number codes a whole number of any size and sign.
func number[T ~int | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32](c *coder, v *T) {
	if !c.reading {
		c.b = binary.AppendVarint(c.b, int64(*v))
		return
	}
	u := c.uvarint()
	x := int64(u>>1) ^ -int64(u&1)
	if *v = T(x); int64(*v) != x {
		c.fail("%d does not fit its field", x)
	}
}

// text codes any bytes.
func text[T ~string](c *coder, v *T) {
	n := c.count(len(*v))
	if !c.reading {
		c.b = append(c.b, *v...)
		return
	}
	if c.err == nil {
		*v, c.b = T(c.b[:n]), c.b[n:]
	}
}

// bytes codes a slice and whether it is nil.
func (c *coder) bytes(v *[]byte) {
	there := *v != nil
	if c.bool(&there); !there {
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

func (c *coder) bool(v *bool) {
	if !c.reading {
		var b byte
		if *v {
			b = 1
		}
		c.b = append(c.b, b)
		return
	}
	if len(c.b) == 0 || c.b[0] > 1 {
		c.fail("a truth value is missing or neither")
		return
	}
	*v, c.b = c.b[0] == 1, c.b[1:]
}

func (c *coder) float(v *float64) {
	if !c.reading {
		c.b = binary.LittleEndian.AppendUint64(c.b, math.Float64bits(*v))
		return
	}
	if len(c.b) < 8 {
		c.fail("a number is cut")
		return
	}
	*v, c.b = math.Float64frombits(binary.LittleEndian.Uint64(c.b)), c.b[8:]
}

// time codes an instant to the nanosecond; it comes out in UTC.
func (c *coder) time(v *time.Time) {
	there := !v.IsZero()
	if c.bool(&there); !there {
		return
	}
	sec, nsec := v.Unix(), int32(v.Nanosecond())
	number(c, &sec)
	number(c, &nsec)
	if c.reading {
		if nsec < 0 || nsec >= 1e9 {
			c.fail("%d nanoseconds of a second", nsec)
			return
		}
		*v = time.Unix(sec, int64(nsec)).UTC()
	}
}

// list codes a slice; an empty one comes out as nil.
func list[T any](c *coder, v *[]T, each func(*coder, *T)) {
	n := c.count(len(*v))
	if !c.reading {
		for i := range *v {
			each(c, &(*v)[i])
		}
		return
	}
	*v = nil
	for range n {
		var x T
		if each(c, &x); c.err != nil {
			return
		}
		*v = append(*v, x) // grows with what was read
	}
}

func texts[T ~string](c *coder, v *[]T) { list(c, v, text[T]) }

// textMap codes a map in the order of its keys; an empty one comes out as nil.
func textMap(c *coder, v *map[string]string) {
	keys := slices.Sorted(maps.Keys(*v))
	texts(c, &keys)
	if c.reading && c.err == nil && len(keys) > 0 {
		*v = make(map[string]string, len(keys))
	}
	for _, k := range keys {
		x := (*v)[k]
		if text(c, &x); c.reading && c.err == nil {
			(*v)[k] = x
		}
	}
}

// column codes numbers as they are.
func column[T ~int16 | ~int32 | ~int64](c *coder, v *[]T) {
	n := c.count(len(*v))
	if c.reading {
		*v = make([]T, n)
	}
	for i := range *v {
		if number(c, &(*v)[i]); c.err != nil {
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
		d := int64((*v)[i]) - last
		if number(c, &d); c.err != nil {
			return
		}
		last += d
		if c.reading {
			if last < 0 || last >= int64(limit) {
				c.fail("index %d in a table of %d", last, limit)
				return
			}
			(*v)[i] = int32(last)
		}
	}
}
