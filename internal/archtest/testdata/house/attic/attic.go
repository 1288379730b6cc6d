// Package attic is on the last floor of the house, and no package of an earlier floor may
// import it, whatever its rule allows. It has
// a comment
// of
// five lines.
package attic
