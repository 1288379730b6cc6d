// Package good is fine. Its comment is here,
//
// and its lines of text
// are five,
// when empty ones
// do not count.
package good
