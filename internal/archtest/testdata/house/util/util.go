// Package util has a name that says nothing.
// One.
// Two.
// Three.
// Four.
package util
