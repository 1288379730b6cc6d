package row

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/runtest"
)

// TestSums compares every row of every run with the sum of the nodes that make it up. Runs
// have few of the table's nodes, or many, in turns.
func TestSums(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var stacks []string
	for range 6 {
		var list []string
		for range 15 {
			frames := []string{"main"}
			for range 1 + rnd.IntN(7) {
				frames = append(frames, fmt.Sprint("f", rnd.IntN(9)))
			}
			list = append(list, fmt.Sprintf("%s %d", strings.Join(frames, ";"), 1+rnd.IntN(20)))
		}
		stacks = append(stacks, strings.Join(list[:3], ", "), strings.Join(list, ", "), strings.Join(slices.Concat(list, stacks), ", "))
	}
	forest := &calltree.Forest{}
	var paths []calltree.Vector
	for _, s := range stacks {
		paths = append(paths, runtest.Vector(forest, runtest.Counts(t, s)))
	}
	cut := forest.Cut(calltree.AddVectors(paths...).Nodes)
	profiles := make([]store.Profile, len(paths))
	vectors := make([]calltree.Vector, len(paths))
	for i := range paths {
		profiles[i].Type, vectors[i] = profile.NamedType(profile.CPUSamples), cut.Vector(paths[i])
	}
	m := history.NewMatrix(cut.Table, profiles, vectors)
	s := NewSpace(m)
	few := 0
	for run := range m.Runs {
		r := &m.Runs[run]
		if len(r.Nodes) < s.Table.Len()/fewNodes {
			few++
		}
		self := make([]float64, s.Table.Len())
		for i, n := range r.Nodes {
			self[n] = r.Count[i]
		}
		for slot := range int32(len(s.Kind)) {
			want := 0.0
			s.NodesOf(slot, func(n int32) { want += self[n] })
			if got := s.Values(slot)[run]; got != want {
				t.Fatalf("run %d, row of kind %d and item %d: %v, want %v", run, s.Kind[slot], s.Item[slot], got, want)
			}
		}
	}
	if few < 3 || few > len(m.Runs)-3 || len(s.Kind) < 50 {
		t.Errorf("%d of %d runs have few nodes, %d rows: the test compares nothing", few, len(m.Runs), len(s.Kind))
	}
}
