package duckdb

import (
	"fmt"
	"testing"
	"time"

	"github.com/dendroprof/dendro/store"
)

// TestQueriesWhileCompacting expects answers while Compact runs, which are those of
// before. A change waits and is in the file that stays.
func TestQueriesWhileCompacting(t *testing.T) {
	s, made := syntheticStore(t, *benchRuns)
	all, late := profilesOf(t, s), made.file(0, *benchRuns)
	changed := make(chan error, 1)
	asked := func() {
		go func() {
			_, err := s.Put(t.Context(), []*store.File{late}, rules)
			changed <- err
		}()
	}
	query := store.Query{Until: late.Run.Date}
	askWhile(t, s, query, asked, func() error { return s.Compact(t.Context()) }, totals(t, s, query))
	if err := <-changed; err != nil {
		t.Error(err)
	}
	if list := profilesOf(t, s); len(list) != len(all)+1 {
		t.Errorf("%d profiles, %d before and one added", len(list), len(all))
	}
}

// TestQueriesWhileDeleting expects answers while half of a store is deleted in five steps:
// each has all of the profiles of a step or none of them.
func TestQueriesWhileDeleting(t *testing.T) {
	s, _ := syntheticStore(t, *benchRuns)
	all := profilesOf(t, s)
	var steps [][]store.ProfileID
	want := [][3]int64{totals(t, s, store.Query{})}
	for from := range 5 {
		going, staying := all[from*len(all)/10:(from+1)*len(all)/10], all[(from+1)*len(all)/10:]
		steps = append(steps, idsOf(going))
		want = append(want, totals(t, s, store.Query{Profiles: idsOf(staying)}))
	}
	askWhile(t, s, store.Query{}, func() {}, func() error {
		for _, going := range steps {
			if n, err := s.Delete(t.Context(), going); err != nil || n != len(going) {
				return fmt.Errorf("%d of %d profiles deleted: %w", n, len(going), err)
			}
		}
		return nil
	}, want...)
	if now := totals(t, s, store.Query{}); now != want[len(steps)] {
		t.Errorf("%v afterwards, not %v", now, want[len(steps)])
	}
}

// askWhile asks again and again until change, which it starts, returns. It requires
// answers meanwhile, each one of those wanted, and calls asked after the first.
func askWhile(t *testing.T, s *Store, q store.Query, asked func(), change func() error, want ...[3]int64) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- change() }()
	answers, longest := 0, time.Duration(0)
	for begin := time.Now(); ; {
		from := time.Now()
		got := totals(t, s, q)
		longest = max(longest, time.Since(from))
		known := false
		for _, w := range want {
			known = known || got == w
		}
		if !known {
			t.Fatalf("answer %v, none of %v", got, want)
		}
		select {
		case err := <-done:
			t.Logf("%d answers in %v, the slowest in %v", answers, time.Since(begin), longest)
			if err != nil || answers == 0 {
				t.Errorf("%d answers meanwhile, %v", answers, err)
			}
			return
		default:
		}
		if answers++; answers == 1 {
			asked()
		}
	}
}

// totals returns the number of functions in the selected profiles, and the sums of their
// values.
func totals(t *testing.T, s *Store, q store.Query) (sums [3]int64) {
	t.Helper()
	list, err := store.SumFunctions(t.Context(), s, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list.Rows {
		sums[0], sums[1], sums[2] = sums[0]+1, sums[1]+r.Self, sums[2]+r.Total
	}
	return sums
}

// idsOf returns the identities of profiles.
func idsOf(list []store.Profile) []store.ProfileID {
	ids := make([]store.ProfileID, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	return ids
}

// profilesOf returns all profiles.
func profilesOf(t *testing.T, s *Store) []store.Profile {
	t.Helper()
	list, err := s.Profiles(t.Context(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
