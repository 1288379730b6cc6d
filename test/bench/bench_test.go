package bench_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/bench"
	"github.com/dendroprof/dendro/test/bench/oracle"
	"github.com/dendroprof/dendro/test/bench/suite"
)

// kept is an oracle that survives being closed, as a store on disk does, and
// notes what it is given.
type kept struct {
	*oracle.Oracle
	imported []bench.Profile
	wrong    bool // answers of one kind are off
}

func (k *kept) Import(batch []bench.Profile) error {
	for _, p := range batch {
		k.imported = append(k.imported, bench.Profile{Meta: p.Meta})
	}
	return k.Oracle.Import(batch)
}

func (k *kept) Answer(q bench.Question) (bench.Answer, error) {
	if k.wrong && q.Kind == bench.Above {
		q.Function += "?"
	}
	return k.Oracle.Answer(q)
}

// memory is a spec of engines that live as long as their folder's name.
type memory map[string]*kept

func (m memory) spec(name string, part int, wrong bool) bench.Spec {
	return bench.Spec{Name: name, Model: "in memory", Part: part, Open: func(o bench.Options) (bench.Engine, error) {
		if m[o.Dir] == nil {
			m[o.Dir] = &kept{Oracle: oracle.New(o.Names), wrong: wrong}
		}
		return m[o.Dir], os.MkdirAll(o.Dir, 0o755)
	}}
}

func TestRun(t *testing.T) {
	m := memory{}
	c := bench.Config{
		Suite:  suite.Config{Groups: 2, Benchmarks: 2, Runs: 5, Scale: 0.01},
		Specs:  []bench.Spec{m.spec("one", 1, false), m.spec("two", 1, false), m.spec("quarter", 4, false)},
		Dir:    t.TempDir(),
		Rounds: 2, Repeats: 2, Alone: 3, BatchBytes: 1 << 16, Names: suite.Stable,
	}
	r, err := bench.Run(c)
	if err != nil {
		t.Fatal(err)
	}
	if d := r.Differences(); d != nil {
		t.Errorf("equal engines differ in %v", d)
	}
	for i, want := range []int{20, 20, 5} {
		if len(r.Engines[i].Imports) != 2 {
			t.Fatalf("%d rounds", len(r.Engines[i].Imports))
		}
		for _, imp := range r.Engines[i].Imports {
			if imp.Profiles != want || imp.Nodes < want*20 || imp.Bytes < imp.Nodes || imp.Load <= 0 {
				t.Errorf("engine %d: %+v", i, imp)
			}
		}
		if len(r.Engines[i].Alone) != 3 {
			t.Errorf("engine %d: %d alone", i, len(r.Engines[i].Alone))
		}
	}
	benchmarks := map[string]bool{}
	for dir, k := range m {
		if strings.Contains(dir, "quarter") {
			for _, p := range k.imported {
				benchmarks[p.Benchmark] = true
			}
		}
	}
	if len(benchmarks) != 4 {
		t.Errorf("a part has only %d benchmarks", len(benchmarks))
	}
	for _, q := range r.Questions {
		if len(q.Times[0]) != 2 || len(q.Times[2]) != 0 {
			t.Errorf("%s: asked %d and %d times", q.Question.Label, len(q.Times[0]), len(q.Times[2]))
		}
	}
	var out strings.Builder
	r.Print(&out)
	for _, want := range []string{"| one | 20 |", "(1 in 4)", "| q3 merged tree, all |", "| equal |", "| round |", "p95", "in memory."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if left, _ := filepath.Glob(filepath.Join(c.Dir, "*")); left != nil {
		t.Errorf("left %v", left)
	}
}

func TestRunFindsDifferences(t *testing.T) {
	m := memory{}
	r, err := bench.Run(bench.Config{
		Suite: suite.Config{Groups: 1, Benchmarks: 2, Runs: 3, Scale: 0.01},
		Specs: []bench.Spec{m.spec("right", 1, false), m.spec("wrong", 1, true)},
		Dir:   t.TempDir(), Repeats: 1, NoImports: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := r.Differences(); len(d) != 1 || !strings.HasPrefix(d[0], "q4") {
		t.Errorf("differences %v", d)
	}
	var out strings.Builder
	r.Print(&out)
	if !strings.Contains(out.String(), "**differ**") || strings.Contains(out.String(), "import of text") {
		t.Error(out.String())
	}
}

func TestKeepAndReuse(t *testing.T) {
	m := memory{}
	c := bench.Config{
		Suite: suite.Config{Groups: 1, Benchmarks: 1, Runs: 4, Scale: 0.01},
		Specs: []bench.Spec{m.spec("one", 1, false)},
		Dir:   t.TempDir(), Keep: true, NoQuestions: true,
	}
	if _, err := bench.Run(c); err != nil {
		t.Fatal(err)
	}
	c.Reuse, c.NoQuestions = true, false
	r, err := bench.Run(c)
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Questions[1].Sums[0].Rows; n == 0 {
		t.Error("the store is empty")
	}
	if r.Engines[0].Imports != nil {
		t.Error("imported again")
	}
}

func TestChecksum(t *testing.T) {
	var a, b bench.Digest
	a.Row("f", 1, 2)
	a.Row("g", 3)
	a.Approx("f", 0.1+0.2)
	b.Row("g", 3)
	b.Row("f", 1, 2)
	b.Approx("f", 0.3)
	if !a.Sum().Equal(b.Sum()) {
		t.Errorf("%v and %v differ by order and rounding only", a.Sum(), b.Sum())
	}
	for name, change := range map[string]func(*bench.Digest){
		"value":  func(d *bench.Digest) { d.Row("f", 1, 3); d.Row("g", 3); d.Approx("f", .3) },
		"order":  func(d *bench.Digest) { d.Row("f", 2, 1); d.Row("g", 3); d.Approx("f", .3) },
		"name":   func(d *bench.Digest) { d.Row("h", 1, 2); d.Row("g", 3); d.Approx("f", .3) },
		"swap":   func(d *bench.Digest) { d.Row("f", 1, 2); d.Row("g", 3); d.Approx("g", .3) },
		"zero":   func(d *bench.Digest) { d.Row("f", 1, 2); d.Row("g", 0); d.Approx("f", .3) },
		"number": func(d *bench.Digest) { d.Row("f", 1, 2); d.Row("g", 3); d.Approx("f", .301) },
	} {
		var d bench.Digest
		change(&d)
		if d.Sum().Equal(a.Sum()) {
			t.Errorf("another %s gives the same sum", name)
		}
	}
	if bench.Path(bench.Path(0, "a"), "b") == bench.Path(bench.Path(0, "b"), "a") {
		t.Error("a;b and b;a have the same key")
	}
}

func TestMachine(t *testing.T) {
	if m := bench.Machine("DuckDB x"); !strings.Contains(m, "cores") || !strings.Contains(m, "DuckDB x") {
		t.Error(m)
	}
	if bench.PeakRSS() <= 0 {
		t.Error("no peak memory")
	}
}
