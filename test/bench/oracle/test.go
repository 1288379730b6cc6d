package oracle

import (
	"testing"

	"github.com/dendroprof/dendro/test/bench"
	"github.com/dendroprof/dendro/test/bench/suite"
)

// Test imports small suites of both shapes into an engine, in batches and alone,
// with one worker and several, closes and opens it, and compares every answer
// with the oracle's. names is how the engine names frames; nil is as they are.
func Test(t *testing.T, spec bench.Spec, names func(string) string) {
	t.Helper()
	for _, c := range []struct {
		name    string
		config  suite.Config
		workers int
		batch   int
	}{
		{"large", suite.Config{Groups: 2, Benchmarks: 2, Runs: 12, Scale: 0.02}, 1, 48},
		{"large shuffled alone", suite.Config{Groups: 2, Benchmarks: 1, Runs: 4, Scale: 0.05, Order: suite.Shuffled}, 2, 1},
		{"real", suite.Config{Shape: suite.Real, Groups: 3, Benchmarks: 2, Runs: 5, Scale: 0.1}, 3, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := suite.New(c.config)
			want := New(names)
			o := bench.Options{Dir: t.TempDir(), Workers: c.workers, Names: names}
			e, err := spec.Open(o)
			if err != nil {
				t.Fatal(err)
			}
			var batch []bench.Profile
			for i := range s.Len() {
				batch = append(batch, bench.Profile{Meta: s.Meta(i), Text: render(s, i)})
				if len(batch) < c.batch && i < s.Len()-1 {
					continue
				}
				for _, engine := range []bench.Engine{e, want} {
					if err := engine.Import(batch); err != nil {
						t.Fatal(err)
					}
				}
				batch = nil
				if i == s.Len()/2 {
					e = reopen(t, spec, o, e)
				}
			}
			e = reopen(t, spec, o, e)
			defer e.Close()
			if n, err := e.Size(); err != nil || n <= 0 {
				t.Errorf("size %d, %v", n, err)
			}
			for _, q := range bench.Questions(s) {
				compare(t, q, e, want)
			}
			for _, q := range edges(s) {
				compare(t, q, e, want)
			}
		})
	}
}

// edges are queries that the benchmark does not run but that break engines.
func edges(s *suite.Suite) []bench.Question {
	m := s.Meta(0)
	one := bench.Question{Group: m.Group, Benchmark: m.Benchmark}
	nothing := one
	nothing.Label, nothing.Kind, nothing.Function = "no such function", bench.Above, "no/such.function"
	chain := one
	chain.Label, chain.Kind, chain.Chain = "no such chain", bench.Series, [3]string{"a", "b", "c"}
	other := one
	other.Label, other.Kind = "chain of the first benchmark", bench.Series
	other.Chain = s.Chain(0)
	group := bench.Question{Label: "subtree of a group", Kind: bench.Subtree, Group: m.Group}
	pearson := one
	pearson.Label, pearson.Kind = "Pearson of a benchmark", bench.Correlation
	above := one
	above.Label, above.Kind, above.Function = "above of a benchmark", bench.Above, s.Function()
	return []bench.Question{nothing, chain, other, group, pearson, above}
}

func reopen(t *testing.T, spec bench.Spec, o bench.Options, e bench.Engine) bench.Engine {
	t.Helper()
	if err := e.Finish(); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e, err := spec.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func compare(t *testing.T, q bench.Question, e, oracle bench.Engine) {
	t.Helper()
	want, err := oracle.Answer(q)
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Answer(q)
	if err != nil {
		t.Errorf("%s: %v", q.Label, err)
		return
	}
	if g, w := got.Sum(), want.Sum(); !g.Equal(w) {
		t.Errorf("%s: %v, want %v", q.Label, g, w)
	}
}

func render(s *suite.Suite, i int) []byte {
	text, _ := s.AppendFolded(nil, i)
	return text
}
