package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/profile"
)

// value reads any value into what encoding/json makes of it.
func value(s *Scanner) any {
	switch s.Kind() {
	case Object:
		m := map[string]any{}
		for key := range s.Object() {
			k := string(key)
			m[k] = value(s)
		}
		return m
	case Array:
		l := []any{}
		for range s.Array() {
			l = append(l, value(s))
		}
		return l
	case String:
		return s.Text()
	case Bool:
		return s.Bool()
	case Number:
		return s.Float()
	}
	s.Skip()
	return nil
}

func read(r io.Reader) (any, error) {
	s := New(r, profile.Limits{})
	v := value(s)
	return v, s.End()
}

// agree compares with encoding/json: the same value, or an error of both.
func agree(t interface{ Fatalf(string, ...any) }, text string) {
	var want any
	wantErr := json.Unmarshal([]byte(text), &want)
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)),
	} {
		got, err := read(r)
		if (err == nil) != (wantErr == nil) {
			if kind(text) {
				continue
			}
			t.Fatalf("%s of %q: error %v, want %v", name, text, err, wantErr)
		}
		var pe *profile.ParseError
		if err != nil && (!errors.As(err, &pe) || pe.Offset < 0 || pe.Offset > int64(len(text))) {
			t.Fatalf("%s of %q: error %#v", name, text, err)
		}
		if err == nil && !reflect.DeepEqual(got, want) && !kind(text) {
			t.Fatalf("%s of %q: %#v, want %#v", name, text, got, want)
		}
		// Skipping must agree where reading does not fail.
		s := New(strings.NewReader(text), profile.Limits{})
		s.Skip()
		if e := s.End(); e != nil && err == nil {
			t.Fatalf("skipping %q: %v", text, e)
		}
	}
}

// kind reports whether a text may hold what is read more kindly than encoding/json
// does: control characters, bytes that are not UTF-8, NUL; or numbers that are infinite.
func kind(text string) bool {
	return !utf8.ValidString(text) || strings.ContainsFunc(text,
		func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' }) ||
		strings.ContainsAny(text, "\n\t\r") || strings.Contains(text, `\u0000`) || strings.ContainsAny(text, "eE") || len(text) > 300
}

var texts = []string{
	`{}`, `[]`, `null`, `true`, `false`, `"a"`, `1`, ` { "a" : [ 1 , -2.5 , "x\u00e9\ud83d\ude00\n" , null , { "b" : {} } ] } `,
	`[1,2,]`, `{"a":1,}`, `[1 2]`, `{"a" 1}`, `{1:2}`, `[`, `{`, `"`, `"\`, `"\u12`, `"\x"`, `01`, `-`, `1.`, `.5`, `1e`, `nul`, `tru`, `[}`,
	`{]`, `1 2`, ``, ` `,
	`"\ud800"`, `"\ud800\ud800"`, `"\udc00x"`, `[-0,0.1,1.5e3,9007199254740993,123456789012345678901234567890]`, `["\"","\\","a\\"]`, `{"a":{"b":[{"c":1}]}}`,
	`[123456789,1234567890,12345678901,-123456789,99999999999999999999]`, "[ 1,\n 2,  3 ]",
}

func TestAgreesWithEncodingJSON(t *testing.T) {
	for _, text := range texts {
		agree(t, text)
	}
}

func TestProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune(`{}[]",:\ u0d8ant1-.é`)), 0, 40, -1).Draw(t, "text")
		agree(t, text)
	})
}

func FuzzScan(f *testing.F) {
	for _, t := range texts {
		f.Add(t)
	}
	f.Fuzz(func(t *testing.T, text string) {
		agree(t, text)
		NewOutline([]byte(text))
		for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			s := New(r, profile.Limits{Depth: 2, Line: 10})
			for range s.Object() {
				Ints(s, []int32{}, -1)
			}
			s.End()
		}
	})
}

