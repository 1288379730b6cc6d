// Package param describes the parameters of a request once, as fields of a struct,
// for every surface that reads them from text: flags of a command, parameters of an
// HTTP address, arguments of a tool.
//
//	type Request struct {
//		Selection                                     // embedded: its fields are parameters too
//		Rows int `param:"rows" arg:"n" help:"maximum number of rows (0: all)" group:"output"`
//	}
//
//	for _, p := range param.Of(&request) { p.Set(text) }
//
// A parameter has a name, a help text, a default, the texts it accepts, and the group
// it is listed under. Its value is the field: what Set parses is stored there.
//
// Field types: string, bool, int, float64, time.Time (a date, or an age before now), types
// whose pointers implement encoding.TextUnmarshaler, pointers to these (nil unless set), slices of these, and
// map[string]string (key=value).
// Field tags:
//
//	param    name; a field without it is no parameter
//	help     what the parameter sets, as a phrase
//	arg      placeholder of the value in help
//	group    heading in help; embedded structs pass theirs on
//	default  text of the default; of an embedded struct: "name=text name=text"
//	page     default where the result is a page of text for people
//	prefix   of a field that is a struct: its fields are parameters whose names begin so
//	choices  accepted words, separated by commas; the first is the default
//	min, max smallest and largest accepted number
//
// The package does not know flags, HTTP or any request. A Parameter is not safe for
// concurrent use.
package param

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dendroprof/dendro/internal/words"
)

// Error is a value or a combination of values that a request does not accept. Its
// text names parameters as flags ("--last").
type Error struct{ Err error }

// Error returns the message of the cause.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error.
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// Parameter is one field of a request. It implements the Value interface of flag
// libraries.
type Parameter struct {
	Name    string
	Help    string
	Group   string
	Choices []string // accepted words; empty: any
	Default string   // as text
	Page    string   // default of pages of text; empty: Default

	arg      string
	min, max float64
	value    reflect.Value
	set      bool
}

// Of lists the parameters of the request that a pointer to a struct holds, in the
// order of its fields, and sets their defaults. It panics if a tag is wrong.
func Of(request any) []*Parameter {
	return fields(reflect.ValueOf(request).Elem(), "", "")
}

func fields(v reflect.Value, group, prefix string) (list []*Parameter) {
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		in := group
		if g, ok := f.Tag.Lookup("group"); ok {
			in = g
		}
		name, ok := f.Tag.Lookup("param")
		if !ok {
			if before, ok := f.Tag.Lookup("prefix"); f.Type.Kind() == reflect.Struct && (f.Anonymous || ok) {
				inner := fields(v.Field(i), in, prefix+before)
				override(inner, f.Tag)
				list = append(list, inner...)
			}
			continue
		}
		p := &Parameter{Name: prefix + name, Help: f.Tag.Get("help"), Group: in, arg: f.Tag.Get("arg"), Default: f.Tag.Get("default"),
			Page: f.Tag.Get("page"),
			min:  math.Inf(-1), max: math.Inf(1), value: v.Field(i)}
		if words := f.Tag.Get("choices"); words != "" {
			p.Choices = strings.Split(words, ",")
			if _, ok := f.Tag.Lookup("default"); !ok {
				p.Default = p.Choices[0]
			}
		}
		if p.Default != "" {
			if err := p.parse(p.value, p.Default); err != nil {
				panic("param: " + name + ": " + err.Error())
			}
		}
		for key, bound := range map[string]*float64{"min": &p.min, "max": &p.max} { // a default outside means that nothing was set
			if text := f.Tag.Get(key); text != "" {
				var err error
				if *bound, err = strconv.ParseFloat(text, 64); err != nil {
					panic("param: " + name + ": " + err.Error())
				}
			}
		}
		list = append(list, p)
	}
	return list
}

// override sets the defaults that the tags of an embedded request name: `default:"a=1 b=2"`.
func override(list []*Parameter, tag reflect.StructTag) {
	set := func(key string, use func(p *Parameter, text string)) {
		for pair := range strings.FieldsSeq(tag.Get(key)) {
			name, text, _ := strings.Cut(pair, "=")
			i := slices.IndexFunc(list, func(p *Parameter) bool { return p.Name == name })
			if i < 0 {
				panic("param: no parameter " + name + " to override")
			}
			use(list[i], text)
		}
	}
	set("default", func(p *Parameter, text string) {
		p.Default = text
		if err := p.parse(p.value, text); err != nil {
			panic("param: " + p.Name + ": " + err.Error())
		}
	})
	set("page", func(p *Parameter, text string) { p.Page = text })
}

