// Package library tests Dendro as a library: it builds the programs of docs/library.md in
// modules of their own, as an importer would, runs them, and compares what they print with
// the page. It also holds how much a program that only reads profiles links.
//
// The programs see this checkout through a replace directive and its go.sum; nothing is
// downloaded that the main module does not have.
package library
