package phpspy

import (
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

func TestDecode(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"no empty lines, no end", "# start\n0 A::b /x y.php:3\n1 <main> /z.php:-1\n0 c <internal>:-1\n", "== wall-samples count scale 0 default\n1 <main> (/z.php:0:0) > A::b:3:0 (/x y.php:0:0)\n1 c\n"},
	} {
		p, err := NewDecoder().Decode(strings.NewReader(tt.text), nil, profile.Limits{})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if got := readtest.Describe(p); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
		if !Sniff([]byte(tt.text)) {
			t.Errorf("%s: not recognised", tt.name)
		}
	}
	for _, text := range []string{
		"0 a /x:1\n1 b\n\n",
		"0 a /x:1\nprose\n",
	} {
		_, err := NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{})
		readtest.Refused(t, text, err, profile.ErrMalformed, "")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("# start\n0 A::b /x y.php:3\n1 <main> /z.php:-1\n0 c <internal>:-1\n")
	f.Fuzz(func(t *testing.T, text string) {
		Sniff([]byte(text))
		p, err := NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{Depth: 100})
		readtest.Sound(t, len(text), p, err)
	})
}
