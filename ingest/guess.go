package ingest

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/profile"
)

// Origins of guessed labels, as people read them.
const (
	fromNames  = "folder and file name"
	fromGo     = "the Go benchmark in the profile"
	fromJMH    = "the folder of JMH"
	fromFolder = "folder or file name"
	fromStart  = "recording time"
	fromMtime  = "time of the file"
)

// Guess is a label that neither a flag nor a manifest, sidecar or layout gave.
type Guess struct {
	What string `json:"what"` // benchmark, group, run, commit
	From string `json:"from"`
}

// guess completes a label from what the profile and the path of its file say, and lists
// what it guessed. The layout defines the meaning of folders, if there is one.
func (w *worker) guess(l Label, file string, p *profile.Profile) (_ Label, guesses []Guess, warnings []string) {
	named, grouped, keyed := l.Benchmark != "", l.Group != "", l.Run.Key != ""
	more, from := Label{}, ""
	if !named {
		more, from, warnings = w.content(file, p)
	}
	path := fromPath(file, keyed || !l.Run.Date.IsZero())
	if p.Dumps && !keyed && l.Run.Date.IsZero() {
		path = fromDumpPath(file)
	}
	if from == "" {
		more, from = path, fromNames
	}
	more.Run.Key = path.Run.Key
	if w.o.Layout != nil {
		more.Group = ""
	}
	l = l.Or(more)
	switch {
	case !named:
		guesses = append(guesses, Guess{"benchmark", from})
	case !grouped && l.Group != "":
		guesses = append(guesses, Guess{"group", from})
	}
	if !keyed && l.Run.Key != "" {
		guesses = append(guesses, Guess{"run", fromFolder})
	}
	return l, guesses, warnings
}

// content labels a file by the benchmark that it is of: JMH's folder, or a Go benchmark in
// the stacks. The origin is empty if it is neither.
func (w *worker) content(file string, p *profile.Profile) (l Label, from string, warnings []string) {
	if l, ok := jmhFolder(path.Base(path.Dir(slashed(file)))); ok {
		return l, fromJMH, nil
	}
	pkg, names := w.goBenchmarks(p)
	switch len(names) {
	case 0:
		return l, "", nil
	case 1:
		return Label{Group: pkg, Benchmark: names[0]}, fromGo, nil
	}
	return l, "", []string{fmt.Sprintf("one profile of %d Go benchmarks (%s): record each alone, with -bench '^Benchmark%s$'",
		len(names), strings.Join(names[:min(3, len(names))], ", "), names[0])}
}

// runLike matches names of folders and files that count or date runs: 001, run-7,
// 2026-11-21, a hash.
var runLike = regexp.MustCompile(`^(?i:\d+|(?:run|build|nightly|r)[-_.]?\d+|\d{4}-\d{2}-\d{2}(?:\D.*)?|[0-9a-f]{7,40})$`)

// isRun reports whether a folder or file is called like a run.
func isRun(name string) bool {
	return runLike.MatchString(name) && strings.ContainsAny(name, "0123456789")
}

// fromPath labels a source by its path: the parent folder is the group, the file name
// without known extensions the benchmark. If the run is unknown and one of them, or the
// folder above, is called like a run, it is the run, and the other two names are benchmark
// and group.
func fromPath(name string, runKnown bool) Label {
	p := slashed(name)
	stem, _ := format.TrimExtensions(path.Base(p))
	names := []string{stem} // innermost first
	for dir := path.Dir(p); len(names) < 3; dir = path.Dir(dir) {
		if base := path.Base(dir); base != "." && base != "/" && base != ".." {
			names = append(names, base)
		} else {
			names = append(names, "")
		}
	}
	var l Label
	switch {
	case runKnown:
	case isRun(names[0]) && names[1] != "":
		l.Run.Key, names = names[0], names[1:]
	case isRun(names[1]):
		l.Run.Key = names[1]
		names = slices.Delete(names, 1, 2)
	case isRun(names[2]):
		l.Run.Key = names[2]
	}
	l.Benchmark, l.Group = names[0], names[1]
	return l
}

