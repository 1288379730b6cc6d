package stacktext

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/profile"
)

// TestLines holds Lines against strings.Split, for readers that give few bytes at
// a time and windows that are smaller than a line.
func TestLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.StringMatching(`[ab\r]{0,40}`)).Draw(t, "lines")
		text := strings.Join(lines, "\n")
		in := Lines{buf: make([]byte, rapid.IntRange(1, 50).Draw(t, "window"))}
		var r io.Reader = strings.NewReader(text)
		if rapid.Bool().Draw(t, "slow") {
			r = iotest.OneByteReader(r)
		}
		in.Reset(r, 1000)
		var got []string
		offset := int64(0)
		for in.Next() {
			if in.Number() != len(got)+1 || in.start != offset {
				t.Fatalf("line %d at %d, want %d at %d", in.Number(), in.start, len(got)+1, offset)
			}
			offset += int64(len(lines[len(got)])) + 1
			got = append(got, string(in.Text()))
			if in.Cut() != (len(got) == len(lines)) {
				t.Fatalf("line %d of %d: cut %v", len(got), len(lines), in.Cut())
			}
		}
		if in.Err() != nil {
			t.Fatal(in.Err())
		}
		if n := len(lines); n > 0 && lines[n-1] == "" {
			lines = lines[:n-1] // the text ends with a line feed, or is empty
		}
		want := make([]string, len(lines))
		for i := range lines {
			want[i] = strings.TrimSuffix(lines[i], "\r")
		}
		if strings.Join(want, "\n") != strings.Join(got, "\n") || len(want) != len(got) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestLineLimit(t *testing.T) {
	for n := 8; n <= 13; n++ {
		for _, end := range []string{"\n", "\r\n", ""} {
			var in Lines
			in.Reset(strings.NewReader("ok\n"+strings.Repeat("x", n)+end), 10)
			lines := 0
			for in.Next() {
				lines++
			}
			var pe *profile.ParseError
			if n <= 10 && (lines != 2 || in.Err() != nil) {
				t.Errorf("%d bytes: %v", n, in.Err())
			}
			if n > 10 && (lines != 1 || !errors.As(in.Err(), &pe) || pe.Line != 2 || pe.Offset != 3 || !errors.Is(pe, profile.ErrTooLarge)) {
				t.Errorf("%d bytes: %d lines, %v", n, lines, in.Err())
			}
		}
	}
	var in Lines
	in.Reset(&endless{}, 1<<20)
	if in.Next() || !errors.Is(in.Err(), profile.ErrTooLarge) || len(in.buf) > 4<<20 {
		t.Errorf("a line without end: %v, %d bytes", in.Err(), len(in.buf))
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

func TestLinesReadError(t *testing.T) {
	broken := errors.New("broken")
	var in Lines
	in.Reset(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 10)
	for in.Next() {
	}
	if !errors.Is(in.Err(), broken) {
		t.Errorf("%v", in.Err())
	}
}

func TestFrames(t *testing.T) {
	var f Frames
	s := profile.NewSymbols()
	f.Use(s)
	ids := map[string]profile.FrameID{}
	for i, text := range strings.Fields("a b c a b c a c b b a d a") {
		got, ok := f.Find([]byte(text))
		want, known := ids[text]
		if ok != known || got != want {
			t.Fatalf("%d: %s is %d %v, want %d %v", i, text, got, ok, want, known)
		}
		if !ok {
			ids[text] = profile.FrameID(i + 100)
			f.Add([]byte(text), ids[text])
		}
	}
	f.Use(s)
	if _, ok := f.Find([]byte("a")); !ok {
		t.Error("forgotten for the same Symbols")
	}
	f.Use(profile.NewSymbols())
	if _, ok := f.Find([]byte("a")); ok {
		t.Error("remembered for other Symbols")
	}
}

// TestRecorderStack holds Stack against the plain way, in one Symbols.
func TestRecorderStack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := profile.New(nil)
		r := NewRecorder(p)
		for range rapid.IntRange(1, 30).Draw(t, "stacks") {
			frames := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) profile.FrameID {
				return profile.FrameID(rapid.IntRange(0, 3).Draw(t, "frame"))
			}), 0, 6).Draw(t, "frames")
			got := p.Symbols.Path(r.Stack(frames), nil)
			want := make([]profile.FrameID, 0, len(frames))
			for i := len(frames) - 1; i >= 0; i-- {
				want = append(want, frames[i])
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
		seen := map[string]bool{}
		for st := range p.Symbols.Stacks.Parent {
			key := fmt.Sprint(p.Symbols.Path(profile.StackID(st), nil))
			if seen[key] {
				t.Fatalf("stack %s twice", key)
			}
			seen[key] = true
		}
	})
}

