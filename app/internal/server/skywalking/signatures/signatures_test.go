package signatures

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

func TestPaths(t *testing.T) {
	s := profile.NewSymbols()
	frame := func(name string, line int32) profile.FrameID {
		return s.Frame(profile.Frame{Function: s.Function(profile.Function{Name: name}), Line: line})
	}
	main := s.Stack(profile.NoStack, frame("main", 1))
	s.Stack(main, frame("work", 10))
	s.Stack(main, frame("work", 20))
	for _, tt := range []struct {
		lines, below bool
		want         []string // of each stack
	}{
		{false, false, []string{"main", "main work", "main work"}},
		{true, false, []string{"main:1", "main:1 work:10", "main:1 work:20"}},
		{true, true, []string{"all main:1", "all main:1 work:10", "all main:1 work:20"}},
	} {
		var f calltree.Forest
		top := calltree.NoNode
		if tt.below {
			top = f.Path(top, f.Function(profile.Function{Name: "all"}))
		}
		var got []string
		for _, p := range Paths(&f, top, s, tt.lines) {
			got = append(got, strings.Join(f.Names(p), " "))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("lines %v, below %v: %s", tt.lines, tt.below, diff)
		}
	}
}
