// Package archtest holds the rules of the house as text and checks them: which
// package may import which, what must be documented, how long files may get.
//
// policy.txt says for every package of the module what it may import, and why.
// A package directory without a line fails the test: adding a package means
// adding a line on purpose, in a change that a reviewer sees. The order of the
// lines is the order in which data flows, so imports go up only.
//
// Everything is read with go/parser from the files of all systems and build
// tags; nothing is compiled and no command is run. Test files are free in what
// they import and need no documentation. Nested modules, directories with a
// go.mod of their own, follow the rules for documentation, names and length, but
// import what they like: keeping those imports out of this module is why they
// are modules.
//
// The package does not judge style that go vet, gofmt or staticcheck judge.
package archtest
