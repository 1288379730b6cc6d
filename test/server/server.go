// Package server tests `dendro serve` as its users meet it: the built binary as a
// process, commands and curl as its clients. What can be tested inside a process
// is tested in app/internal/server; here are kills, signals, locks, garbage, memory,
// and the examples of the documentation.
//
// The package has no code outside of its tests.
package server
