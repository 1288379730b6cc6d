package regression

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/runtest"
	"github.com/dendroprof/dendro/testrun"
)

// growing is a store to which runs are imported, in any order, and from which they vanish.
type growing struct {
	st    store.Store
	rand  *rand.Rand
	runs  map[string][]map[string]int64 // by benchmark, what may be imported
	nextT int
	hash  byte
}

func newGrowing(seed uint64) *growing {
	g := &growing{st: mem.New(), rand: rand.New(rand.NewPCG(seed, 3)), runs: map[string][]map[string]int64{}}
	for _, b := range []*bench{heap("small", seed, 8, "shop.(*heap).pushValue"), heap("one", seed+1, 900, "shop.(*heap).pushValue"), heap("two", seed+2, 900, ""),
		shop(seed, 16, 5, map[string]float64{"main;load;parse": 1.8}), service(16, func(i int, run map[string]int64) {
			if i >= 11 {
				run["runtime.main;main.main;main.serve;main.load"] *= 2
			}
		})} {
		name := b.name
		if _, taken := g.runs[name]; taken {
			name += "2"
		}
		g.runs[name] = b.runs
	}
	return g
}

// put stores run i of a benchmark, in place of what the store has of it.
func (g *growing) put(t *testing.T, name string, i int, edit func(*store.File)) {
	forest := &calltree.Forest{}
	g.hash++
	typ := samples
	f := &store.File{Name: name, Benchmark: testrun.Benchmark{Group: "g", Name: name}, Run: testrun.Run{Key: fmt.Sprintf("r%03d", i), Date: time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC), Commit: fmt.Sprintf("%040x", i)},
		Records: []*store.Record{{Type: typ, Forest: forest, Self: runtest.Vector(forest, g.runs[name][i]), Hash: profile.Hash{g.hash, byte(i)}}}}
	if edit != nil {
		edit(f)
	}
	if out, err := g.st.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: "test", Conflict: store.Replace}); err != nil || out[0].Err != nil {
		t.Fatal(err, out)
	}
}

// step changes the store at random and says how.
func (g *growing) step(t *testing.T) string {
	names := slices.Sorted(maps.Keys(g.runs))
	name := names[g.rand.IntN(len(names))]
	i := g.rand.IntN(len(g.runs[name]))
	switch g.rand.IntN(8) {
	case 0:
		list, err := g.st.Profiles(t.Context(), store.Query{})
		if err != nil || len(list) == 0 {
			return "nothing to delete"
		}
		p := list[g.rand.IntN(len(list))]
		if _, err := g.st.Delete(t.Context(), []store.ProfileID{p.ID}); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("delete %s of %s", p.Run.Key, p.Benchmark)
	case 1: // other content of a run
		for path := range g.runs[name][i] {
			g.runs[name][i][path] += int64(g.rand.IntN(40))
		}
		g.put(t, name, i, nil)
		return fmt.Sprintf("replace %d of %s", i, name)
	case 2: // a file of the function says whose it is
		g.put(t, name, i, func(f *store.File) {
			list := f.Records[0].Forest.Functions
			at := g.rand.IntN(len(list))
			list[at].File, list[at].Kind = "/usr/local/go/src/a.go", profile.KindGo
		})
		return fmt.Sprintf("other code in %d of %s", i, name)
	case 3:
		g.put(t, name, i, func(f *store.File) {
			f.Metrics = []testrun.Metric{{Name: "time", Mean: 1 + g.rand.Float64(), Unit: "ms/op", Better: testrun.Lower, Primary: true}}
		})
		return fmt.Sprintf("a metric of %d of %s", i, name)
	case 4: // the next run of all
		for _, name := range names {
			if g.nextT < len(g.runs[name]) {
				g.put(t, name, g.nextT, nil)
			}
		}
		g.nextT++
		return "the next run of all"
	}
	g.put(t, name, i, nil)
	return fmt.Sprintf("import %d of %s", i, name)
}

// accepted returns acceptances of what was found before, or of a function.
func (g *growing) accepted(before *Result) (list []Acknowledgement) {
	if before == nil || g.rand.IntN(3) == 0 {
		return nil
	}
	for _, f := range before.Findings {
		if g.rand.IntN(3) == 0 {
			a := Acknowledgement{ID: f.ID, Reason: "known", Stored: g.rand.IntN(2) == 0}
			if g.rand.IntN(2) == 0 {
				a.Benchmark, a.Since = f.Benchmark, f.Since.Run
			}
			if g.rand.IntN(3) == 0 {
				a.UpTo = f.Delta.Share / 2
			}
			if g.rand.IntN(4) == 0 {
				a.Until = time.Date(2026, 2, 1+g.rand.IntN(2), 0, 0, 0, 0, time.UTC)
			}
			list = append(list, a)
		}
	}
	if g.rand.IntN(4) == 0 {
		list = append(list, Acknowledgement{Function: "parse"})
	}
	return list
}

