package param

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// Values returns the parameters of a request, given by pointer, as texts that Set accepts:
// those whose fields do not have their defaults. The request is not changed. It panics if a
// field has a type that cannot be written.
func Values(request any) map[string][]string {
	v := reflect.ValueOf(request).Elem()
	fresh := reflect.New(v.Type())
	defaults := Of(fresh.Interface())
	values := map[string][]string{}
	i := 0
	walk(v, func(f reflect.Value) {
		p := defaults[i]
		i++
		if reflect.DeepEqual(f.Interface(), p.value.Interface()) || p.Repeatable() && f.Len() == 0 {
			return
		}
		values[p.Name] = textsOf(f)
	})
	return values
}

// Check returns an error if a parameter of a request, given by pointer, has more values than Set
// accepts: the request was not set from texts.
func Check(request any) error {
	for name, texts := range Values(request) {
		if len(texts) > maxValues {
			return Errorf("%s: %w", name, errValues)
		}
	}
	return nil
}

// walk calls visit for the fields that are parameters, in the order of Of.
func walk(v reflect.Value, visit func(reflect.Value)) {
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		if _, ok := f.Tag.Lookup("param"); ok {
			visit(v.Field(i))
			continue
		}
		if _, ok := f.Tag.Lookup("prefix"); f.Type.Kind() == reflect.Struct && (f.Anonymous || ok) {
			walk(v.Field(i), visit)
		}
	}
}

// textsOf returns the texts of a field, one per value.
func textsOf(v reflect.Value) (list []string) {
	switch {
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			list = append(list, textsOf(v.Index(i))...)
		}
		return list
	case v.Kind() == reflect.Map:
		pairs := v.Interface().(map[string]string)
		for _, key := range slices.Sorted(maps.Keys(pairs)) {
			list = append(list, key+"="+pairs[key])
		}
		return list
	case v.Kind() == reflect.Pointer:
		return textsOf(v.Elem())
	}
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		text, err := m.MarshalText()
		if err != nil {
			panic("param: " + err.Error())
		}
		return []string{string(text)}
	}
	switch v.Kind() {
	case reflect.String:
		return []string{v.String()}
	case reflect.Bool:
		return []string{strconv.FormatBool(v.Bool())}
	case reflect.Int, reflect.Int64:
		return []string{strconv.FormatInt(v.Int(), 10)}
	case reflect.Float64:
		return []string{strconv.FormatFloat(v.Float(), 'g', -1, 64)}
	}
	panic(fmt.Sprintf("param: a field of type %s is not written", v.Type()))
}

// Texts returns a JSON value as the texts that a parameter is set to: of a list each, of an object key=value.
func Texts(v any) (list []string) {
	switch v := v.(type) {
	case nil:
	case []any:
		for _, one := range v {
			list = append(list, Texts(one)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list = append(list, fmt.Sprintf("%s=%v", key, v[key]))
		}
	default:
		list = []string{fmt.Sprint(v)}
	}
	return list
}