func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		text     string
		decimals int
		want     int64
		bad      bool
	}{
		{"0", 6, 0, false}, {"-0.0", 6, 0, false}, {"1", 6, 1_000_000, false}, {"1.5", 0, 2, false}, {"-1.5", 0, -2, false},
		{"2.4999", 0, 2, false}, {"1234.5678910000001", 6, 1234567891, false}, {"0.0000005", 6, 1, false}, {"0.0000004999", 6, 0, false},
		{"1e3", 0, 1000, false}, {"1E-3", 6, 1000, false}, {"9223372036854775807", 0, math.MaxInt64, false},
		{"9223372036854775808", 0, 0, true}, {"-9223372036854775807", 0, -math.MaxInt64, false}, {"1e19", 0, 0, true},
		{"1e999999999999", 0, 0, true}, {"1e-999999999999", 0, 0, false}, {"0e999999999999", 0, 0, false},
		{"92233720368.54775807", 8, math.MaxInt64, false}, {"123456789012345678901234567890e-20", 0, 1234567890, false},
		{"0.00000000000000000000000000000000001", 9, 0, false}, {"null", 3, 0, false},
		{"99999999999999999999", 0, 0, true}, {"99999999999999999999", -11, 1_000_000_000, false}, {"1.", 0, 0, true}, {"-", 0, 0, true},
		{`"1"`, 0, 1, false}, {`"-1.5"`, 1, -15, false}, {`""`, 0, 0, false}, {`"1x"`, 0, 0, true}, {`" 1"`, 0, 0, true}, {`"1`, 0, 0, true},
		{"tru", 0, 0, true}, {"01", 0, 0, true}, {strings.Repeat("1", 200_000), 0, 0, true},
	} {
		s := New(strings.NewReader(tt.text), profile.Limits{})
		got := s.Fixed(tt.decimals)
		if err := s.End(); (err != nil) != tt.bad || err == nil && got != tt.want {
			t.Errorf("Fixed(%.40s, %d) = %d, %v, want %d", tt.text, tt.decimals, got, err, tt.want)
		}
		// In the middle of a column, where nothing has to be read for it.
		s = New(strings.NewReader("["+tt.text+","+tt.text+",0"+strings.Repeat(" ", 100)+"]"), profile.Limits{})
		column := Fixeds(s, nil, tt.decimals)
		if err := s.End(); (err != nil) != tt.bad || err == nil && (column[0] != tt.want || column[1] != tt.want) {
			t.Errorf("Fixeds(%.40s, %d) = %v, %v, want %d", tt.text, tt.decimals, column, err, tt.want)
		}
	}
	s := New(strings.NewReader("[3, 3.0, 30e-1, 3.5]"), profile.Limits{})
	s.BeginArray()
	for range 3 {
		if s.More(); s.Int() != 3 {
			t.Error("not 3")
		}
	}
	if s.More(); s.Int() != 0 && s.Err() == nil {
		t.Error("3.5 is a whole number")
	}
	if pe := s.Err().(*profile.ParseError); pe.Offset != 16 || !errors.Is(pe, profile.ErrMalformed) {
		t.Error(pe)
	}
}

func TestFixedIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Int64Range(-math.MaxInt64, math.MaxInt64).Draw(t, "n")
		decimals := rapid.IntRange(0, 9).Draw(t, "decimals")
		text := spell(want, decimals)
		if got := New(bytes.NewReader(AppendFixed(nil, want, decimals)), profile.Limits{}).Fixed(decimals); got != want {
			t.Fatalf("%s is %d, want %d", AppendFixed(nil, want, decimals), got, want)
		}
		if got := New(strings.NewReader(text), profile.Limits{}).Fixed(decimals); got != want {
			t.Fatalf("%s is %d, want %d", text, got, want)
		}
	})
}

// spell writes v · 10^-decimals.
func spell(v int64, decimals int) string {
	sign := ""
	u := uint64(v)
	if v < 0 {
		sign, u = "-", -u
	}
	d := fmt.Sprintf("%0*d", decimals+1, u)
	if decimals == 0 {
		return sign + d
	}
	return sign + d[:len(d)-decimals] + "." + d[len(d)-decimals:]
}

func TestAppendText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		want := strings.ReplaceAll(text, "\x00", "\ufffd")
		if got := New(bytes.NewReader(AppendText(nil, text)), profile.Limits{}).Text(); got != want {
			t.Fatalf("%q is %q", text, got)
		}
		if !json.Valid(AppendText(nil, text)) {
			t.Fatalf("%q becomes %q", text, AppendText(nil, text))
		}
	})
	if got := string(AppendText(nil, "a\xffb")); got != "\"a\ufffdb\"" {
		t.Errorf("%q", got)
	}
}

func TestDecimals(t *testing.T) {
	var d Decimals
	s := New(strings.NewReader("[1, -2.50, null, 0.125, 1e2]"), profile.Limits{})
	d.Read(s)
	if err := s.End(); err != nil || d.Scale != 3 || !reflect.DeepEqual(d.Values, []int64{1000, -2500, 0, 125, 100000}) {
		t.Error(d, err)
	}
	s = New(strings.NewReader("[9223372036854775807, 0.1]"), profile.Limits{})
	d = Decimals{}
	d.Read(s)
	if pe, ok := s.End().(*profile.ParseError); !ok || pe.Offset != 22 {
		t.Error(s.Err())
	}
	d = Decimals{}
	if d.Add(Decimal{math.MaxInt64, 0}) != nil || d.Add(Decimal{1, 0}) == nil || len(d.Values) != 1 {
		t.Error("the sum is not bounded")
	}
}

