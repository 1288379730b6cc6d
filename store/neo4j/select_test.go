package neo4j

import (
	"testing"
	"time"

	"github.com/dendroprof/dendro/store"
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
