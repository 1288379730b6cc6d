package command

import (
	"cmp"
	"runtime/debug"
)

// version is set by the linker for releases.
var version = ""

// Version returns the version of this program, and the commit that it was built from.
func Version() (v, revision string) {
	v = version
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v, ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			revision = s.Value
		}
	}
	v = cmp.Or(v, info.Main.Version)
	if v == "" || v == "(devel)" {
		v = "development"
	}
	return v, revision
}
