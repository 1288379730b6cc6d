package lake_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/merged"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/store/duckdb/lake"
	"github.com/dendroprof/dendro/store/iceberg"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
)

// hourLab is a lake of hours beside a store that has made the same hours of the same windows.
type hourLab struct {
	*testing.T
	at    time.Time // of the first window
	want  *mem.Store
	dir   string
	made  *iceberg.Lake
	hours *iceberg.Hours
	lake  *lake.Store
	make  *storetest.WindowMaker

	instance          []string         // labels that hours lack
	keep              [3]time.Duration // of want, by level
	ignored           []cmp.Option     // of answers
	answered, refused int
}

func newHourLab(t *testing.T, instance ...string) *hourLab {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "lake")
	made, err := iceberg.Open(t.Context(), dir, iceberg.Options{Create: true, Hours: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { made.Close() })
	st, err := lake.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	l := &hourLab{t, time.Date(2026, 10, 30, 20, 0, 0, 0, time.UTC), mem.New(), dir, made, nil, st,
		storetest.NewWindowMaker(), instance, [3]time.Duration{time.Nanosecond}, nil, 0, 0}
	l.again()
	return l
}

// again is another process that hands over.
func (l *hourLab) again() {
	hours, err := iceberg.OpenHours(l.Context(), l.dir, 72*time.Hour)
	if err != nil {
		l.Fatal(err)
	}
	l.hours = hours
	l.Cleanup(func() { hours.Close() })
}

// window is one of a service some hours after the first.
func (l *hourLab) window(r *rand.Rand, service string, hours int) *continuous.Window {
	stack := []string{"main", "main;handle", "main;handle;main", "main;handle;query", "main;idle", "other"}[r.IntN(6)]
	start := l.at.Add(time.Duration(hours)*time.Hour + time.Duration(r.IntN(3600))*time.Second)
	w := l.make.Window(service, start, []string{"pod", fmt.Sprint(r.IntN(3))},
		storetest.Sample{Stack: strings.Split(stack, ";"), Value: 1 + r.Int64N(1000)},
		storetest.Sample{Stack: []string{"main", "gc"}, Value: r.Int64N(5)})
	w.Series.Facts = continuous.Labels{{Name: "process.pid", Value: fmt.Sprint(hours)}}
	return w
}

// put stores windows, and makes the hours before a time.
func (l *hourLab) put(st *mem.Store, until int, list ...*continuous.Window) {
	l.Helper()
	if _, err := st.PutWindows(l.Context(), list); err != nil {
		l.Fatal(err)
	}
	now := l.at.Add(time.Duration(until) * time.Hour)
	if _, err := st.RollUp(l.Context(), now, continuous.Policy{Keep: l.keep, Instance: l.instance}); err != nil {
		l.Fatal(err)
	}
}

func (l *hourLab) publish(partition int32, st *mem.Store, want int) {
	l.Helper()
	if n, err := l.hours.Publish(l.Context(), partition, st, time.Time{}); err != nil || n != want {
		l.Fatalf("%d hours were handed over, want %d: %v", n, want, err)
	}
}

// same compares all answers about some selections.
func (l *hourLab) same(what string, got continuous.Store, list ...continuous.Query) {
	l.Helper()
	ctx := l.Context()
	check := func(what string, want, got any, err ...error) {
		l.Helper()
		if want, got := summedOut(err[0]), summedOut(err[1]); want != "" && want == got {
			l.refused++
			return
		}
		if d := cmp.Diff(want, got, append(l.ignored, cmpopts.EquateEmpty())...); d != "" || err[0] != nil || err[1] != nil {
			l.Fatalf("%s: %v\n%s", what, err, d)
		}
		l.answered++
	}
	for _, q := range list {
		q.Type = storetest.CPUWindows
		a, err := l.want.Series(ctx, q)
		b, bad := got.Series(ctx, q)
		check(fmt.Sprint(what, " series of ", q), a, b, err, bad)
		for _, step := range []time.Duration{time.Hour, 24 * time.Hour} {
			a, err := l.want.Totals(ctx, q, step)
			b, bad := got.Totals(ctx, q, step)
			check(fmt.Sprint(what, " totals of ", q), a, b, err, bad)
			names := []string{"main"}
			if step > time.Hour {
				names = []string{"gc", "absent"}
			}
			for _, name := range names {
				a, err := l.want.Function(ctx, q, name, step)
				b, bad := got.Function(ctx, q, name, step)
				check(fmt.Sprint(what, " function ", name, " of ", q), a, b, err, bad)
			}
		}
		tree, err := l.want.Tree(ctx, q)
		other, bad := got.Tree(ctx, q)
		check(fmt.Sprint(what, " tree of ", q), content(tree), content(other), err, bad)
	}
}

