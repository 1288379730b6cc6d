package callgrind

import (
	"testing"

	"github.com/dendroprof/dendro/test/readtest"
)

// TestDialects reads units and names as yappi, pyprof2calltree and ruby-prof mean them.
func TestDialects(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"yappi", "version: 1\ncreator: yappi\npid: 42\ncmd:  -\npart: 1\n\nevents: Ticks\n\nfl=(0) /a/b.py\nfl=(1) /a/c.py\n\nfn=(0) f /a/b.py:3\nfn=(1) C.g /a/c.py:7\nfn=(2) odd\n\n" +
			"fl=(0)\nfn=(0)\n3 5\ncfl=(1)\ncfn=(1)\ncalls=1 0\n0 4\n\nfl=(1)\nfn=(1)\n7 4\n\nfl=(1)\nfn=(2)\n1 2\n",
			"== wall nanoseconds scale 0 default\n4000 f (/a/b.py:3:0) > C.g:7:0 (/a/c.py:7:0)\n2000 odd:1:0 (/a/c.py:0:0)\n5000 f:3:0 (/a/b.py:3:0)\n"},
		{"pyprof2calltree", "event: ns : Nanoseconds\nevents: ns\nsummary: 9\nfl=/a/b.py\nfn=f:3\n3 5\ncfl=~\ncfn=<built-in method time.sleep>\ncalls=1 0\n3 4\n\nfl=~\nfn=<built-in method time.sleep>\n0 4\n",
			"== wall nanoseconds scale 0 default\n5 f:3:0 (/a/b.py:3:0)\n4 f (/a/b.py:3:0) > <built-in method time.sleep>\n"},
		{"ruby-prof", "events: process_time\n\nfl=/a/cart.rb\nfn=Shop/Cart::total\n3 5\ncfl=/a/cart.rb\ncfn=Shop/Price::of^\ncalls=1 9\n9 4\n\nfl=/a/cart.rb\nfn=Shop/Price::of^\n9 4\n\nfl=/a/x.rb\nfn=<Class/Shop/Tax>::new*\n1 1\n\nfl=/a/x.rb\nfn=[global]\n1 1\n",
			"== cpu nanoseconds scale 0 default\n5000 Shop::Cart#total:3:0 (/a/cart.rb:0:0)\n4000 Shop::Cart#total (/a/cart.rb:0:0) > Shop::Price.of:9:0 (/a/cart.rb:0:0)\n" +
				"1000 Shop::Tax.new:1:0 (/a/x.rb:0:0)\n1000 [global]:1:0 (/a/x.rb:0:0)\n"},
		{"ruby-prof, memory", "events: memory\n\nfl=/a/cart.rb\nfn=Cart::total\n3 5\n", "== alloc bytes scale 0 default\n5 Cart#total:3:0 (/a/cart.rb:0:0)\n"},
		{"pyprof2calltree by name", "creator: pyprof2calltree\nevents: Nanoseconds\n\nfl=/a/b.py\nfn=f:3\n3 5\n", "== wall nanoseconds scale 0 default\n5 f:3:0 (/a/b.py:3:0)\n"},
		{"ruby-prof by name", "creator: ruby-prof\nevents: wall_time\n\nfl=/a/cart.rb\nfn=Cart::total\n3 5\n", "== wall nanoseconds scale 0 default\n5000 Cart#total:3:0 (/a/cart.rb:0:0)\n"},
		{"a unit as event", "events: ms\n\nfl=/a/b.c\nfn=f\n3 5\n", "== wall nanoseconds scale 0 default\n5000000 f:3:0 (/a/b.c:0:0)\n"},
		{"Xdebug 2", "creator: xdebug 2.9.6 (PHP 7.4.7)\nevents: Time Memory\n\nfl=/a/b.php\nfn={main}\n1 400 100\n", "== wall nanoseconds scale 0 default\n400000 {main}:1:0 (/a/b.php:0:0)\n== Memory bytes scale 0\n100 {main}:1:0 (/a/b.php:0:0)\n"},
		{"another creator", "version: 1\ncreator: other-1\nevents: memory\n\nfl=/a/cart.rb\nfn=Cart::total\n3 5\n", "== memory events scale 0 default\n5 Cart::total:3:0 (/a/cart.rb:0:0)\n"},
	} {
		p := mustDecode(t, tt.text)
		p.Warnings = nil
		if got := readtest.Describe(p); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
		if !Sniff([]byte(tt.text)) {
			t.Errorf("%s: not recognised", tt.name)
		}
	}
}
