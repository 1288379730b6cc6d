package suite

import "strconv"

const hexDigits = "0123456789abcdef"

// render appends the drawn counts as folded text. It walks the template depth
// first and keeps the line of the current node, so that a line costs one copy
// of bytes that are in the first-level cache and the new frames cost one copy
// each.
func (sc *scratch) render(dst []byte, b *benchmark, run int, funcs *funcTable, shape Shape) []byte {
	sc.starts = sc.starts[:0]
	for k := range sc.counts {
		if sc.used[k] {
			dst = sc.renderTier(dst, b, run, k, funcs, shape)
		}
	}
	return dst
}

func (sc *scratch) renderTier(dst []byte, b *benchmark, run, tier int, funcs *funcTable, shape Shape) []byte {
	t := b.tree
	counts := sc.counts[tier]
	sc.touched = resized(sc.touched, len(t.fn))
	touched := sc.touched
	for i := len(counts) - 1; i >= 0; i-- {
		if counts[i] > 0 {
			touched[i] = true
		}
		if p := t.parent[i]; touched[i] && p >= 0 {
			touched[p] = true
		}
	}
	if sc.line == nil {
		sc.line = make([]byte, 64<<10)
		sc.end = make([]int32, 1<<10)
	}
	line, end := sc.line, sc.end
	runHash := hash(b.seed, uint64(run), saltNames)
	for i := int32(0); i < int32(len(t.fn)); {
		if !touched[i] {
			i += t.size[i]
			continue
		}
		at := int32(0)
		if d := t.depth[i]; d > 0 {
			at = end[d-1]
			line[at] = ';'
			at++
		}
		fn := t.fn[i]
		name := funcs.slab[funcs.off[fn]:funcs.off[fn+1]]
		n := int32(copy(line[at:], name))
		f := &funcs.funcs[fn]
		if f.vol.any() {
			// A hidden class is one class in the whole run, except in the Large
			// shape, where the study gave each node its own.
			id := uint64(fn)
			if shape == Large {
				id = uint64(i)
			}
			f.vol.write(line[at:at+n], hash(runHash, id))
		}
		at += n
		if shape == Real {
			at += int32(b.annotate(line[at:], i, tier, f.kind, runHash))
		}
		end[t.depth[i]] = at
		if c := counts[i]; c > 0 {
			sc.starts = append(sc.starts, len(dst))
			dst = append(dst, line[:at]...)
			dst = append(dst, ' ')
			dst = strconv.AppendUint(dst, uint64(c), 10)
			dst = append(dst, '\n')
		}
		i++
	}
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
