package judge

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/runtest"
	"github.com/dendroprof/dendro/testrun"
)

// night returns a run of a benchmark; from night 8 to 13 a function takes twice as much.
func night(benchmark string, i int, salt byte, edit func(*store.File)) *store.File {
	forest := &calltree.Forest{}
	r := rand.New(rand.NewPCG(uint64(i), uint64(len(benchmark))+uint64(salt)))
	self := map[string]int64{"main;load;parse": 300, "main;load;read": 250, "main;query;scan": 520,
		"main;query;scan;filter": 310, "main;query;join": 330, "main;write;encode": 260, "main;log": 60}
	for _, path := range slices.Sorted(maps.Keys(self)) { // in one order: the noise is drawn path by path
		if path == "main;query;scan;filter" && benchmark == "a" && i >= 8 && i < 13 {
			self[path] *= 2
		}
		self[path] += r.Int64N(self[path]/20 + 1)
	}
	f := &store.File{Name: benchmark, Benchmark: testrun.Benchmark{Group: "g", Name: benchmark},
		Run: testrun.Run{Key: fmt.Sprintf("n%02d", i), Date: time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC), Commit: fmt.Sprintf("%040x", i)},
		Records: []*store.Record{{Type: profile.ValueType{Name: profile.CPUSamples, Unit: "count"}, Forest: forest,
			Self: runtest.Vector(forest, self), Hash: profile.Hash{byte(i), salt, byte(len(benchmark))}}}}
	if edit != nil {
		edit(f)
	}
	return f
}

// fresh hides what a store keeps.
type fresh struct{ store.Store }

// saysOf returns the whole answer about changes as a document.
func saysOf(t *testing.T, st store.Store, f facts.Facts) string {
	t.Helper()
	var text string
	for _, ended := range []bool{false, true} {
		res, err := Regressions(t.Context(), st, &RegressionsRequest{Listing: Listing{Ended: ended}, Facts: f})
		if err != nil {
			return err.Error()
		}
		b, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		text += string(b) + "\n"
	}
	return text
}

// TestKeptVerdictsChangeNothing: whatever is imported in whatever order, replaced, deleted, learnt
// of functions and accepted, a store that keeps verdicts says what one says that computes from
// nothing.
func TestKeptVerdictsChangeNothing(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) store.Store{
		"mem": func(*testing.T) store.Store { return mem.New() },
		"duckdb": func(t *testing.T) store.Store {
			st, err := duckdb.Open(t.Context(), filepath.Join(t.TempDir(), "a.duckdb"), duckdb.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = st.Close() })
			return st
		},
	} {
		for _, seed := range []uint64{1, 2, 4} { // histories with a change that is listed
			t.Run(fmt.Sprint(name, "/", seed), func(t *testing.T) {
				t.Parallel()
				changed := 0
				st, r := open(t), rand.New(rand.NewPCG(seed, 1))
				order := r.Perm(2 * 16) // runs of two benchmarks
				var f facts.Facts
				for step := range order {
					b, i := []string{"a", "bb"}[order[step]%2], order[step]/2
					var edit func(*store.File)
					switch r.IntN(8) {
					case 0: // a file of the function says whose it is
						edit = func(f *store.File) { f.Records[0].Forest.Functions[r.IntN(4)].File = "/usr/local/go/src/a.go" }
					case 1:
						edit = func(f *store.File) {
							f.Metrics = []testrun.Metric{{Name: "time", Mean: 1 + r.Float64(), Unit: "ms/op", Better: testrun.Lower, Primary: true}}
						}
					}
					if _, err := st.Put(t.Context(), []*store.File{night(b, i, byte(r.IntN(2)), edit)},
						store.PutOptions{Rules: "test", Conflict: store.Replace}); err != nil {
						t.Fatal(err)
					}
					if r.IntN(10) == 0 {
						list, err := st.Profiles(t.Context(), store.Query{})
						if err != nil {
							t.Fatal(err)
						}
						if _, err := st.Delete(t.Context(), []store.ProfileID{list[r.IntN(len(list))].ID}); err != nil {
							t.Fatal(err)
						}
					}
					f.Own = nil
					if r.IntN(6) == 0 {
						f.Own = []string{"main"}
					}
					if r.IntN(3) == 0 {
						if err := Follow(t.Context(), st, nil, nil); err != nil {
							t.Fatal(err)
						}
					}
					got, want := saysOf(t, st, f), saysOf(t, fresh{st}, f)
					if got != want {
						t.Fatalf("step %d: night %d of %s\n%s\nfrom nothing\n%s", step, i, b, got, want)
					}
					if res, err := Regressions(t.Context(), st, &RegressionsRequest{}); err == nil && len(res.Findings) > 0 {
						changed++
						f.Acknowledged = nil
						if r.IntN(2) == 0 {
							f.Acknowledged = facts.Acknowledgements{{ID: res.Findings[0].ID, Reason: "known"}}
						}
					}
				}
				if changed == 0 {
					t.Error("no step had a change")
				}
			})
		}
	}
}

