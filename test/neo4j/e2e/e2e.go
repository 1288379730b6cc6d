// Package e2e runs the binary against real Neo4j servers, as its users do:
// imports, copies and bulk loads that must hold the same as the embedded store,
// the Cypher of the user guide, and servers and processes that are killed in the
// middle of their work.
//
// The package has no code but its tests. They need Java (package server says
// which) and run when DENDRO_TEST_REAL is set.
package e2e
