package calltree

import "slices"

// sortNodes sorts ids below limit, with a radix sort if there are many.
func sortNodes(ids []int32, limit int) { sortWith(ids, make([]struct{}, len(ids)), limit) }

// sortWith sorts ids below limit and moves the values along. It is stable.
func sortWith[V any](ids []int32, values []V, limit int) {
	if slices.IsSorted(ids) {
		return
	}
	if len(ids) < 64 {
		for i := 1; i < len(ids); i++ {
			for k := i; k > 0 && ids[k-1] > ids[k]; k-- {
				ids[k-1], ids[k] = ids[k], ids[k-1]
				values[k-1], values[k] = values[k], values[k-1]
			}
		}
		return
	}
	const bits = 11
	src, dst := ids, make([]int32, len(ids))
	from, to := values, make([]V, len(ids))
	for shift := 0; limit>>shift > 0; shift += bits {
		var count [1 << bits]int32
		for _, v := range src {
			count[v>>shift&(1<<bits-1)]++
		}
		var sum int32
		for i, c := range count {
			count[i], sum = sum, sum+c
		}
		for i, v := range src {
			k := v >> shift & (1<<bits - 1)
			dst[count[k]], to[count[k]] = v, from[i]
			count[k]++
		}
		src, dst, from, to = dst, src, to, from
	}
	if &src[0] != &ids[0] {
		copy(ids, src)
		copy(values, from)
	}
}
