package folded

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// seeds are small texts with everything that the grammar knows.
var seeds = []string{
	"a;b;c 3\na;b 2\n",
	"\ufeffa;b 3 \r\n\r\n# x\r\n#y\r\n a;;b; 4",
	"a;b_[j];c_[i];d_[0];e_[1];f_[k] 1\na/B.c:20_[j] 2\n",
	"[main tid=1];a 1\n[alloc worker; \"quoted\" tid=7173];a/B.c 1\n[tid=3] 5\n[unknown];x 1\n",
	"thread (7): x;f (a.py:3) 1\nprocess 7:\"a; b\";process 8:\"c\";thread (0xF);g (<string>:1);h (b.py) 2\n",
	"a 1.5\nb 0.333333333333\nc -2\nd 0\n",
	"a;b 1 2\na;c 0 3\n",
	"a;b 2 5\nb 3\n# c 4\n# d; 5\n",
	"a 9223372036854775807\nb 1\n",
	"a;b\n",
	"a\x00;\xff;\u2028 1\n",
}

func addSeeds(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, uint8(0))
		f.Add(s, uint8(1))
	}
	for _, name := range sampleNames(f) {
		text := string(readtest.File(f, name))
		f.Add(text[:min(len(text), 1500)], uint8(0))
	}
}

// FuzzDecode demands that nothing panics and that all strategies agree with the
// reference.
func FuzzDecode(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text string, limits uint8) {
		l := profile.Limits{}
		if limits%2 == 1 {
			l = profile.Limits{Depth: 1 + int(limits)/8, Line: 1 + int(limits)}
		}
		agree(t, text, l)
		Sniff([]byte(text))
	})
}

// FuzzRoundtrip demands that what was read is the same after writing and
// reading it again, and that the text then stays the same.
func FuzzRoundtrip(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text string, _ uint8) {
		d := NewDecoder()
		d.buf = testWindow
		p, err := d.Decode(strings.NewReader(text), nil, profile.Limits{})
		if err != nil {
			t.Skip()
		}
		written := encode(t, p, -1)
		if written == "" {
			return
		}
		again, err := d.Decode(strings.NewReader(written), nil, profile.Limits{})
		if err != nil {
			t.Fatalf("%v\nread %q\nwritten %q", err, text, written)
		}
		if diff := cmp.Diff(hashes(added(p)), hashes(again)); diff != "" {
			t.Fatalf("other hashes after writing and reading (-want +got):\n%s\nread %q\nwritten %q", diff, text, written)
		}
		if second := encode(t, again, -1); second != written {
			t.Fatalf("other text the second time\nread %q\nwritten %q\nagain %q", text, written, second)
		}
	})
}
