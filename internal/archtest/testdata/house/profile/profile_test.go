package profile

import (
	_ "example.com/house/anything"
	_ "example.org/anything"
	_ "os"
)

func Exported() {}
