package intern

import "unsafe"

// pageBytes is the size of the smallest page of memory.
const pageBytes = 4 << 10

// Table returns n zeros for a hash table. It writes to each page: of memory that is new
// from the system, a look-up would map a page of zeros, and the first value that is put
// there would fault a second time and interrupt all processors, for a page of its own.
func Table[T any](n int) []T {
	table := make([]T, n)
	var zero T
	for i := 0; i < n; i += max(1, pageBytes/int(unsafe.Sizeof(zero))) {
		table[i] = zero
	}
	return table
}

// Number returns the place of a key in a list. A key that is not in ids gets the next place, for v.
func Number[K comparable, ID ~int | ~int16 | ~int32, V any](ids map[K]ID, list *[]V, key K, v V) ID {
	id, ok := ids[key]
	if !ok {
		id = ID(len(*list))
		ids[key] = id
		*list = append(*list, v)
	}
	return id
}
