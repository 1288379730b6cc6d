package detection

import (
	"bytes"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	"github.com/dendroprof/dendro/calltree"
)

// TestNights is the short version of the suite nights: three of the seven benchmarks. The limits
// leave room for a history in each direction.
func TestNights(t *testing.T) {
	if testing.Short() {
		t.Skip("judges some hundreds of nights")
	}
	subjects, _, err := LoadReal(t.Context(), os.DirFS("testdata/real"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := MeasureNights(t.Context(), subjects, 1, 6, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	f.Print(&b)
	t.Log("\n" + b.String())
	if f.Large.Histories < 6 || f.Small.Histories < 12 || f.Clean.Nights < 200 {
		t.Errorf("%d large changes, %d smaller ones, %d clean nights", f.Large.Histories, f.Small.Histories, f.Clean.Nights)
	}
	for _, c := range f.Checks("short") {
		t.Logf("%s: %.3f, %s", c.Name, c.Value, c.Required)
		if !c.OK {
			t.Errorf("%s: %.3f, required %s", c.Name, c.Value, c.Required)
		}
	}
}

// TestNightsOfOnePool: a pool gives every run once, then others like it.
func TestNightsOfOnePool(t *testing.T) {
	n, ok := SimulatedNights(Plan{Seed: 3, Nodes: 300, Runs: 4, K: 1, Samples: 2000, Kind: "none"})
	if !ok {
		t.Fatal("no program")
	}
	f := &NightsFigures{}
	if err := f.MeasureClean(t.Context(), n, 1, 12, nil); err != nil {
		t.Fatal(err)
	}
	again := &NightsFigures{}
	if err := again.MeasureClean(t.Context(), n, 1, 12, nil); err != nil {
		t.Fatal(err)
	}
	if f.Clean != again.Clean || f.Clean.Nights != 12 {
		t.Errorf("%+v and %+v", f.Clean, again.Clean)
	}
	p := newPool(testRand(), n.clean)
	seen := map[string]calltree.Vector{}
	for range n.clean {
		night := p.draw()
		seen[night.Profile.Hash] = night.Vector
	}
	if len(seen) != len(n.clean) {
		t.Errorf("%d of %d runs", len(seen), len(n.clean))
	}
	if night := p.draw(); reflect.DeepEqual(night.Vector, seen[night.Profile.Hash]) || night.Profile.Sum != night.Vector.Sum() {
		t.Errorf("the same run again: %d samples, %d", night.Vector.Sum(), night.Profile.Sum)
	}
}

// TestSimulateAgain: one plan is one history, to the order of its vectors.
func TestSimulateAgain(t *testing.T) {
	plan := Plan{Seed: 3, Nodes: 300, Runs: 4, K: 1, Samples: 2000, Kind: "none"}
	a, _ := Simulate(plan)
	b, _ := Simulate(plan)
	if !reflect.DeepEqual(a.Vectors, b.Vectors) || !reflect.DeepEqual(a.Table, b.Table) {
		t.Error("two histories of one plan differ")
	}
}

func testRand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }
