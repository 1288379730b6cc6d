package folded

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// tester is what testing.TB and rapid.T have in common.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// testWindow saves fuzzing, which reads tiny texts, from a new window each time.
var testWindow = make([]byte, windowSize)

// agree reads text with every strategy, cold and warm, and with the reference,
// and demands the same hashes or an error in the same line.
func agree(t tester, text string, l profile.Limits) {
	t.Helper()
	want, wantErr := reference(text, l)
	for by := choose; by <= byFrames; by++ {
		d := NewDecoder()
		d.strategy = by
		d.buf = testWindow
		s := profile.NewSymbols()
		for _, state := range []string{"cold", "warm"} {
			got, err := d.Decode(strings.NewReader(text), s, l)
			sameResult(t, fmt.Sprintf("strategy %d, %s", by, state), text, got, err, want, wantErr)
		}
		got, err := d.Decode(bytes.NewBufferString(text), s, l)
		sameResult(t, fmt.Sprintf("strategy %d, in memory", by), text, got, err, want, wantErr)
		sums := l
		sums.Sums = true
		for _, state := range []string{"cold", "warm"} { // for the caches, not for s
			got, err := d.Decode(strings.NewReader(text), s, sums)
			sameResult(t, fmt.Sprintf("strategy %d, sums, %s", by, state), text, got, err, want, wantErr)
			if err == nil {
				sameSums(t, text, got, want)
			}
		}
	}
	// A window of a few bytes has edges everywhere. It also sees too little to
	// know a differential file.
	if strings.Contains(text, " ") && !slices.ContainsFunc(strings.Split(text, "\n"), refPair.MatchString) {
		for how, in := range map[string]io.Reader{
			"small window":           iotest.HalfReader(strings.NewReader(text)),
			"small window of memory": bytes.NewBufferString(text),
		} {
			d := NewDecoder()
			d.buf = make([]byte, 7)
			got, err := d.Decode(in, nil, l)
			sameResult(t, how, text, got, err, want, wantErr)
		}
	}
}

func sameResult(t tester, how, text string, got *profile.Profile, err error, want *profile.Profile, wantErr error) {
	t.Helper()
	var place *profile.ParseError
	switch {
	case wantErr == nil && err != nil:
		t.Fatalf("%s: %v\nin %q", how, err, text)
	case wantErr == nil:
		if err := got.Check(); err != nil {
			t.Fatalf("%s: %v\nin %q", how, err, text)
		}
		if diff := cmp.Diff(hashes(want), hashes(got)); diff != "" {
			t.Fatalf("%s: other hashes (-want +got):\n%s\nwant %s\ngot %s\nin %q", how, diff, draw(want), draw(got), text)
		}
	case !errors.As(err, &place):
		t.Fatalf("%s: error %v, want one in line %v\nin %q", how, err, wantErr, text)
	case fmt.Sprint(place.Line) != wantErr.Error():
		t.Fatalf("%s: error %v, want one in line %v\nin %q", how, err, wantErr, text)
	case !errors.Is(err, profile.ErrMalformed) && !errors.Is(err, profile.ErrTooLarge):
		t.Fatalf("%s: error %v of no kind", how, err)
	case lineOf(text, place.Offset) != place.Line:
		t.Fatalf("%s: offset %d is in line %d, not in %d\nin %q", how, place.Offset, lineOf(text, place.Offset), place.Line, text)
	}
}

// sameSums demands the same sums per functions of the stack, innermost frame and thread,
// and of callers only their functions.
func sameSums(t tester, text string, got, want *profile.Profile) {
	t.Helper()
	sums := func(p *profile.Profile) []map[string]int64 {
		var list []map[string]int64
		for i := range p.Tables {
			table, of := &p.Tables[i], map[string]int64{}
			for row, st := range table.Stack {
				key := p.Threads[table.Tags(row).Thread].Frame
				for _, fr := range p.Symbols.Path(st, nil) {
					key += "\n" + p.Symbols.Functions[p.Symbols.Frames[fr].Function].Name
				}
				if st != profile.NoStack {
					leaf := p.Symbols.Frames[p.Symbols.Leaf(st)]
					key += fmt.Sprint("\n", leaf.Line, leaf.Type)
				}
				if of[key] += table.Value[row]; of[key] == 0 {
					delete(of, key)
				}
			}
			list = append(list, of)
		}
		return list
	}
	if diff := cmp.Diff(sums(want), sums(got)); diff != "" {
		t.Fatalf("other sums (-want +got):\n%s\nin %q", diff, text)
	}
	for i := range got.Tables {
		for _, st := range got.Tables[i].Stack {
			frames := got.Symbols.Path(st, nil)
			for _, fr := range frames[:max(0, len(frames)-1)] {
				if f := got.Symbols.Frames[fr]; f != (profile.Frame{Function: f.Function}) {
					t.Fatalf("the caller %+v is more than its function\nin %q", f, text)
				}
			}
		}
	}
}

