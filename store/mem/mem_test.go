package mem_test

import (
	"context"
	"math"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
	"github.com/dendroprof/dendro/testrun"
)

var engine = storetest.Engine{Open: func(testing.TB) store.Store { return mem.New() }}

func TestStore(t *testing.T) { storetest.Run(t, engine) }

func TestHistory(t *testing.T) {
	for seed := range uint64(12) {
		storetest.History(t, seed, engine)
	}
}

func BenchmarkStore(b *testing.B) { storetest.Benchmark(b, engine) }

var ctx = context.Background()

func put(t *testing.T, s store.Store, c store.Conflict, files ...*store.File) []store.Outcome {
	t.Helper()
	out, err := s.Put(ctx, files, store.PutOptions{Conflict: c, Rules: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func list(t *testing.T, s store.Store) []store.Profile {
	t.Helper()
	all, err := s.Profiles(ctx, store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestWaitingMetrics deletes other profiles while metrics wait for theirs.
func TestWaitingMetrics(t *testing.T) {
	s := mem.New()
	early := storetest.MetricsFile("g", "b", "r1", storetest.Metric("time", 7))
	early.Run.Commit = "c1"
	put(t, s, store.Refuse, early, storetest.File("g", "a", "r1", profile.CPU, "A"))
	if n, err := s.Delete(ctx, []store.ProfileID{list(t, s)[0].ID}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	put(t, s, store.Refuse, storetest.File("g", "b", "r1", profile.CPU, "A"))
	if m, ok := list(t, s)[0].Metric(); !ok || m.Mean != 7 || list(t, s)[0].Run.Commit != "c1" {
		t.Errorf("the profile is %+v", list(t, s)[0])
	}
}

// TestFunctionNamesAreThoseOfProfiles expects no Compact for that.
func TestFunctionNamesAreThoseOfProfiles(t *testing.T) {
	s := mem.New()
	put(t, s, store.Refuse, storetest.File("g", "a", "r1", profile.CPU, "A\nB"))
	put(t, s, store.Refuse, storetest.File("g", "a", "r1", profile.CPU, "REFUSED"))
	put(t, s, store.Replace, storetest.File("g", "a", "r1", profile.CPU, "A\nC"))
	names, err := s.FunctionNames(ctx)
	if err != nil || len(names) != 2 || names[0].Name != "A" || names[1].Name != "C" {
		t.Errorf("%v, %v", names, err)
	}
	info, err := s.Info(ctx)
	if err != nil || info.Functions != 2 || info.Paths != 2 {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestRefusedFilesLeaveNoTrace puts a file whose last record conflicts: the
// attributes of its functions must not stick either.
func TestRefusedFilesLeaveNoTrace(t *testing.T) {
	s := mem.New()
	im := storetest.NewImporter()
	im.Rename = func(fn profile.Function) profile.Function { fn.Module = "a"; return fn }
	bad := im.File("g", "a", "r1", profile.Wall, "A")
	im.Add(bad, profile.CPU, "A\nX")
	put(t, s, store.Refuse, storetest.File("g", "a", "r1", profile.CPU, "A"))
	if out := put(t, s, store.Refuse, bad); out[0].Err == nil {
		t.Fatal("no conflict")
	}
	if names, _ := s.FunctionNames(ctx); names[0] != (profile.Function{Name: "A"}) {
		t.Errorf("%+v", names)
	}
}

// TestHashOfSums adds shards in all orders.
func TestHashOfSums(t *testing.T) {
	hashes := map[string]bool{}
	for _, order := range [][]string{{"A", "B", "C"}, {"C", "A", "B"}, {"B", "C", "A"}} {
		s := mem.New()
		for _, drawing := range order {
			put(t, s, store.Add, storetest.File("g", "a", "r1", profile.CPU, drawing))
		}
		hashes[list(t, s)[0].Hash] = true
	}
	if len(hashes) != 1 {
		t.Errorf("hashes of one sum: %v", hashes)
	}
}

// TestSmallestRawName expects the same example whatever the order of Puts.
func TestSmallestRawName(t *testing.T) {
	for _, order := range [][]string{{"L$1", "L$2"}, {"L$2", "L$1"}} {
		s := mem.New()
		for _, raw := range order {
			im := storetest.NewImporter()
			im.Rename = func(fn profile.Function) profile.Function { fn.Name = "L$*"; return fn }
			put(t, s, store.Refuse, im.File("g", raw, "r1", profile.CPU, raw))
		}
		if got, err := s.RawNames(ctx, "", []string{"L$*"}); err != nil || got["L$*"] != "L$1" {
			t.Errorf("%v, %v", got, err)
		}
	}
}

// TestBadMetrics refuses what is not a number.
func TestBadMetrics(t *testing.T) {
	s := mem.New()
	for _, m := range []testrun.Metric{{Name: "time", Mean: math.NaN()}, {Mean: 1}, {Name: "x", Better: "faster"}} {
		f := storetest.File("g", "a", "r1", profile.CPU, "A")
		f.Metrics = []testrun.Metric{m}
		if out := put(t, s, store.Refuse, f); out[0].Err == nil {
			t.Errorf("%+v was stored", m)
		}
	}
	if all := list(t, s); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}
