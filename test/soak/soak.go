// Package soak loads `dendro serve` for minutes, as agents, pipelines and readers do together,
// while the server is killed and its disk runs full, and then counts what is missing.
//
// A load (loads_test.go) does one thing again and again, and knows what the server
// acknowledged. To add one, implement load and put it into the list of TestSoak. `make soak`
// runs ten minutes; the tests run some seconds, so that the loads stay valid.
//
// The package has no code outside of its tests.
package soak
