package profiles

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// manyProfiles returns a catalog of the profiles of some benchmarks over 6 runs.
func manyProfiles(benchmarks int) *catalog {
	cat := &catalog{benches: map[testrun.Benchmark]int32{}, runs: map[string]runEntry{}, metrics: map[pair][]testrun.Metric{},
		profiles: map[store.ProfileID]*entry{}}
	for run := range int32(6) {
		r := testrun.Run{Key: fmt.Sprint("r", run), Date: time.Date(2026, 1, 1+int(run), 0, 0, 0, 0, time.UTC)}
		cat.runs[r.Key] = runEntry{run, r}
		for b := range int32(benchmarks) {
			bench := testrun.Benchmark{Group: "g", Name: fmt.Sprint("b", b)}
			cat.benches[bench] = b
			seq := int64(run)*int64(benchmarks) + int64(b)
			p := store.Profile{ID: store.ProfileID(fmt.Sprintf("%016x", seq+1)), Seq: seq, Benchmark: bench, Run: r,
				Type: profile.NamedType([]string{profile.CPU, profile.Alloc}[b%2])}
			cat.profiles[p.ID] = &entry{p: p, bench: b, run: run, source: noSource}
		}
	}
	return cat
}

// TestListing wants what the filter selects among all, and the counts that looking at
// every profile gives.
func TestListing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	cat := manyProfiles(20)
	l := cat.listing()
	for range 200 {
		var q store.Query
		for range r.IntN(12) {
			q.Profiles = append(q.Profiles, store.ProfileID(fmt.Sprintf("%016x", 1+r.IntN(130)))) // some twice, some unknown
		}
		if r.IntN(3) == 0 {
			q.Types = []string{profile.CPU}
		}
		if r.IntN(3) == 0 {
			q.Last = 2
		}
		if r.IntN(3) == 0 {
			q.Benchmarks = []string{"b1*"}
		}
		if diff := cmp.Diff(q.Filter(l.profiles), l.of(&q)); diff != "" {
			t.Fatalf("%+v: %s", q, diff)
		}
		lo, hi := int32(r.IntN(130))-5, int32(r.IntN(130))
		want := 0
		for i := range l.profiles {
			if id := int32(l.profiles[i].Seq); id >= lo && id <= hi {
				want++
			}
		}
		if lo <= hi && within(l.seqs, lo, hi) != want {
			t.Fatalf("%d..%d: %d, want %d", lo, hi, within(l.seqs, lo, hi), want)
		}
	}
}

// BenchmarkSelectEach selects the profiles of each benchmark of a large store by id, as an
// analysis does: the time per profile must not grow with the store.
func BenchmarkSelectEach(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("benchmarks=%d", n), func(b *testing.B) {
			s := &Store{catalog: *manyProfiles(n)}
			byBench := map[testrun.Benchmark][]store.ProfileID{}
			for _, p := range s.catalog.listing().profiles {
				byBench[p.Benchmark] = append(byBench[p.Benchmark], p.ID)
			}
			at := testrun.Benchmark{Group: "g", Name: "b7"}
			b.ReportAllocs()
			for b.Loop() {
				if sel := s.selectProfiles(store.Query{Profiles: byBench[at]}); len(sel.profiles) != 6 {
					b.Fatal(len(sel.profiles))
				}
			}
		})
	}
}
