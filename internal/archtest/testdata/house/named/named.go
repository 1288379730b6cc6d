// Package helpers is in a folder with a better name.
// One.
// Two.
// Three.
// Four.
package helpers
