package store

import (
	"reflect"
	"testing"
	"time"

	"github.com/dendroprof/dendro/testrun"
)

// other sets a field to another value.
func other(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Float64:
		v.SetFloat(v.Float() + 1)
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Struct:
		if t, ok := v.Addr().Interface().(*time.Time); ok {
			*t = t.Add(1)
			return
		}
		other(v.Field(0))
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"x": ""}))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), v.Len()+1, v.Len()+1))
	}
}

// TestProfileKey: whatever an analysis may read of a profile makes another key.
func TestProfileKey(t *testing.T) {
	profileOf := func() *Profile { return &Profile{Metrics: []testrun.Metric{{Name: "time"}}} }
	before := KeyOf(profileOf().AppendKey(nil))
	none := map[string]bool{"File": true, "HasSource": true, "Parts": true} // for messages; the hash has the parts
	for _, of := range []struct {
		name string
		of   func(*Profile) any
	}{{"profile", func(p *Profile) any { return p }}, {"run", func(p *Profile) any { return &p.Run }},
		{"type", func(p *Profile) any { return &p.Type }},
		{"benchmark", func(p *Profile) any { return &p.Benchmark }}, {"metric", func(p *Profile) any { return &p.Metrics[0] }}} {
		fields := reflect.TypeOf(of.of(profileOf())).Elem()
		for i := range fields.NumField() {
			p := profileOf()
			other(reflect.ValueOf(of.of(p)).Elem().Field(i))
			if same := KeyOf(p.AppendKey(nil)) == before; same != none[fields.Field(i).Name] {
				t.Errorf("%s of a %s: same key %v", fields.Field(i).Name, of.name, same)
			}
		}
	}
}
