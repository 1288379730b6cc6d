// Package column makes slices of slices: a column is what a list says of each of its elements,
// such as the names of functions or the ids of profiles.
//
//	names := column.Of(functions, func(f profile.Function) string { return f.Name })
//
// A result is never nil and shares no memory with its list. Elements are passed by value: loops
// over large ones, of which a store has many, stay loops. The package knows no element.
package column

// Of returns f of each element of a list, in its order. It is never nil.
func Of[T, R any](list []T, f func(T) R) []R {
	out := make([]R, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}

// Pick returns the elements of a list at some places.
func Pick[T any, I int | int32](list []T, places []I) []T {
	out := make([]T, len(places))
	for i, at := range places {
		out[i] = list[at]
	}
	return out
}

// Places returns the places of n elements: 0 to n-1.
func Places[I int | int32](n int) []I {
	out := make([]I, n)
	for i := range out {
		out[i] = I(i)
	}
	return out
}
