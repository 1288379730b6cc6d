// Package deep is one level too deep for the pattern format/*.
//
// One.
// Two.
// Three.
// Four.
package deep
