package windows

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/profiles"
	"github.com/dendroprof/dendro/store/duckdb/internal/schema"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/nightly"
	"github.com/dendroprof/dendro/test/storetest"
)

// TestParts reads vectors a few rows at a time, and rolls up a few series and hours at a
// time, as large stores do.
func TestParts(t *testing.T) {
	rows, bytes, all, starts := partRows, readBytes, preparedBytes, maxStarts
	defer func() { partRows, readBytes, preparedBytes, maxStarts = rows, bytes, all, starts }()
	partRows, readBytes, preparedBytes, maxStarts = 7, 40, 100, 2
	simple := storetest.WindowEngine{Open: func(testing.TB) continuous.Store { return uncounted{mem.New()} }}
	parts := storetest.WindowEngine{Open: func(t testing.TB) continuous.Store { return uncounted{openTables(t)} }}
	for seed := range nightly.Or[uint64](2, 3) {
		storetest.WindowHistory(t, seed, simple, parts)
	}
}

// uncounted does not say how many sums a roll-up has made and removed, nor of how many instances:
// one that is made in two rounds counts twice, and late windows of its instances in each.
type uncounted struct{ continuous.Store }

func (s uncounted) Tree(ctx context.Context, q continuous.Query) (*continuous.Merged, error) {
	merged, err := s.Store.Tree(ctx, q)
	if err == nil {
		merged.Instances = 0
	}
	return merged, err
}

func (s uncounted) Totals(ctx context.Context, q continuous.Query, step time.Duration) (*continuous.Totals, error) {
	totals, err := s.Store.Totals(ctx, q, step)
	for i := 0; err == nil && i < len(totals.Totals); i++ {
		totals.Totals[i].Instances = 0
	}
	return totals, err
}

func (s uncounted) Function(ctx context.Context, q continuous.Query, name string, step time.Duration) (*continuous.Amounts, error) {
	amounts, err := s.Store.Function(ctx, q, name, step)
	for i := 0; err == nil && i < len(amounts.Amounts); i++ {
		amounts.Amounts[i].Instances = 0
	}
	return amounts, err
}

func (s uncounted) RollUp(ctx context.Context, now time.Time, p continuous.Policy) (continuous.Rolled, error) {
	rolled, err := s.Store.RollUp(ctx, now, p)
	rolled.Made, rolled.Expired = 0, 0
	return rolled, err
}

// TestScatteredWindows: windows of very many hours are added up in rounds of bounded size,
// between which others are stored, and those that no level keeps are not added up at all.
func TestScatteredWindows(t *testing.T) {
	s, m := openTables(t).(*Store), storetest.NewWindowMaker()
	now := time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)
	put := func(back time.Duration) {
		t.Helper()
		list := make([]*continuous.Window, 300)
		for i := range list {
			list[i] = m.Window("shop", now.Add(-back-time.Duration(i)*25*time.Hour), nil, storetest.Sample{Stack: []string{"main"}, Value: 1})
		}
		if _, err := s.PutWindows(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	policy := continuous.Policy{Keep: [3]time.Duration{48 * time.Hour, 1000 * time.Hour, 365 * 24 * time.Hour}}
	for _, late := range []bool{false, true} {
		put(49 * time.Hour)
		put(20 * 8760 * time.Hour)
		for rounds := 0; ; rounds++ {
			p, err := s.prepare(t.Context(), now, &policy)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.sums) > 2*maxStarts || !late && p.cut {
				t.Fatalf("late %v: %d sums in one round", late, len(p.sums))
			}
			if _, err := s.rollUp(t.Context(), p, now, policy); err != nil {
				t.Fatal(err)
			}
			if !p.cut && p.next.Made == p.next.Advance(now, 0).Made {
				if rounds < 300/maxStarts || rounds > 3*300/maxStarts {
					t.Errorf("late %v: %d rounds", late, rounds)
				}
				break
			}
		}
		totals, err := s.Totals(t.Context(), continuous.Query{}, 0)
		parts := int64(0)
		for _, w := range totals.Totals {
			parts += w.Parts
		}
		if want := map[bool]int64{false: 300, true: 600}[late]; err != nil || parts != want {
			t.Errorf("late %v: %d windows of %d, %v", late, parts, want, err)
		}
	}
}

