package neo4j

// atOnce is how many rows or values of an answer are in memory at once. One that
// is not larger is read before the call returns; of a larger one the stream reads
// a part after the other, and ends with an error if a profile has changed since.
const atOnce = 4_000_000

// parts splits the selection into ranges of profiles of at most so many rows
// together, but at least one profile.
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
