package words

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestMetric(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{{6.6e6, "ns/op", "6.60 ms/op"}, {0.0123, "s", "12.3 ms"}, {1500, "us/op", "1.50 ms/op"}, {5000, "ops/s", "5,000 ops/s"},
		{0, "ns", "0 ns"}, {-2e9, "ns", "-2 s"}, {3, "a\x1bb", `3 a\x1bb`}} {
		if got := Metric(c.v, c.unit); got != c.want {
			t.Errorf("%v %s: %q, want %q", c.v, c.unit, got, c.want)
		}
	}
	if got := Interval(1.94e6, 1.49e6, 2.39e6, "ns/op"); got != "+1.94 ms/op (1.49 … 2.39)" {
		t.Error(got)
	}
}

func TestValue(t *testing.T) {
	for _, c := range []struct {
		v     float64
		unit  string
		scale int
		want  string
		diff  string
	}{
		{1_284_000_000, "nanoseconds", 0, "1.28 s", "+1.28 s"},
		{12_840, "microseconds", 1, "1.28 ms", "+1.28 ms"},
		{999, "nanoseconds", 0, "999 ns", "+999 ns"},
		{-3_565_158, "bytes", 0, "-3.40 MiB", "-3.40 MiB"},
		{5120, "count", 0, "5,120", "+5,120"},
		{2.5, "count", 0, "2.50", "+2.50"},
		{0, "count", 0, "0", "0"},
		{123_456, "cycles", 2, "1,235 cycles", "+1,235 cycles"},
	} {
		if got := Value(c.v, c.unit, c.scale); got != c.want {
			t.Errorf("%v %s: %q, want %q", c.v, c.unit, got, c.want)
		}
		if got := Difference(c.v, c.unit, c.scale); got != c.diff {
			t.Errorf("%v %s: %q, want %q", c.v, c.unit, got, c.diff)
		}
	}
}

func TestSeconds(t *testing.T) {
	for _, c := range []struct {
		factor float64
		units  string
	}{
		{1e-9, "ns;nanoseconds;ns/op;NS"},
		{1e-6, "us;µs;μs;microsecond;us/op"},
		{1e-3, "ms;milliseconds;ms/op;CPU ms; ms "},
		{1, "s;sec;seconds;s/op;CPU seconds"},
		{60, "min;minutes"},
		{3600, "h;hours"},
		{0, "ops/s;MB/s;ms/s;B;bytes;B/op;;/op;count;ops/ms"},
	} {
		for unit := range strings.SplitSeq(c.units, ";") {
			if factor, ok := seconds(unit); factor != c.factor || ok != (c.factor != 0) {
				t.Errorf("%q: %v, %v, want %v", unit, factor, ok, c.factor)
			}
		}
	}
}

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		Percent(0.0234): "2.3%", Percent(0.00234): "0.23%", Percent(0): "0%", Percent(1): "100.0%",
		SignedPercent(0.265): "+26.5%", SignedPercent(-0.1): "-10.0%", SignedPercent(-0.002): "-0.20%", SignedPercent(0): "0%",
		Count(570_000_000): "570,000,000", Count(int64(-999)): "-999", Count(1000): "1,000", Count("-1234.5678"): "-1,234.5678",
		Count("+100"):    "+100",
		Number(0.001234): "0.00123", Number(-12.84): "-12.8", Number(1284.6): "1,285", Number(1234567): "1,234,567", Number(math.Inf(1)): "+Inf",
		Number(0.0000186): "18.6e-6", Number(-0.000665): "-665e-6", Number(0.00099951): "0.001",
		Number(9.999e-7): "1e-6", Number(5.32e-9): "5.32e-9", Number(0): "0",
		Plural(1, "run"): "run", Plural(0, "run"): "runs",
		Plural(2, "is", "are"): "are", Commit("579d7113d2aa"): "579d7113d2", Commit("579d"): "579d",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for n, want := range []int{3, 1, 2, 3, 3} {
		if got := First([]int{1, 2, 3}, n); len(got) != want {
			t.Errorf("the first %d of three: %v", n, got)
		}
	}
	if got := CleanAll([]string{"a", "b\n"}); !slices.Equal(got, []string{"a", `b\n`}) {
		t.Errorf("%q", got)
	}
}

// TestClean: whatever a program calls its functions, what is printed has no character
// that a terminal obeys or that nobody sees, and printing it again changes nothing.
func TestClean(t *testing.T) {
	if got := Clean("Größe<é>|日本"); got != "Größe<é>|日本" {
		t.Errorf("a harmless name became %q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "name")
		got := Clean(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got,
			func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError }) {
			t.Fatalf("%q became %q", s, got)
		}
		if again := Clean(got); again != got {
			t.Fatalf("%q became %q", got, again)
		}
	})
}

// The page has the same names: its tests read the same list.
func TestShortName(t *testing.T) {
	data, err := os.ReadFile("../../web/test/testdata/short.json")
	if err != nil {
		t.Fatal(err)
	}
	var names map[string]string
	if err := json.Unmarshal(data, &names); err != nil {
		t.Fatal(err)
	}
	for name, want := range names {
		if got := ShortName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
