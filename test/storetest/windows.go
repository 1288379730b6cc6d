package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/internal/cost"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/nightly"
)

func testNoWindows(l *windowLab) {
	l.checkAll("nothing", continuous.Query{})
	l.same("stats", l.stats(), continuous.Stats{})
	l.putAs(continuous.Stored) // no windows
	l.same("rolled", l.rollUp(at(30, 0, 0), continuous.Policy{}), continuous.Rolled{})
	l.same("amounts", l.function(continuous.Query{}, "f", 0), &continuous.Amounts{})
}

func testOneWindow(l *windowLab) {
	start := at(10, 0, 0).Add(1234567 * time.Nanosecond)
	w := l.make.Window("shop", start, []string{"pod", "a", "service.version", "1.2"}, stack("main;work", 3), stack("main;work;main", 4),
		stack("main", 1))
	w.Series.Facts = continuous.Labels{{Name: "process.pid", Value: "7"}}
	l.put(w)
	for range 2 {
		want := w.Series
		want.First, want.Last = at(10, 0, 0).Add(time.Millisecond), at(10, 0, 15).Add(time.Millisecond)
		l.same("series", l.series(continuous.Query{}), []continuous.Series{want})
		total := continuous.Total{Start: want.First, Length: 15 * time.Second, Covered: 15 * time.Second, Parts: 1, Sum: 8, Instances: 1}
		l.same("totals", l.totals(continuous.Query{}, 0),
			&continuous.Totals{Series: []continuous.Series{want}, Totals: []continuous.Total{total}})
		l.same("function", l.function(continuous.Query{}, "main", 0).Amounts, []continuous.Amount{{Total: total, Self: 5, Whole: 8}})
		l.same("function", l.function(continuous.Query{}, "work", 0).Amounts, []continuous.Amount{{Total: total, Self: 3, Whole: 7}})
		l.same("other function", l.function(continuous.Query{}, "other", 0).Amounts, []continuous.Amount{{Total: total}})
		merged := l.tree(continuous.Query{})
		l.same("type", merged.Tree.Type, w.Type)
		l.same("windows", merged.Windows, int64(1))
		l.checkAll("one", continuous.Query{})
		stats := l.stats()
		if stats.Bytes[0] <= 0 {
			l.t.Error("a vector takes no bytes")
		}
		stats.Bytes[0] = 0
		l.same("stats", stats, continuous.Stats{Series: 1, Windows: [3]int64{1, 0, 0}, First: want.First, Last: want.Last})
		if s, ok := l.s.(store.Store); ok {
			info, err := s.Info(l.ctx)
			l.same("info", []any{info.Series, info.Windows, err}, []any{int64(1), int64(1), nil})
		}
		l.reopen()
	}
}

func testSeriesIdentity(l *windowLab) {
	base := func() *continuous.Window {
		return l.make.Window("shop", at(1, 0, 0), []string{"pod", "a"}, stack("main", 1))
	}
	list := []*continuous.Window{base()}
	for _, change := range []func(w *continuous.Window){
		func(w *continuous.Window) { w.Series.Service = "Shop" },
		func(w *continuous.Window) { w.Series.Type.Name = "wall" },
		func(w *continuous.Window) { w.Series.Type.PeriodType = "wall" },
		func(w *continuous.Window) { w.Series.Labels = nil },
		func(w *continuous.Window) { w.Series.Labels[0].Value = "b" },
		func(w *continuous.Window) { w.Series.Labels[0].Value = "" },
		func(w *continuous.Window) {
			w.Series.Labels = append(w.Series.Labels, continuous.Label{Name: "pod.x", Value: "a"})
		},
	} {
		w := base()
		change(w)
		list = append(list, w)
	}
	l.put(list...)
	l.same("series", l.stats().Series, int64(len(list)))
	l.reopen()
	again := base()
	again.Start = at(1, 0, 15)
	again.Series.Facts = continuous.Labels{{Name: "process.pid", Value: "8"}}
	l.put(again)
	l.same("series", l.stats().Series, int64(len(list)))
	got := l.series(continuous.Query{})
	for i := range got[1:] {
		if got[i].Compare(&got[i+1]) >= 0 {
			l.t.Errorf("series %d and %d are not in order: %+v", i, i+1, got)
		}
	}
}

