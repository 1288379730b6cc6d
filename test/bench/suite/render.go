package suite

import "strconv"

const hexDigits = "0123456789abcdef"

// render appends the drawn counts as folded text. It keeps the line of the
// current node, so that a line costs one copy of bytes that are in the
// first-level cache, and a frame that differs from the line before costs one
// copy of its name.
func (sc *scratch) render(dst []byte, b *benchmark, run int, funcs *funcTable, shape Shape) []byte {
	sc.starts = sc.starts[:0]
	if sc.line == nil {
		sc.line = make([]byte, maxLine)
		sc.end = make([]int32, maxFrames)
	}
	used := 1
	if shape == Real {
		used = tiers
	}
	for tier := range used {
		dst = sc.renderTier(dst, b, run, tier, funcs, shape)
	}
	return dst
}

// Bounds of a line; a Large line has at most 119 frames, the longest recorded
// names have some 300 bytes.
const (
	maxFrames = 1 << 10
	maxLine   = 1 << 18
)

// emptyPath returns the memory for the nodes of a line, by depth.
func (sc *scratch) emptyPath() []int32 {
	if sc.path == nil {
		sc.path = make([]int32, maxFrames)
	}
	for i := range sc.path {
		sc.path[i] = -1
	}
	return sc.path
}

// countNodes counts the nodes that are drawn or above a drawn one.
func (sc *scratch) countNodes(t *template) int {
	path, n := sc.emptyPath(), 0
	for k := range sc.drawn {
		for x := sc.drawn[k].node; x >= 0 && path[t.depth[x]] != x; x = t.parent[x] {
			path[t.depth[x]] = x
			n++
		}
	}
	return n
}

func (sc *scratch) renderTier(dst []byte, b *benchmark, run, tier int, funcs *funcTable, shape Shape) []byte {
	t := b.tree
	line, end, path := sc.line, sc.end, sc.emptyPath()
	runHash := hash(b.seed, uint64(run), saltNames)
	below := sc.below[:0]
	for k := range sc.drawn {
		count := sc.drawn[k].count[tier]
		if count == 0 {
			continue
		}
		node := sc.drawn[k].node
		below = below[:0]
		for x := node; x >= 0 && path[t.depth[x]] != x; x = t.parent[x] {
			below = append(below, x)
		}
		for j := len(below) - 1; j >= 0; j-- {
			x := below[j]
			d := t.depth[x]
			at := int32(0)
			if d > 0 {
				at = end[d-1]
				line[at] = ';'
				at++
			}
			fn := t.fn[x]
			n := int32(copy(line[at:], funcs.slab[funcs.off[fn]:funcs.off[fn+1]]))
			f := &funcs.funcs[fn]
			if f.vol.any() {
				// A hidden class is one class in the whole run, except in the
				// Large shape, where the study gave each node its own.
				id := uint64(fn)
				if shape == Large {
					id = uint64(x)
				}
				f.vol.write(line[at:at+n], hash(runHash, id))
			}
			at += n
			if shape == Real {
				at += int32(b.annotate(line[at:], d, fn, tier, f.kind, runHash))
			}
			end[d], path[d] = at, x
		}
		sc.starts = append(sc.starts, len(dst))
		dst = append(dst, line[:end[t.depth[node]]]...)
		dst = append(dst, ' ')
		dst = strconv.AppendUint(dst, uint64(count), 10)
		dst = append(dst, '\n')
	}
	sc.below = below
	return dst
}

// write overwrites the volatile digits of a name with those of h.
func (v volatile) write(name []byte, h uint64) {
	d := h
	for k := v.dec + v.decLen; k > v.dec; k-- {
		name[k-1] = byte('0' + d%10)
		d /= 10
	}
	// A counter has no leading zero; lengths then stay what they are.
	if v.decLen > 0 && name[v.dec] == '0' {
		name[v.dec] = '1'
	}
	x := mix(h)
	for k := v.hex; k < v.hex+v.hexLen; k++ {
		name[k] = hexDigits[x&15]
		x >>= 4
	}
}

// shuffle appends the lines of sc.text in random order.
func (sc *scratch) shuffle(dst []byte, r *rnd) []byte {
	n := len(sc.starts)
	perm := make([]int32, n)
	for i := range perm {
		j := r.intn(i + 1)
		perm[i] = perm[j]
		perm[j] = int32(i)
	}
	for _, i := range perm {
		end := len(sc.text)
		if int(i)+1 < n {
			end = sc.starts[i+1]
		}
		dst = append(dst, sc.text[sc.starts[i]:end]...)
	}
	return dst
}
