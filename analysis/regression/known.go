package regression

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// What one benchmark shows of two versions of a program, a function that has another name
// or that a compiler inlined, holds for all benchmarks. One with few samples cannot show it
// itself: there the new name looks like a cost, and the vanished one like a gain. A rename
// also holds for the benchmark that shows it: what the renamed function calls may cost more.

// proof is what one benchmark shows of the functions of the version of its newest run.
type proof struct {
	by      testrun.Benchmark
	version string // commit of the newest run, or its key
	tested  int    // runs
	history.Known
}

// leastGone is how many samples were to be expected of a function that has none: that none
// comes is then a chance of 1%.
const leastGone = 4.6

// known returns which functions were renamed, or inlined into a caller.
func (v *verdict) known() (k history.Known) {
	t := v.space.table
	name := func(fn int32) string { return t.Functions[fn].Name }
	for _, p := range v.moved {
		if p.d <= 0 {
			continue
		}
		if from, to, ok := v.renamedAbove(p.node); ok {
			r := history.Rename{Base: name(t.Func[from]), Head: name(t.Func[to])}
			if !slices.Contains(k.Renamed, r) {
				k.Renamed = append(k.Renamed, r)
			}
		} else if callee, ok := v.inlined(p); ok && v.expected(callee) >= leastGone {
			in := history.Inline{Caller: name(v.space.function(p.slot)), Callee: name(callee)}
			if !slices.Contains(k.Inlined, in) {
				k.Inlined = append(k.Inlined, in)
			}
		}
	}
	return k
}

// inlined returns the function whose work a rise took, if it vanished and the rise's function
// called it.
func (f *fit) inlined(rise *place) (callee int32, ok bool) {
	slot := rise.from
	if rise.with != nil {
		slot = rise.with.slot
	}
	if slot == noRow {
		return noRow, false
	}
	t, callee := f.space.table, f.space.function(slot)
	called := slices.ContainsFunc(f.space.functions[callee], func(n int32) bool {
		return t.Parent[n] != calltree.NoNode && t.Func[t.Parent[n]] == f.space.function(rise.slot)
	})
	return callee, called && f.presence(callee) == Vanished
}

// expected returns how many samples of a function the tested runs have if nothing changed.
func (f *fit) expected(fn int32) float64 {
	slot := f.space.at(functionTotal, fn)
	if slot == noRow {
		return 0
	}
	before, _ := f.sums(slot)
	return before * f.headFactors / f.baseFactors
}

// versionOf returns what tells the newest run's version of a program; empty without runs.
func versionOf(runs []store.Profile) string {
	if len(runs) == 0 {
		return ""
	}
	run := runs[len(runs)-1].Run
	return cmp.Or(run.Commit, run.Key)
}

// proofsOf lists what benchmarks show.
func proofsOf(list []Benchmark) (proofs []proof) {
	for i := range list {
		b := &list[i]
		for _, a := range b.Analyses {
			if len(a.known.Renamed)+len(a.known.Inlined) > 0 {
				proofs = append(proofs, proof{b.Benchmark, versionOf(b.Profiles), len(a.Tested), a.known})
			}
		}
	}
	return proofs
}

// renamedNote begins the notes of renamed functions.
const renamedNote = "renamed "

// shareKnown compares the benchmarks again whose findings name a function that benchmarks of
// the same version show to be renamed or, other ones, to be inlined.
func (res *Result) shareKnown(ctx context.Context, proofs []proof, again func(i int, k *history.Known) (*Benchmark, error)) error {
	if len(proofs) == 0 {
		return nil
	}
	return parallel(ctx, len(res.Benchmarks), func(i int) error {
		b := &res.Benchmarks[i]
		known, by := concerning(b, proofs)
		if len(by) == 0 {
			return nil
		}
		other, err := again(i, known)
		if err != nil || len(other.held.Renamed)+len(other.held.Inlined) == 0 {
			return err
		}
		for _, f := range b.Findings {
			if f.Kind == Moved && strings.HasPrefix(f.Note, renamedNote) && len(other.held.Renamed) > 0 {
				other.Findings = append(other.Findings, f)
			}
		}
		sortFindings(other.Findings)
		if by[0] != b.Benchmark {
			for _, r := range other.held.Renamed {
				note := fmt.Sprintf("%s%s to %s", renamedNote, r.Base, r.Head)
				if !slices.ContainsFunc(other.Findings, func(f Finding) bool { return f.Kind == Moved && strings.HasPrefix(f.Note, note+" (") }) {
					other.Warnings = append(other.Warnings, fmt.Sprintf("%s, as %s shows", note, by[0]))
				}
			}
			for _, in := range other.held.Inlined {
				other.Warnings = append(other.Warnings, fmt.Sprintf("inlined %s into %s, as %s shows", in.Callee, in.Caller, by[0]))
			}
		}
		res.Benchmarks[i] = *other
		return nil
	})
}

// concerning returns what benchmarks of the version show of functions that findings of a
// benchmark name, and which ones do.
func concerning(b *Benchmark, proofs []proof) (*history.Known, []testrun.Benchmark) {
	named := map[string]bool{}
	for i := range b.Findings {
		b.Findings[i].names(named)
	}
	known := &history.Known{}
	var by []testrun.Benchmark
	version := versionOf(b.Profiles)
	for _, p := range proofs {
		if p.version != version || p.by == b.Benchmark && p.tested < 2 { // one run is too little to rely on alone
			continue
		}
		n := len(known.Renamed) + len(known.Inlined)
		for _, r := range p.Renamed {
			if (named[r.Base] || named[r.Head]) && !slices.ContainsFunc(known.Renamed,
				func(k history.Rename) bool { return k.Base == r.Base || k.Head == r.Head }) {
				known.Renamed = append(known.Renamed, r)
			}
		}
		for _, in := range p.Inlined {
			if p.by != b.Benchmark && (named[in.Callee] || named[in.Caller]) && !slices.Contains(known.Inlined, in) {
				known.Inlined = append(known.Inlined, in)
			}
		}
		if len(known.Renamed)+len(known.Inlined) > n {
			by = append(by, p.by)
		}
	}
	return known, by
}

// names adds the functions that a finding names.
func (f *Finding) names(to map[string]bool) {
	to[f.Function] = true
	lists := [][]string{f.Path}
	for _, p := range f.Paths {
		lists = append(lists, p.Path)
	}
	for _, p := range f.Parts {
		lists = append(lists, p.Path)
	}
	for _, list := range lists {
		for _, name := range list {
			to[name] = true
		}
	}
}
