package regression

import (
	"cmp"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/regression/internal/row"
)

// The constants of the pursuit.
const (
	mostPlaces = 60
	fallLimit  = 3.5 // z of a fall that takes part

	// leastPart is the minimum level of a part, as a share of its difference: a part that
	// hardly was there before cannot have changed by the factor of a whole.
	leastPart = 0.2
	// sameRow is the share of a row's level from which on a row inside it is the same one
	// under another name, which is no step down.
	sameRow = 0.999
	// perDepth decides between rows of equal evidence: for the deeper one.
	perDepth = 0.001
)

// place is a row that explains a difference.
type place struct {
	slot     int32
	d, mu    float64 // unexplained when found
	z        float64
	node     int32   // the root of the row with the node that changed most below it
	roots    []int32 // roots of the row by falling difference below them
	rootSelf float64 // Σ of the roots' own self differences
	part     []float64
	moved    bool
	from     int32  // the row whose fall became this rise; None: none
	with     *place // the fall or rise that takes or gave the work, if it is known
	flat     int32  // the total row around it that did not rise as it did; None: none is known
}

// pursuit explains the differences of a fit by as few places as possible: it chooses
// the best row, goes down to the finest one that holds the change, removes its samples from
// all rows, and repeats. A caller of the
// cause has nothing left to explain, so it is not reported.
//
// The idea is matching pursuit (Mallat and Zhang 1993) over the rows of a call tree;
// the evidence for going down is a likelihood ratio.
type pursuit struct {
	*fit
	restDiff, restLevel []float64 // unexplained, by slot
	nodeD, nodeMu       []float64 // unexplained, by node
	mark                []bool    // rows of touched
	inD, inMu           []float64 // scratch of shared, by slot
	touched             []int32
	outD, outMu         []float64 // scratch of takeOut, by node
	subD, subMu         []float64 // scratch of totals, by node
}

func newPursuit(f *fit) *pursuit {
	d, mu := f.nodes()
	rows, nodes := len(f.space.Kind), f.space.Table.Len()
	return &pursuit{fit: f, restDiff: slices.Clone(f.diff), restLevel: slices.Clone(f.level), nodeD: slices.Clone(d), nodeMu: slices.Clone(mu),
		mark: make([]bool, rows), inD: make([]float64, rows), inMu: make([]float64, rows),
		outD: make([]float64, nodes), outMu: make([]float64, nodes), subD: make([]float64, nodes), subMu: make([]float64, nodes)}
}

// places searches the places that changed, in the order of discovery. Most comparisons have none, and end
// after one pass over the rows.
func (f *fit) places() []*place {
	first := &pursuit{fit: f, restDiff: f.diff, restLevel: f.level}
	slot := first.choose()
	if slot == row.None {
		return nil
	}
	var found []*place
	for p := newPursuit(f); slot != row.None && len(found) < mostPlaces; slot = p.choose() {
		slot = p.down(slot)
		found = append(found, p.report(slot))
		p.takeOut(slot)
	}
	return found
}

// value is the gain of choosing a row with score z: the evidence minus the penalty for
// testing all rows of its kind.
func (p *pursuit) value(slot int32, z float64) float64 {
	k := p.space.Kind[slot]
	v := z*z/2 - math.Log(1+float64(p.perKind[k]))
	if p.options.without("kind of row") {
		return v
	}
	return v + prior(k)
}

// prior is the weight of the kind of a row in the choice of the next place, in units of
// z²/2.
func prior(k row.Kind) float64 {
	switch k {
	case row.FunctionSelf:
		return 1.5
	case row.FunctionTotal, row.EdgeTotal, row.EdgeSelf:
		return 0.3
	case row.NodeTotal:
		return -0.5
	}
	return 0
}

func sameSign(a, b float64) bool { return a > 0 && b > 0 || a < 0 && b < 0 }

// choose returns the row that explains most, or noRow.
func (p *pursuit) choose() int32 {
	best, at := math.Inf(-1), row.None
	for _, slot := range p.tested {
		d := p.restDiff[slot]
		if !sameSign(d, p.fit.diff[slot]) || math.Abs(p.fit.diff[slot]) < math.Abs(d)/2 || p.whole(slot) || !p.passes(slot, d) {
			continue
		}
		z := p.rest(slot, d)
		if d > 0 && z < p.threshold || d < 0 && z > -fallLimit {
			continue
		}
		if v := p.value(slot, z); v > best {
			best, at = v, slot
		}
	}
	return at
}

// alike is the evidence that the part (inD, inMu) of a row changed because the whole
// row did, by one factor: the log likelihood ratio of the rest having grown with it
// against having stayed.
func (p *pursuit) alike(whole int32, inD, inMu, partSE float64) float64 {
	mu := p.restLevel[whole] - inMu
	if inMu < leastPart*math.Abs(inD) || mu <= 0 {
		return 0
	}
	d := p.restDiff[whole] - inD
	expect := inD * mu / inMu
	trend := p.group(whole).trend
	variance := math.Max(trend.Variance(mu)*(1/p.baseRuns+1/p.headRuns), p.of(whole).stdErr*p.of(whole).stdErr-partSE*partSE)
	return (d*expect - expect*expect/2) / variance
}

// down goes from a row to the finest row inside that holds most of its change. It
// visits a row once: self of a function and of its only hot node would lead to each
// other forever.
func (p *pursuit) down(slot int32) int32 {
	if p.options.without("finest row") {
		return slot
	}
	visited := map[int32]bool{}
	for next := slot; next != row.None; next = p.finer(slot, visited) {
		slot, visited[next] = next, true
	}
	return slot
}