func testFactsOfNewest(l *windowLab) {
	for i, second := range []int{30, 0, 60, 45, 60} {
		w := l.make.Window("shop", at(1, 0, second), nil, stack("main", int64(i+1)))
		w.Series.Facts = continuous.Labels{{Name: "process.pid", Value: fmt.Sprint(i)}}
		l.put(w)
		want := []string{"0", "0", "2", "2", "4"}[i]
		if s := l.series(continuous.Query{}); len(s) != 1 || s[0].Facts.Get("process.pid") != want {
			l.t.Errorf("after window %d: %+v, want process.pid %s", i, s, want)
		}
		l.reopen()
	}
	s := l.series(continuous.Query{})[0]
	l.same("time", []time.Time{s.First, s.Last}, []time.Time{at(1, 0, 0), at(1, 1, 15)})
}

func testRepeats(l *windowLab) {
	w := func() *continuous.Window { return l.make.Window("shop", at(1, 0, 0), nil, stack("main", 1)) }
	first, other := w(), w()
	other.Hash[3]++ // a replica with the same labels
	longer := w()
	longer.Length += time.Second
	moved := w()
	moved.Start = moved.Start.Add(time.Millisecond)
	got, err := l.s.PutWindows(l.ctx, []*continuous.Window{first, w(), other})
	l.ok(err)
	l.same("outcomes", got, []continuous.Outcome{continuous.Stored, continuous.Repeated, continuous.Stored})
	l.have = append(l.have, first, other)
	l.put(longer, moved)
	same := w()
	same.Start = same.Start.Add(time.Microsecond) // of the same millisecond
	l.putAs(continuous.Repeated, w(), same, longer, moved)
	l.reopen()
	l.putAs(continuous.Repeated, w())
	l.rollUp(at(50, 0, 0), continuous.Policy{})
	l.putAs(continuous.Repeated, w(), moved)
	l.reopen()
	l.putAs(continuous.Repeated, longer)
	l.checkAll("repeats", continuous.Query{})
}

// testUntimedRepeats: a window that was sent again has another start if it has no time of its
// own. It is found for an hour.
func testUntimedRepeats(l *windowLab) {
	w := func(minute int) *continuous.Window {
		w := l.make.Window("shop", at(1, minute, 0), nil, stack("main", 1))
		w.Untimed = true
		return w
	}
	other := w(0)
	other.Hash[3]++
	longer := w(0)
	longer.Length += time.Second
	l.put(w(0), other, longer)
	l.putAs(continuous.Repeated, w(1), w(60), w(-60))
	timed := w(1)
	timed.Untimed = false
	l.put(timed)
	l.reopen()
	l.putAs(continuous.Repeated, w(2), w(61))
	l.put(w(62))
	l.putAs(continuous.Repeated, w(122))
	early := w(-61)
	l.put(early, l.make.Window("cart", at(1, 0, 0), nil, stack("main", 1)))
	both := w(300)
	l.put(both)
	got, err := l.s.PutWindows(l.ctx, []*continuous.Window{w(500), w(501)})
	l.ok(err)
	l.same("outcomes", got, []continuous.Outcome{continuous.Stored, continuous.Repeated})
	l.have = append(l.have, w(500))
	l.checkAll("repeats", continuous.Query{})
}

func testMatchers(l *windowLab) {
	for i, labels := range [][]string{nil, {"pod", "a"}, {"pod", "b"}, {"pod", "ab"}, {"pod", "a\nb"}, {"service.version", "2"},
		{"pod", "a", "service.version", "2"}} {
		l.put(l.make.Window("shop", at(1, 0, i), labels, stack("main", 1<<i)))
	}
	l.put(l.make.Window("cart", at(1, 0, 0), nil, stack("main", 1<<7)))
	m := func(name string, op continuous.MatchOp, value string) continuous.Matcher {
		return continuous.Matcher{Name: name, Op: op, Value: value}
	}
	for _, test := range []struct {
		matchers []continuous.Matcher
		want     int64 // sum: a bit of each window
	}{
		{nil, 0xff},
		{[]continuous.Matcher{m("pod", continuous.Equal, "a")}, 0b1000010},
		{[]continuous.Matcher{m("pod", continuous.Equal, "")}, 0b10100001},
		{[]continuous.Matcher{m("pod", continuous.NotEqual, "a")}, 0b10111101},
		{[]continuous.Matcher{m("pod", continuous.NotEqual, "")}, 0b1011110},
		{[]continuous.Matcher{m("pod", continuous.Matches, "a|b")}, 0b1000110},
		{[]continuous.Matcher{m("pod", continuous.Matches, "a.*")}, 0b1011010},
		{[]continuous.Matcher{m("pod", continuous.Matches, ".*")}, 0xff},
		{[]continuous.Matcher{m("pod", continuous.Matches, "a?")}, 0b11100011},
		{[]continuous.Matcher{m("pod", continuous.NotMatches, "a.*|")}, 0b100},
		{[]continuous.Matcher{m("service.version", continuous.Equal, "2"), m("pod", continuous.Equal, "a")}, 0b1000000},
		{[]continuous.Matcher{m("service_name", continuous.Equal, "cart")}, 1 << 7},
		{[]continuous.Matcher{m("service_name", continuous.NotMatches, "ca.*")}, 0x7f},
		{[]continuous.Matcher{m("nothing", continuous.Equal, "x")}, 0},
	} {
		q := continuous.Query{Matchers: test.matchers}
		l.same(fmt.Sprintf("%v", test.matchers), valuesOf(l.tree(q).Tree)["main"], test.want)
		l.checkAll(fmt.Sprintf("%v", test.matchers), q)
	}
	for _, bad := range []continuous.Matcher{m("pod", continuous.Matches, "("), m("pod", "~", "a")} {
		if _, err := l.s.Series(l.ctx, continuous.Query{Matchers: []continuous.Matcher{bad}}); err == nil ||
			!strings.Contains(err.Error(), "pod") {
			l.t.Errorf("%v: error %v", bad, err)
		}
	}
}

