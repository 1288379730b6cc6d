// Package hidden holds
// types that other
// modules cannot import,
// and may itself
// mention them freely.
package hidden

// Thing is a type.
type Thing struct{}

// Make returns a thing.
func Make() Thing { return Thing{} }
