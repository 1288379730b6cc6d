// Package demo embeds the profiles that "make demo" imports, so that Dendro can
// be tried without profiles of one's own.
//
// They are CPU profiles of the program in test/demo/workload, recorded by the programs in
// test/demo; nothing in them is made up. test/demo/record.sh records them anew, and
// test/demo/README.md describes them and the change that was planted in the last runs.
package demo

import "embed"

// Profiles holds the directory profiles: a directory of profiles for each run
// and manifest.json, which lists them with what is known about them.
//
//go:embed profiles
var Profiles embed.FS
