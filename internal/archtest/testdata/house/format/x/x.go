// Package x has a comment of two lines and more in the next paragraph.

package x

import (
	_ "C"
	_ "example.com/house/profile"
	_ "example.org/lib/v2"
	_ "example.org/library"
)
