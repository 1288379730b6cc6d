package memray

import (
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

func TestDecode(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"quotes, no stack", "allocator,num_allocations,size,tid,thread_name,stack_trace\nMALLOC,1,8,1,main,\"f;/a/b,c.py;3|<lambda>;x\"\n\nFREE,2,4,1,main,\n", "== peak bytes scale 0 default\n8 [main tid=1] <lambda> > f:3:0 (/a/b,c.py:0:0)\n4 [main tid=1] (no stack)\n== peak-samples count scale 0\n1 [main tid=1] <lambda> > f:3:0 (/a/b,c.py:0:0)\n2 [main tid=1] (no stack)\n"},
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
		"allocator,num_allocations,size,tid,thread_name,stack_trace\nMALLOC,1\n",
		"allocator,num_allocations,size,tid,thread_name,stack_trace\nMALLOC,x,1,1,a,f;b;1\n",
		"allocator,num_allocations,size,tid,thread_name,stack_trace\nM,1,9223372036854775807,1,a,f;b;1\nM,1,1,1,a,f;b;1\n",
	} {
		_, err := NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{})
		readtest.Refused(t, text, err, profile.ErrMalformed, "")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("allocator,num_allocations,size,tid,thread_name,stack_trace\nMALLOC,1,8,1,main,\"f;/a/b,c.py;3|<lambda>;x\"\n\nFREE,2,4,1,main,\n")
	f.Fuzz(func(t *testing.T, text string) {
		Sniff([]byte(text))
		p, err := NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{Depth: 100})
		readtest.Sound(t, len(text), p, err)
	})
}