// comparing is a context that calls f whenever package continuous looks at it: while a
// selector is compared with a series.
type comparing struct {
	context.Context
	f func()
}

// Err implements context.Context.
func (c comparing) Err() error {
	if at, _, _, ok := runtime.Caller(1); ok && strings.Contains(runtime.FuncForPC(at).Name(), "/continuous.") {
		c.f()
	}
	return c.Context.Err()
}

// testSlowMatchers: others write while a selector is compared with series, which takes time;
// it counts its steps, and ends with the context.
func testSlowMatchers(l *windowLab) {
	for i := range 3 {
		l.put(l.make.Window("shop", at(1, 0, i), []string{"pod", strings.Repeat("x", 100*i)}, stack("main", 1<<i)))
	}
	q := continuous.Query{Matchers: []continuous.Matcher{{Name: "pod", Op: continuous.Matches, Value: strings.Repeat(".?", 500) + "y?"}}}
	for name, query := range map[string]func(ctx context.Context) error{
		"Series":   func(ctx context.Context) error { _, err := l.s.Series(ctx, q); return err },
		"Totals":   func(ctx context.Context) error { _, err := l.s.Totals(ctx, q, 0); return err },
		"Tree":     func(ctx context.Context) error { _, err := l.s.Tree(ctx, q); return err },
		"Function": func(ctx context.Context) error { _, err := l.s.Function(ctx, q, "main", 0); return err },
	} {
		compared := 0
		err := query(comparing{l.ctx, func() {
			if compared++; compared > 1 {
				return
			}
			written := make(chan error, 1)
			w := l.make.Window("cart", at(1, 1, len(l.have)), []string{"pod", name}, stack("main", 1))
			go func() {
				_, err := l.s.PutWindows(l.ctx, []*continuous.Window{w})
				written <- err
			}()
			select {
			case err := <-written:
				if err != nil {
					l.t.Errorf("%s: %v", name, err)
				}
				l.have = append(l.have, w)
			case <-time.After(20 * time.Second):
				l.t.Errorf("%s: nothing is written while a selector is compared", name)
			}
		}})
		if err != nil || compared < 3 {
			l.t.Errorf("%s: compared %d times, %v", name, compared, err)
		}
		ctx, end := cost.Begin(l.ctx, cost.Limits{Steps: cost.Limit{Max: 100_000, What: "steps", Flag: "--max-steps"}})
		if err := query(ctx); !errors.As(err, new(*cost.Exceeded)) || !strings.Contains(err.Error(), "--max-steps") {
			l.t.Errorf("%s: an expensive pattern: %v", name, err)
		}
		end()
		ctx, stop := context.WithCancel(l.ctx)
		stopped := 0
		err = query(comparing{ctx, func() { stopped++; stop() }})
		if !errors.Is(err, context.Canceled) || stopped != 1 {
			l.t.Errorf("%s: %v after %d series, though the context has ended", name, err, stopped)
		}
	}
	l.checkAll("slow matchers", q)
}

func testRanges(l *windowLab) {
	for i := range 8 {
		l.put(l.make.Window("shop", at(23, 59, 59).Add(time.Duration(i)*500*time.Millisecond), []string{"pod", fmt.Sprint(i % 2)},
			stack("main", 1<<i)))
	}
	for round := range 2 {
		for from := -1; from < 9; from += 2 {
			for until := max(0, from); until < 10; until += 2 {
				q := continuous.Query{}
				if from >= 0 {
					q.From = at(23, 59, 59).Add(time.Duration(from)*500*time.Millisecond - time.Nanosecond)
				}
				if until < 9 {
					q.Until = at(23, 59, 59).Add(time.Duration(until)*500*time.Millisecond + time.Nanosecond)
				}
				l.checkAll(fmt.Sprint(round, ": from ", from, " until ", until), q)
			}
		}
		l.rollUp(at(72, 0, 0), continuous.Policy{})
	}
}

