// Package e2e tests the program as its users meet it: the built binary, run as
// processes, on files. What can be tested inside a process is tested there; here
// are crashes, locks, signals, full disks and memory.
//
// The package has no code outside of its tests.
package e2e