// TestPushDuringRollUp stores windows of an hour while it is added up: they are late, and
// neither lost, when raw windows of that time are removed, nor counted twice.
func TestPushDuringRollUp(t *testing.T) {
	for _, reload := range []bool{false, true} {
		s, m := openTables(t).(*Store), storetest.NewWindowMaker()
		at := func(minute int) time.Time { return time.Date(2026, 11, 2, 10, minute, 0, 0, time.UTC) }
		put := func(list ...*continuous.Window) {
			t.Helper()
			if _, err := s.PutWindows(t.Context(), list); err != nil {
				t.Fatal(err)
			}
		}
		put(m.Window("shop", at(10), nil, storetest.Sample{Stack: []string{"main", "a"}, Value: 1}))
		now, policy := at(95), continuous.Policy{Keep: [3]time.Duration{continuous.Raw: time.Minute}}
		p, err := s.prepare(t.Context(), now, &continuous.Policy{})
		if err != nil {
			t.Fatal(err)
		}
		put(m.Window("shop", at(20), nil, storetest.Sample{Stack: []string{"main", "b"}, Value: 2}))
		put(m.Window("cart", at(30), nil, storetest.Sample{Stack: []string{"main", "c"}, Value: 4}))
		if reload { // as after compact
			Load(s)
		}
		if _, err := s.rollUp(t.Context(), p, now, policy); err != nil {
			t.Fatal(err)
		}
		for _, when := range []string{"with late windows", "with sums"} {
			merged, err := s.Tree(t.Context(), continuous.Query{})
			if err != nil || merged.Parts != 3 || merged.Tree.RootTotal() != 7 {
				t.Fatalf("reload %v, %s: %d windows, sum %d, %v", reload, when, merged.Parts, merged.Tree.RootTotal(), err)
			}
			if _, err := s.RollUp(t.Context(), now, policy); err != nil {
				t.Fatal(err)
			}
		}
		if stats, err := s.WindowStats(t.Context()); err != nil || stats.Windows != [3]int64{0, 2, 0} {
			t.Errorf("reload %v: windows %v, %v", reload, stats.Windows, err)
		}
	}
}

// TestPushDuringDay stores windows of a day whose hours are added up, before the reading and
// after it: they are in its sum and in those of their hours, once.
func TestPushDuringDay(t *testing.T) {
	s, m := openTables(t).(*Store), storetest.NewWindowMaker()
	at := func(hour, minute int) time.Time { return time.Date(2026, 11, 2, hour, minute, 0, 0, time.UTC) }
	put := func(hour, minute int, value int64) {
		t.Helper()
		w := m.Window("shop", at(hour, minute), nil, storetest.Sample{Stack: []string{"main", fmt.Sprint("f", value)}, Value: value})
		if _, err := s.PutWindows(t.Context(), []*continuous.Window{w}); err != nil {
			t.Fatal(err)
		}
	}
	now := at(25, 10)
	round := func(meanwhile func()) (levels []continuous.Level) {
		t.Helper()
		p, err := s.prepare(t.Context(), now, &continuous.Policy{})
		if err != nil {
			t.Fatal(err)
		}
		for _, sum := range p.sums {
			levels = append(levels, sum.level)
		}
		meanwhile()
		if _, err := s.rollUp(t.Context(), p, now, continuous.Policy{}); err != nil {
			t.Fatal(err)
		}
		return levels
	}
	put(10, 10, 1)
	put(11, 10, 2)
	hours := round(func() { put(10, 20, 4) })
	put(11, 20, 8)
	days := round(func() { put(10, 30, 16); put(12, 30, 32) })
	if fmt.Sprint(hours, days) != fmt.Sprint([]continuous.Level{continuous.Hour, continuous.Hour}, []continuous.Level{continuous.Day}) {
		t.Errorf("prepared beside pushes: levels %v, then %v", hours, days)
	}
	for _, when := range []string{"with late windows", "with sums"} {
		for step, want := range []int{6, 3, 1} { // windows and, at first, late ones
			totals, err := s.Totals(t.Context(), continuous.Query{}, continuous.Level(step).Length())
			sum, parts := int64(0), int64(0)
			for _, w := range totals.Totals {
				sum, parts = sum+w.Sum, parts+w.Parts
			}
			if err != nil || sum != 63 || parts != 6 || when == "with sums" && len(totals.Totals) != want {
				t.Errorf("%s, level %d: %d windows of %d pushes, sum %d, %v", when, step, len(totals.Totals), parts, sum, err)
			}
		}
		if _, err := s.RollUp(t.Context(), now, continuous.Policy{}); err != nil {
			t.Fatal(err)
		}
	}
}

// openTables opens a new file with the tables that windows need.
func openTables(t testing.TB) continuous.Store {
	file, err := driver.NewFile(filepath.Join(t.TempDir(), "windows.duckdb"), driver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	base := profiles.New(file)
	s := New(file, base)
	err = file.Open(t.Context(), driver.Hooks{
		Session: profiles.Session + ";" + Session,
		Load: func(ctx context.Context, c *driver.Conn) error {
			if err := c.Exec(schema.After(0)); err != nil {
				return err
			}
			return profiles.Load(ctx, base, c)
		},
		Closing: func() { profiles.Unload(base) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return s
}
