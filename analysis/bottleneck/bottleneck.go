// Package bottleneck ranks the functions of a selection by what optimising them could
// gain.
//
// Three rankings, after Lundberg and Rettig, "Modeling Profiling Data in a Graph
// Database for Performance Analysis" (LU-CS-EX 2024-47, chapter 5):
//
//   - Self, the code path potential: the share of the program that the function
//     itself uses (potential.go).
//   - Subtree, the subtree potential of degree n: the share of the function and
//     its callees, up to n calls below; recursion counts once.
//   - Own, for pages about where the time goes: every sample counts for the innermost
//     function of the user's own code in its stack (own.go). The scores add up to 1.
//   - Correlation of a function's share of the program with the time of the
//     benchmark, over many runs (correlation.go). It needs metrics.
//
// A potential is an upper bound of the gain and does not describe changes; see package
// regression. A correlation is not a cause. Every row has the amount of its data, and
// optionally its heaviest call paths (contexts.go) and its values in every run (plots.go).
//
// It costs one pass over the values of the selection, or over the sums computed by an
// engine, and n steps per call node for a subtree of degree n.
package bottleneck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Ranking is the number by which functions are ranked.
type Ranking string

// The rankings.
const (
	Self        Ranking = "self"
	Subtree     Ranking = "subtree"
	Own         Ranking = "own"
	Correlation Ranking = "correlation"
)

// Degrees of a subtree: the number of calls below the function.
const (
	// MaxDegree is the maximum degree. It bounds the work per call node.
	MaxDegree = 64
	// Everything is the degree without a limit: the function's total.
	Everything = -1
)

// Options are the parameters of Find. The zero value ranks every function by its code
// path potential, each profile with the same weight.
type Options struct {
	Rank   Ranking      // default Self
	Degree int          // of Subtree: 0 to MaxDegree, or Everything
	Weight store.Weight // of potentials; default store.ByShare
	Correlating

	Rows     int // keep the first n of each list, with Sections of each section; 0: all
	Contexts int // heaviest call paths of each row; 0: none
	Plots    int // benchmarks of each row with the values of all runs; 0: none
	// SectionsOf returns the section of every function of a table; self is the self value of each
	// node. Rows have sections if Sections is set or Rank is Own, which need it.
	SectionsOf func(t *calltree.Table, self []float64) []string
	Sections   bool // order the rows by section
}

// The sections of functions, in the order of the rows.
const (
	OwnCode = "own"     // the user's
	Library = "library" // of dependencies and standard libraries
	Runtime = "runtime" // collector, compiler, scheduler, kernel
)

// Sections lists them in the order of the rows.
var Sections = []string{OwnCode, Library, Runtime}

// Result is a ranking of the functions of a selection.
type Result struct {
	Rank       Ranking           `json:"rank"`
	Type       profile.ValueType `json:"type"`
	Profiles   int               `json:"profiles"`       // selected
	Benchmarks int               `json:"benchmarks"`     // of these profiles
	Value      int64             `json:"value"`          // sum over all profiles, in the type's unit: the whole program
	Functions  int               `json:"functions"`      // ranked, before Options.Rows cut the list
	Zero       int               `json:"zero,omitempty"` // of these, with a correlation of 0: the last of Rows
	Rows       []Row             `json:"rows"`           // highest score first, ties by name
	// Negative lists the functions whose share falls when the benchmark gets slower,
	// the strongest first. Correlation only.
	Negative []Row    `json:"negative,omitempty"`
	Warnings []string `json:"warnings"` // for readers of the numbers
}