func testWindowTypes(l *windowLab) {
	lock := continuous.Type{Name: "mutex", SampleType: "delay", SampleUnit: "nanoseconds", PeriodType: "contentions", PeriodUnit: "count"}
	a, b := l.make.Window("shop", at(1, 0, 0), nil, stack("main", 1)), l.make.Window("shop", at(1, 0, 0), nil, stack("main", 2))
	a.Series.Type, b.Series.Type = lock, lock
	b.Series.Type.Name = "block"
	a.Type, b.Type = TypeOf(profile.Lock), TypeOf(profile.Lock)
	l.put(a, b)
	l.checkAll("mutex", continuous.Query{Type: a.Series.Type})
	l.checkAll("block", continuous.Query{Type: b.Series.Type})
	l.checkAll("none", continuous.Query{Type: HeapWindows})
	if _, err := l.s.Tree(l.ctx, continuous.Query{}); err == nil || !strings.Contains(err.Error(), "mutex:delay") ||
		!strings.Contains(err.Error(), "block:delay") {
		l.t.Errorf("a tree of two types: error %v", err)
	}
	l.same("totals of all types", len(l.totals(continuous.Query{}, 0).Totals), 2)
}

func testGauges(l *windowLab) {
	for i := range 4 {
		w := l.make.Window("shop", at(1, i, 0), nil, stack("main;cache", 100+int64(i)))
		w.Series.Type, w.Type = HeapWindows, TypeOf(profile.Live)
		l.put(w)
	}
	l.rollUp(at(3, 0, 0), continuous.Policy{})
	merged := l.tree(continuous.Query{Type: HeapWindows, From: at(1, 0, 0), Until: at(2, 0, 0)})
	l.same("windows that were read", merged.Windows, int64(1))
	l.same("parts", merged.Parts, int64(4))
	l.same("sum", valuesOf(merged.Tree)["main;cache"], int64(406))
	l.same("totals", l.totals(continuous.Query{}, time.Hour).Totals,
		[]continuous.Total{{Level: continuous.Hour, Start: at(1, 0, 0), Length: time.Hour, Covered: time.Minute, Parts: 4, Sum: 406,
			Instances: 1}})
}

// testLevels expects sums where a step allows them, and the edges from finer levels.
func testLevels(l *windowLab) {
	for hour := range 60 {
		l.put(l.make.Window("shop", at(hour, 10, 0), nil, stack("main;work", int64(hour)+1)),
			l.make.Window("shop", at(hour, 50, 0), nil, stack("main", 1)))
	}
	rolled := l.rollUp(at(58, 30, 0), continuous.Policy{})
	l.same("sums", rolled.Made, int64(58+2))
	l.same("windows", l.stats().Windows, [3]int64{120, 58, 2})
	l.reopen()
	l.same("nothing to do", l.rollUp(at(58, 40, 0), continuous.Policy{}), continuous.Rolled{})
	count := func(totals []continuous.Total) (n [3]int) {
		for _, t := range totals {
			n[t.Level]++
		}
		return n
	}
	all := continuous.Query{}
	l.same("all by 0", count(l.totals(all, 0).Totals), [3]int{120, 0, 0})
	l.same("all by less than an hour", count(l.totals(all, time.Hour-1).Totals), [3]int{120, 0, 0})
	l.same("all by hours", count(l.totals(all, time.Hour).Totals), [3]int{4, 58, 0})
	l.same("all by days", count(l.totals(all, 24*time.Hour).Totals), [3]int{4, 10, 2})
	l.same("windows of the tree", l.tree(all).Windows, int64(16))
	edges := continuous.Query{From: at(20, 30, 0), Until: at(50, 30, 0)}
	l.same("edges by days", count(l.totals(edges, 48*time.Hour).Totals), [3]int{2, 5, 1})
	for _, q := range []continuous.Query{all, edges, {From: at(24, 0, 0), Until: at(48, 0, 0)}, {From: at(30, 20, 0)}, {Until: at(24, 10, 1)},
		{From: at(2, 20, 0), Until: at(2, 40, 0)}} {
		l.checkAll(fmt.Sprint(q), q)
	}
}

