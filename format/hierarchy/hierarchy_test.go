package hierarchy

import (
	"io"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

var reader = readtest.Reader{Sniff: Sniff, Decode: func(r io.Reader) (*profile.Profile, error) {
	return NewDecoder().Decode(r, nil, profile.Limits{Depth: 100})
}}

func TestDecode(t *testing.T) {
	reader.Texts(t, []readtest.Text{
		{Name: "own values", Text: "{\"name\":\"r\",\"value\":1,\"children\":[{\"name\":\"a\",\"value\":3},{\"value\":2,\"children\":[]}]}",
			Want: "== samples count scale 0 default\n1 r\n3 r > a\n2 r > [unknown]\nwarning: 1 nodes have a value below the sum of their children's, which was taken as their own\n"},
		{Name: "fractions, fields in any order", Text: "{\"children\":[{\"children\":[],\"value\":0.25,\"name\":\"a\"}],\"value\":\"1\",\"name\":\"r\",\"extra\":{\"x\":[1]}}",
			Want: "== samples count scale 2 default\n75 r\n25 r > a\n"},
		{Name: "first letters", Text: "{\"n\":\"r\",\"v\":3,\"c\":[{\"n\":\"a\",\"v\":1}]}",
			Want: "== samples count scale 0 default\n2 r\n1 r > a\n"},
		{Name: "several roots", Text: "[{\"name\":\"r\",\"value\":3,\"children\":[{\"name\":\"a\",\"value\":1}]},{\"name\":\"s\",\"value\":4,\"children\":null}]",
			Want: "== samples count scale 0 default\n2 r\n1 r > a\n4 s\n"},
	},
		"{\"name\":\"r\",\"value\":\"x\",\"children\":[]}",
		"{\"name\":\"r\",\"children\":[{\"value\":9e18,\"name\":\"a\"},{\"value\":9e18,\"name\":\"b\"}]}",
		"{\"name\":\"r\",\"value\":1,\"children\":[",
		"{\"name\":\"r\",\"value\":1,\"children\":[]} x",
	)
}

func FuzzDecode(f *testing.F) {
	reader.Fuzz(f,
		"{\"name\":\"r\",\"value\":1,\"children\":[{\"name\":\"a\",\"value\":3},{\"value\":2,\"children\":[]}]}",
		"{\"children\":[{\"children\":[],\"value\":0.25,\"name\":\"a\"}],\"value\":\"1\",\"name\":\"r\",\"extra\":{\"x\":[1]}}",
	)
}
