package neo4j

// atOnce is the maximum number of rows or values of a result in memory. A smaller
// result is read before the call returns; a larger one is streamed in parts, and ends
// with an error if a profile has changed.
const atOnce = 4_000_000

// parts divides the selection into ranges of profiles of at most so many rows each,
// but at least one profile.
func parts(n, rows int, size func(i int) int) [][2]int {
	var list [][2]int
	for i, sum := 0, 0; i < n; i++ {
		if sum += size(i); len(list) == 0 || sum > rows {
			list, sum = append(list, [2]int{i, i}), size(i)
		}
		list[len(list)-1][1] = i + 1
	}
	return list
}
