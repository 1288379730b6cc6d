package callgraph_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/format/internal/callgraph"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// build returns a graph with main calling a and b, which both call c: of c's cost 1/4
// is for a. The second event is negative in c.
func build() (*profile.Profile, *callgraph.Graph) {
	p := profile.New(nil)
	g := callgraph.New(p.Symbols)
	node := func(name string) int32 {
		return g.Node(profile.Frame{Function: p.Symbols.Function(profile.Function{Name: name})}, 0)
	}
	main, a, b, c := node("main"), node("a"), node("b"), node("c")
	g.AddSelf(main, 0, 10)
	g.AddSelf(c, 7, 300, -40)
	g.AddSelf(c, 8, 100)
	g.AddCall(main, a, 100)
	g.AddCall(main, b, 300)
	g.AddCall(a, c, 100)
	g.AddCall(b, c, 300)
	return p, g
}

func TestSamples(t *testing.T) {
	for event, want := range []string{
		"10 main\n225 main > b > c:7:0\n75 main > a > c:7:0\n75 main > b > c:8:0\n25 main > a > c:8:0\n",
		"-30 main > b > c:7:0\n-10 main > a > c:7:0\n",
	} {
		p, g := build()
		p.Tables = make([]profile.Samples, 1)
		g.Samples(&p.Tables[0], event, 0, 100)
		got := ""
		for i := range p.Tables[0].Stack {
			got += readtest.DescribeSample(p, &p.Tables[0], i) + "\n"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestDepth checks that the cost of what is too deep to be followed is kept.
func TestDepth(t *testing.T) {
	p, g := build()
	p.Tables = make([]profile.Samples, 1)
	g.Samples(&p.Tables[0], 0, 0, 2)
	if got := p.Tables[0].Total(); got != 410 || g.Pairs() != 4 {
		t.Error(got, g.Pairs())
	}
}

func TestTooMuch(t *testing.T) {
	for _, most := range []int64{math.MaxInt64, -math.MaxInt64} {
		p, g := build()
		if !g.AddSelf(0, 3, most) || g.AddSelf(0, 3, most) {
			t.Error("a sum of 64 bits in a row is accepted")
		}
		if !g.AddSelf(0, 4, most) {
			t.Error("another line")
		}
		p.Tables = []profile.Samples{{Type: profile.NamedType(profile.CPU)}}
		g.Samples(&p.Tables[0], 0, 0, 100)
		if p.Check() == nil {
			t.Error("a sum of 64 bits in a function is accepted")
		}
	}
}
