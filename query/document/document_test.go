package document

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestNumbers: a number is written exactly, and read as it was written.
func TestNumbers(t *testing.T) {
	for text, n := range map[string]Number{"0": Whole(0, 0), "-7": Whole(-7, 0), "0.05": Whole(5, 2), "-1.5": Whole(-1500, 3),
		"9223372036854775807": Whole(1<<63-1, 0), "0.25": Fraction(25, 2), "null": {Divided: true, Float: nan()}} {
		if n.String() != text {
			t.Errorf("%+v is written %s, want %s", n, n, text)
		}
		var read Number
		if err := json.Unmarshal([]byte(text), &read); err != nil || read.String() != text {
			t.Errorf("%s is read as %s, %v", text, read, err)
		}
	}
}

func nan() float64 { zero := 0.0; return zero / zero }

// TestColumns: rows are an array of objects, or an array per field.
func TestColumns(t *testing.T) {
	type row struct {
		Name string `json:"name"`
		N    Number `json:"n"`
	}
	result := struct {
		Notes []string  `json:"notes"`
		Rows  Rows[row] `json:"rows"`
	}{[]string{"<a>"}, RowsOf(2, func(i int) row { return row{string(rune('a' + i)), Whole(int64(i), 0)} })}
	for want, form := range map[string]Form{
		`{"notes":["<a>"],"rows":[{"name":"a","n":0},{"name":"b","n":1}]}`: {},
		`{"notes":["<a>"],"columns":{"name":["a","b"],"n":[0,1]}}`:         {Columns: true},
	} {
		var out strings.Builder
		if err := Write(&out, &result, form); err != nil || out.String() != want+"\n" {
			t.Errorf("%+v: %s, %v; want %s", form, &out, err, want)
		}
	}
}

// TestPacked: the compact form has numbers as bytes of the least type that holds all of them.
func TestPacked(t *testing.T) {
	for want, list := range map[string][]Number{
		`"u1:"`:                         {},
		`"u1:AP8="`:                     {Whole(0, 0), Whole(255, 0)},
		`"u2:AQAAAQ=="`:                 {Whole(10, 1), Whole(256, 0)},
		`"i4://///w=="`:                 {Whole(-1, 0)},
		`"f8:AAAAAAAA4D8AAAAAAAAAAA=="`: {Whole(5, 1), {Divided: true, Float: nan()}},
		`"f8:AAAAAAAA8EE="`:             {Whole(1<<32, 0)},
		`"u1:` + strings.Repeat("AQEB", 5000) + `"`: slices.Repeat([]Number{Whole(1, 0)}, 15000),
	} {
		result := struct {
			Rows Rows[Number] `json:"rows"`
		}{Rows[Number]{Columns: func(w *Writer) { w.Numbers("n", len(list), func(i int) Number { return list[i] }) }}}
		var out strings.Builder
		if err := Write(&out, &result, Form{Columns: true, Compact: true}); err != nil || out.String() != `{"columns":{"n":`+want+"}}\n" {
			t.Errorf("%v: %s, %v; want %s", list, &out, err, want)
		}
	}
}

// TestAmount words what is counted in the singular and the plural.
func TestAmount(t *testing.T) {
	for _, c := range []struct {
		n    Number
		unit string
		want string
	}{
		{Whole(1, 0), "count", "1 sample"},
		{Whole(2, 0), "count", "2 samples"},
		{Whole(1, 0), "threads", "1 thread"},
		{Whole(10, 1), "threads", "1 thread"},
		{Whole(1, 0), "us", "1 us"},
		{Whole(1, 0), "nanoseconds", "1 ns"},
	} {
		if got := c.n.Amount(c.unit); got != c.want {
			t.Errorf("%v %s: %q, want %q", c.n, c.unit, got, c.want)
		}
	}
}
