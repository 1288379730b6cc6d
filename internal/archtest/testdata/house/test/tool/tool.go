// Package tool may be brief, as it is part of the tests.
package tool

func BadFunc() {}