var (
	// org.example.Parser.parse-Throughput-size-10: the folder in which JMH's
	// async-profiler writes; other tools write [size=10] for the parameters.
	jmhName  = regexp.MustCompile(`^((?:[\w$]+\.)+)([\w$]+\.[\w$]+)-(?:Throughput|AverageTime|SampleTime|SingleShotTime)(?:-(.+)|\[(.+)\])?$`)
	jmhParam = regexp.MustCompile(`^[\w$.]+=[^,]*$`)
)

// jmhReversed reports whether a file is the second, bottom-up page of a flame graph that
// JMH's async-profiler writes: the same profile again, with leaves as roots.
func jmhReversed(file string) bool {
	p := slashed(file)
	_, ok := jmhFolder(path.Base(path.Dir(p)))
	return ok && strings.HasPrefix(path.Base(p), "flame-") && strings.HasSuffix(p, "-reverse.html")
}

// jmhFolder labels by the name of a folder of JMH: the package is the group.
func jmhFolder(name string) (l Label, ok bool) {
	m := jmhName.FindStringSubmatch(name)
	if m == nil {
		return l, false
	}
	params := map[string]string{}
	if m[3] != "" {
		parts := strings.Split(m[3], "-")
		if len(parts)%2 != 0 { // a value has a hyphen: where, is unknown
			return Label{Group: strings.TrimSuffix(m[1], "."), Benchmark: m[2] + ":" + m[3]}, true
		}
		for i := 0; i < len(parts); i += 2 {
			params[parts[i]] = parts[i+1]
		}
	}
	for kv := range strings.SplitSeq(m[4], ",") {
		if jmhParam.MatchString(kv) {
			k, v, _ := strings.Cut(kv, "=")
			params[k] = v
		}
	}
	return Label{Group: strings.TrimSuffix(m[1], "."), Benchmark: m[2] + paramText(params)}, true
}

// runN and runParallel are the functions of package testing that call benchmarks, or what
// these pass to RunParallel.
const (
	runN        = "testing.(*B).runN"
	runParallel = "testing.(*B).RunParallel.func1"
)

// goBenchmark matches the function of a benchmark, or a function literal in it.
var goBenchmark = regexp.MustCompile(`^(.*/)?([^./]+)\.Benchmark([^.]+)(\..*)?$`)

// goBenchmarks lists the Go benchmarks in whose stacks a pprof profile has samples, in
// order of name without "Benchmark", and the package of the last.
func (w *worker) goBenchmarks(p *profile.Profile) (pkg string, names []string) {
	if p.Format != "pprof" {
		return "", nil
	}
	sym := p.Symbols
	if len(sym.Functions) < w.searched {
		w.searched, w.callers = 0, map[profile.FunctionID]bool{}
	}
	for ; w.searched < len(sym.Functions); w.searched++ {
		if name := sym.Functions[w.searched].Name; name == runN || name == runParallel {
			w.callers[profile.FunctionID(w.searched)] = true
		}
	}
	if len(w.callers) == 0 {
		return "", nil
	}
	function := func(s profile.StackID) profile.FunctionID { return sym.Frames[sym.Leaf(s)].Function }
	seen := map[profile.StackID]bool{}
	for i := range p.Tables {
		for _, s := range p.Tables[i].Stack {
			for s != profile.NoStack && !seen[s] {
				seen[s] = true
				caller := sym.Parent(s)
				if caller != profile.NoStack && w.callers[function(caller)] {
					if m := goBenchmark.FindStringSubmatch(sym.Functions[function(s)].Name); m != nil && !slices.Contains(names, m[3]) {
						pkg, names = m[1]+strings.TrimSuffix(m[2], "_test"), append(names, m[3])
					}
				}
				s = caller
			}
		}
	}
	slices.Sort(names)
	return pkg, names
}
