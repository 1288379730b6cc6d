package memray

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
		{Name: "quotes, no stack", Text: "allocator,num_allocations,size,tid,thread_name,stack_trace\nMALLOC,1,8,1,main,\"f;/a/b,c.py;3|<lambda>;x\"\n\nFREE,2,4,1,main,\n",
			Want: "== peak bytes scale 0 default\n8 [main tid=1] <lambda> > f:3:0 (/a/b,c.py:0:0)\n4 [main tid=1] (no stack)\n== peak-samples count scale 0\n1 [main tid=1] <lambda> > f:3:0 (/a/b,c.py:0:0)\n2 [main tid=1] (no stack)\n"},
		{Name: "other columns", Text: "size,tid,stack_trace,generation,allocator,thread_name,num_allocations\r\n8,1,f;a.py;3,0,MALLOC,main,1\r\n",
			Want: "== peak bytes scale 0 default\n8 [main tid=1] f:3:0 (a.py:0:0)\n== peak-samples count scale 0\n1 [main tid=1] f:3:0 (a.py:0:0)\n"},
	},
		"allocator,num_allocations,size,tid,thread_name,stack_trace\nMALLOC,1\n",
		"allocator,num_allocations,size,tid,thread_name,stack_trace\nMALLOC,x,1,1,a,f;b;1\n",
		"allocator,num_allocations,size,tid,thread_name,stack_trace\nM,1,9223372036854775807,1,a,f;b;1\nM,1,1,1,a,f;b;1\n",
	)
}

func FuzzDecode(f *testing.F) {
	reader.Fuzz(f,
		"allocator,num_allocations,size,tid,thread_name,stack_trace\nMALLOC,1,8,1,main,\"f;/a/b,c.py;3|<lambda>;x\"\n\nFREE,2,4,1,main,\n",
	)
}
