package phpspy

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
		{Name: "no empty lines, no end", Text: "# start\n0 A::b /x y.php:3\n1 <main> /z.php:-1\n0 c <internal>:-1\n",
			Want: "== wall-samples count scale 0 default\n1 <main> (/z.php:0:0) > A::b:3:0 (/x y.php:0:0)\n1 c\n"},
		{Name: "opcodes", Text: "0 A::b /x y.php:3:ZEND_DO_UCALL\n1 <main> /z.php:9:ZEND_INCLUDE_OR_EVAL\n\n",
			Want: "== wall-samples count scale 0 default\n1 <main>:9:0 (/z.php:0:0) > A::b:3:0 (/x y.php:0:0)\n"},
	},
		"0 a /x:1\n1 b\n\n",
		"0 a /x:1\nprose\n",
	)
}

func FuzzDecode(f *testing.F) {
	reader.Fuzz(f,
		"# start\n0 A::b /x y.php:3\n1 <main> /z.php:-1\n0 c <internal>:-1\n",
	)
}
