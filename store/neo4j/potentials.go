package neo4j

import (
	"fmt"

	"github.com/dendroprof/dendro/calltree"
)

// MaxPotentials is the highest degree of subtree potential that nodes can have
// arrays for.
const MaxPotentials = 64

// potentials computes the arrays that nodes of the model thesis have on request,
// as chapter 5.2 of the paper defines them, as shares of the profile:
//
//	pₙ(u) = base(u) + Σ pₙ₋₁(v) over the children v of u
//	cₙ(u) = Σ pₙ₋d(v) over the recursions u→v of distance d ≤ n
//
// Place 0 of p and of c is the root above the profile's own, place n+1 is node n of
// the table; each array has the degrees 0 to highest. The sums are made of
// integers, so that a share is rounded once.
func (c *content) potentials(recursion []int32, highest int) (p, corrections [][]float64) {
	degrees, places := highest+1, c.cut.Len()+1
	reached, twice := make([]int64, places*degrees), make([]int64, places*degrees)
	at := func(values []int64, n int32) []int64 {
		place := int(n) + 1 // calltree.NoNode is the root's
		return values[place*degrees : (place+1)*degrees]
	}
	for d := range degrees {
		for n, up := range c.cut.Parent {
			at(reached, int32(n))[d] += c.tree.Self[n]
			if d > 0 {
				at(reached, up)[d] += at(reached, int32(n))[d-1]
			}
		}
	}
	for n, up := range recursion {
		if up == calltree.NoNode {
			continue
		}
		distance := int(c.cut.Depth[n] - c.cut.Depth[up])
		for d := distance; d < degrees; d++ {
			at(twice, up)[d] += at(reached, int32(n))[d-distance]
		}
	}
	return c.shares(reached, degrees), c.shares(twice, degrees)
}

// shares returns values as parts of the profile, so many for each place.
func (c *content) shares(values []int64, degrees int) [][]float64 {
	list := make([][]float64, len(values)/degrees)
	for i := range list {
		list[i] = make([]float64, degrees)
		for d, v := range values[i*degrees : (i+1)*degrees] {
			list[i][d] = c.share(v)
		}
	}
	return list
}

// checkDegree reports why potentials up to a degree cannot be stored; 0 is none.
func checkDegree(highest int) error {
	if highest < 0 || highest > MaxPotentials {
		return fmt.Errorf("potentials of degree %d: choose 1 to %d, or 0 for none", highest, MaxPotentials)
	}
	return nil
}

// checkPotentials reports why the nodes of a model cannot have potentials up to a
// degree.
func checkPotentials(m Model, highest int) error {
	if err := checkDegree(highest); err != nil {
		return err
	}
	if highest > 0 && m != Thesis {
		return fmt.Errorf("the model %s has no nodes that could have potentials: the model thesis has, and `dendro store expand --potentials` adds them to single profiles", m)
	}
	return nil
}
