package framename

import (
	"testing"

	"github.com/dendroprof/dendro/profile"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		mode profile.FrameType
		fn   profile.Function
		line int32
	}{
		{"shop/Cart.total:20", 0, profile.Function{Name: "shop/Cart.total", Kind: profile.KindJava}, 20},
		{"shop/Cart.total:020", 0, profile.Function{Name: "shop/Cart.total:020", Kind: profile.KindJava}, 0},
		{"Cart.total", 0, profile.Function{Name: "Cart.total", Kind: profile.KindJava}, 0},
		{"cart.total", profile.FrameJIT, profile.Function{Name: "cart.total", Kind: profile.KindJava}, 0},
		{"hot_loop (shop.py:8)", 0, profile.Function{Name: "hot_loop", File: "shop.py", Kind: profile.KindPython}, 8},
		{"run (<frozen runpy>:88)", 0, profile.Function{Name: "run", File: "<frozen runpy>", Kind: profile.KindPython}, 88},
		{"run (shop.py)", 0, profile.Function{Name: "run", File: "shop.py", Kind: profile.KindPython}, 0},
		{"f (int)", 0, profile.Function{Name: "f (int)", Kind: profile.KindNative}, 0},
		{"operator::5", 0, profile.Function{Name: "operator::5", Kind: profile.KindCPP}, 0},
		{"-[View draw]", 0, profile.Function{Name: "-[View draw]", Kind: profile.KindCPP}, 0},
		{"sort", profile.FrameCPP, profile.Function{Name: "sort", Kind: profile.KindCPP}, 0},
		{"sort/x", profile.FrameNative, profile.Function{Name: "sort/x", Kind: profile.KindNative}, 0},
		{"net/http.(*conn).serve", 0, profile.Function{Name: "net/http.(*conn).serve", Kind: profile.KindGo}, 0},
		{"byte[]", 0, profile.Function{Name: "byte[]", Kind: profile.KindClass}, 0},
		{"java.util.HashMap$Node", profile.FrameInlined, profile.Function{Name: "java.util.HashMap$Node", Kind: profile.KindClass}, 0},
		{"a.B$$Lambda$27.0x00007f10", profile.FrameKernel, profile.Function{Name: "a.B$$Lambda$27.0x00007f10", Kind: profile.KindClass}, 0},
		{"java.util.HashMap.put", profile.FrameInlined, profile.Function{Name: "java.util.HashMap.put", Kind: profile.KindJava}, 0},
		{"do_syscall_64", profile.FrameKernel, profile.Function{Name: "do_syscall_64", Kind: profile.KindKernel}, 0},
		{"[unknown]", 0, profile.Function{Name: "[unknown]"}, 0},
		{"itable stub", 0, profile.Function{Name: "itable stub", Kind: profile.KindStub}, 0},
	} {
		if fn, line := Parse(c.text, c.mode); fn != c.fn || line != c.line {
			t.Errorf("%s (%s) is %+v, line %d, want %+v, line %d", c.text, c.mode, fn, line, c.fn, c.line)
		}
	}
}
