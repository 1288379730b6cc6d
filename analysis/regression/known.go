package regression

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/history"
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

// shareKnown compares the benchmarks again whose findings name a function that benchmarks of
// the same version show to be renamed or, other ones, to be inlined.
func (res *Result) shareKnown(ctx context.Context, proofs []proof,
	again func(ctx context.Context, i int, k *history.Known) (*Benchmark, error)) error {
	if len(proofs) == 0 {
		return nil
	}
	return Parallel(ctx, len(res.Benchmarks), func(ctx context.Context, i int) error {
		b := &res.Benchmarks[i]
		known, by := concerning(b, proofs)
		if len(by) == 0 {
			return nil
		}
		other, err := again(ctx, i, known)
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
