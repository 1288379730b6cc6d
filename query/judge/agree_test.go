package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/test/runtest"
)

// TestOneSize: the size of a change is the same in the finding, in the numbers of its chart, and in
// the diff of the compared runs, also where runs did different numbers of operations; and so is the
// change of the program in the diff and the benchmark.
func TestOneSize(t *testing.T) {
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 1))
		var runs []runtest.Run
		for i := range 12 {
			operations := 100 + r.IntN(80)
			slow, branch := 1.0, "main"
			if i >= 8 {
				slow, branch = 2.5, "pr"
			}
			of := func(perOperation float64) int {
				return int(perOperation * float64(operations) * (1 + 0.02*r.NormFloat64()))
			}
			runs = append(runs, runtest.Run{Benchmark: "b", Branch: branch, Operations: float64(operations),
				Stacks: fmt.Sprintf("main;load;parse %d, main;load;read %d, main;plan %d, main;join %d", of(10*slow), of(10), of(20), of(15))})
		}
		st := runtest.Store(t, runs...)
		doc, err := Report(t.Context(), st, withDefaults[ReportRequest](t, map[string]string{"base": "main", "head": "pr"}))
		if err != nil {
			t.Fatal(err)
		}
		if len(doc.Changes) != 1 || doc.Changes[0].Function != "parse" {
			t.Fatalf("seed %d: %+v", seed, doc.Changes)
		}
		f := &doc.Changes[0]
		candidate := doc.Benchmarks[0].Evidence.Candidates[0]
		if math.Abs(candidate.Diff/f.Delta.Share-1) > 1e-9 {
			t.Errorf("seed %d: the finding is %+.4f of the program, the step of its chart %+.4f", seed, f.Delta.Share, candidate.Diff)
		}
		diff, err := trees.DiffFunctions(t.Context(), st, &trees.DiffRequest{Sides: trees.Named{Base: []string{"main"}, Head: []string{"pr"}}})
		if err != nil {
			t.Fatal(err)
		}
		if program := doc.Benchmarks[0].Analyses[0].Program.Value; math.Abs(*diff.RootTotal.Relative/program-1) > 1e-9 {
			t.Errorf("seed %d: the program changed by %+.4f, in the diff by %+.4f", seed, program, *diff.RootTotal.Relative)
		}
		for row := range diff.Rows.All() {
			if share := row.Total.Delta.Value() / diff.RootTotal.Base.Value(); row.Function == f.Headline.Function && math.Abs(share/f.Delta.Share-1) > 1e-9 {
				t.Errorf("seed %d: %s is %+.4f of the program in the diff, %+.4f in the finding", seed, row.Function, share, f.Delta.Share)
			}
		}
	}
}
