package diff_test

import (
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/proftest"
)

func TestInlined(t *testing.T) {
	for _, c := range []struct{ name, base, head, want string }{
		{"leaf", "×90 ×60\nmain main\nload idle\nscan", "×92 ×60\nmain main\nload idle", "scan into load"},
		{"with a callee of its own", "×90 ×60\nmain main\nload\nscan\nread", "×150\nmain\nload", ""},
		{"two, one in the other", "×50 ×60\nmain main\nload load\nscan scan\nread", "×110\nmain\nload", "scan into load, read into load"},
		{"only vanished", "×90 ×60\nmain main\nload idle\nscan", "×2 ×60\nmain main\nload idle", ""},
		{"rose by more", "×20 ×60\nmain main\nload idle\nscan", "×92 ×60\nmain main\nload idle", ""},
		{"too few samples", "×5 ×60\nmain main\nload idle\nscan", "×5 ×60\nmain main\nload idle", ""},
		{"not gone", "×90 ×60 \nmain main\nload idle\nscan", "×90 ×60 ×1\nmain main main\nload idle idle\n  scan", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := compare(t, trees{proftest.Tree(columns(c.base))}, trees{proftest.Tree(columns(c.head))})
			var got []string
			for _, x := range d.Inlined() {
				got = append(got, x.Callee.Name+" into "+x.Caller.Name)
			}
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("got %q, want %q", text, c.want)
			}
		})
	}
}
