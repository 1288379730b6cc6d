package bench

import "github.com/dendroprof/dendro/test/bench/suite"

// Questions returns the queries of the study for a suite. The selections are
// those of its table: a group and everything for q1, the runs of one benchmark
// and everything for q3 and q7, 10 and all earlier runs for q5.
func Questions(s *suite.Suite) []Question {
	runs := s.Config().Runs
	// The last benchmark, so that its runs are not the first rows of anything.
	b := s.Benchmarks() - 1
	of := s.Meta(b)
	newest := s.Meta(b + (runs-1)*s.Benchmarks())
	one := Question{Group: of.Group, Benchmark: of.Benchmark}

	var list []Question
	add := func(label string, kind Kind, base Question, set func(*Question)) {
		q := base
		q.Label, q.Kind = label, kind
		if set != nil {
			set(&q)
		}
		list = append(list, q)
	}
	all := Question{}
	add("q1 potential, group", Potential, Question{Group: of.Group}, nil)
	add("q1 potential, all", Potential, all, nil)
	add("q2 tree of one profile", Tree, one, func(q *Question) { q.Run = newest.Run })
	add("q3 merged tree, benchmark", Merged, one, nil)
	add("q3 merged tree, all", Merged, all, nil)
	add("q4 function above 1%", Above, all, func(q *Question) { q.Function = s.Function() })
	add("q5 z-scores, 10 before", Scores, one, func(q *Question) { q.Last = min(10, runs-1) })
	add("q5 z-scores, all before", Scores, one, func(q *Question) { q.Last = runs - 1 })
	add("q6 Pearson, all", Correlation, all, nil)
	add("q7 P0..P5, benchmark", Subtree, one, nil)
	add("q7 P0..P5, all", Subtree, all, nil)
	add("q8 series of a chain", Series, one, func(q *Question) { q.Chain = s.Chain(b) })
	return list
}