// testLateWindows adds windows to hours and days that have their sums.
func testLateWindows(l *windowLab) {
	l.put(l.make.Window("shop", at(1, 0, 0), nil, stack("main", 1)))
	l.rollUp(at(50, 0, 0), continuous.Policy{})
	l.put(l.make.Window("shop", at(1, 30, 0), nil, stack("main", 2)),
		l.make.Window("shop", at(7, 0, 0), []string{"pod", "new"}, stack("late", 4)),
		l.make.Window("shop", at(49, 0, 0), nil, stack("main", 8)))
	all := continuous.Query{}
	l.checkAll("before", all)
	l.reopen()
	l.checkAll("reopened", all)
	rolled := l.rollUp(at(50, 0, 0), continuous.Policy{})
	l.same("sums changed", rolled.Made, int64(3+2))
	l.checkAll("after", all)
	l.same("windows read", l.tree(continuous.Query{From: at(0, 0, 0), Until: at(24, 0, 0)}).Windows, int64(2))
	l.same("repeated", l.rollUp(at(50, 0, 0), continuous.Policy{}), continuous.Rolled{})
	l.rollUp(at(20, 0, 0), continuous.Policy{}) // a clock that was put back
	l.rollUp(at(72, 0, 0), continuous.Policy{})
	l.checkAll("the last day", all)
	l.same("days", l.stats().Windows[continuous.Day], int64(3))
}

// testHours reads the hours that were made, with their call paths.
func testHours(l *windowLab) {
	st, ok := l.s.(continuous.HourStore)
	if !ok {
		return
	}
	made, err := st.Made(l.ctx)
	l.same("made of nothing", []any{made, err}, []any{time.Time{}, nil})
	first := l.make.Window("shop", at(1, 0, 0), []string{"pod", "a"}, stack("main;work", 1), stack("main", 2))
	l.put(first, l.make.Window("shop", at(1, 30, 0), []string{"pod", "a"}, stack("main;work", 4)),
		l.make.Window("cart", at(1, 59, 59), nil, stack("main", 8)), l.make.Window("cart", at(2, 0, 0), nil, stack("rest", 16)),
		l.make.Window("cart", at(3, 0, 0), nil, stack("unmade", 32)))
	l.rollUp(at(3, 0, 0), continuous.Policy{})
	l.put(l.make.Window("shop", at(1, 10, 0), nil, stack("late", 64)))
	made, err = st.Made(l.ctx)
	l.same("made", []any{made, err}, []any{at(3, 0, 0), nil})
	read := func(q continuous.Query) (list []any) {
		hours, err := st.Hours(l.ctx, q)
		l.ok(err)
		for i, t := range hours.Totals {
			cut := hours.Forest.Cut(hours.Self[i].Nodes)
			list = append(list, hours.Series[t.Series].Service, t.Level, t.Start, t.Parts, t.Covered, t.Sum,
				valuesOf(calltree.NewTree(cut.Table, hours.Types[t.Series], cut.Self(hours.Self[i]))), hours.Types[t.Series])
		}
		return list
	}
	hour := func(service string, start time.Time, parts, sum int64, values pathValues) []any {
		return []any{service, continuous.Hour, start, parts, time.Duration(parts) * 15 * time.Second, sum, values, first.Type}
	}
	cart := hour("cart", at(1, 0, 0), 1, 8, pathValues{"main": 8})
	shop := hour("shop", at(1, 0, 0), 2, 7, pathValues{"main;work": 5, "main": 2})
	next := hour("cart", at(2, 0, 0), 1, 16, pathValues{"rest": 16})
	l.same("all", read(continuous.Query{}), slices.Concat(cart, next, shop))
	l.same("one hour", read(continuous.Query{From: at(1, 0, 0), Until: at(2, 0, 0)}), slices.Concat(cart, shop))
	of := continuous.Matcher{Name: continuous.ServiceLabel, Op: continuous.Equal, Value: "shop"}
	l.same("one service", read(continuous.Query{Matchers: []continuous.Matcher{of}}), shop)
	l.same("later", read(continuous.Query{From: at(3, 0, 0)}), []any(nil))
}

// testSumsOfEveryPath rolls up at random times between random windows and compares each
// path of random selections with the sum of the windows.
func testSumsOfEveryPath(l *windowLab) {
	for seed := range nightly.Or[uint64](2, 4) {
		r := rand.New(rand.NewPCG(seed, 37))
		l := newWindowLab(l.t, l.engine)
		for step := range 12 {
			var list []*continuous.Window
			for range 1 + r.IntN(20) {
				list = append(list, randomWindow(r, l.make, 96))
			}
			l.put(list...)
			if r.IntN(3) > 0 {
				l.rollUp(at(r.IntN(120), r.IntN(60), 0), continuous.Policy{})
			}
			if r.IntN(4) == 0 {
				l.reopen()
			}
			for range 3 {
				l.checkAll(fmt.Sprint("seed ", seed, ", step ", step), randomSelection(r, 100))
			}
		}
	}
}

