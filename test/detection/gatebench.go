package detection

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/regression"
)

// suites are the numbers of benchmarks that a gate checks together.
var suites = []int{1, 10, 100}

// gates are the checks of MeasureGate on every clean benchmark.
var gates = []struct {
	name    string
	policy  gate.Policy
	tested  []int // numbers of newest runs; each is a comparison, and one that fails is enough
	options regression.Options
}{
	{"two runs", gate.Policy{}, []int{2}, regression.Options{}},
	{"two runs, --min-impact 0.25", gate.Policy{}, []int{2}, Native},
	{"one run, suspects fail", gate.Policy{Suspects: true}, []int{1}, regression.Options{}},
	{"one run, suspects fail, --min-impact 0.25", gate.Policy{Suspects: true}, []int{1}, Native},
	{"one run and two, suspects fail", gate.Policy{Suspects: true}, []int{1, 2}, regression.Options{}},
}

// Gated is a detector that answers only with what fails a gate of a suite of so many
// benchmarks.
func Gated(p gate.Policy, benchmarks int) Detector {
	return func(s *Subject, hist, tested []int) []Answer {
		a, err := s.Rows.Compare(hist, tested, regression.Options{})
		if err != nil {
			panic(err) // the bench gives enough runs
		}
		changes := gate.Group(a.Findings)
		gate.Judge(&regression.Result{Benchmarks: make([]regression.Benchmark, benchmarks)}, changes, p)
		var failing []regression.Finding
		for i := range changes {
			if changes[i].Fails {
				failing = append(failing, changes[i].All()...)
			}
		}
		return answers(failing)
	}
}

// MeasureGate prints how many of n clean simulated benchmarks fail a gate with the
// error probability that it gives to one of 1, 10 and 100 benchmarks: the figures of
// test/detection/RESULTS.md.
func MeasureGate(w io.Writer, n int, seed uint64) {
	all := make([][][]bool, n)
	onCores(n, func(i int) { all[i] = failures((seed + uint64(i)) * 1_000_003) })
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(tw, "of %d clean benchmarks fail\t1\t10\t100\n", n)
	for i := range gates {
		fmt.Fprint(tw, gates[i].name)
		for j := range suites {
			failed := 0
			for _, fails := range all {
				failed += count(fails[i][j])
			}
			fmt.Fprintf(tw, "\t%d", failed)
		}
		fmt.Fprintln(tw)
	}
	tw.Flush()
}

// failures simulates one clean benchmark and returns by gate and size of the suite
// whether it fails.
func failures(seed uint64) [][]bool {
	s, ok := Simulate(Plan{Seed: seed, Nodes: 2000, Runs: 20, K: 2, Samples: 10000, Kind: "none"})
	if !ok {
		panic("no place is needed for no change")
	}
	rows := s.Rows()
	list := make([][]bool, len(gates))
	for i, g := range gates {
		list[i] = make([]bool, len(suites))
		for _, k := range g.tested {
			hist, tested := s.Split(k)
			a, err := rows.Compare(hist, tested, g.options)
			if err != nil {
				panic(err) // the plan has enough runs
			}
			for j, m := range suites {
				suite := &regression.Result{Benchmarks: make([]regression.Benchmark, m)}
				list[i][j] = list[i][j] || gate.Judge(suite, gate.Group(a.Findings), g.policy).Failed
			}
		}
	}
	return list
}
