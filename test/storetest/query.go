package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// library puts profiles that differ in everything that a Query selects by.
func (l *lab) library() []store.Profile {
	l.t.Helper()
	im := NewImporter()
	var files []*store.File
	n := 0
	for _, b := range [][2]string{
		{"json", "parse/size=10/mode=fast-8"}, {"json", "parse/size=100/mode=slow-8"}, {"json", "par*"}, {"json.io", "write"},
		{"", "alone"}, {"query", "029_(deployment,EMBEDDED)_(jdk,17)"}, {"query", "029_(deployment,SERVER)_(jdk,21)"},
	} {
		for run := range 5 {
			if n++; n%6 == 0 {
				continue // not every benchmark is in every run
			}
			f := im.File(b[0], b[1], fmt.Sprintf("r%d", run), profile.CPUSamples, fmt.Sprintf("×%d  ×1\nmain  main\nA     B", n))
			if n%3 == 0 {
				im.Add(f, profile.Alloc, fmt.Sprintf("×%d\nmain\nC", 100*n))
			}
			r := &f.Run
			r.Commit = fmt.Sprintf("%d23456789abcdef0123456789abcdef012345678", run/2)
			r.Branch = []string{"main", "feature/x", "feature/y", "", "main"}[run]
			r.Machine = []string{"m1", "m2"}[run%2]
			r.Attributes = map[string]string{"jdk": []string{"17", "21"}[run%2], "odd": "a*c"}
			if run == 4 {
				r.Attributes = nil
				r.Date = RunOf("r3").Date // a tie, broken by the key
			}
			files = append(files, f)
		}
	}
	l.put(files...)
	return l.profiles(store.Query{})
}

// queries returns selections of the library, every field in several ways.
func queries(all []store.Profile) []store.Query {
	day := func(n int) time.Time { return RunOf(fmt.Sprint("r", n)).Date }
	return []store.Query{
		{},
		{Groups: []string{"json"}},
		{Groups: []string{"json*"}},
		{Groups: []string{""}},
		{Pushed: store.Pushed{Service: "json"}}, // no run is a pushed profile
		{Groups: []string{"json"}, Pushed: store.Pushed{Labels: "{}"}},
		{Groups: []string{"no such group"}},
		{Groups: []string{"query", "json.??"}},
		{Benchmarks: []string{"parse"}},
		{Benchmarks: []string{"par*"}}, // a benchmark is called that
		{Benchmarks: []string{"pa*"}},
		{Benchmarks: []string{"parse/size=10/mode=fast-8", "write"}},
		{Benchmarks: []string{"029"}},
		{Benchmarks: []string{"*"}},
		{Benchmarks: []string{"%"}},
		{Params: map[string]string{"size": "10"}},
		{Params: map[string]string{"size": "10*"}},
		{Params: map[string]string{"mode": "*", "procs": "8"}},
		{Params: map[string]string{"jdk": "2?"}},
		{Params: map[string]string{"none": "*"}},
		{Branches: []string{"feature/*"}},
		{Branches: []string{"main", "feature/y"}},
		{Branches: []string{""}},
		{Commits: []string{"1234567"}},
		{Commits: []string{"023456"}}, // too short
		{Commits: []string{"123456789abcdef0123456789abcdef012345678", "0234567"}},
		{Machines: []string{"m?"}},
		{Machines: []string{"m2"}},
		{Attributes: map[string]string{"jdk": "17"}},
		{Attributes: map[string]string{"jdk": "*", "odd": "a*c"}},
		{Attributes: map[string]string{"none": ""}},
		{Runs: []string{"r1", "r3"}},
		{Runs: []string{"r[1]"}},
		{Types: []string{profile.Alloc}},
		{Types: []string{"cpu*"}},
		{Profiles: []store.ProfileID{all[3].ID, all[1].ID, "0123456789abcdef"}},
		{Since: day(2)},
		{Until: day(2)},
		{Since: day(1), Until: day(3)},
		{Since: day(1).Add(time.Nanosecond)},
		{Last: 1},
		{Last: 2, Types: []string{profile.Alloc}},
		{Last: 2, Benchmarks: []string{"parse"}, Until: day(3)},
		{Last: 100},
		{Groups: []string{"json*"}, Branches: []string{"main"}, Types: []string{"cpu-samples"}, Machines: []string{"m1"}, Last: 1},
	}
}

// testQueries compares every query about every selection with Query.Filter.
func testQueries(l *lab) {
	all := l.library()
	l.check()
	for _, q := range queries(all) {
		l.checkSelection(q, all)
	}
	l.reopen()
	for _, q := range queries(all) {
		l.same("after reopening: Profiles("+q.String()+")", l.profiles(q), q.Filter(all))
	}
}

// testOrder puts the same files in different orders: the answers are the same.
func testOrder(l *lab) {
	im := NewImporter()
	files := func() []*store.File {
		var files []*store.File
		for i, run := range []string{"r3", "r1", "r2"} {
			for _, b := range []string{"b", "a"} {
				f := im.File("g", b, run, profile.CPUSamples, fmt.Sprintf("×%d  ×1\nA   B\n%s   C", i+1, b))
				f.Metrics = append(f.Metrics, Metric("m"+b, float64(i)), Metric("time", 1))
				f.Run.Attributes = map[string]string{"of " + b: "x"}
				files = append(files, f)
			}
		}
		return files
	}
	l.put(files()...)
	l.check()
	want := l.profiles(store.Query{})

	other := newLab(l.t, l.engine)
	list := files()
	for _, i := range []int{4, 0, 5, 2, 1, 3} {
		other.put(list[i])
	}
	other.check()
	got := other.profiles(store.Query{})
	got, want = slices.Clone(got), slices.Clone(want)
	for _, list := range [][]store.Profile{want, got} {
		for i := range list {
			list[i].Seq = 0
		}
	}
	// Benchmarks of one run stand in the order of import, so compare by id.
	l.same("the listing in another order", byID(got), byID(want))
}

func byID(list []store.Profile) map[store.ProfileID]store.Profile {
	m := map[store.ProfileID]store.Profile{}
	for _, p := range list {
		m[p.ID] = p
	}
	return m
}