// Row is one function of a ranking, with the data behind its score.
type Row struct {
	Function string `json:"function"`
	Section  string `json:"section,omitempty"` // one of Sections, of Own and if they were asked for
	// Score is the potential as a share of the program, 0 to 1, or the
	// correlation, -1 to 1.
	Score float64 `json:"score"`
	// Potential holds the potentials of degree 0 to Options.Degree of a Subtree ranking.
	Potential  []float64 `json:"potential,omitempty"`
	Self       int64     `json:"self"`       // in the type's unit, over the profiles below
	Total      int64     `json:"total"`      // recursion counted once
	Samples    int64     `json:"samples"`    // with the function in the stack; 0 if the value of a sample is unknown
	Profiles   int       `json:"profiles"`   // with the function; for Correlation also with a metric
	Benchmarks int       `json:"benchmarks"` // of these profiles
	// Contexts are the call paths with the largest parts of the potential (for
	// Correlation: of the function's self), the largest first.
	Contexts []Context `json:"contexts,omitempty"`
	Plots    []Plot    `json:"plots,omitempty"` // the strongest first
}

// Find ranks the functions of the selected profiles, whose value types must have one name
// and, for potentials weighted by samples, one period.
func Find(ctx context.Context, st store.Reader, q store.Query, o Options) (*Result, error) {
	o.Rank = cmp.Or(o.Rank, Self)
	o.Weight = cmp.Or(o.Weight, store.ByShare)
	profiles, err := st.Profiles(ctx, q)
	if err != nil {
		return nil, err
	}
	check := store.Summable
	if o.Weight == store.BySamples {
		check = store.Addable
	}
	if err := check(profiles, q); err != nil {
		return nil, err
	}
	r := &Result{Rank: o.Rank, Type: profiles[0].Type, Profiles: len(profiles), Warnings: []string{}}
	r.describe(profiles)
	// Later steps read exactly these profiles, even if others are written meanwhile.
	a := &analysis{st: st, q: store.Query{Profiles: store.IDs(profiles)}, o: o, r: r, profiles: profiles}
	switch o.Rank {
	case Self:
		err = a.fromSums(ctx, func(r *store.FunctionSum) (float64, int64) { return r.SelfShare, r.Self })
	case Subtree:
		err = a.subtreePotentials(ctx)
	case Own:
		err = a.ownPotentials(ctx)
	case Correlation:
		err = a.correlate(ctx)
	default:
		err = fmt.Errorf("unknown ranking %q", o.Rank)
	}
	if err == nil {
		err = a.finish(ctx)
	}
	return r, err
}

// describe fills in the numbers of the whole selection.
func (r *Result) describe(profiles []store.Profile) {
	benchmarks := map[testrun.Benchmark]bool{}
	empty := 0
	for i := range profiles {
		benchmarks[profiles[i].Benchmark] = true
		r.Value += profiles[i].Sum
		if profiles[i].Sum == 0 {
			empty++
		}
	}
	r.Benchmarks = len(benchmarks)
	if empty > 0 {
		r.warn("%d of %d profiles have no samples and are ignored", empty, len(profiles))
	}
	if store.OneType(profiles, store.Query{}) != nil {
		r.warn("the profiles have several sampling periods: compare shares, not values")
	}
}

func (r *Result) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// analysis is the state of one call of Find.
type analysis struct {
	st       store.Reader
	q        store.Query // exactly profiles
	o        Options
	r        *Result
	profiles []store.Profile
	tree     *weighted         // a cache
	section  map[string]string // of the tree's functions by name, a cache
}

