package baseline

import (
	"fmt"

	"github.com/dendroprof/dendro/test/bench"
)

// mergeBatch bounds how many profiles' rows are in memory at a time.
const mergeBatch = 1000

// q2 and q3. Paths have no identity across profiles, so the rows are fetched
// and the paths walked again from the roots. A recursive query over the table
// is an order of magnitude slower.
func (e *DuckDB) merged(q bench.Question) (bench.Answer, error) {
	type selected struct{ id, nodes int32 }
	var list []selected
	err := e.conn.each(`SELECT id, nodes FROM profile WHERE `+within(q, "id")+` ORDER BY id`, func(c chunk) {
		for i := range c.rows {
			list = append(list, selected{column[int32](c, 0)[i], column[int32](c, 1)[i]})
		}
	})
	if err != nil {
		return bench.Answer{}, err
	}
	m := &tree{}
	m.reset()
	var parent, fn, place []int32
	var self []int64
	for len(list) > 0 {
		part := list[:min(len(list), mergeBatch)]
		list = list[len(part):]
		// The engine gives rows back in any order. Node ids are dense within a
		// profile, so every row has a place, and parents come before children.
		offset := make([]int32, part[len(part)-1].id-part[0].id+1)
		n := int32(0)
		for _, p := range part {
			offset[p.id-part[0].id] = n
			n += p.nodes
		}
		parent, fn, place = grow(parent, int(n)), grow(fn, int(n)), grow(place, int(n))
		if cap(self) < int(n) {
			self = make([]int64, n)
		}
		self = self[:n]
		err := e.conn.each(fmt.Sprintf(`
			SELECT profile, id, parent, fn, self FROM node
			WHERE profile BETWEEN %d AND %d AND %s`, part[0].id, part[len(part)-1].id, within(q, "profile")), func(c chunk) {
			ps, ids, parents := column[int32](c, 0), column[int32](c, 1), column[int32](c, 2)
			fns, selfs := column[int32](c, 3), column[int64](c, 4)
			for i, p := range ps {
				at := offset[p-part[0].id] + ids[i]
				parent[at], fn[at], self[at] = parents[i], fns[i], selfs[i]
			}
		})
		if err != nil {
			return bench.Answer{}, err
		}
		for _, p := range part {
			base := offset[p.id-part[0].id]
			for i := base; i < base+p.nodes; i++ {
				up := parent[i]
				if up >= 0 {
					up = place[base+up]
				}
				place[i] = m.child(up, fn[i])
				m.self[place[i]] += self[i]
			}
		}
	}
	m.total = append(m.total[:0], m.self...)
	for i := len(m.total) - 1; i >= 0; i-- {
		if p := m.parent[i]; p >= 0 {
			m.total[p] += m.total[i]
		}
	}
	return bench.Answer{Rows: len(m.fn), Sum: func() bench.Checksum {
		var d bench.Digest
		paths := make([]uint64, len(m.fn))
		for i, fn := range m.fn {
			up := uint64(0)
			if p := m.parent[i]; p >= 0 {
				up = paths[p]
			}
			paths[i] = bench.Path(up, e.dict.names[fn])
			d.RowPath(paths[i], m.self[i], m.total[i])
		}
		return d.Sum()
	}}, nil
}
