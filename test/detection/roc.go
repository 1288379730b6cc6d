package detection

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/dendroprof/dendro/analysis/regression"
)

// rocAlphas are the error probabilities that PrintROC compares.
var rocAlphas = []float64{0.02, 0.01, 0.005, 0.0025, 1e-3, 2.5e-4, 2.5e-5, 2.5e-6, 2.5e-7}

// chosenOn reports whether a benchmark belongs to the half on which parameters are
// chosen; the other half confirms them.
func chosenOn(s *Subject) bool {
	return !strings.HasPrefix(s.Name, "jvm25-") && s.Name != "jvm17-json/text.dedup"
}

// PrintROC prints located regressions and false findings by the error probability, for
// one and two tested runs, on the half of the benchmarks on which parameters are chosen
// and on the other.
func PrintROC(w io.Writer, subjects []*Subject) {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "half\truns\talpha\tlocated\tA05\tof regressions with findings\tclean with findings\tof\trefactored with findings\tof")
	for _, half := range []struct {
		name string
		is   bool
	}{{"chosen on", true}, {"confirmed on", false}} {
		var list []*Subject
		for _, s := range subjects {
			if chosenOn(s) == half.is {
				list = append(list, s)
			}
		}
		for k := 1; k <= 2; k++ {
			for _, alpha := range rocAlphas {
				r := RunReal(list, Default(regression.Options{Alpha: alpha}), k, nil)
				reg, clean, other, a05 := r.Of(regressionKinds...), r.Of("history", "clean"), r.Of(refactoredKinds...), r.Of("A05")
				fmt.Fprintf(tw, "%s\t%d\t%.2g\t%.2f\t%.2f\t%.2f\t%d\t%d\t%d\t%d\n", half.name, k, alpha, ratio(reg.Located, reg.Runs),
					ratio(a05.Located, a05.Runs),
					ratio(reg.WithFindings, reg.Runs), clean.WithFindings, clean.Runs, other.WithFindings, other.Runs)
			}
		}
	}
	tw.Flush()
}