// TestOtherCode: what an import of one benchmark says of a function holds for the kept verdicts on
// others.
func TestOtherCode(t *testing.T) {
	st := mem.New()
	put := func(f *store.File) {
		t.Helper()
		if out, err := st.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: "test"}); err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
	}
	for i := range 12 {
		put(night("a", i, 0, nil))
	}
	before := saysOf(t, st, facts.Facts{})
	put(night("bb", 0, 0, func(f *store.File) {
		for i, fn := range f.Records[0].Forest.Functions {
			if fn.Name == "filter" || fn.Name == "scan" {
				f.Records[0].Forest.Functions[i].File, f.Records[0].Forest.Functions[i].Kind = "/usr/local/go/src/a.go", profile.KindGoRuntime
			}
		}
	}))
	got, want := saysOf(t, st, facts.Facts{}), saysOf(t, fresh{st}, facts.Facts{})
	if got != want || got == before {
		t.Errorf("%s\nfrom nothing\n%s\nbefore\n%s", got, want, before)
	}
}

// TestWeatherIsNoRow: a night in which all code took longer is a line about the machine and a
// state of the benchmark, not a change of the list.
func TestWeatherIsNoRow(t *testing.T) {
	st := mem.New()
	for i := range 21 {
		f := night("bb", i, 0, func(f *store.File) {
			mean := 1000 + 10*float64(i%3)
			if i == 20 {
				mean *= 1.3
			}
			f.Run.Machine, f.Metrics = "m", []testrun.Metric{{Name: "time/op", Mean: mean, Unit: "ns/op"}}
		})
		if out, err := st.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: "test"}); err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
	}
	res, err := Regressions(t.Context(), st, withDefaults[RegressionsRequest](t, nil))
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Weather) != 1 || len(res.Findings) != 0 || len(res.Benchmarks) != 1 || res.Benchmarks[0].Outcome.Status != "machine" {
		t.Errorf("%q %+v %+v", res.Weather, res.Findings, res.Benchmarks)
	}
	for failOn, rows := range map[string]int{"regression:0": 0, "regression:0,slowdown": 1} {
		doc, err := Check(t.Context(), st, withDefaults[CheckRequest](t, map[string]string{"fail-on": failOn}))
		if err != nil || len(doc.Changes) != rows || !slices.Equal(doc.Notes, res.Weather) {
			t.Errorf("check --fail-on %s: %+v, notes %q, %v", failOn, doc.Changes, doc.Notes, err)
		}
	}
}

// TestReportListsChangesOnly: a night with more work of the collector, which is no change of the
// program, is no row of a plain report: the list and the benchmark's state have none.
func TestReportListsChangesOnly(t *testing.T) {
	var runs []runtest.Run
	for i := range 12 {
		gc := 20
		if i >= 10 {
			gc = 200
		}
		runs = append(runs, runtest.Run{Benchmark: "b", Branch: "main",
			Stacks: fmt.Sprintf("main;load %d, main;sort %d, main;plan %d, main;join %d, main;scan %d, main;read %d, runtime.gcBgMarkWorker;runtime.scanobject %d", 500+i%3, 300-i%2, 200+i%3, 150+i%2, 130-i%3, 120+i%2, gc+i%2)})
	}
	st := runtest.Store(t, runs...)
	found, err := regression.Find(t.Context(), st, store.Query{}, regression.Request{})
	if err != nil || !slices.ContainsFunc(found.Findings, func(f regression.Finding) bool { return f.Kind == regression.Environment }) {
		t.Fatalf("no work of the collector: %+v, %v", found.Findings, err)
	}
	doc, err := Report(t.Context(), st, withDefaults[ReportRequest](t, nil))
	if err != nil || len(doc.Changes) != 0 || !strings.HasPrefix(doc.Benchmarks[0].Outcome.Says, "unchanged") {
		t.Errorf("%+v %+v %v", doc.Changes, doc.Benchmarks, err)
	}
}

// TestPageHasTheDiffOfEachChange: a page compares the runs since the onset of a change with those
// before, however many runs ago it began.
func TestPageHasTheDiffOfEachChange(t *testing.T) {
	st := mem.New()
	for i := range 13 {
		if out, err := st.Put(t.Context(), []*store.File{night("a", i, 0, nil)}, store.PutOptions{Rules: "test"}); err != nil ||
			out[0].Err != nil {
			t.Fatal(err, out)
		}
	}
	doc, err := Report(t.Context(), st, &ReportRequest{Page: true, MaxBreadth: 2})
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Changes) != 1 || len(doc.Attached) != 1 {
		t.Fatalf("%d changes, %d diffs", len(doc.Changes), len(doc.Attached))
	}
	q, err := url.ParseQuery(doc.Attached[0].Query)
	if err != nil || !slices.Equal(q["head-run"], []string{"n08", "n09", "n10", "n11", "n12"}) {
		t.Errorf("%v %v", q, err)
	}
}