// randomWindow returns a window of the first hours after day0.
func randomWindow(r *rand.Rand, m *WindowMaker, hours int) *continuous.Window {
	var samples []Sample
	for range r.IntN(4) {
		var path []string
		for range 1 + r.IntN(5) {
			path = append(path, string(rune('a'+r.IntN(4))))
		}
		samples = append(samples, Sample{path, 1 + r.Int64N(1000)*10})
	}
	start := at(r.IntN(hours), r.IntN(60), r.IntN(60)).Add(time.Duration(r.Int64N(1e9)))
	return m.Window(string(rune('x'+r.IntN(2))), start, []string{"pod", fmt.Sprint(r.IntN(3))}, samples...)
}

// randomSelection returns a query with a random time and matcher.
func randomSelection(r *rand.Rand, hours int) (q continuous.Query) {
	if r.IntN(4) > 0 {
		q.From = at(r.IntN(hours), r.IntN(2)*r.IntN(60), 0)
	}
	if r.IntN(4) > 0 {
		q.Until = at(r.IntN(hours), r.IntN(2)*r.IntN(60), 0)
	}
	if r.IntN(2) > 0 {
		q.Matchers = []continuous.Matcher{{Name: "pod", Op: continuous.NotEqual, Value: fmt.Sprint(r.IntN(3))}}
	}
	return q
}

func testRetentionByAge(l *windowLab) {
	for hour := range 96 {
		l.put(l.make.Window("shop", at(hour, 10, 0), nil, stack("main;work", int64(hour)+1)),
			l.make.Window("shop", at(hour, 50, 0), nil, stack("main", 1)))
	}
	policy := continuous.Policy{Keep: [3]time.Duration{6 * time.Hour, 30 * time.Hour, 60 * time.Hour}}
	rolled := l.rollUp(at(95, 30, 0), policy)
	// Raw from hour 89 on; hours from day 2 on (65:30); days from day 1 on (35:30), so that
	// nothing is made of day 0.
	l.same("rolled", rolled, continuous.Rolled{Made: 95 - 24 + 2, Expired: 2*89 + 24})
	l.same("windows", l.stats().Windows, [3]int64{14, 95 - 48, 2})
	l.have = l.have[2*24:]
	check := func(what string) {
		l.t.Helper()
		l.checkAll(what+": all", continuous.Query{})
		l.checkAll(what+": raw", continuous.Query{From: at(90, 30, 0)})
		l.checkAll(what+": hours", continuous.Query{From: at(49, 0, 0), Until: at(80, 0, 0)})
		l.checkAll(what+": a day", continuous.Query{From: at(24, 0, 0), Until: at(48, 0, 0)})
		l.checkAll(what+": from a day", continuous.Query{From: at(24, 0, 0), Until: at(91, 20, 0)})
	}
	check("expired")
	l.reopen()
	check("reopened")
	sum := func(from, until time.Time) int64 {
		return l.tree(continuous.Query{From: from, Until: until}).Parts
	}
	l.same("a sum whose start is selected", sum(at(50, 0, 0), at(50, 20, 0)), int64(2))
	l.same("a sum whose start is not selected", sum(at(50, 1, 0), at(50, 59, 0)), int64(0))
	l.same("a day whose start is selected", sum(at(24, 0, 0), at(25, 0, 0)), int64(48))
	s := l.series(continuous.Query{})
	l.same("first", s[0].First, at(24, 0, 0))
	l.same("last", s[0].Last, at(95, 50, 15))
	// A late window of a time without raw windows goes to its hour and day, once.
	late := l.make.Window("shop", at(60, 20, 0), nil, stack("late", 7))
	l.put(late)
	check("late")
	l.rollUp(at(95, 30, 0), policy)
	check("late, rolled up")
	l.rollUp(at(95, 30, 0), policy)
	check("late, and again")
	l.same("raw windows", l.stats().Windows[0], int64(14))
	// A window before everything that is kept.
	if _, err := l.s.PutWindows(l.ctx, []*continuous.Window{l.make.Window("shop", at(2, 0, 0), nil, stack("ancient", 7))}); err != nil {
		l.t.Fatal(err)
	}
	l.rollUp(at(95, 30, 0), policy)
	check("ancient")
}