// summedOut returns the label that an error says hours lack.
func summedOut(err error) string {
	var summed *continuous.SummedError
	if errors.As(err, &summed) {
		return summed.Label
	}
	return ""
}

// content is what a merged tree says.
func content(m *continuous.Merged) []any {
	if m == nil || len(m.Series) == 0 {
		return nil
	}
	return []any{m.Tree.Type, m.Tree.Functions, m.Tree.Table.Parent, m.Tree.Self, m.Parts, m.Covered, len(m.Series), m.Instances}
}

// treeSum is the sum of the values of a merged tree.
func treeSum(m *continuous.Merged) (sum int64) {
	for _, v := range m.Tree.Self {
		sum += v
	}
	return sum
}

// counted counts the questions about totals.
type counted struct {
	*mem.Store
	totals int
}

func (c *counted) Totals(ctx context.Context, q continuous.Query, step time.Duration) (*continuous.Totals, error) {
	c.totals++
	return c.Store.Totals(ctx, q, step)
}

// TestNoHours: a partition without a window is handed over at once, not day by day since the year 1.
func TestNoHours(t *testing.T) {
	l := newHourLab(t)
	st := &counted{Store: mem.New()}
	l.put(st.Store, 60)
	n, err := l.hours.Publish(t.Context(), 3, st, time.Time{})
	if reach := l.reach(3); err != nil || n != 0 || st.totals > 1 || reach != "until 60" {
		t.Errorf("%d hours after %d questions, %s: %v", n, st.totals, reach, err)
	}
}

