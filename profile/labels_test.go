package profile

import (
	"fmt"
	"strings"
	"testing"
)

// TestByLabels draws the samples of a profile by their labels: all, a part, and grouped.
func TestByLabels(t *testing.T) {
	p := New(nil)
	in := NewInterner(p)
	frame := func(name string) FrameID {
		return p.Symbols.Frame(Frame{Function: p.Symbols.Function(Function{Name: name})})
	}
	main := p.Symbols.Stack(NoStack, frame("main"))
	serve := p.Symbols.Stack(main, frame("serve"))
	a, b := []Label{{Key: "handler", Text: "/a"}, {Key: "bytes", Num: 64, Unit: "bytes"}},
		[]Label{{Key: "handler", Text: "/b"}, {Key: "handler", Text: "/c"}}
	s := Samples{Type: NamedType(CPU)}
	for i, set := range [][]Label{nil, a, b, a, nil} {
		stack := serve
		switch i {
		case 0:
			stack = main
		case 4:
			stack = NoStack
		}
		s.Append(stack, int64(i+1), int64(10*i), Tags{Labels: in.Labels(set)})
	}
	p.Tables = []Samples{s}
	draw := func(p *Profile) string {
		var rows []string
		for i, st := range p.Tables[0].Stack {
			var names []string
			for _, f := range p.Symbols.Path(st, nil) {
				names = append(names, p.Symbols.Functions[p.Symbols.Frames[f].Function].Name)
			}
			rows = append(rows, fmt.Sprintf("%d@%d %s", p.Tables[0].Value[i], p.Tables[0].Time[i], strings.Join(names, ";")))
		}
		if err := p.Check(); err != nil {
			t.Error(err)
		}
		return strings.Join(rows, " | ")
	}
	has := func(value string) func([]Label) bool {
		return func(set []Label) bool { return strings.Contains(labelValues(set, "handler"), value) }
	}
	for _, tt := range []struct {
		keep       func([]Label) bool
		root, leaf []string
		want       string
	}{
		{nil, nil, nil, "1@0 main | 2@10 main;serve | 3@20 main;serve | 4@30 main;serve | 5@40 "},
		{has("/a"), nil, nil, "2@10 main;serve | 4@30 main;serve"},
		{has("/b"), []string{"handler"}, nil, "3@20 handler=/b,/c;main;serve"},
		{has("none"), []string{"handler"}, nil, "1@0 handler=(none);main | 5@40 "},
		{has("/a"), []string{"handler", "x"}, []string{"bytes"}, "2@10 handler=/a;x=(none);main;serve;bytes=64 bytes | 4@30 handler=/a;x=(none);main;serve;bytes=64 bytes"},
		{has("nothing"), nil, nil, ""},
	} {
		if got := draw(p.ByLabels(tt.keep, tt.root, tt.leaf)); got != tt.want {
			t.Errorf("%v %v: %s, want %s", tt.root, tt.leaf, got, tt.want)
		}
	}
}