// testSeriesEnd removes series and paths with their last window.
func testSeriesEnd(l *windowLab) {
	old := l.make.Window("shop", at(1, 0, 0), []string{"pod", "old"}, stack("main;gone", 1))
	l.put(old, l.make.Window("shop", at(100, 0, 0), []string{"pod", "new"}, stack("main;work", 1)))
	days := continuous.Policy{Keep: [3]time.Duration{24 * time.Hour, 24 * time.Hour, 24 * time.Hour}}
	rolled := l.rollUp(at(120, 0, 0), days)
	l.same("series", l.stats().Series, int64(1))
	if rolled.Swept < 1 && !l.compact() {
		l.t.Errorf("no path was swept: %+v", rolled)
	}
	l.have = l.have[1:]
	l.checkAll("one is left", continuous.Query{})
	l.reopen()
	l.checkAll("reopened", continuous.Query{})
	again := l.make.Window("shop", at(119, 0, 0), []string{"pod", "old"}, stack("main;gone", 2), stack("main;work;deep", 3))
	l.put(again)
	l.checkAll("and comes back", continuous.Query{})
	l.reopen()
	l.checkAll("reopened again", continuous.Query{})
}

func testHostileWindows(l *windowLab) {
	long := strings.Repeat("x", 100_000)
	for i, name := range []string{"", "'; DROP TABLE series; --", `"`, "\x00", "<script>alert(1)</script>", "日本語", "a\x00b", "a=b,c", "5:abc",
		"${x}", long} {
		labels := []string{"n" + name, name, "m\u00e9ta.ℓabel", name}
		w := l.make.Window(name, at(1, 0, i), labels, stack("main;"+name, 1))
		w.Series.Facts = continuous.Labels{{Name: "f" + name, Value: name}}
		w.Series.Type.Name = "t" + name
		l.put(w)
		check := func() {
			l.t.Helper()
			got := l.series(continuous.Query{Type: w.Series.Type,
				Matchers: []continuous.Matcher{{Name: "n" + name, Op: continuous.Equal, Value: name}}})
			if len(got) != 1 || got[0].Key() != w.Series.Key() || got[0].Facts[0] != w.Series.Facts[0] {
				l.t.Errorf("%.50q: %.200q", name, fmt.Sprint(got))
			}
			l.checkAll(fmt.Sprintf("%.50q", name), continuous.Query{Type: w.Series.Type})
		}
		check()
		l.reopen()
		check()
	}
	deep := Sample{Value: 5}
	for i := range 20_000 {
		deep.Stack = append(deep.Stack, fmt.Sprint("f", i))
	}
	l.put(l.make.Window("deep", at(2, 0, 0), nil, deep))
	l.rollUp(at(50, 0, 0), continuous.Policy{})
	l.same("deep", l.function(continuous.Query{Matchers: []continuous.Matcher{{Name: "service_name", Op: continuous.Equal, Value: "deep"}}},
		"f7", 0).Amounts[0].Whole, int64(5))
}

// testBadWindows expects an error, and that nothing of the call is stored.
func testBadWindows(l *windowLab) {
	for name, change := range map[string]func(w *continuous.Window){
		"unsorted labels":   func(w *continuous.Window) { w.Series.Labels = continuous.Labels{{Name: "b"}, {Name: "a"}} },
		"a label twice":     func(w *continuous.Window) { w.Series.Labels = continuous.Labels{{Name: "a"}, {Name: "a"}} },
		"the service":       func(w *continuous.Window) { w.Series.Labels = continuous.Labels{{Name: continuous.ServiceLabel}} },
		"no UTF-8":          func(w *continuous.Window) { w.Series.Labels = continuous.Labels{{Name: "a", Value: "\xff"}} },
		"no UTF-8 in facts": func(w *continuous.Window) { w.Series.Facts = continuous.Labels{{Name: "\xff"}} },
		"no name":           func(w *continuous.Window) { w.Series.Labels = continuous.Labels{{Value: "a"}} },
		"no time":           func(w *continuous.Window) { w.Start = time.Time{} },
		"a negative time":   func(w *continuous.Window) { w.Length = -1 },
		"no forest":         func(w *continuous.Window) { w.Forest = nil },
		"lengths":           func(w *continuous.Window) { w.Self.Self = nil },
		"a large value":     func(w *continuous.Window) { w.Self.Self[0] = continuous.MaxSum + 1 },
		"the lowest value":  func(w *continuous.Window) { w.Self.Self[0] = -1 << 63 },
	} {
		w := l.make.Window("shop", at(1, 0, 0), nil, stack("main", 1))
		change(w)
		if _, err := l.s.PutWindows(l.ctx, []*continuous.Window{l.make.Window("good", at(1, 0, 0), nil, stack("main", 1)), w}); err == nil {
			l.t.Errorf("%s: no error", name)
		}
	}
	l.checkAll("nothing is stored", continuous.Query{})
	l.same("stats", l.stats(), continuous.Stats{})
}

