package neo4j

import (
	"fmt"
	"testing"
	"time"

	driver "github.com/neo4j/neo4j-go-driver/v6/neo4j"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/storetest"
	"github.com/dendroprof/dendro/testrun"
)

// TestNarrow: the database applies a condition only if it means the same there.
func TestNarrow(t *testing.T) {
	whole := store.IDOf(testrun.Benchmark{Name: "b"}, "run", "cpu")
	for _, c := range []struct {
		name, want string
		q          store.Query
	}{
		{"everything", "", store.Query{Last: 3, Types: []string{"cpu"}}},
		{"a run", "WHERE r.key IN $runs", store.Query{Runs: []string{"r"}}},
		{"a glob may be a name", "", store.Query{Runs: []string{"r"}, Benchmarks: []string{"a*"}}},
		{"the beginning of an id", "", store.Query{Runs: []string{"r"}, Profiles: []store.ProfileID{whole, whole[:5]}}},
		{"ids and dates", "WHERE p.key IN $keys AND r.date >= $since", store.Query{Profiles: []store.ProfileID{whole}, Since: time.Now()}},
	} {
		if where, _ := narrow(&c.q); where != c.want {
			t.Errorf("%s: %q instead of %q", c.name, where, c.want)
		}
	}
}

// TestRecent: candidates serve the same condition again, and queries for some of them,
// until the database was written to.
func TestRecent(t *testing.T) {
	var r recent
	c := &candidates{counts: map[store.ProfileID]rowCounts{"a": {}, "b": {}}}
	r.set("runs", 7, c)
	some := &store.Query{Profiles: []store.ProfileID{"b"}}
	for _, x := range []struct {
		name      string
		got, want *candidates
	}{
		{"the same condition", r.get(&store.Query{}, "runs", 7), c},
		{"after a write", r.get(&store.Query{}, "runs", 8), nil},
		{"another condition", r.get(&store.Query{}, "branch", 7), nil},
		{"some of them", r.get(some, "keys", 7), c},
		{"some of them by a glob", r.get(some, "", 7), nil},
		{"another one", r.get(&store.Query{Profiles: []store.ProfileID{"b", "c"}}, "keys", 7), nil},
	} {
		if x.got != x.want {
			t.Errorf("%s: %v instead of %v", x.name, x.got, x.want)
		}
	}
	r.until = time.Now()
	if r.get(&store.Query{}, "runs", 7) != nil {
		t.Error("candidates do not expire")
	}
}

// TestReadsSelection counts what the server reads for queries about one benchmark and one
// run: as much when another benchmark has many more runs.
func TestReadsSelection(t *testing.T) {
	for _, m := range bothModels {
		t.Run(string(m), func(t *testing.T) {
			where := fresh(t, m)
			s := opened(t, where)
			im := storetest.NewImporter()
			put := func(benchmark string, from, to int) {
				var files []*store.File
				for run := from; run < to; run++ {
					f := im.File("g", benchmark, fmt.Sprint("r", run), profile.CPUSamples, "A  A\nB  C")
					f.Metrics = []testrun.Metric{storetest.Metric("time", float64(run+1))}
					files = append(files, f)
				}
				mustPut(t, s, store.Refuse, files...)
			}
			put("one", 0, 5)
			put("other", 5, 10)
			few := readsOfSelections(t, where)
			put("other", 10, 60)
			many := readsOfSelections(t, where)
			for i := range few {
				if few[i] == 0 || many[i] > few[i] {
					t.Errorf("query %d reads %d records, %d of the larger store", i, few[i], many[i])
				}
			}
		})
	}
}

// readsOfSelections returns how many records the server reads to select by benchmark, by
// run, and by id.
func readsOfSelections(t *testing.T, where string) (reads []int64) {
	for _, q := range []store.Query{
		{Benchmarks: []string{"one"}}, {Runs: []string{"r3"}},
		{Profiles: []store.ProfileID{store.IDOf(testrun.Benchmark{Group: "g", Name: "one"}, "r3", profile.CPUSamples)}},
	} {
		sent := newStatements()
		s := sent.of(opened(t, where))
		if list, err := s.Profiles(t.Context(), q); err != nil || len(list) == 0 {
			t.Fatal(list, err)
		}
		sum := int64(0)
		for statement, params := range sent.all {
			session := s.db.Session(t.Context(), driver.AccessModeRead)
			result, err := session.Run(t.Context(), "PROFILE "+statement, params)
			if err != nil {
				t.Fatal(err)
			}
			summary, err := result.Consume(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			sum += hits(summary.Profile())
			if err := session.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		reads = append(reads, sum)
	}
	return reads
}

func hits(p driver.ProfiledPlan) int64 {
	sum := p.DbHits()
	for _, below := range p.Children() {
		sum += hits(below)
	}
	return sum
}