// finish sorts and cuts the rows, and adds the data behind them.
func (a *analysis) finish(ctx context.Context) error {
	sign := func(s float64) func(x, y Row) int {
		return func(x, y Row) int {
			return cmp.Or(-cmp.Compare(s*x.Score, s*y.Score), cmp.Compare(x.Function, y.Function))
		}
	}
	slices.SortFunc(a.r.Rows, sign(1))
	slices.SortFunc(a.r.Negative, sign(-1))
	a.r.Functions = len(a.r.Rows) + len(a.r.Negative)
	if a.o.Sections || a.o.Rank == Own {
		if err := a.sections(ctx); err != nil {
			return err
		}
	}
	if n := a.o.Rows; n > 0 && !a.o.Sections {
		a.r.Rows = a.r.Rows[:min(n, len(a.r.Rows))]
	}
	if n := a.o.Rows; n > 0 {
		a.r.Negative = a.r.Negative[:min(n, len(a.r.Negative))]
	}
	if a.r.Rows == nil {
		a.r.Rows = []Row{}
	}
	rows := make([]*Row, 0, len(a.r.Rows)+len(a.r.Negative))
	for _, list := range [][]Row{a.r.Rows, a.r.Negative} {
		for i := range list {
			rows = append(rows, &list[i])
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if err := errors.Join(a.count(ctx, rows), a.plots(ctx, rows)); err != nil {
		return err
	}
	return a.contexts(ctx, rows)
}

// sectionOf returns the section of functions by their names. One of several functions is the
// user's if one of them is.
func (a *analysis) sectionOf(ctx context.Context) (map[string]string, error) {
	if a.section != nil {
		return a.section, nil
	}
	w, err := a.sum(ctx)
	if err != nil {
		return nil, err
	}
	a.section = map[string]string{}
	for f, section := range a.o.SectionsOf(w.Table, w.self) {
		name := w.Functions[f].Name
		if before, ok := a.section[name]; !ok || slices.Index(Sections, section) < slices.Index(Sections, before) {
			a.section[name] = section
		}
	}
	return a.section, nil
}

// sections fills in the sections of the rows, and with Options.Sections orders the rows by
// them and cuts each section.
func (a *analysis) sections(ctx context.Context) error {
	if a.r.Value == 0 {
		return nil
	}
	of, err := a.sectionOf(ctx)
	if err != nil {
		return err
	}
	for i := range a.r.Rows {
		a.r.Rows[i].Section = of[a.r.Rows[i].Function]
	}
	if !a.o.Sections {
		return nil
	}
	slices.SortStableFunc(a.r.Rows, func(x, y Row) int {
		return cmp.Compare(slices.Index(Sections, x.Section), slices.Index(Sections, y.Section))
	})
	if a.o.Rows == 0 {
		return nil
	}
	n := map[string]int{}
	a.r.Rows = slices.DeleteFunc(a.r.Rows, func(r Row) bool {
		n[r.Section]++
		return n[r.Section] > a.o.Rows
	})
	return nil
}

// evidence is the amount of data behind a function.
type evidence struct {
	self, total int64
	profiles    int
	benchmarks  map[int32]bool
}

// count fills in the amount of data behind the rows. It queries the store for these
// functions only.
func (a *analysis) count(ctx context.Context, rows []*Row) error {
	behind := make(map[string]*evidence, len(rows))
	names := make([]string, 0, len(rows))
	for _, r := range rows {
		if behind[r.Function] == nil {
			behind[r.Function] = &evidence{benchmarks: map[int32]bool{}}
			names = append(names, r.Function)
		}
	}
	if len(rows) == a.r.Functions {
		names = nil // all functions: no filter
	}
	set, err := a.st.Functions(ctx, a.q, names)
	if err != nil {
		return err
	}
	of := column.Of(set.Functions, func(f profile.Function) *evidence { return behind[f.Name] })
	var benchmarks []string
	benchmark := store.BenchmarkIndex(set.Profiles, &benchmarks)
	metric := Metrics(set.Profiles, a.o.Raw)
	for chunk, err := range set.Rows {
		if err != nil {
			return err
		}
		for i, f := range chunk.Function {
			p := chunk.Profile[i]
			if e := of[f]; e != nil && !(a.o.Rank == Correlation && math.IsNaN(metric[p])) {
				e.profiles++
				e.self += chunk.Self[i]
				e.total += chunk.Total[i]
				e.benchmarks[benchmark[p]] = true
			}
		}
	}
	unit, known := history.OneSample(a.r.Type)
	for _, r := range rows {
		e := behind[r.Function]
		if known {
			r.Samples = int64(math.Round(float64(e.total) / unit))
		}
		r.Self, r.Total, r.Profiles, r.Benchmarks = e.self, e.total, e.profiles, len(e.benchmarks)
	}
	return nil
}

// round removes the last bits of a sum, which depend on the order of addition, so that
// the same selection gives the same digits on every engine and machine.
func round(x float64) float64 {
	const digits = 1e12
	return math.Round(x*digits)/digits + 0 // not -0
}
