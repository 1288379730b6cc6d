package baseline_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/bench"
	"github.com/dendroprof/dendro/test/bench/baseline"
	"github.com/dendroprof/dendro/test/bench/oracle"
	"github.com/dendroprof/dendro/test/bench/suite"
)

func TestDuckDBAnswers(t *testing.T) {
	spec := baseline.Specs()[0]
	t.Run("raw", func(t *testing.T) { oracle.Test(t, spec, nil) })
	t.Run("normalised", func(t *testing.T) { oracle.Test(t, spec, suite.Stable) })
}

// profileOf is a batch of one with the given text.
func profileOf(text string) []bench.Profile {
	return []bench.Profile{{Meta: suite.Meta{Group: "g", Benchmark: "b", Run: "r"}, Text: []byte(text)}}
}

// recursion is A→B→A→C→A→A with samples at three places.
const recursion = "A;B;A;C;A;A 3\nA;B;A;C 2\nA 1\nD;A 4\n"

func open(t *testing.T, spec bench.Spec, dir string) bench.Engine {
	t.Helper()
	e, err := spec.Open(bench.Options{Dir: dir, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestBadText(t *testing.T) {
	for _, spec := range baseline.Specs() {
		t.Run(spec.Name, func(t *testing.T) {
			e := open(t, spec, t.TempDir())
			defer e.Close()
			for _, text := range []string{"a;b\n", "a;b x\n", "a;b 12x\n", "a;b 99999999999999999999\n"} {
				if err := e.Import(profileOf(text)); err == nil {
					t.Errorf("%q was imported", text)
				}
			}
			// A refused batch leaves nothing behind and the store usable.
			if err := e.Import(profileOf(recursion)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDuckDBRefusedBatchLeavesNothing(t *testing.T) {
	e := open(t, baseline.Specs()[0], t.TempDir())
	defer e.Close()
	batch := append(profileOf(recursion), profileOf("broken\n")...)
	if err := e.Import(batch); err == nil {
		t.Fatal("a broken batch was imported")
	}
	a, err := e.Answer(bench.Question{Kind: bench.Potential})
	if err != nil || a.Rows != 0 {
		t.Errorf("%d rows, %v", a.Rows, err)
	}
}

// The rows of both engines, by hand: depth, self, total, distance of the
// recursion edge.
func TestSQLiteRows(t *testing.T) {
	dir := t.TempDir()
	e := open(t, baseline.Specs()[1], dir)
	if err := e.Import(profileOf(recursion)); err != nil {
		t.Fatal(err)
	}
	if err := e.Finish(); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "a.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT fn.name || ' ' || depth || ' ' || self || ' ' || total || ' ' || coalesce(recd, '-')
		FROM node JOIN fn ON fn.id = node.fn ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		got = append(got, s)
	}
	want := "A 0 1 6 -|A 1 4 4 -|A 2 0 5 2|A 4 0 3 2|A 5 3 3 1|B 1 0 5 -|C 3 2 5 -|D 0 0 4 -"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("rows\n%s, want\n%s", s, want)
	}
}

// The example of the definitions: root → A1(0) → {A2(.5), B1(.5)}.
func TestPotentialOfRecursion(t *testing.T) {
	e := open(t, baseline.Specs()[0], t.TempDir())
	defer e.Close()
	if err := e.Import(profileOf("root;A;A 50\nroot;A;B 50\n")); err != nil {
		t.Fatal(err)
	}
	got, err := e.Answer(bench.Question{Kind: bench.Subtree})
	if err != nil {
		t.Fatal(err)
	}
	var want bench.Digest
	want.Row("A", 50, 100, 100, 100, 100, 100)
	want.Row("B", 50, 50, 50, 50, 50, 50)
	want.Row("root", 0, 0, 100, 100, 100, 100)
	if g := got.Sum(); !g.Equal(want.Sum()) {
		t.Errorf("%v, want %v", g, want.Sum())
	}
}

// The golden histories of the z-score: ten runs with a single sample in one of
// them and 7 now, and one with two single samples and 8 now.
func TestGoldenScores(t *testing.T) {
	for _, tc := range []struct {
		present int
		now     string
		score   float64
		sum     int64
	}{{1, "7", 21.8197, 1}, {2, "8", 18.4993, 2}} {
		e := open(t, baseline.Specs()[0], t.TempDir())
		for run := range 11 {
			p := profileOf("other 1\n")
			switch {
			case run == 10:
				p = profileOf("f " + tc.now + "\n")
			case run < tc.present:
				p = profileOf("f 1\n")
			}
			p[0].Run = string(rune('a' + run))
			p[0].RunIndex = run
			if err := e.Import(p); err != nil {
				t.Fatal(err)
			}
		}
		got, err := e.Answer(bench.Question{Kind: bench.Scores, Last: 10, Group: "g", Benchmark: "b"})
		if err != nil {
			t.Fatal(err)
		}
		var f, all bench.Digest
		f.Approx("f", tc.score)
		other := float64(10-tc.present) / 10
		std := other * float64(tc.present) / 10 * 10 / 9
		all.Approx("f", tc.score)
		all.Approx("other", -other/sqrt(std))
		if d := got.Sum().Approx - all.Sum().Approx; d > 1e-3 || d < -1e-3 {
			t.Errorf("scores sum to %v, want %v", got.Sum().Approx, all.Sum().Approx)
		}
		e.Close()
	}
}

func sqrt(x float64) float64 {
	r := x
	for range 60 {
		r = (r + x/r) / 2
	}
	return r
}

func TestSQLiteHoldsTheSameNodes(t *testing.T) {
	s := suite.New(suite.Config{Shape: suite.Real, Groups: 2, Benchmarks: 1, Runs: 3, Scale: 0.1})
	dir := t.TempDir()
	lite := open(t, baseline.Specs()[1], dir)
	truth := oracle.New(nil)
	for i := range s.Len() {
		p := []bench.Profile{{Meta: s.Meta(i), Text: render(s, i)}}
		for _, e := range []bench.Engine{lite, truth} {
			if err := e.Import(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := lite.Close(); err != nil {
		t.Fatal(err)
	}
	nodes := 0
	for i := range s.Len() {
		m := s.Meta(i)
		a, err := truth.Answer(bench.Question{Kind: bench.Tree, Group: m.Group, Benchmark: m.Benchmark, Run: m.Run})
		if err != nil {
			t.Fatal(err)
		}
		nodes += a.Rows
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "a.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var got int
	if err := db.QueryRow(`SELECT count(*) FROM node`).Scan(&got); err != nil || got != nodes {
		t.Errorf("%d nodes, %v, want %d", got, err, nodes)
	}
}

func render(s *suite.Suite, i int) []byte {
	text, _ := s.AppendFolded(nil, i)
	return text
}