func lineOf(text string, offset int64) int { return 1 + strings.Count(text[:offset], "\n") }

// frames of the generated text: ordinary ones, and those with a convention or
// something that looks like one.
var frames = []string{
	"a", "b", "c", "main", "java/lang/Thread.run", "java/lang/Thread.run_[j]", "java/lang/Thread.run_[0]",
	"java/lang/Thread.run:7", "java/lang/Thread.run:8_[i]", "std::sort<int, (Cmp)2>", "operator new", "byte[]_[i]",
	"f (x.py:3)", "f (x.py)", "f (<string>:9)", "[unknown]", "[open", "x tid=3]", "[main tid=2]", " ", "", "a ", "\t b",
	"a\x00", "\xff", "é", "#", "# x", "thread (3): t", "process 3:\"x\"", "sys_[k]", "_[j]", "a_[x]", "thread", "process", "\ufeffx",
}

var leads = []string{"", "", "", "", "[main tid=1];", "[a; b tid=2];", "[tid=3];", "thread (7): x;", "thread (0xF);",
	"process 1:\"a;b\";", "process 1:\"a\";thread (2): y;", " ", ";", "\t;"}

// genText draws folded text. Lines share prefixes, as in a file of a profiler.
func genText(t *rapid.T) string {
	count := rapid.OneOf(
		rapid.SampledFrom([]string{"1", "2", "17", "0", "-3", "007"}),
		rapid.SampledFrom([]string{"1.5", "0.25", "-0.125", "2.", ".5", "0.12345678949", "1e5", "x", "9223372036854775807"}),
	)
	if rapid.Bool().Draw(t, "plain counts") {
		count = rapid.SampledFrom([]string{"1", "2", "3", "40"})
	}
	end := rapid.SampledFrom([]string{"\n", "\n", "\n", "\r\n", " \n", "\n\n", "\n# x\n"})
	stack := []string{"a"}
	var lines []string
	for range rapid.IntRange(0, 30).Draw(t, "lines") {
		keep := rapid.IntRange(0, len(stack)).Draw(t, "keep")
		stack = append(slices.Clone(stack[:keep]), rapid.SliceOfN(rapid.SampledFrom(frames), 0, 4).Draw(t, "frames")...)
		line := rapid.SampledFrom(leads).Draw(t, "lead") + strings.Join(stack, ";")
		line += " " + count.Draw(t, "count")
		if rapid.IntRange(0, 9).Draw(t, "pair") == 0 {
			line += " " + count.Draw(t, "second")
		}
		lines = append(lines, line+end.Draw(t, "end"))
	}
	if rapid.Bool().Draw(t, "sorted") {
		slices.Sort(lines)
	}
	text := strings.Join(lines, "")
	if rapid.Bool().Draw(t, "cut") && text != "" {
		text = text[:rapid.IntRange(0, len(text)).Draw(t, "at")]
	}
	return text
}

func TestStrategiesAgree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := profile.Limits{}
		if rapid.IntRange(0, 3).Draw(rt, "limits") == 0 {
			l = profile.Limits{Depth: 5, Line: 60}
		}
		agree(rt, genText(rt), l)
	})
}

// TestWarmEqualsCold reads several texts with one decoder and each with a new
// one.
func TestWarmEqualsCold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		warm := NewDecoder()
		warm.strategy = rapid.SampledFrom([]strategy{choose, byPrefix, byHash}).Draw(rt, "strategy")
		warm.buf = make([]byte, rapid.SampledFrom([]int{64, 1000, windowSize}).Draw(rt, "window"))
		symbols := []*profile.Symbols{profile.NewSymbols(), profile.NewSymbols()}
		for range rapid.IntRange(2, 6).Draw(rt, "texts") {
			text := genText(rt)
			cold := NewDecoder()
			cold.buf = make([]byte, len(warm.buf))
			want, wantErr := cold.Decode(strings.NewReader(text), nil, profile.Limits{})
			s := symbols[0]
			if rapid.IntRange(0, 4).Draw(rt, "other symbols") == 0 {
				s = symbols[1]
			}
			var r io.Reader = strings.NewReader(text)
			if rapid.Bool().Draw(rt, "byte by byte") {
				r = iotest.OneByteReader(r)
			}
			got, err := warm.Decode(r, s, profile.Limits{})
			if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
				rt.Fatalf("error %v, cold %v", err, wantErr)
			}
			if err == nil && !slices.Equal(hashes(got), hashes(want)) {
				rt.Fatalf("other hashes\n%s\n%s\n%q", draw(want), draw(got), text)
			}
		}
	})
}