// TestMemoryChangesNothing: whatever is imported, replaced, deleted and accepted, the answer
// of a store that remembers is that of one that does not, also what is judged across
// benchmarks.
func TestMemoryChangesNothing(t *testing.T) {
	seeds, renames := uint64(12), 0
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		g := newGrowing(seed)
		var before *Result
		for step := range 50 {
			what := g.step(t)
			req := Request{K: []int{0, 0, 2}[g.rand.IntN(3)], Now: time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC), Acknowledged: g.accepted(before)}
			req.Scan = req.K == 0 && g.rand.IntN(5) == 0
			want, err := Find(t.Context(), g.st, store.Query{}, req)
			if err != nil {
				continue // an empty store
			}
			without := req // acceptances of another request
			without.Acknowledged = nil
			for _, req := range []Request{without, req, without, req} {
				want := want
				if len(req.Acknowledged) == 0 {
					want, _ = Find(t.Context(), g.st, store.Query{}, without)
				}
				req.Memory = g.st.(store.Remembering).Memory()
				got, err := Find(t.Context(), g.st, store.Query{}, req)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(want, got) {
					a, _ := json.Marshal(want)
					b, _ := json.Marshal(got)
					t.Fatalf("seed %d, step %d: %s, %+v\n%s\nwith memory\n%s", seed, step, what, req.Acknowledged, a, b)
				}
			}
			for i := range want.Benchmarks {
				renames += len(want.Benchmarks[i].held.Renamed) + len(want.Benchmarks[i].held.Inlined)
			}
			before = want
		}
	}
	if renames == 0 {
		t.Error("no benchmark learnt of a rename from another")
	}
}

// reading counts the benchmarks whose trees are read.
type reading struct {
	store.Store
	trees atomic.Int64
}

func (r *reading) Trees(ctx context.Context, q store.Query, o store.TreeOptions) (*store.TreeSet, error) {
	r.trees.Add(1)
	return r.Store.Trees(ctx, q, o)
}

// TestTouchedAreJudgedAgain: after an import of one run only its benchmark is judged again.
func TestTouchedAreJudgedAgain(t *testing.T) {
	g := newGrowing(1)
	names := slices.Sorted(maps.Keys(g.runs))
	for _, name := range names[1:] {
		for i := range 5 {
			g.put(t, name, i, nil)
		}
	}
	st := &reading{Store: g.st}
	req := Request{Memory: store.MemoryOf(g.st)}
	ask := func() int64 {
		st.trees.Store(0)
		if _, err := Find(t.Context(), st, store.Query{}, req); err != nil {
			t.Fatal(err)
		}
		return st.trees.Load()
	}
	if n := ask(); n < int64(len(names)-1) {
		t.Errorf("%d benchmarks read at first", n)
	}
	if n := ask(); n != 0 {
		t.Errorf("%d benchmarks read when nothing was imported", n)
	}
	g.put(t, "b", 5, nil)
	if n := ask(); n != 1 {
		t.Errorf("%d benchmarks read after an import of one run", n)
	}
	g.put(t, "b", 5, func(f *store.File) { f.Records[0].Forest.Functions[0].StartLine = 7 })
	if n := ask(); n != 1 {
		t.Errorf("%d benchmarks read after a line moved", n)
	}
	g.put(t, "b", 5, func(f *store.File) { f.Records[0].Forest.Functions[0].Kind = profile.KindGo })
	if n := ask(); n < int64(len(names)-1) {
		t.Errorf("%d benchmarks read after a function became other code", n)
	}
}

// TestKeyOfRequest: every field of a request makes another key, but for those that choose the
// runs and the time, which the runs, the acceptances and what others show have.
func TestKeyOfRequest(t *testing.T) {
	series := []history.Series{{Profiles: []store.Profile{{}}}}
	key := func(req Request) store.MemoryKey {
		return newSearch(nil, &req, series, map[store.ProfileID]bool{}).key(0, nil)
	}
	none := map[string]bool{"Now": true, "Memory": true, "types": true, "Wide": true}
	for _, at := range []func(*Request) reflect.Value{
		func(r *Request) reflect.Value { return reflect.ValueOf(r).Elem() },
		func(r *Request) reflect.Value { return reflect.ValueOf(&r.Options).Elem() },
	} {
		fields := at(&Request{}).Type()
		for i := range fields.NumField() {
			var req Request
			name, v := fields.Field(i).Name, at(&req).Field(i)
			switch v.Kind() {
			case reflect.Int:
				if v.CanSet() {
					v.SetInt(7)
				}
			case reflect.Float64:
				v.SetFloat(0.5)
			case reflect.Bool:
				v.SetBool(true)
			case reflect.Slice:
				v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			case reflect.Pointer:
				v.Set(reflect.New(v.Type().Elem()))
			case reflect.Struct:
				continue // Options, and the time
			default:
				t.Fatalf("%s: %s", name, v.Kind())
			}
			if same := key(req) == key(Request{}); same != none[name] {
				t.Errorf("%s: same key %v", name, same)
			}
		}
	}
}
