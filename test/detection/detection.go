// Package detection measures how good the detection of regressions is: on real
// benchmark histories with planted changes, and on simulated ones. It is the
// acceptance bench of package analysis/regression; `make bench-detection` runs
// it, prints tables and fails below the required figures, and a short version of
// it is a test.
//
//   - real.go, realbench.go: real benchmarks, each run against the history of the
//     same state of its machine (docs/method/regression.md has the figures);
//   - simulate.go, program.go, plant.go: a generator of histories of a made-up
//     program with a change of known place and size, or none;
//   - others.go: the methods that the default is compared with: the thesis's score,
//     Welch's test, and an E-divisive change point detector.
//
// The bench knows the truth and the detectors do not: they are given histories
// through the package's public functions and answer with findings.
package detection

import (
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/regression"
)

// Answer is one item of what a detector reports, the first being the surest.
type Answer struct {
	Function, Caller string
	Path             []string // root to the place; nil for a detector without places
	// Part is the largest of several places united in this item, nil if there is
	// only one.
	Part *Answer
	Wide bool // names no culprit
	Gain bool // the finding is an improvement

	Headline string  // the function of the headline
	Share    float64 // net, of the program before
	Chance   float64 // regression.Finding.Chance
}

// nearFrames is how far above a place an accepted function may be.
const nearFrames = 6

// strict reports whether the answer's function is an accepted one.
func (a *Answer) strict(accepted []string) bool {
	return !a.Wide && (accepts(accepted, a.Function) || a.Part != nil && a.Part.strict(accepted))
}

// located reports whether the answer leads to an accepted function: it is the
// place, its caller, or one of the six frames above.
func (a *Answer) located(accepted []string) bool {
	if a.Wide {
		return false
	}
	if a.strict(accepted) || accepts(accepted, a.Caller) {
		return true
	}
	for i := len(a.Path) - 1; i >= 0 && i >= len(a.Path)-1-nearFrames; i-- {
		if accepts(accepted, a.Path[i]) {
			return true
		}
	}
	return a.Part != nil && a.Part.located(accepted)
}

// accepts reports whether a function is accepted, or a closure of one that is.
func accepts(accepted []string, function string) bool {
	return function != "" && slices.ContainsFunc(accepted, func(f string) bool {
		return function == f || strings.HasPrefix(function, f+".func")
	})
}

// named reports whether the headline is in the source of an accepted function: its
// outermost class, or its package.
func (a *Answer) named(accepted []string) bool {
	return slices.ContainsFunc(accepted, func(f string) bool { return source(f) == source(a.Headline) })
}

// source returns the outermost class of a Java function, or the package of a Go
// function.
func source(function string) string {
	name := strings.ReplaceAll(function, "/", ".")
	if class, _, ok := strings.Cut(name, "$"); ok {
		return class
	}
	if pkg, _, ok := strings.Cut(name, ".("); ok {
		return pkg
	}
	return name[:max(0, strings.LastIndexByte(name, '.'))]
}

// sizeError is the relative error of a size that counts as right.
const sizeError = 0.3

// answers converts findings of regressions and improvements.
func answers(findings []regression.Finding) []Answer {
	var list []Answer
	for _, f := range findings {
		if !f.Kind.Costs() && f.Kind != regression.Improvement {
			continue
		}
		a := Answer{Function: f.Function, Caller: f.Caller, Path: f.Path, Wide: f.Kind == regression.Widespread || f.Kind == regression.Slowdown,
			Share: f.Delta.Share, Chance: f.Chance,
			Gain: f.Kind == regression.Improvement}
		if f.Headline != nil {
			a.Headline = f.Headline.Function
		}
		if len(f.Parts) > 0 {
			p := f.Parts[0]
			a.Part = &Answer{Function: p.Function, Caller: p.Caller, Path: p.Path}
		}
		list = append(list, a)
	}
	return list
}
