package hierarchy

import (
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

func TestDecode(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"own values", "{\"name\":\"r\",\"value\":1,\"children\":[{\"name\":\"a\",\"value\":3},{\"value\":2,\"children\":[]}]}", "== samples count scale 0 default\n1 r\n3 r > a\n2 r > [unknown]\nwarning: 1 nodes have a value below the sum of their children's, which was taken as their own\n"},
		{"fractions, fields in any order", "{\"children\":[{\"children\":[],\"value\":0.25,\"name\":\"a\"}],\"value\":\"1\",\"name\":\"r\",\"extra\":{\"x\":[1]}}", "== samples count scale 2 default\n75 r\n25 r > a\n"},
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
		"{\"name\":\"r\",\"value\":\"x\",\"children\":[]}",
		"{\"name\":\"r\",\"children\":[{\"value\":9e18,\"name\":\"a\"},{\"value\":9e18,\"name\":\"b\"}]}",
		"{\"name\":\"r\",\"value\":1,\"children\":[",
		"{\"name\":\"r\",\"value\":1,\"children\":[]} x",
	} {
		_, err := NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{})
		readtest.Refused(t, text, err, profile.ErrMalformed, "")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("{\"name\":\"r\",\"value\":1,\"children\":[{\"name\":\"a\",\"value\":3},{\"value\":2,\"children\":[]}]}")
	f.Add("{\"children\":[{\"children\":[],\"value\":0.25,\"name\":\"a\"}],\"value\":\"1\",\"name\":\"r\",\"extra\":{\"x\":[1]}}")
	f.Fuzz(func(t *testing.T, text string) {
		Sniff([]byte(text))
		p, err := NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{Depth: 100})
		readtest.Sound(t, len(text), p, err)
	})
}
