package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/expansion"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/table"
	"github.com/dendroprof/dendro/test/runtest"
	"github.com/dendroprof/dendro/test/storetest"
)

// TestSections: profiles of several sampling periods, whose values do not add, are ranked by
// share and have sections too.
func TestSections(t *testing.T) {
	st := mem.New()
	im := storetest.NewImporter()
	for i, period := range []int64{0, 4_000_000} {
		f := im.File("g", fmt.Sprint("b", i), "r1", profile.CPUSamples, "×70  ×30\nmain.main  main.main\nmain.work  runtime.mallocgc")
		f.Records[0].Type.Period = period
		if period > 0 {
			f.Records[0].Type.PeriodUnit = "nanoseconds"
		}
		if out, err := st.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: "1"}); err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
	}
	r, err := Bottlenecks(t.Context(), st, &BottlenecksRequest{Sections: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) == 0 || r.Rows[0].Section != "own" || r.Rows[0].Function != "main.work" {
		t.Errorf("%+v", r.Rows)
	}
}

// TestLeftOut: an answer about one value type counts the benchmarks that have only others.
func TestLeftOut(t *testing.T) {
	st := mem.New()
	im := storetest.NewImporter()
	for _, x := range []struct{ benchmark, typ string }{{"go1", profile.CPU}, {"go1", profile.Alloc}, {"go2", profile.CPU},
		{"java", profile.CPUSamples}, {"waits", profile.Wall}} {
		f := im.File("g", x.benchmark, "r1", x.typ, "×70  ×30\nmain.main  main.main\nmain.work  runtime.mallocgc")
		if out, err := st.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: "1"}); err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
	}
	for _, by := range []string{"self", "own"} {
		r, err := Bottlenecks(t.Context(), st, &BottlenecksRequest{By: by})
		if err != nil {
			t.Fatal(err)
		}
		if r.Type.Name != profile.CPU || r.Benchmarks != 2 || !slices.Equal(r.LeftOut, []LeftOut{{profile.CPUSamples, 1}, {profile.Wall, 1}}) {
			t.Errorf("%s: %d benchmarks of %s, left out are %v", by, r.Benchmarks, r.Type.Name, r.LeftOut)
		}
	}
}

// shortest is a selection that does not come with Dendro.
type shortest struct{ expansion.Selection }

func (shortest) Weigh(c *expansion.Context) []expansion.Reason {
	return []expansion.Reason{{Measure: "name", Weight: 1 / float64(len(c.Function())), Distance: "short"}}
}

func TestOwnSelection(t *testing.T) {
	st := runtest.Store(t,
		runtest.Run{Benchmark: "a", Stacks: "main;long;u 10, main;q;u 10"},
		runtest.Run{Benchmark: "a", Stacks: "main;long;u 11, main;q;u 11"},
		runtest.Run{Benchmark: "a", Stacks: "main;long;u 20, main;q;u 20"})
	r, err := Bottlenecks(t.Context(), st, &BottlenecksRequest{By: "self", Expand: Expand{Expand: "shortest", Breadth: 1,
		Extend: func(_ *expansion.Data, score expansion.Score) expansion.Selection {
			return shortest{expansion.Greedy(score)}
		}}})
	if err != nil {
		t.Fatal(err)
	}
	if step := r.Expanded.Expansions[0].Parents[0][1]; r.Expanded.Selection != "shortest" || step.Function != "q" || step.Weight != 2 {
		t.Errorf("%s: %+v", r.Expanded.Selection, step)
	}
}

// TestUnknownSamples: without a sampling period the number of samples is not known, which is not 0.
func TestUnknownSamples(t *testing.T) {
	for period, want := range map[int64]string{0: "70\t\t1\t1\twork", 10: "70\t7\t1\t1\twork"} {
		r := BottlenecksResult{Result: &bottleneck.Result{}}
		r.Type = profile.ValueType{Name: profile.CPU, Unit: "nanoseconds", Period: period}
		rows := []bottleneck.Row{{Function: "work", Total: 70, Samples: period * 7 / 10, Profiles: 1, Benchmarks: 1}}
		var b strings.Builder
		if err := r.TableOf(rows, true).Write(&table.Output{W: &b, Format: "tsv"}); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("a period of %d: %q (%v), want %q", period, b.String(), err, want)
		}
	}
}