func TestLabels(t *testing.T) {
	r := NewRecorder(profile.New(nil))
	if r.Labels(nil) != 0 {
		t.Error("no labels are not set 0")
	}
	set := []profile.Label{r.Label("lock", []byte("a@\xff")), {Key: "wait", Num: -5, Unit: "minutes"}, r.Label("empty", nil)}
	id := r.Labels(set)
	want := []profile.Label{{Key: "lock", Text: "a@\uFFFD"}, {Key: "wait", Num: -5, Unit: "minutes"}, {Key: "empty"}}
	if r.Labels(want) != id {
		t.Error("equal labels are two sets")
	}
	if r.Labels(want[:2]) == id || len(r.Profile.LabelSets) != 3 {
		t.Error("a part of the labels is all of them")
	}
	set[0] = profile.Label{} // the memory is the caller's
	if diff := cmp.Diff(want, r.Profile.LabelSets[id]); diff != "" {
		t.Error(diff)
	}
}

func TestThreads(t *testing.T) {
	r := NewRecorder(profile.New(nil))
	a := r.Thread([]byte("1"), []byte("a"), []byte("2"))
	if a == 0 || r.Thread([]byte("1"), []byte("a"), []byte("2")) != a || r.Thread(nil, []byte("1a"), []byte("2")) == a ||
		r.Thread([]byte("1"), []byte("a2"), nil) == a {
		t.Errorf("%v", r.Profile.Threads)
	}
}

func TestTable(t *testing.T) {
	table := NewTable(profile.Limits{})
	if !table.Add(Row{Value: math.MaxInt64 - 2}) || !table.Add(Row{Value: -2, Thread: 1}) || table.Add(Row{Value: 1}) ||
		table.Add(Row{Value: math.MinInt64}) {
		t.Error("sums")
	}
	s := table.Samples(profile.NamedType("x"), false, 0)
	if s.Len() != 2 || s.Time != nil || s.Labels != nil || s.State != nil || len(s.Thread) != 2 {
		t.Errorf("%+v", s)
	}
}

func TestNotes(t *testing.T) {
	var n Notes
	n.Add("a thing", "things", 3)
	n.Add("another", "others", 4)
	n.Add("a thing", "things", 5)
	var got []string
	for _, w := range n.Warnings(nil) {
		got = append(got, w.String())
	}
	if diff := cmp.Diff([]string{"line 3: 2 things; this is the first", "line 4: another"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "12": 12, "9223372036854775807": math.MaxInt64, "9223372036854775808": -1, "": -1,
		"-1": -1, "1x": -1} {
		if v, ok := Uint([]byte(text)); ok != (want >= 0) || ok && v != want {
			t.Errorf("Uint(%q) = %d, %v", text, v, ok)
		}
	}
	for text, want := range map[string]int64{"0x2cc7": 11463, "FF": 255, "0": 0, "0x": -1, "": -1, "0xg": -1, "0x12345678123456789": -1} {
		if v, ok := Hex([]byte(text)); ok != (want >= 0) || ok && int64(v) != want {
			t.Errorf("Hex(%q) = %d, %v", text, v, ok)
		}
	}
	for text, want := range map[string]int64{
		"563.27": 563270000, "1": 1e6, ".5": 500000, "0.0000019": 1, "9223372036854.775807": -1, "": -1, ".": -1, "1.": -1, "1.x": -1,
		"99999999999999": -1,
	} {
		if v, ok := Nanos([]byte(text), 1e6); ok != (want >= 0) || ok && v != want {
			t.Errorf("Nanos(%q) = %d, %v", text, v, ok)
		}
	}
	if !bytes.Equal(TrimLeft([]byte(" \t a ")), []byte("a ")) || Clean([]byte("a\xff\x00b")) != "a\uFFFD\uFFFDb" {
		t.Error("TrimLeft, Clean")
	}
}
