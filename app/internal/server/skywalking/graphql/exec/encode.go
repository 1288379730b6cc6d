package exec

import (
	"errors"
	"reflect"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/dendroprof/dendro/app/internal/server/skywalking/graphql/values"
)

// errNull is the error of a field that must have a value and has none.
var errNull = errors.New("must not be null")

// encoder writes what a resolver returned as JSON: the selected fields.
type encoder struct {
	e      *Executor
	op     *values.Operation
	buf    []byte
	path   ast.Path
	failed []*FieldError
}

// value writes a value of the schema's type t, for a field. False: it must not be null and
// is, itself or below; the error is noted, and what was written is to be dropped.
func (c *encoder) value(t *ast.Type, v reflect.Value, f values.Field) bool {
	start := len(c.buf)
	if c.present(t, v, f) {
		return true
	}
	c.buf = c.buf[:start]
	if t.NonNull {
		return false
	}
	c.buf = append(c.buf, "null"...)
	return true
}

// present writes a value; false: there is none.
func (c *encoder) present(t *ast.Type, v reflect.Value, f values.Field) bool {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return c.missing(t, f)
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Slice:
		if v.IsNil() && !t.NonNull {
			return false
		}
		return c.list(t, v, f)
	case reflect.Struct:
		return c.object(t.NamedType, v, f)
	case reflect.Bool:
		c.buf = strconv.AppendBool(c.buf, v.Bool())
	case reflect.String:
		c.buf = values.AppendQuote(c.buf, v.String())
	case reflect.Float64:
		c.buf = strconv.AppendFloat(c.buf, v.Float(), 'g', -1, 64)
	default: // New has seen to it
		c.buf = strconv.AppendInt(c.buf, v.Int(), 10)
	}
	return true
}

// missing notes the error of a value that must be there, and returns false.
func (c *encoder) missing(t *ast.Type, f values.Field) bool {
	if t.NonNull {
		c.failed = append(c.failed, &FieldError{append(ast.Path{}, c.path...), f.Position, errNull})
	}
	return false
}

func (c *encoder) list(t *ast.Type, v reflect.Value, f values.Field) bool {
	c.buf = append(c.buf, '[')
	for i := range v.Len() {
		if i > 0 {
			c.buf = append(c.buf, ',')
		}
		c.path = append(c.path, ast.PathIndex(i))
		ok := c.value(t.Elem, v.Index(i), f)
		c.path = c.path[:len(c.path)-1]
		if !ok {
			return false
		}
	}
	c.buf = append(c.buf, ']')
	return true
}

func (c *encoder) object(typ string, v reflect.Value, of values.Field) bool {
	at := c.e.structs[v.Type()]
	c.buf = append(c.buf, '{')
	for i, f := range c.op.Fields(typ, of.Selected) {
		if i > 0 {
			c.buf = append(c.buf, ',')
		}
		c.buf = append(values.AppendQuote(c.buf, f.Alias), ':')
		if f.Name == "__typename" {
			c.buf = values.AppendQuote(c.buf, typ)
			continue
		}
		c.path = append(c.path, ast.PathName(f.Alias))
		ok := c.value(f.Definition.Type, v.FieldByIndex(at[f.Name]), f)
		c.path = c.path[:len(c.path)-1]
		if !ok {
			return false
		}
	}
	c.buf = append(c.buf, '}')
	return true
}