// TestFrameCacheCollision adds texts of equal hash.
func TestFrameCacheCollision(t *testing.T) {
	c := frameCache{most: maxCached}
	texts := []string{"a", "b", "c"}
	for i, text := range texts {
		if _, ok := c.find(7, []byte(text)); ok {
			t.Errorf("%s is known before it was added", text)
		}
		c.add(7, spelling{text: text, frame: profile.FrameID(i), caller: profile.FrameID(i)})
	}
	for i, text := range texts {
		if at, ok := c.find(7, []byte(text)); !ok || c.spelled[at].frame != profile.FrameID(i) {
			t.Errorf("%s is %d, %v", text, at, ok)
		}
	}
}

// TestStrategyChosen tells the strategy by the cache that it fills.
func TestStrategyChosen(t *testing.T) {
	w := newWorkload(3)
	for _, shuffled := range []bool{false, true} {
		d := NewDecoder()
		if _, err := d.Decode(bytes.NewReader(w.run(1, shuffled)), nil, profile.Limits{}); err != nil {
			t.Fatal(err)
		}
		if d.stacks.used > 0 != shuffled {
			t.Errorf("shuffled %v: %d stacks in the cache", shuffled, d.stacks.used)
		}
	}
}

// TestCachesOverflow fills the caches beyond their bound.
func TestCachesOverflow(t *testing.T) {
	const most = 1000
	var b strings.Builder
	for i := range 3*most + 10 {
		fmt.Fprintf(&b, "a;f%d;g%d 1\n", i, i%7)
	}
	want, _ := reference(b.String(), profile.Limits{})
	for by := byPrefix; by <= byFrames; by++ {
		d := NewDecoder()
		d.strategy = by
		d.frames.most, d.stacks.most = most, most
		s := profile.NewSymbols()
		for range 2 {
			p, err := d.Decode(strings.NewReader(b.String()), s, profile.Limits{})
			sameResult(t, fmt.Sprint("strategy ", by), "", p, err, want, nil)
		}
		if n := s.Stacks.Len(); n != 2*(3*most+10)+1 {
			t.Errorf("%d stacks", n)
		}
		if len(d.frames.spelled) > most || d.stacks.used > most {
			t.Errorf("%d frames and %d stacks cached", len(d.frames.spelled), d.stacks.used)
		}
	}
}

// TestMutations damages recordings: bytes are changed, lines cut, doubled and
// exchanged. Whatever comes out, all readers agree.
func TestMutations(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 3
	}
	for _, name := range sampleNames(t) {
		text := string(readtest.File(t, name))
		lines := strings.SplitAfter(text, "\n")
		r := rand.New(rand.NewPCG(uint64(len(text)), 7))
		for range rounds {
			at := r.IntN(len(lines))
			part := lines[at:min(len(lines), at+5)] // enough, and the reference is slow
			agree(t, mutate(r, strings.Join(part, "")), profile.Limits{})
		}
	}
}

func mutate(r *rand.Rand, text string) string {
	b := []byte(text)
	for range 1 + r.IntN(3) {
		if len(b) < 2 {
			break
		}
		i, j := r.IntN(len(b)), r.IntN(len(b))
		switch r.IntN(6) {
		case 0:
			b[i] = byte(r.IntN(256))
		case 1:
			b[i] = "; \n\r[]():#.-0\"_"[r.IntN(15)]
		case 2:
			b = slices.Delete(b, min(i, j), min(i, j)+min(40, max(i, j)-min(i, j)))
		case 3:
			b = slices.Insert(b, i, b[j:min(len(b), j+40)]...)
		case 4:
			b = b[:i]
		case 5:
			b = slices.Insert(b, i, []byte(";[main tid=7];")...)
		}
	}
	return string(b)
}

// TestSamplesAgree holds the reference against the recordings themselves.
func TestSamplesAgree(t *testing.T) {
	for _, name := range sampleNames(t) {
		agree(t, string(readtest.File(t, name)), profile.Limits{})
	}
}
