// Package nested imports what it likes, but follows the other rules.
package nested

import _ "example.org/anything"

func BadFunc() {}
