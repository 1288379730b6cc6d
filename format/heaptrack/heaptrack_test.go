package heaptrack

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

const file = "shop.heaptrack"

func decode(text []byte) (*profile.Profile, error) {
	return NewDecoder().Decode(bytes.NewReader(text), nil, profile.Limits{})
}

func TestRecording(t *testing.T) {
	text := readtest.File(t, file)
	p, err := decode(text)
	if err != nil || !Sniff(text) {
		t.Fatal(err)
	}
	if p.ProfilerVersion != "1.4.0" || p.Comments[0] != "/srv/shop/shop 10 200" {
		t.Error(p.ProfilerVersion, p.Comments)
	}
	for name, want := range map[string]int64{profile.AllocSamples: 259, profile.LiveSamples: 51, "temporary": 150} {
		if i, err := p.Table(name); err != nil || p.Tables[i].Total() != want {
			t.Errorf("%s: %d, want %d", name, p.Tables[i].Total(), want)
		}
	}
	readtest.Damage(t, text, 2000, decode)
}

// TestPrint compares the values of the innermost functions with heaptrack_print's. It
// orders inlined functions otherwise, shortens templates, and ends stacks at main.
func TestPrint(t *testing.T) {
	p, err := decode(readtest.File(t, file))
	if err != nil {
		t.Fatal(err)
	}
	for cost, name := range map[string]string{"allocations": profile.AllocSamples, "leaked": profile.Live, "peak": profile.Peak} {
		i, err := p.Table(name)
		if err != nil {
			t.Fatal(err)
		}
		var want, got int64
		counts := map[int64]int{}
		for line := range strings.Lines(string(readtest.File(t, "shop."+cost+".expect.txt"))) {
			line = strings.TrimSpace(line)
			v, err := strconv.ParseInt(line[strings.LastIndexByte(line, ' ')+1:], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if want += v; v > 0 {
				counts[v]++
			}
		}
		sums := map[profile.StackID]int64{}
		for row, stack := range p.Tables[i].Stack {
			sums[stack] += p.Tables[i].Value[row]
			got += p.Tables[i].Value[row]
		}
		stacks := map[int64]int{}
		for _, v := range sums {
			stacks[v]++
		}
		if diff := cmp.Diff(counts, stacks); diff != "" || want != got || want == 0 {
			t.Errorf("%s: %d, want %d: %s", cost, got, want, diff)
		}
	}
}

const head = "v 10400 3\nX ./shop\ns 4 main\ns 1 f\ns 3 a.c\ni 10 0 1 3 5\ni 20 0 2 3 7 1 3 9\ni 30 2\nt 1 0\nt 2 1\nt 3 2\na 8 2\na 10 3\na 1 0\n"

func TestCounts(t *testing.T) {
	p, err := decode([]byte(head + "+ 0\n+ 1\n+ 1\n- 1\n- 1\n+ 2\n- 0\n+ 0\n"))
	if err != nil {
		t.Fatal(err)
	}
	const f = "main:5:0 (a.c:0:0) 0x10 > main:9:0 (a.c:0:0) 0x20 > f:7:0 (a.c:0:0) 0x20 inlined 1"
	want := "== alloc bytes scale 0 default\n16 " + f + "\n32 " + f + " > f!0x30 0x30 in f\n1 (no stack)\n" +
		"== alloc-samples count scale 0\n2 " + f + "\n2 " + f + " > f!0x30 0x30 in f\n1 (no stack)\n" +
		"== temporary count scale 0\n1 " + f + " > f!0x30 0x30 in f\n" +
		"== peak bytes scale 0\n8 " + f + "\n32 " + f + " > f!0x30 0x30 in f\n" +
		"== peak-samples count scale 0\n1 " + f + "\n2 " + f + " > f!0x30 0x30 in f\n" +
		"== live bytes scale 0\n8 " + f + "\n1 (no stack)\n" +
		"== live-samples count scale 0\n1 " + f + "\n1 (no stack)\n"
	if diff := cmp.Diff(want, readtest.Describe(p)); diff != "" {
		t.Error(diff)
	}
}

func TestErrors(t *testing.T) {
	for text, c := range map[string]struct {
		is   error
		says string
	}{
		"":                      {profile.ErrMalformed, "empty"},
		"X a\n":                 {profile.ErrMalformed, "not the first line"},
		"v 10000 1\n":           {profile.ErrUnsupported, "heaptrack_print"},
		"v 10400 3\nx e shop\n": {profile.ErrUnsupported, "heaptrack_interpret"},
		head + "i 1\n":          {profile.ErrMalformed, "line 15: malformed: 1 numbers behind i"},
		head + "i 1 9\n":        {profile.ErrMalformed, "outside its table"},
		head + "i 1 1 9\n":      {profile.ErrMalformed, "outside its table"},
		head + "i 1 1 1 9 1\n":  {profile.ErrMalformed, "outside its table"},
		head + "t 1 9\n":        {profile.ErrMalformed, "outside its table"},
		head + "t 9 1\n":        {profile.ErrMalformed, "outside its table"},
		head + "a 9 9\n":        {profile.ErrMalformed, "outside its table"},
		head + "+ 3\n":          {profile.ErrMalformed, "outside its table"},
		head + "- 0\n":          {profile.ErrMalformed, "more ends than allocations"},
		head + "+ x\n":          {profile.ErrMalformed, "not a hexadecimal number"},
		head + head:             {profile.ErrMalformed, "a second recording begins here"},
		head + "s main\n":       {profile.ErrMalformed, "without its length"},
		head + "t 2 3\nt 2 4\n": {profile.ErrTooLarge, "--max-depth"},
		head + "a 7fffffffffffffff 1\n+ 3\n+ 3\n":      {profile.ErrMalformed, "63 bits"},
		head + "a 7fffffffffffffff 1\n+ 3\n- 3\n+ 3\n": {profile.ErrMalformed, "63 bits"},
	} {
		_, err := NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{Depth: 5})
		readtest.Refused(t, text, err, c.is, c.says)
	}
	for _, text := range []string{"v 1\nX a\n", "v x 3\nX a\n", "v 10400 3\n", "w 1 3\nX a\n"} {
		if Sniff([]byte(text)) {
			t.Errorf("%q is recognised", text)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(readtest.File(f, file))
	f.Add([]byte(head))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := decode(text)
		readtest.Sound(t, len(text), p, err)
		Sniff(text)
	})
}