func TestInts(t *testing.T) {
	var want []int32
	var b strings.Builder
	b.WriteString("[")
	for i := range int32(200_000) {
		v := i*i*2654435 ^ i
		if i > 0 {
			b.WriteString([]string{",", ", ", "\n  ,"}[i%3])
		}
		if i%1000 == 7 {
			b.WriteString("null")
			v = -1
		} else {
			b.WriteString(strconv.Itoa(int(v)))
		}
		want = append(want, v)
	}
	b.WriteString("]")
	for _, r := range []io.Reader{strings.NewReader(b.String()), iotest.HalfReader(strings.NewReader(b.String()))} {
		s := New(r, profile.Limits{})
		got := Ints(s, []int32(nil), -1)
		if err := s.End(); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatal(err, len(got))
		}
	}
	s := New(strings.NewReader("[1,true,false,-0,[2]]"), profile.Limits{})
	if got := Ints(s, []int64(nil), -1); !reflect.DeepEqual(got, []int64{1, 1, 0, 0, 0}) || s.Err() == nil {
		t.Error(got, s.Err())
	}
	s = New(strings.NewReader("[1,2147483648]"), profile.Limits{})
	if Ints(s, []int32(nil), -1); s.Err() == nil || s.Err().(*profile.ParseError).Offset != 3 {
		t.Error(s.Err())
	}
}

func TestLeaving(t *testing.T) {
	s := New(strings.NewReader(`{"a":[1,[2,{"x":"]}\"["}],3],"b":{"c":1,"d":[4]},"e":5}`), profile.Limits{})
	var seen []string
	for key := range s.Object() {
		seen = append(seen, string(key))
		switch string(key) {
		case "a":
			for i := range s.Array() {
				if i == 1 {
					s.BeginArray()
					s.More()
					break
				}
			}
		case "b":
			for range s.Object() {
				break
			}
		case "e":
			if s.Int() != 5 {
				t.Error("not 5")
			}
		}
	}
	if err := s.End(); err != nil || fmt.Sprint(seen) != "[a b e]" {
		t.Error(seen, err)
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		text   string
		offset int64
		is     error
	}{
		{`{"a":[1,2`, 9, profile.ErrMalformed}, {`{"a":tru}`, 5, profile.ErrMalformed},
		{`["` + strings.Repeat("x", 100) + `"]`, 1, profile.ErrTooLarge},
		{strings.Repeat("[", 150), 100, profile.ErrTooLarge}, {`["a\q"]`, 3, profile.ErrMalformed}, {`{} x`, 3, profile.ErrMalformed},
	} {
		s := New(strings.NewReader(tt.text), profile.Limits{Depth: 10, Line: 50})
		value(s)
		err := s.End()
		var pe *profile.ParseError
		if !errors.As(err, &pe) || !errors.Is(err, tt.is) || pe.Offset != tt.offset {
			t.Errorf("%.20s: %v, want %v at %d", tt.text, err, tt.is, tt.offset)
		}
	}
	broken := errors.New("broken")
	s := New(io.MultiReader(strings.NewReader(`{"a":[1,`), iotest.ErrReader(broken)), profile.Limits{})
	value(s)
	if err := s.End(); !errors.Is(err, broken) || errors.Is(err, profile.ErrMalformed) {
		t.Error(err)
	}
	s = New(io.MultiReader(strings.NewReader(`{}`), iotest.ErrReader(broken)), profile.Limits{})
	if err := s.End(); !errors.Is(err, broken) {
		t.Error("an error behind the value is lost:", err)
	}
	s = New(strings.NewReader(`{"a":1}`), profile.Limits{})
	s.BeginObject()
	if s.More() || s.Err() == nil {
		t.Error("an object is an array")
	}
}

// endless is an array that does not end before its size.
type endless struct{ left int }

func (e *endless) Read(b []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := copy(b, bytes.Repeat([]byte(`[{"name":"abc","v":[1,2,3.25,null]}],`), len(b)/38+1))
	n = min(n, 38*(n/38))
	e.left -= n
	return n, nil
}

func TestMemory(t *testing.T) {
	s := New(io.MultiReader(strings.NewReader("["), &endless{100 << 20}, strings.NewReader("0]")), profile.Limits{})
	if n := testing.AllocsPerRun(1, func() {
		for range s.Array() {
			for range s.Array() {
				for key := range s.Object() {
					switch string(key) {
					case "name":
						s.Bytes()
					case "v":
						for range s.Array() {
							s.Fixed(3)
						}
					}
				}
			}
		}
	}); n > 1e6 {
		t.Error(n)
	}
	if len(s.buf) > 4*windowSize {
		t.Errorf("a window of %d bytes", len(s.buf))
	}
}

func TestOutline(t *testing.T) {
	o := NewOutline([]byte(`{"$schema":"https://x","meta":{"version":57,"deep":{"er":{"est":[1]}}},"threads":[{"name":"a"},{"tid":1}],"cut":[1,2`))
	for path, want := range map[string]string{"$schema": "https://x", "meta.version": "57", "meta.deep.er": "", "threads[].tid": "1",
		"cut": "", "cut[]": "2"} {
		if got, ok := o[path]; !ok || got != want {
			t.Errorf("%s is %q, %v", path, got, ok)
		}
	}
	if !NewOutline([]byte(` [{"ph":"B"}`)).Has("x", "[].ph") || len(NewOutline([]byte("abc"))) != 0 {
		t.Error("outline of an array")
	}
}
