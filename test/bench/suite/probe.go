package suite

import "math"

// Benchmarks returns how many benchmarks the suite has; profiles i and
// i+Benchmarks() are two runs of the same one.
func (s *Suite) Benchmarks() int { return len(s.benchmarks) }

// Function returns a function that is worth asking for: the one whose part of
// the program is above one percent in closest to half of the benchmarks, by
// expected totals. The name is spelled as Stable spells it.
func (s *Suite) Function() string {
	above := map[int32]int{}
	share := map[int32]float64{}
	for _, b := range s.benchmarks {
		total, all := b.tree.functionTotals()
		for fn, x := range total {
			if x > 0.01*all {
				above[fn]++
				share[fn] += x / all
			}
		}
	}
	best, bestFn := math.Inf(1), int32(0)
	for fn, n := range above {
		d := math.Abs(float64(n) - float64(len(s.benchmarks))/2)
		// Ties go to the heavier function, then to the older one: a map has no
		// order of its own.
		d -= min(share[fn]/float64(2*len(s.benchmarks)), 0.49)
		if s.funcs.funcs[fn].vol.any() {
			continue
		}
		if d < best || d == best && fn < bestFn {
			best, bestFn = d, fn
		}
	}
	return Stable(s.funcs.funcs[bestFn].name)
}

// Chain returns three functions, each calling the next, that all runs of
// benchmark b have: the path u→v1→v2 whose part of the samples is closest to a
// tenth, at least three frames below the root. Names are spelled as Stable
// spells them.
func (s *Suite) Chain(b int) [3]string {
	t := s.benchmarks[b].tree
	total := t.totals()
	_, all := t.functionTotals()
	best, at := math.Inf(1), int32(-1)
	for i := range t.fn {
		v1 := t.parent[i]
		if t.depth[i] < 4 || s.volatileAt(t, int32(i)) || s.volatileAt(t, v1) || s.volatileAt(t, t.parent[v1]) {
			continue
		}
		if d := math.Abs(total[i]/all - 0.1); d < best {
			best, at = d, int32(i)
		}
	}
	if at < 0 {
		return [3]string{}
	}
	v1 := t.parent[at]
	name := func(node int32) string { return Stable(s.funcs.funcs[t.fn[node]].name) }
	return [3]string{name(t.parent[v1]), name(v1), name(at)}
}

func (s *Suite) volatileAt(t *template, node int32) bool {
	return s.funcs.funcs[t.fn[node]].vol.any()
}

// functionTotals returns the expected total of every function, recursion
// counted once, and the expected samples of the profile.
func (t *template) functionTotals() (map[int32]float64, float64) {
	total := t.totals()
	byFunc := map[int32]float64{}
	all := 0.0
	open := map[int32]int32{} // function → end of the outermost subtree it is in
	for i, fn := range t.fn {
		if t.parent[i] < 0 {
			all += total[i]
		}
		if end, ok := open[fn]; ok && int32(i) < end {
			continue
		}
		open[fn] = int32(i) + t.size[i]
		byFunc[fn] += total[i]
	}
	return byFunc, all
}
