package valgrind

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

func decodeMassif(text []byte) (*profile.Profile, error) {
	return NewMassifDecoder().Decode(bytes.NewReader(text), nil, profile.Limits{})
}

func decodeDHAT(text []byte) (*profile.Profile, error) {
	return NewDHATDecoder().Decode(bytes.NewReader(text), nil, profile.Limits{})
}

func TestMassif(t *testing.T) {
	text := readtest.File(t, "shop.massif")
	p, err := decodeMassif(text)
	if err != nil || !SniffMassif(text) {
		t.Fatal(err)
	}
	readtest.Golden(t, "shop.massif.golden", readtest.Describe(p))
	if p.Tables[0].Total() != 121928 || p.Comments[0] != "/srv/shop/shop 100 60" {
		t.Error(p.Tables[0].Total(), p.Comments)
	}
	readtest.Damage(t, text, 1000, decodeMassif)
}

func TestDHAT(t *testing.T) {
	text := readtest.File(t, "shop.dhat.json")
	p, err := decodeDHAT(text)
	if err != nil || !SniffDHAT(text) {
		t.Fatal(err)
	}
	readtest.Golden(t, "shop.dhat.json.golden", readtest.Describe(p))
	var totals []int64
	for i := range p.Tables {
		totals = append(totals, p.Tables[i].Total())
	}
	// What DHAT has printed, see testdata/README.md.
	if diff := cmp.Diff([]int64{182_048, 82, 121_928, 18, 45_000, 15, 197, 105_273}, totals); diff != "" {
		t.Error(diff)
	}
	readtest.Damage(t, text, 3000, decodeDHAT)
}

const head = "desc: x\ncmd: y\ntime_unit: B\n"

// TestSnapshots reads the peak, or the largest tree of a file that has none.
func TestSnapshots(t *testing.T) {
	tree := func(kind string, n int) string {
		return fmt.Sprintf("#-----------\nsnapshot=1\nheap_tree=%s\nn1: %d (heap allocation functions) malloc\n n0: %d 0x1: f (a.c:2)\n", kind, n, n)
	}
	for text, want := range map[string]int64{
		tree("detailed", 5) + tree("detailed", 9) + tree("detailed", 3): 9,
		tree("detailed", 9) + tree("peak", 7) + tree("detailed", 8):     7,
		"#-----------\nsnapshot=0\nheap_tree=empty\n":                   0,
	} {
		p, err := decodeMassif([]byte(head + text))
		if err != nil || p.Tables[0].Total() != want || want == 0 && len(p.Warnings) != 1 {
			t.Errorf("%q: %v, want %d", text, err, want)
		}
	}
}

func TestModes(t *testing.T) {
	for mode, want := range map[string]string{
		`"mode":"heap","verb":"Allocated"`:                      "alloc bytes",
		`"mode":"rust-heap","verb":"Allocated"`:                 "alloc bytes",
		`"mode":"copy","verb":"Copied"`:                         "copied bytes",
		`"mode":"ad-hoc","verb":"Occurred","bsu":"units"`:       "occurred count",
		`"mode":"rust-ad-hoc","verb":"Occurred","bsu":"events"`: "occurred count",
	} {
		p, err := decodeDHAT([]byte(`{"dhatFileVersion":2,` + mode + `,"pps":[{"tb":3,"tbk":1,"fs":[1,1]},{"tb":2,"fs":[]}],"ftbl":["[root]","0x5: main (src/main.rs:7:3)"]}`))
		if err != nil {
			t.Fatal(err)
		}
		want = "== " + want + " scale 0 default\n3 main:7:0 (src/main.rs:0:0) 0x5 > main:7:0 (src/main.rs:0:0) 0x5 inlined 1\n2 [not listed]\n"
		if got := readtest.Describe(p); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", mode, got)
		}
	}
}

// TestUnknownFrame reads a stack of a frame that is not in the list.
func TestUnknownFrame(t *testing.T) {
	p, err := decodeDHAT([]byte(`{"dhatFileVersion":2,"mode":"heap","verb":"Allocated","pps":[{"tb":3,"fs":[7,1]}],"ftbl":["[root]","0x5: main (a.c:7)"]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := "3 main:7:0 (a.c:0:0) 0x5 > [unknown]\nwarning: 1 frames of stacks are not in the list of 2 frames; they count as [unknown]\n"
	if got := readtest.Describe(p); !strings.Contains(got, want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestErrors(t *testing.T) {
	const tree = head + "snapshot=1\nheap_tree=peak\n"
	for text, c := range map[string]struct {
		is   error
		says string
	}{
		head:                                {profile.ErrMalformed, "no snapshot"},
		tree + "n1: x\n":                    {profile.ErrMalformed, "line 6: malformed: not a line of a tree"},
		tree + "n1: 5 a\n   n1: 5 0x1: f\n": {profile.ErrMalformed, "not a line of a tree"},
		tree + "n1: 5 a\n n1: 5 0x1: f\n  n1: 5 0x1: f\n   n0: 5 0x1: f\n":                   {profile.ErrTooLarge, "--max-depth"},
		tree + "n1: 5 a\n n1: 9223372036854775807 0x1: f\n n1: 9223372036854775807 0x1: f\n": {profile.ErrMalformed, "63 bits"},
	} {
		_, err := NewMassifDecoder().Decode(strings.NewReader(text), nil, profile.Limits{Depth: 2})
		readtest.Refused(t, text, err, c.is, c.says)
	}
	for text, c := range map[string]struct {
		is   error
		says string
	}{
		`{"dhatFileVersion":3}`:                                                               {profile.ErrUnsupported, "version 3"},
		`{"dhatFileVersion":2,"pps":[{"tb":1,"fs":[-7]}]}`:                                    {profile.ErrMalformed, "frame -7"},
		`{"dhatFileVersion":2,"pps":[{"tb":-1}]}`:                                             {profile.ErrMalformed, "tb is -1"},
		`{"dhatFileVersion":2,"pps":[{"tb":1,"fs":[0,0,0]}]}`:                                 {profile.ErrTooLarge, "--max-depth"},
		`{"dhatFileVersion":2,"pps":[{"tb":9223372036854775807},{"tb":9223372036854775807}]}`: {profile.ErrMalformed, "63 bits"},
	} {
		_, err := NewDHATDecoder().Decode(strings.NewReader(text), nil, profile.Limits{Depth: 2})
		readtest.Refused(t, text, err, c.is, c.says)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(readtest.File(f, "shop.massif"))
	f.Add(readtest.File(f, "shop.dhat.json"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := decodeMassif(text)
		readtest.Sound(t, len(text), p, err)
		p, err = decodeDHAT(text)
		readtest.Sound(t, len(text), p, err)
		SniffMassif(text)
		SniffDHAT(text)
	})
}
