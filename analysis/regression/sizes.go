package regression

import "github.com/dendroprof/dendro/analysis/history"

// Sizes returns by what the samples of each run are divided so that runs of both sides compare: the
// size factors of Compare, with mean about 1 over the base. A diff that divides by them has the
// amounts of the findings. Nil if there are too few runs to compare.
func Sizes(s *history.Series, m *history.Matrix, base, head []int, o Options) []float64 {
	if len(base) < leastHistory || len(head) == 0 {
		return nil
	}
	for t := range m.Runs {
		if !(m.Runs[t].Total > 0) {
			return nil
		}
	}
	return newFit(Prepare(s, m).sp, &o, base, head).factor
}
