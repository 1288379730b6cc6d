// Package profile has a comment of five lines. It imports a package that its
// rule allows, one that is not above it, a package of the standard library that
// is not for its layer, another that is, a module that it does not have, and
// one whose name only begins like that of an allowed one. What only looks like
// the standard library, because of a longer name, is allowed.
package profile

import (
	_ "example.com/house/format/x"
	_ "example.com/house/good"
	_ "example.com/house/goodness"
	_ "example.org/lib"
	_ "fmt"
	_ "os"
	_ "os/exec"
	_ "osx"
)
