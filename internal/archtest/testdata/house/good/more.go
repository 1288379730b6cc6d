// Package good has a second comment, which is short.
package good