// reach says which hours the lake has of a partition.
func (l *hourLab) reach(partition int32) string {
	l.Helper()
	all, err := l.lake.Reach(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	hours := func(t time.Time) int { return int(t.Sub(l.at).Hours()) }
	text := fmt.Sprint("until ", hours(all[partition].Until))
	for _, lost := range all[partition].Lost {
		text += fmt.Sprintf(" without %d to %d", hours(lost.From), hours(lost.Until))
	}
	return text
}

// TestLostHours: hours that the lake does not have stay known as lost, whatever is handed over later,
// until somebody has them after all.
func TestLostHours(t *testing.T) {
	l := newHourLab(t)
	r := rand.New(rand.NewPCG(9, 10))
	other := mem.New()
	hand := func(st *mem.Store, hour, whole int, want string) {
		t.Helper()
		w := l.window(r, "s2", hour-1)
		l.put(st, hour, w)
		if st != l.want {
			l.put(l.want, hour, w)
		}
		from := time.Time{}
		if whole > 0 {
			from = l.at.Add(time.Duration(whole) * time.Hour)
		}
		l.again()
		if _, err := l.hours.Publish(t.Context(), 0, st, from); err != nil {
			t.Fatal(err)
		}
		if got := l.reach(0); got != want {
			t.Errorf("%s at %d, want %s", got, hour, want)
		}
	}
	hand(l.want, 4, 0, "until 4")
	hand(other, 7, 9, "until 7 without 4 to 7") // a worker that lost its files takes the partition
	hand(other, 10, 9, "until 10 without 4 to 9")
	hand(other, 15, 9, "until 15 without 4 to 9")
	hand(mem.New(), 20, 18, "until 20 without 4 to 9 without 15 to 18") // and another
	hand(l.want, 21, 0, "until 21")                                     // the first one is back
	l.same("in the end", l.lake, continuous.Query{})
}

// TestCompactHours: a compacted lake has a file of each table for a day and a bucket, with the
// newest sums, and gives the same answers, also about a service with one series.
func TestCompactHours(t *testing.T) {
	l := newHourLab(t)
	r := rand.New(rand.NewPCG(5, 6))
	for hour := range 4 { // of which the last has a late window for the first
		w := l.window(r, "s2", hour%3)
		w.Series.Labels = nil
		l.put(l.want, 4, w, l.window(r, "s3", hour))
		l.again()
		if _, err := l.hours.Publish(t.Context(), 0, l.want, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	s2 := continuous.Query{Matchers: []continuous.Matcher{{Name: continuous.ServiceLabel, Op: continuous.Equal, Value: "s2"}}}
	for range 2 {
		l.same("hours", l.lake, continuous.Query{}, s2)
		if err := l.lake.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	l.again()
	l.publish(0, l.want, 0)
	now, err := l.made.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range l.made.Tables() {
		files, err := now.Files(t.Context(), table)
		if err != nil || len(files) != 2 {
			t.Errorf("%s has %d files after compaction: %v", table, len(files), err)
		}
	}
}

// handOver hands hours over one by one, as a worker does: each is a commit.
func (l *hourLab) handOver(r *rand.Rand, from, until int) {
	l.Helper()
	for hour := from; hour < until; hour++ {
		l.put(l.want, hour+1, l.window(r, "s2", hour))
		l.publish(0, l.want, 1)
	}
}

// files returns how many files of each table parts of the lake have, and how many are on the disk.
func (l *hourLab) files() (of map[string]int, disk int) {
	l.Helper()
	now, err := l.made.Snapshot(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	of = map[string]int{}
	for _, table := range l.made.Tables() {
		files, err := now.Files(l.Context(), table)
		if err != nil {
			l.Fatal(err)
		}
		for _, f := range files {
			of[fmt.Sprint(table, " of ", time.Unix(int64(f.Period)*86400, 0).UTC().Format("02"))]++
		}
	}
	found, err := filepath.Glob(filepath.Join(l.dir, "*", "data", "*", "*", "*.parquet"))
	if err != nil {
		l.Fatal(err)
	}
	return of, len(found)
}

// TestCompactDays: many processes that compact the same days while hours are handed over make one file of
// each table and day, once each day that ended, and once more when late windows can come no more. What
// those wrote that were slower is gone, and no answer changes.
func TestCompactDays(t *testing.T) {
	const late = 72 * time.Hour
	l := newHourLab(t) // from 20:00 on the 30th
	r := rand.New(rand.NewPCG(13, 14))
	l.handOver(r, 0, 30)
	hours := func(n int) time.Time { return l.at.Add(time.Duration(n) * time.Hour) }
	first, _ := l.files()
	if first["series_hours of 30"] != 4 || first["series_hours of 31"] != 24 || first["series_hours of 01"] != 2 {
		t.Fatalf("files: %v", first)
	}
	var stores []*lake.Store
	for range 3 {
		st, err := lake.Open(t.Context(), l.dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		stores = append(stores, st)
	}
	compact := func(at time.Time, meanwhile func()) (done continuous.Compaction) {
		t.Helper()
		all, errs := make([]continuous.Compaction, len(stores)), make([]error, len(stores))
		var running sync.WaitGroup
		for i, st := range stores {
			running.Go(func() { all[i], errs[i] = st.Upkeep(t.Context(), at, late, &continuous.Policy{}) })
		}
		meanwhile()
		running.Wait()
		for i := range all {
			done.Merged, done.Made, done.Removed = done.Merged+all[i].Merged, done.Made+all[i].Made, done.Removed+all[i].Removed
		}
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		return done
	}
	nothing := func() {}
	if done := compact(hours(29).Add(-time.Minute), nothing); done != (continuous.Compaction{}) {
		t.Errorf("while a day may lack its last hour: %+v", done)
	}
	for _, c := range []struct {
		at        int
		meanwhile func()
		days      []string
	}{
		{29, func() { l.handOver(r, 30, 34) }, []string{"31"}},
		{4 + 72 - 1, nothing, nil}, // 16 files of the 30th would not be worth it
		{4 + 72, nothing, []string{"30"}},
	} {
		before, disk := l.files()
		done, merged := compact(hours(c.at), c.meanwhile), 0
		after, now := l.files()
		for _, table := range l.made.Tables() {
			for _, day := range c.days {
				if merged += before[table+" of "+day]; after[table+" of "+day] != 1 {
					t.Errorf("after %d hours: %s of %s has %d files", c.at, table, day, after[table+" of "+day])
				}
			}
		}
		added := 0
		for what, n := range after {
			if !slices.Contains(c.days, what[len(what)-2:]) {
				added += n - before[what]
			}
		}
		want := continuous.Compaction{Merged: merged, Made: len(c.days) * len(l.made.Tables())}
		if done != want || now-disk != want.Made+added {
			t.Errorf("after %d hours: %+v, want %+v; %d more files on the disk, %d of hours", c.at, done, want, now-disk, added)
		}
		l.same(fmt.Sprint("after ", c.at, " hours"), l.lake, continuous.Query{})
	}
	l.publish(0, l.want, 0)
}

// TestOldDays: a lake keeps the same windows as a store with the same policy: hours, then sums of days, then nothing. That
// holds if several processes remove days, if hours arrive meanwhile, and if the process is killed at any step. A query
// that began before can finish, and files that no snapshot names are deleted in the end.
func TestOldDays(t *testing.T) {
	t.Run("instances", func(t *testing.T) { testOldDays(t) })
	t.Run("sums of instances", func(t *testing.T) { testOldDays(t, "pod") })
}

func testOldDays(t *testing.T, instance ...string) {
	const late, now = 72 * time.Hour, 154 // 06:00 on the 6th
	policy := continuous.Policy{Keep: [3]time.Duration{time.Hour, 24 * time.Hour, 72 * time.Hour}}
	l := newHourLab(t, instance...) // from 20:00 on the 30th
	r := rand.New(rand.NewPCG(15, 16))
	hours := func(n int) time.Time { return l.at.Add(time.Duration(n) * time.Hour) }
	for hour := 0; hour < 100; hour += 5 {
		l.put(l.want, hour+1, l.window(r, "s2", hour), l.window(r, "s3", hour), l.window(r, "s2", hour))
		if _, err := l.hours.Publish(t.Context(), 0, l.want, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	empty := mem.New()
	l.put(empty, 100)
	if _, err := l.hours.Publish(t.Context(), 7, empty, hours(4)); err != nil || l.reach(7) != "until 100 without -2562047 to 4" {
		t.Fatal(l.reach(7), err)
	}
	began, err := l.made.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	one := func(ctx context.Context) (continuous.Compaction, error) {
		st, err := lake.Open(t.Context(), l.dir)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		return st.Upkeep(ctx, hours(now), late, &policy)
	}
	if due, err := l.hours.Due(t.Context(), hours(now), &policy); !due || err != nil {
		t.Errorf("nothing is old: %v", err)
	}
	l.keep = [3]time.Duration{time.Nanosecond, policy.Keep[continuous.Hour] + late, policy.Keep[continuous.Day] + late}
	for try := range 3 {
		killed, kill := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(1+try)*50*time.Millisecond, kill)
		_, _ = one(killed) // it may be done before
	}
	var all [3]continuous.Compaction
	var errs [3]error
	var running sync.WaitGroup
	for i := range all {
		running.Go(func() { all[i], errs[i] = one(t.Context()) })
	}
	l.put(l.want, now, l.window(r, "s2", 101), l.window(r, "s2", 60))
	l.put(empty, now)
	for partition, st := range map[int32]*mem.Store{0: l.want, 7: empty} {
		if _, err := l.hours.Publish(t.Context(), partition, st, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	running.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	if _, err := one(t.Context()); err != nil { // of days to which an hour was added
		t.Fatal(err)
	}
	of, _ := l.files()
	for _, table := range l.made.Tables() {
		if of[table+" of 30"] != 0 || of[table+" of 31"] != 2 || of[table+" of 01"] != 2 { // one of each service
			t.Errorf("files of %s: %v", table, of)
		}
	}
	ended, err := l.made.Snapshot(t.Context())
	if want := (continuous.Kept{Hours: hours(52), Days: hours(4)}); err != nil || ended.Kept() != want {
		t.Errorf("kept: %v, want %v: %v", ended.Kept(), want, err)
	}
	if got := l.reach(7); got != "until 154" {
		t.Errorf("a time that is not kept is still lost: %s", got)
	}
	queries := append(l.queries(r), continuous.Query{From: hours(10), Until: hours(30)}, continuous.Query{From: hours(30)},
		continuous.Query{Until: hours(53)})
	l.same("old days", l.lake, continuous.Query{})
	// The facts and the last time of a series in the lake are those of the moment at which its hours were handed over.
	l.ignored = append(l.ignored, cmpopts.IgnoreFields(continuous.Series{}, "Facts", "Last"))
	l.same("old days", l.lake, queries...)

	late1, late2 := l.window(r, "s2", 5), l.window(r, "s9", 40)
	other := mem.New() // of a worker that was away
	keep := l.keep
	l.keep = [3]time.Duration{time.Nanosecond}
	l.put(other, now, late1, late2)
	l.keep = keep
	l.again()
	if n, err := l.hours.Publish(t.Context(), 0, other, time.Time{}); err != nil || n != 0 {
		t.Errorf("%d hours of days that are summed up were handed over: %v", n, err)
	}
	for _, table := range l.made.Tables() {
		files, err := began.Files(t.Context(), table)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if _, err := os.Stat(f.Path); err != nil {
				t.Errorf("a query that began before: %v", err)
			}
		}
	}
	stray := filepath.Join(l.dir, "series_samples", "data", "hour_day=2026-10-30", "bucket=1", "killed.parquet")
	if err := errors.Join(os.MkdirAll(filepath.Dir(stray), 0o777), os.WriteFile(stray, nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.made.Expire(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	of, disk := l.files()
	for _, n := range of {
		disk -= n
	}
	if disk != 0 {
		t.Errorf("%d files on the disk are of no table", disk)
	}
	if due, err := l.hours.Due(t.Context(), hours(now), &policy); due || err != nil {
		t.Errorf("something is old when all is done: %v", err)
	}
	l.same("in the end", l.lake, queries...)
}

// TestTakenOver: a worker that takes a partition whose hours another handed over, and reads the log
// again, hands over what late windows added, once, also when the other comes back. Where the log does
// not have an hour any more, its late windows are no sum, even if they are more than the lake has.
func TestTakenOver(t *testing.T) {
	l := newHourLab(t)
	r := rand.New(rand.NewPCG(7, 8))
	other, partial := mem.New(), mem.New()
	put := func(list []*continuous.Window, stores ...*mem.Store) {
		t.Helper()
		for _, st := range stores {
			l.put(st, 10, list...)
			l.again()
		}
	}
	var list []*continuous.Window
	for hour := range 8 {
		list = append(list, l.window(r, "s2", hour), l.window(r, "s3", hour))
	}
	put(list, l.want)
	l.publish(0, l.want, 16)
	put(list, other)
	l.publish(0, other, 0)
	late := l.window(r, "s2", 2)
	late.Series.Labels = list[4].Series.Labels
	put([]*continuous.Window{late, l.window(r, "new", 3)}, other, l.want)
	l.publish(0, other, 2)
	l.publish(0, l.want, 0)
	l.same("taken over", l.lake, continuous.Query{})
	for range 5 {
		w := l.window(r, "s2", 2)
		w.Series.Labels = late.Series.Labels
		put([]*continuous.Window{w}, partial)
	}
	last := []*continuous.Window{l.window(r, "s3", 9)}
	put(last, partial, l.want)
	if n, err := l.hours.Publish(t.Context(), 0, partial, l.at.Add(4*time.Hour)); err != nil || n != 1 {
		t.Errorf("%d hours of a part of the log were handed over: %v", n, err)
	}
	l.same("a part", l.lake, continuous.Query{})
}

// TestLateHours: windows that were late when the lake had the hours around them arrive, also when a
// worker was away for days meanwhile.
func TestLateHours(t *testing.T) {
	l := newHourLab(t)
	r := rand.New(rand.NewPCG(11, 12))
	l.put(l.want, 40, l.window(r, "s2", 39))
	l.publish(0, l.want, 1)
	l.put(l.want, 140, l.window(r, "s3", 0), l.window(r, "s3", 139))
	l.again()
	l.publish(0, l.want, 2)
	l.same("late", l.lake, continuous.Query{})
}

// queries are selections of all times and kinds.
func (l *hourLab) queries(r *rand.Rand) []continuous.Query {
	list := []continuous.Query{{}}
	for range 5 - 2*len(l.instance) {
		from := l.at.Add(time.Duration(r.IntN(60)) * time.Hour)
		q := continuous.Query{From: from, Until: from.Add(time.Duration(1+r.IntN(60)) * time.Hour)}
		for _, m := range []continuous.Matcher{{Name: continuous.ServiceLabel, Op: continuous.Equal, Value: "s2"},
			{Name: "pod", Op: continuous.NotEqual, Value: "1"}, {Name: "pod", Op: continuous.Matches, Value: "[02]"}} {
			if r.IntN(3) == 0 {
				q.Matchers = append(q.Matchers, m)
			}
		}
		list = append(list, q)
	}
	return list
}

// TestHours: a lake answers about hours as the store does that made them, whatever is selected,
// also after windows were added to hours that it had. What is handed over again, by whomever,
// counts once.
func TestHours(t *testing.T) {
	t.Run("instances", func(t *testing.T) { testHours(t) })
	t.Run("sums of instances", func(t *testing.T) { testHours(t, "pod") })
}

func testHours(t *testing.T, instance ...string) {
	l := newHourLab(t, instance...)
	r := rand.New(rand.NewPCG(1, 2))
	l.same("nothing", l.lake, continuous.Query{})
	hours := 60 - len(instance) // the store keeps raw windows of the last one, with all labels
	var list []*continuous.Window
	for range 100 {
		list = append(list, l.window(r, fmt.Sprint("s", r.IntN(4)), r.IntN(hours)))
	}
	l.put(l.want, 60, list...)
	totals, err := l.want.Totals(t.Context(), continuous.Query{}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	l.publish(0, l.want, len(totals.Totals))
	l.publish(0, l.want, 0)
	l.same("all", l.lake, l.queries(r)...)
	if l.answered == 0 || (l.refused > 0) != (len(instance) > 0) {
		t.Errorf("%d questions were answered, %d refused", l.answered, l.refused)
	}
	pod := continuous.Query{Matchers: []continuous.Matcher{{Name: "pod", Op: continuous.Equal, Value: "1"}}}
	for want, until := range map[string]map[int32]time.Time{"leave the label out": nil,
		"windows since 2026-10-31T20:00Z": {0: l.at.Add(24 * time.Hour)}} {
		_, err := l.lake.Before(until).Tree(t.Context(), pod)
		if len(instance) > 0 && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("a pod: %v, want %q", err, want)
		}
	}

	late := l.window(r, "s1", hours-1)
	late.Series.Labels = list[0].Series.Labels
	l.put(l.want, 60, late, l.window(r, "s2", 3), l.window(r, "new", 4))
	l.again()
	l.publish(0, l.want, 3)
	l.same("late windows", l.lake, continuous.Query{})
	l.again()
	l.publish(0, l.want, 0)
	answer, err := l.lake.SQL(t.Context(), `SELECT service, name, sum(self)::BIGINT AS self
		FROM (SELECT series, partition, hour, max(windows) AS windows FROM series_hours
		  WHERE hour >= '2026-10-01' AND hour < '2026-12-01' AND sample_type = 'cpu' GROUP BY series, partition, hour) AS newest
		JOIN series_functions USING (series, partition, hour, windows)
		JOIN (SELECT DISTINCT function, name FROM window_functions) AS names USING (function)
		GROUP BY service, name`)
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for row, err := range answer.Rows {
		if err != nil {
			t.Fatal(err)
		}
		sum += row[2].(int64)
	}
	all, err := l.want.Tree(t.Context(), continuous.Query{})
	if err != nil || treeSum(all) != sum {
		t.Errorf("functions of all services have %d, want %d: %v", sum, treeSum(all), err)
	}
	if got := l.reach(0); got != "until 60" {
		t.Errorf("the lake has everything %s", got)
	}
}

// TestSQLOfHours: a user's query of a service reads its hours in a lake as runs, with the amounts that
// windows have.
func TestSQLOfHours(t *testing.T) {
	l := newHourLab(t)
	r := rand.New(rand.NewPCG(3, 4))
	var list []*continuous.Window
	for range 40 {
		list = append(list, l.window(r, fmt.Sprint("s", r.IntN(2)), r.IntN(5)))
	}
	l.put(l.want, 6, list...)
	if _, err := l.hours.Publish(t.Context(), 0, l.want, time.Time{}); err != nil {
		t.Fatal(err)
	}
	all, err := l.want.Tree(t.Context(), continuous.Query{Type: storetest.CPUWindows, Matchers: []continuous.Matcher{
		{Name: continuous.ServiceLabel, Op: continuous.Equal, Value: "s1"}}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{}
	for _, row := range all.Tree.FunctionRows() {
		want[all.Tree.Functions[row.Func].Name] = row.Self
	}
	request := &query.SQLRequest{}
	request.Service = "s1"
	answer, err := query.SQL(t.Context(), l.lake, request,
		"SELECT function, sum(self)::BIGINT FROM function_sample JOIN profiles p ON p.key = profile_key GROUP BY function")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for row, err := range answer.Rows {
		if err != nil {
			t.Fatal(err)
		}
		got[row[0].(string)] = row[1].(int64)
	}
	if d := cmp.Diff(want, got); d != "" || len(got) < 3 {
		t.Errorf("-windows +SQL:\n%s", d)
	}
}

// TestHoursAndWorkers: hours of a lake and those of workers are one answer, in which each is once,
// wherever the boundary of a partition is.
func TestHoursAndWorkers(t *testing.T) {
	t.Run("instances", func(t *testing.T) { testHoursAndWorkers(t) })
	t.Run("sums of instances", func(t *testing.T) { testHoursAndWorkers(t, "pod") })
}

func testHoursAndWorkers(t *testing.T, instance ...string) {
	l := newHourLab(t, instance...)
	r := rand.New(rand.NewPCG(3, 4))
	workers := []*mem.Store{mem.New(), mem.New()}
	for partition, st := range workers {
		var list []*continuous.Window
		for range 40 {
			list = append(list, l.window(r, fmt.Sprint("s", partition+2*r.IntN(2)), r.IntN(60-len(instance))))
		}
		l.put(l.want, 60, list...)
		l.put(st, 60, list...)
		totals, err := st.Totals(t.Context(), continuous.Query{}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		l.publish(int32(partition), st, len(totals.Totals))
	}
	day := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for _, from := range [][]time.Time{{day, day.Add(24 * time.Hour)}, {day}, {day, day}, {{}, day}, {}}[:5-3*len(instance)] {
		until, all := map[int32]time.Time{}, &merged.Store{}
		var parts []continuous.Store
		for i, t := range from {
			until[int32(i)] = t
			parts = append(parts, since{workers[i], t})
		}
		parts = append(parts, l.lake.Before(until))
		all.Parts = func(context.Context) ([]continuous.Store, func(), error) { return parts, nil, nil }
		l.same(fmt.Sprint("from ", from), all, continuous.Query{}, continuous.Query{From: day.Add(-20 * time.Hour)},
			continuous.Query{Until: day.Add(-20 * time.Hour)},
			continuous.Query{Matchers: []continuous.Matcher{{Name: "pod", Op: continuous.Equal, Value: "1"}}})
	}
}

// since has the windows of a store from a time on.
type since struct {
	continuous.Store
	from time.Time
}

func (s since) Series(ctx context.Context, q continuous.Query) ([]continuous.Series, error) {
	q.From = continuous.Later(q.From, s.from)
	return s.Store.Series(ctx, q)
}

func (s since) Totals(ctx context.Context, q continuous.Query, step time.Duration) (*continuous.Totals, error) {
	q.From = continuous.Later(q.From, s.from)
	return s.Store.Totals(ctx, q, step)
}

func (s since) Tree(ctx context.Context, q continuous.Query) (*continuous.Merged, error) {
	q.From = continuous.Later(q.From, s.from)
	return s.Store.Tree(ctx, q)
}

func (s since) Function(ctx context.Context, q continuous.Query, name string, step time.Duration) (*continuous.Amounts, error) {
	q.From = continuous.Later(q.From, s.from)
	return s.Store.Function(ctx, q, name, step)
}