func (p *pursuit) finer(from int32, visited map[int32]bool) int32 {
	d, z := p.restDiff[from], p.rest(from, p.restDiff[from])
	class := p.space.Kind[from].Class()
	least := math.Max(p.threshold, mostOf*math.Abs(z))
	p.shared(from)
	best, at := math.Inf(-1), row.None
	for _, r := range p.touched {
		in, inMu := p.inD[r], p.inMu[r]
		c := p.space.Kind[r].Class()
		if visited[r] || !p.isTested[r] || c > class ||
			!sameSign(in, d) || !sameSign(p.fit.diff[r], d) || math.Abs(in) < mostOf*math.Abs(d) {
			continue
		}
		if c == class && inMu > sameRow*p.restLevel[from] && p.space.Depth(r) <= p.space.Depth(from) {
			continue
		}
		rz := p.rest(r, p.restDiff[r])
		if !sameSign(rz, z) || math.Abs(rz) < least || p.alike(from, in, inMu, p.of(r).stdErr) > likely {
			continue
		}
		v := p.value(r, rz) + perDepth*float64(p.space.Depth(r))
		if v > best || v == best && r < at {
			best, at = v, r
		}
	}
	return at
}

// shared sums the unexplained differences and means of shared nodes, for every row that
// shares nodes with a row and is not coarser, into inD, inMu and touched, in one pass
// over the nodes of the row.
func (p *pursuit) shared(slot int32) {
	for _, r := range p.touched {
		p.mark[r], p.inD[r], p.inMu[r] = false, 0, 0
	}
	p.touched = p.touched[:0]
	add := func(r int32, d, mu float64) {
		if r == slot || d == 0 && mu == 0 {
			return
		}
		if !p.mark[r] {
			p.mark[r] = true
			p.touched = append(p.touched, r)
		}
		p.inD[r] += d
		p.inMu[r] += mu
	}
	p.selfs(slot, add)
	if p.space.Kind[slot].Total() {
		for _, root := range p.space.Roots(slot) {
			p.totals(root, p.space.Table.End[root], p.nodeD, p.nodeMu, add)
		}
	}
}

// selfs visits the self rows with nodes of a row, once for each of its nodes, with the unexplained values of that.
func (p *pursuit) selfs(slot int32, visit func(r int32, d, mu float64)) {
	sp := p.space
	sp.NodesOf(slot, func(n int32) {
		d, mu := p.nodeD[n], p.nodeMu[n]
		visit(sp.At(row.FunctionSelf, sp.Table.Func[n]), d, mu)
		visit(sp.At(row.NodeSelf, n), d, mu)
		visit(sp.At(row.EdgeSelf, sp.EdgeOf[n]), d, mu)
	})
}

// totals visits the total rows that begin at the nodes [from, end), with the sums of values of nodes below them.
func (p *pursuit) totals(from, end int32, d, mu []float64, visit func(r int32, d, mu float64)) {
	sp := p.space
	copy(p.subD[from:end], d[from:end])
	copy(p.subMu[from:end], mu[from:end])
	for n := end - 1; n > from; n-- {
		if up := sp.Table.Parent[n]; up >= from {
			p.subD[up] += p.subD[n]
			p.subMu[up] += p.subMu[n]
		}
	}
	for n := from; n < end; n++ {
		d, mu := p.subD[n], p.subMu[n]
		if d == 0 && mu == 0 {
			continue
		}
		visit(sp.At(row.NodeTotal, n), d, mu)
		if sp.OuterFunction[n] {
			visit(sp.At(row.FunctionTotal, sp.Table.Func[n]), d, mu)
		}
		if sp.OuterEdge[n] {
			visit(sp.At(row.EdgeTotal, sp.EdgeOf[n]), d, mu)
		}
	}
}

// report describes the current state of a row.
func (p *pursuit) report(slot int32) *place {
	pl := &place{slot: slot, d: p.restDiff[slot], mu: p.restLevel[slot], z: p.rest(slot, p.restDiff[slot])}
	pl.roots = slices.Clone(p.space.Roots(slot))
	parts := map[int32]float64{}
	most := math.Inf(-1)
	for _, root := range pl.roots {
		for n := root; n < p.space.End(slot, root); n++ {
			v := p.nodeD[n]
			parts[root] += v
			if pl.d < 0 {
				v = -v
			}
			if v > most {
				most, pl.node = v, root
			}
		}
		pl.rootSelf += p.fit.nodeD[root]
	}
	byDelta(pl.roots, parts, pl.d)
	for _, r := range pl.roots {
		pl.part = append(pl.part, parts[r])
	}
	return pl
}

// takeOut removes the nodes of a row from all rows, in one pass over the table.
func (p *pursuit) takeOut(slot int32) {
	take := func(r int32, d, mu float64) {
		p.restDiff[r] -= d
		p.restLevel[r] -= mu
	}
	p.selfs(slot, take)
	clear(p.outD)
	clear(p.outMu)
	p.space.NodesOf(slot, func(n int32) {
		p.outD[n], p.outMu[n] = p.nodeD[n], p.nodeMu[n]
		p.nodeD[n], p.nodeMu[n] = 0, 0
	})
	p.totals(0, int32(len(p.outD)), p.outD, p.outMu, take)
	p.restDiff[slot] = 0
}

// byDelta sorts nodes by their part of a change of the sign of whole, largest first.
func byDelta(nodes []int32, delta map[int32]float64, whole float64) {
	slices.SortStableFunc(nodes, func(a, b int32) int {
		return cmp.Or(int(math.Copysign(1, whole))*cmp.Compare(delta[b], delta[a]), cmp.Compare(a, b))
	})
}
