package oracle_test

import (
	"testing"
	"time"

	"github.com/dendroprof/dendro/test/bench"
	"github.com/dendroprof/dendro/test/bench/oracle"
	"github.com/dendroprof/dendro/test/bench/suite"
)

// Two runs of one benchmark by hand; A is recursive and lambdas are mapped.
func TestAnswersByHand(t *testing.T) {
	o := oracle.New(suite.Stable)
	for i, text := range []string{"A;B;A 3\nA;X$$Lambda$1.c;D 1\n", "A;B 1\nA;X$$Lambda$2.c;D 95\nZ 4\n"} {
		m := suite.Meta{Index: i, Group: "g", Benchmark: "b", Run: string(rune('p' + i)), RunIndex: i,
			Date: time.Unix(int64(i), 0), MetricMean: float64(i + 1)}
		if err := o.Import([]bench.Profile{{Meta: m, Text: []byte(text)}}); err != nil {
			t.Fatal(err)
		}
	}
	one := bench.Question{Group: "g", Benchmark: "b"}
	path := func(names ...string) uint64 {
		p := uint64(0)
		for _, n := range names {
			p = bench.Path(p, n)
		}
		return p
	}
	for _, tc := range []struct {
		name string
		kind bench.Kind
		set  func(*bench.Question)
		want func(*bench.Digest)
	}{
		{"potential", bench.Potential, nil, func(d *bench.Digest) {
			d.Row("A", 3)
			d.Row("B", 1)
			d.Row("D", 96)
			d.Row("Z", 4)
		}},
		{"tree", bench.Tree, func(q *bench.Question) { q.Run = "p" }, func(d *bench.Digest) {
			d.RowPath(path("A"), 0, 4)
			d.RowPath(path("A", "B"), 0, 3)
			d.RowPath(path("A", "B", "A"), 3, 3)
			d.RowPath(path("A", "X$$Lambda.c"), 0, 1)
			d.RowPath(path("A", "X$$Lambda.c", "D"), 1, 1)
		}},
		{"above", bench.Above, func(q *bench.Question) { q.Function = "B" }, func(d *bench.Digest) {
			d.Row(bench.ProfileKey("g", "b", "p"), 3) // in q it is one percent, not above
		}},
		{"correlation", bench.Correlation, nil, func(d *bench.Digest) {
			// Z is in one profile only. Shares of A and B fall, D's grows; the
			// lambda has no samples of its own.
			for f, r := range map[string]float64{"A": -1, "B": 1, "D": 1, "X$$Lambda.c": 0} {
				d.Row(f, 1)
				d.Approx(f, r)
			}
		}},
		{"subtree", bench.Subtree, nil, func(d *bench.Digest) {
			d.Row("A", 3, 4, 100, 100, 100, 100)
			d.Row("B", 1, 4, 4, 4, 4, 4)
			d.Row("D", 96, 96, 96, 96, 96, 96)
			d.Row("X$$Lambda.c", 0, 96, 96, 96, 96, 96)
			d.Row("Z", 4, 4, 4, 4, 4, 4)
		}},
		{"series", bench.Series, func(q *bench.Question) { q.Chain = [3]string{"A", "X$$Lambda$7.c", "D"} }, func(d *bench.Digest) {
			d.Row("p", 1)
			d.Row("q", 95)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			q := one
			q.Kind = tc.kind
			if tc.set != nil {
				tc.set(&q)
			}
			a, err := o.Answer(q)
			if err != nil {
				t.Fatal(err)
			}
			var d bench.Digest
			tc.want(&d)
			if got := a.Sum(); !got.Equal(d.Sum()) {
				t.Errorf("%v, want %v", got, d.Sum())
			}
		})
	}
}
