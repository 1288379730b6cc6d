package regression

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/store"
)

// compared prints what each analysis of a benchmark tested against how many runs.
func compared(b *Benchmark) string {
	var parts []string
	for _, a := range b.Analyses {
		parts = append(parts, fmt.Sprintf("%s/%d", strings.Join(a.Tested, "+"), len(a.History)))
	}
	return strings.Join(parts, " ")
}

// A run that nobody selected is history and is never tested, whatever the number of
// tested runs asked for.
func TestOnlySelectedRunsAreTested(t *testing.T) {
	topic := func(n int) *bench { // the newest n runs are of a branch
		b := shop(1, 12, 0, nil)
		b.edit = func(i int, f *store.File) {
			if f.Run.Branch = "main"; i >= 12-n {
				f.Run.Branch = "topic"
			}
		}
		return b
	}
	machines := topic(2) // in turns
	machines.edit = func(i int, f *store.File) { f.Run.Machine = fmt.Sprint(i % 2) }
	over := history.Tests{Filter: &store.Query{Branches: []string{"main"}}}
	three := over
	three.K = 3
	for _, c := range []struct {
		name string
		b    *bench
		q    store.Query
		req  Request
		want string
	}{
		{"all selected", topic(0), store.Query{}, Request{}, "r011/11 r010+r011/10 r010/10"},
		{"three of them", topic(0), store.Query{}, newest(3), "r009+r010+r011/9"},
		{"one selected", topic(0), store.Query{Runs: []string{"r011"}}, Request{}, "r011/11"},
		{"one selected, three asked for", topic(0), store.Query{Runs: []string{"r011"}}, newest(3), "r011/11"},
		{"two selected, not neighbours", topic(0), store.Query{Runs: []string{"r011", "r008"}}, Request{}, "r011/11"},
		{"two selected, three asked for", topic(0), store.Query{Runs: []string{"r011", "r008"}}, newest(3), "r008+r011/8"},
		{"a history of another branch", topic(2), store.Query{}, Request{Tests: over}, "r011/10 r010+r011/10 r010/10"},
		{"one run against another branch", topic(1), store.Query{}, Request{Tests: over}, "r011/11"},
		{"three asked for against another branch", topic(1), store.Query{Branches: []string{"topic"}}, Request{Tests: three},
			"r011/11"},
		{"two machines in turns", machines, store.Query{}, Request{}, "r011/5 r009+r011/4 r009/4"},
	} {
		res, err := Find(t.Context(), put(t, c.b), c.q, c.req)
		if err != nil {
			t.Fatal(err)
		}
		if got := compared(&res.Benchmarks[0]); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A history that somebody chose is of the same machine and profiler all the same, but
// for the machines that are named.
func TestChosenHistoryIsComparable(t *testing.T) {
	b := shop(1, 14, 0, nil)
	b.edit = func(i int, f *store.File) {
		switch f.Run.Branch, f.Run.Machine = "main", "m"; {
		case i == 13:
			f.Run.Branch = "topic"
		case i < 3:
			f.Run.Machine = "old"
		case i < 5:
			f.Records[0].Profiler = "another"
		}
	}
	st := put(t, b)
	for _, c := range []struct {
		history store.Query
		want    string
	}{
		{store.Query{Branches: []string{"main"}}, "r013/8 [{another machine 3} {another profiler 2}]"},
		{store.Query{Branches: []string{"main"}, Machines: []string{"m", "old"}}, "r013/11 [{another profiler 2}]"},
	} {
		b := find(t, st, Request{Tests: history.Tests{K: 1, Filter: &c.history}}).Benchmarks[0]
		if got := compared(&b) + " " + fmt.Sprint(b.LeftOut); got != c.want {
			t.Errorf("%+v: %s, want %s", c.history, got, c.want)
		}
	}
}

// announced is a store that counts the profiles given to Preload, the calls of release, and
// the profiles whose trees are read.
type announced struct {
	store.Store
	announced, released int
	read                atomic.Int32
	err                 error
}

func (s *announced) Aggregates() store.Aggregates { return store.Aggregates{Preload: s.Preload} }

func (s *announced) Preload(_ context.Context, ids []store.ProfileID) (func(), error) {
	s.announced += len(ids)
	return func() { s.released++ }, s.err
}

func (s *announced) Trees(ctx context.Context, q store.Query, o store.TreeOptions) (*store.TreeSet, error) {
	s.read.Add(int32(len(q.Profiles)))
	return s.Store.Trees(ctx, q, o)
}

// All runs are announced before the first is read, each is read once, and the rest is
// released.
func TestRunsAreReadOnce(t *testing.T) {
	st := &announced{Store: put(t, shop(1, 12, 0, nil))}
	if _, err := Find(t.Context(), st, store.Query{}, Request{}); err != nil {
		t.Fatal(err)
	}
	if st.announced != 12 || st.read.Load() != 12 || st.released != 1 {
		t.Errorf("%d runs announced, %d read, %d times released; want 12, 12, 1", st.announced, st.read.Load(), st.released)
	}
	st.err = fmt.Errorf("broken")
	if _, err := Find(t.Context(), st, store.Query{}, Request{}); err != st.err {
		t.Errorf("error %v, want %v", err, st.err)
	}
}
