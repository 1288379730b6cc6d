// Package nightly says how much of a test runs: in every check a part, in `make nightly` all of it.
//
// A test that draws what it does has more seeds or tries at night. Its part proves the same property, of fewer
// examples: what has one example only, runs in every check.
package nightly

import "os"

// Or returns all in `make nightly`, which sets DENDRO_ALL, and otherwise few.
func Or[T any](few, all T) T {
	if os.Getenv("DENDRO_ALL") != "" {
		return all
	}
	return few
}