// Repeatable reports whether the parameter takes several values.
func (p *Parameter) Repeatable() bool {
	return p.value.Kind() == reflect.Slice || p.value.Kind() == reflect.Map
}

// IsBool reports whether the parameter is a switch.
func (p *Parameter) IsBool() bool { return p.value.Kind() == reflect.Bool }

// Changed reports whether the value was set.
func (p *Parameter) Changed() bool { return p.set }

// Type is the placeholder of the value in help.
func (p *Parameter) Type() string {
	switch {
	case p.IsBool():
		return "bool"
	case p.arg != "":
		return p.arg
	case p.value.Kind() == reflect.Int:
		return "n"
	}
	return "name"
}

// String returns the default, which help prints; empty where it is the zero value or
// stands for nothing set.
func (p *Parameter) String() string {
	if p.set || p.Default == "0" || p.Default == "-1" {
		return ""
	}
	return p.Default
}

// maxValues is the maximum number of values of a parameter: each may be compared with all that a
// store has.
const maxValues = 1000

var errValues = fmt.Errorf("more than %d values", maxValues)

// Set parses a value; of a repeatable parameter it adds one.
func (p *Parameter) Set(text string) error {
	if !p.set && p.Repeatable() {
		p.value.SetZero()
	}
	if p.Repeatable() && p.value.Len() == maxValues {
		return errValues
	}
	if err := p.parse(p.value, text); err != nil {
		return err
	}
	p.set = true
	return nil
}

// UsePage sets the default of pages of text, unless the value was set.
func (p *Parameter) UsePage() {
	if p.Page == "" || p.set {
		return
	}
	if err := p.parse(p.value, p.Page); err != nil {
		panic("param: " + p.Name + ": " + err.Error())
	}
}

// within returns an error for a number outside of the bounds.
func (p *Parameter) within(x float64) error {
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	switch {
	case x < p.min:
		return fmt.Errorf("%s is less than %s", number(x), number(p.min))
	case x > p.max:
		return fmt.Errorf("%s is more than %s", number(x), number(p.max))
	}
	return nil
}

func (p *Parameter) parse(v reflect.Value, text string) error {
	if len(p.Choices) > 0 && !slices.Contains(p.Choices, text) {
		return fmt.Errorf("%.60q is not one of %s", text, strings.TrimPrefix(strings.Join(p.Choices, ", "), ", "))
	}
	switch to := v.Addr().Interface().(type) {
	case *time.Time:
		t, err := words.ParseInstant(text, time.Now())
		*to = t
		return err
	case encoding.TextUnmarshaler:
		return to.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		switch text {
		case "", "true", "1":
			v.SetBool(true)
		case "false", "0":
			v.SetBool(false)
		default:
			return fmt.Errorf("%.60q is not true or false", text)
		}
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%.60q is not a whole number", text)
		}
		if err := p.within(float64(n)); err != nil {
			return err
		}
		v.SetInt(int64(n))
	case reflect.Float64:
		if strings.HasSuffix(p.Name, "-percent") {
			text = strings.TrimSpace(strings.TrimSuffix(text, "%"))
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(x) || math.Abs(x) > 1e300 {
			return fmt.Errorf("%.60q is not a number", text)
		}
		if err := p.within(x); err != nil {
			return err
		}
		v.SetFloat(x)
	case reflect.Pointer:
		one := reflect.New(v.Type().Elem())
		if err := p.parse(one.Elem(), text); err != nil {
			return err
		}
		v.Set(one)
	case reflect.Slice:
		one := reflect.New(v.Type().Elem()).Elem()
		if err := p.parse(one, text); err != nil {
			return err
		}
		v.Set(reflect.Append(v, one))
	case reflect.Map:
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return fmt.Errorf("%.60q is not key=value", text)
		}
		if v.IsNil() {
			v.Set(reflect.ValueOf(map[string]string{}))
		}
		v.SetMapIndex(reflect.ValueOf(key), reflect.ValueOf(value))
	default:
		panic("param: " + p.Name + ": a field of type " + v.Type().String())
	}
	return nil
}

// JSONType is the type of the value in JSON Schema; repeatable ones are arrays of it.
func (p *Parameter) JSONType() string {
	switch p.value.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int:
		if _, ok := p.value.Addr().Interface().(encoding.TextUnmarshaler); !ok {
			return "integer"
		}
	case reflect.Float64:
		if _, ok := p.value.Addr().Interface().(encoding.TextUnmarshaler); !ok {
			return "number"
		}
	}
	return "string"
}