// testLargeSums adds up what exceeds 64 bits.
func testLargeSums(l *windowLab) {
	var list []*continuous.Window
	for i := range 1 << 13 {
		list = append(list, l.make.Window("shop", at(1, 0, 0).Add(time.Duration(i)*time.Millisecond), nil, stack("main", continuous.MaxSum)))
	}
	l.put(list...)
	if _, err := l.s.Tree(l.ctx, continuous.Query{}); !errors.Is(err, continuous.ErrTooLarge) {
		l.t.Errorf("the sum of 2^63: %v", err)
	}
	q := continuous.Query{Until: at(1, 0, 8)}
	l.same("a part", valuesOf(l.tree(q).Tree), pathValues{"main": 8000 * continuous.MaxSum})
}

// testOwnWindows changes what was put and what was returned.
func testOwnWindows(l *windowLab) {
	w := l.make.Window("shop", at(1, 0, 0), []string{"pod", "a"}, stack("main", 1))
	w.Series.Facts = continuous.Labels{{Name: "pid", Value: "1"}}
	l.put(w)
	key := w.Series.Key()
	w.Series.Labels[0].Value, w.Series.Facts[0].Value, w.Self.Self[0] = "x", "x", 99
	for range 2 {
		got := l.series(continuous.Query{})
		if got[0].Key() != key || got[0].Facts[0].Value != "1" {
			l.t.Errorf("%+v", got)
		}
		got[0].Labels[0].Value, got[0].Facts[0].Value = "y", "y"
		merged := l.tree(continuous.Query{})
		l.same("tree", valuesOf(merged.Tree), pathValues{"main": 1})
		merged.Series[0].Labels[0].Value = "z"
		merged.Tree.Self[0] = 7
		l.totals(continuous.Query{}, 0).Series[0].Labels[0].Value = "z"
	}
}

func testWindowsEndedContext(l *windowLab) {
	l.put(l.make.Window("shop", at(1, 0, 0), nil, stack("main", 1)))
	ctx, cancel := context.WithCancel(l.ctx)
	cancel()
	_, put := l.s.PutWindows(ctx, []*continuous.Window{l.make.Window("shop", at(2, 0, 0), nil, stack("main", 1))})
	_, series := l.s.Series(ctx, continuous.Query{})
	_, totals := l.s.Totals(ctx, continuous.Query{}, 0)
	_, tree := l.s.Tree(ctx, continuous.Query{})
	_, function := l.s.Function(ctx, continuous.Query{}, "main", 0)
	_, rolled := l.s.RollUp(ctx, at(50, 0, 0), continuous.Policy{})
	_, stats := l.s.WindowStats(ctx)
	for i, err := range []error{put, series, totals, tree, function, rolled, stats} {
		if !errors.Is(err, context.Canceled) {
			l.t.Errorf("call %d: %v", i, err)
		}
	}
	l.checkAll("nothing changed", continuous.Query{})
}

// testConcurrentWindows writes, rolls up and reads at the same time.
func testConcurrentWindows(l *windowLab) {
	const writers, windows = 4, 30
	var wait, readers sync.WaitGroup
	makers := make([]*WindowMaker, writers)
	for n := range writers {
		makers[n] = &WindowMaker{new(calltree.Forest)}
		wait.Go(func() {
			for i := range windows {
				w := makers[n].Window("shop", at(i, n, 0), []string{"writer", fmt.Sprint(n)}, stack(fmt.Sprintf("main;w%d;f%d", n, i), 1))
				if out, err := l.s.PutWindows(l.ctx, []*continuous.Window{w}); err != nil || out[0] != continuous.Stored {
					l.t.Errorf("%v, %v", out, err)
				}
			}
		})
	}
	wait.Go(func() {
		for i := range 20 {
			if _, err := l.s.RollUp(l.ctx, at(2*i, 0, 0), continuous.Policy{}); err != nil {
				l.t.Error(err)
			}
		}
	})
	done := make(chan struct{})
	readers.Go(func() {
		last := int64(0)
		for {
			merged, err := l.s.Tree(l.ctx, continuous.Query{})
			if err != nil || merged.Parts < last || merged.Parts != treeSum(merged.Tree) {
				l.t.Errorf("%v, %+v after %d windows", err, merged, last)
				return
			}
			last = merged.Parts
			select {
			case <-done:
				return
			default:
			}
		}
	})
	wait.Wait()
	close(done)
	readers.Wait()
	l.same("windows", l.tree(continuous.Query{}).Parts, int64(writers*windows))
}

func treeSum(t *calltree.Tree) (sum int64) {
	for _, v := range t.Self {
		sum += v
	}
	return sum
}
