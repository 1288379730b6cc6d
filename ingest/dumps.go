package ingest

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/profile"
)

// Files of thread dumps of one process are one benchmark, with a run for each dump.

var (
	// dumpTime is a time in the name of a dump: 20261126-004143, 2026-11-26T00_41_43.
	dumpTime = regexp.MustCompile(`[-_.]?(?:19|20)\d{2}-?\d{2}-?\d{2}(?:[-_.T ]?\d{2}[-_.:]?\d{2}(?:[-_.:]?\d{2})?)?Z?`)
	// dumpCount is a counter at its end. A process id has more digits, and is another
	// process.
	dumpCount = regexp.MustCompile(`^(|.*\D)(\d{1,4})$`)
)

// fromDumpPath labels a thread dump by its path: the benchmark is the name of the file
// without its time and counter, or without anything left the folder, and the run is when it was taken.
func fromDumpPath(file string) Label {
	p := slashed(file)
	name, _ := dumpName(p)
	l := fromPath(p, true)
	if name == "" {
		above := fromPath(path.Dir(p), true)
		return Label{Benchmark: above.Benchmark, Group: above.Group}
	}
	l.Benchmark = name
	return l
}

// dumpName returns the name of the file of a dump without its time and counter, and the
// counter, if there is one.
func dumpName(file string) (name, count string) {
	stem, _ := format.TrimExtensions(path.Base(file))
	name = dumpTime.ReplaceAllString(stem, "")
	if m := dumpCount.FindStringSubmatch(name); m != nil {
		name, count = strings.TrimRight(m[1], "-_.#"), m[2]
	}
	return name, count
}

// dumpNumber tells the runs of dumps apart that were taken in the same second: the time
// in a dump has no fractions.
func dumpNumber(file string, p *profile.Profile) string {
	if !p.Dumps {
		return ""
	}
	_, count := dumpName(slashed(file))
	n, err := strconv.Atoi(count)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("#%03d", n)
}
