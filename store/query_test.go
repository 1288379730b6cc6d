package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// day returns a date in March 2024.
func day(n int) time.Time { return time.Date(2024, 3, n, 0, 0, 0, 0, time.UTC) }

// shelf is what the tests select from: one profile a line, in import order.
var shelf = []store.Profile{
	book("a json/parse/size=10-8 r1 cpu", func(r *testrun.Run) { r.Commit, r.Branch, r.Machine = "aaaaaaaaaaaa1111", "main", "m1" }),
	book("b json/parse/size=100-8 r1 cpu", func(r *testrun.Run) { r.Commit, r.Branch, r.Machine = "aaaaaaaaaaaa1111", "main", "m1" }),
	book("c json/parse/size=10-8 r2 cpu", func(r *testrun.Run) { r.Commit, r.Branch, r.Machine = "aaaaaaaaaaaa2222", "dev/x", "m2" }),
	book("d json/parse/size=10-8 r2 alloc", func(r *testrun.Run) { r.Commit, r.Branch, r.Machine = "aaaaaaaaaaaa2222", "dev/x", "m2" }),
	book("e json.io/write r3 cpu", func(r *testrun.Run) { r.Attributes = map[string]string{"jdk": "21", "os": "linux"} }),
	book("f json/parse/size=10-8 r4 cpu", func(r *testrun.Run) { r.Attributes = map[string]string{"jdk": "17"} }),
	book("g json.io/wri?e r0 cpu", func(r *testrun.Run) { r.Date = day(2); r.Attributes = map[string]string{"jdk": "*"} }),
	book("h /alone r5 cpu", func(r *testrun.Run) { r.Date = time.Time{} }),
}

// book makes a profile of "id group/benchmark run type"; run rN is of day N.
func book(text string, set func(*testrun.Run)) store.Profile {
	word := strings.Fields(text)
	group, name, _ := strings.Cut(word[1], "/")
	p := store.Profile{
		ID:        store.ProfileID(word[0]),
		Benchmark: testrun.Benchmark{Group: group, Name: name},
		Run:       testrun.Run{Key: word[2], Date: day(int(word[2][1] - '0'))},
		Type:      profile.ValueType{Name: word[3]},
		Seq:       int64(word[0][0]),
	}
	set(&p.Run)
	return p
}

func selected(q store.Query, from []store.Profile) string {
	var b strings.Builder
	for _, p := range q.Filter(from) {
		b.WriteString(string(p.ID))
	}
	return b.String()
}

func TestQueryFilter(t *testing.T) {
	type list = []string
	type params = map[string]string
	for _, test := range []struct {
		q    store.Query
		want string // ids, in order: h has no date, then by day, run key, import
	}{
		{store.Query{}, "habgcdef"},

		{store.Query{Groups: list{"json"}}, "abcdf"},
		{store.Query{Groups: list{"json*"}}, "abgcdef"},
		{store.Query{Groups: list{"json.??"}}, "ge"},
		{store.Query{Groups: list{""}}, "h"},
		{store.Query{Groups: list{"jso"}}, ""},
		{store.Query{Groups: list{"json", ""}}, "habcdf"},

		{store.Query{Benchmarks: list{"parse"}}, "abcdf"}, // the base name
		{store.Query{Benchmarks: list{"parse/size=10-8"}}, "acdf"},
		{store.Query{Benchmarks: list{"parse/size=1*"}}, "abcdf"},
		{store.Query{Benchmarks: list{"wri?e"}}, "g"}, // a benchmark is called that
		{store.Query{Benchmarks: list{"wr?te"}}, "e"},
		{store.Query{Benchmarks: list{"wri?e", "w*"}}, "ge"},
		{store.Query{Benchmarks: list{"PARSE"}}, ""},
		{store.Query{Benchmarks: list{"Benchmarkparse"}}, "abcdf"}, // as go test prints it
		{store.Query{Benchmarks: list{"Benchmarkparse/size=10-8"}}, "acdf"},
		{store.Query{Benchmarks: list{"p.*"}}, ""}, // not a regular expression

		{store.Query{Params: params{"size": "10"}}, "acdf"},
		{store.Query{Params: params{"size": "10*"}}, "abcdf"},
		{store.Query{Params: params{"size": "*", "procs": "8"}}, "abcdf"},
		{store.Query{Params: params{"size": "10", "procs": "4"}}, ""},
		{store.Query{Params: params{"none": "*"}}, ""},

		{store.Query{Branches: list{"main"}}, "ab"},
		{store.Query{Branches: list{"dev/*", "main"}}, "abcd"},
		{store.Query{Branches: list{""}}, "hgef"},

		{store.Query{Commits: list{"aaaaaaaaaaaa1111"}}, "ab"},
		{store.Query{Commits: list{"aaaaaaa"}}, "abcd"},
		{store.Query{Commits: list{"aaaaaa"}}, ""}, // under 7 digits
		{store.Query{Commits: list{"aaaaaaaaaaaa2"}}, "cd"},
		{store.Query{Commits: list{"aaaaaaaaaaaa22223"}}, ""},
		{store.Query{Commits: list{"aaaaaaa*"}}, ""}, // no globs

		{store.Query{Machines: list{"m?"}}, "abcd"},
		{store.Query{Machines: list{"m2"}}, "cd"},

		{store.Query{Attributes: params{"jdk": "17"}}, "f"},
		{store.Query{Attributes: params{"jdk": "2?"}}, "e"},
		{store.Query{Attributes: params{"jdk": "2?", "os": "linux"}}, "e"},
		{store.Query{Attributes: params{"os": "*"}}, "e"},
		{store.Query{Attributes: params{"os": ""}}, ""},

		{store.Query{Runs: list{"r1", "r3"}}, "abe"},
		{store.Query{Runs: list{"r?"}}, "habgcdef"},
		{store.Query{Types: list{"alloc"}}, "d"},
		{store.Query{Types: list{"*c*"}}, "habgcdef"},
		{store.Query{Profiles: []store.ProfileID{"f", "a", "zz"}}, "af"},

		{store.Query{Since: day(2)}, "gcdef"}, // not before
		{store.Query{Until: day(2)}, "ab"},    // before; h has no date
		{store.Query{Since: day(2), Until: day(3)}, "gcd"},
		{store.Query{Since: day(9)}, ""},

		{store.Query{Last: 1}, "hbgef"},
		{store.Query{Last: 2}, "hbgcdef"},
		{store.Query{Last: 99}, "habgcdef"},
		{store.Query{Last: 1, Until: day(4)}, "bgcde"},          // after the other fields
		{store.Query{Last: 1, Types: list{"alloc"}}, "d"},       // the newest of them
		{store.Query{Last: 1, Benchmarks: list{"parse"}}, "bf"}, // per full benchmark
		{store.Query{Groups: list{"json"}, Types: list{"cpu"}, Machines: list{"m1"}, Since: day(1)}, "ab"},
	} {
		if got := selected(test.q, shelf); got != test.want {
			t.Errorf("%s: %q, want %q", test.q.String(), got, test.want)
		}
	}
}

// TestQueryFilterOrder expects the same list from every order of what it is given.
func TestQueryFilterOrder(t *testing.T) {
	all := append([]store.Profile{}, shelf...)
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, q := range []store.Query{{}, {Last: 1}, {Last: 2, Groups: []string{"json"}}} {
			if got, want := selected(q, all), selected(q, shelf); got != want {
				t.Fatalf("%s: %q, want %q", q.String(), got, want)
			}
		}
	}
}

// TestQueryFilterLeavesTheInputAlone filters twice.
func TestQueryFilterLeavesTheInputAlone(t *testing.T) {
	all := append([]store.Profile{}, shelf...)
	(&store.Query{Last: 1}).Filter(all)
	if d := cmp.Diff(shelf, all); d != "" {
		t.Error(d)
	}
}

func full() store.Query {
	return store.Query{
		Groups: []string{"g", "h"}, Benchmarks: []string{"b"}, Params: map[string]string{"size": "1", "mode": "x"},
		Branches: []string{"main"}, Commits: []string{"1234567"}, Machines: []string{"m"}, Attributes: map[string]string{"jdk": "21"},
		Runs: []string{"r"}, Profiles: []store.ProfileID{"0123456789abcdef"}, Types: []string{"cpu"},
		Since: day(1), Until: day(2), Last: 3, Pushed: store.Pushed{Service: "shop", Labels: `{zone="a"}`},
	}
}

// TestQueryTravels sends a query through JSON, every field of it.
func TestQueryTravels(t *testing.T) {
	q := full()
	for i := range reflect.TypeOf(q).NumField() {
		if reflect.ValueOf(q).Field(i).IsZero() {
			t.Errorf("full does not set %s", reflect.TypeOf(q).Field(i).Name)
		}
	}
	text, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	var back store.Query
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(q, back); d != "" {
		t.Error(d)
	}
	if text, _ := json.Marshal(store.Query{}); string(text) != "{}" {
		t.Errorf("the zero query travels as %s", text)
	}
}

func TestQueryString(t *testing.T) {
	q := full()
	want := "group g, h; benchmark b; param mode=x; param size=1; attr jdk=21; branch main; commit 1234567; machine m; run r; type cpu; " +
		"1 profile ids; since 2024-03-01T00:00:00Z; until 2024-03-02T00:00:00Z; last 3; service shop; labels {zone=\"a\"}"
	if got := q.String(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := new(store.Query).String(); got != "everything" {
		t.Errorf("the zero query is %q", got)
	}
}

// listed is a Reader of nothing but a list of profiles.
type listed struct {
	store.Reader
	list []store.Profile
}

func (l listed) Profiles(_ context.Context, q store.Query) ([]store.Profile, error) {
	return q.Filter(l.list), nil
}

func TestNewestAndBefore(t *testing.T) {
	of := func(group, name, run string, day int) store.Profile {
		b := testrun.Benchmark{Group: group, Name: name}
		return store.Profile{ID: store.IDOf(b, run, "cpu"), Benchmark: b, Type: profile.ValueType{Name: "cpu", Unit: "count"},
			Run: testrun.Run{Key: run, Date: time.Date(2025, 1, day, 0, 0, 0, 0, time.UTC)}}
	}
	// Both benchmarks are called a/b/c when group and name are one text.
	list := []store.Profile{of("a/b", "c", "r1", 1), of("a/b", "c", "r2", 2), of("a", "b/c", "r2", 2), of("a/b", "c", "r3", 3)}
	now, before, err := store.NewestAndBefore(t.Context(), listed{list: list}, store.Query{Last: 1})
	if err != nil {
		t.Fatal(err)
	}
	runs := func(list []store.Profile) (s string) {
		for _, p := range list {
			s += " " + p.Benchmark.Group + ":" + p.Run.Key
		}
		return s
	}
	if got, want := runs(now)+" after"+runs(before), " a/b:r3 after a/b:r1 a/b:r2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestOld(t *testing.T) {
	b := testrun.Benchmark{Name: "b"}
	var list []store.Profile
	for i, run := range []string{"undated", "r1", "r2", "r3"} {
		p := store.Profile{ID: store.ProfileID(run), Benchmark: b, Run: testrun.Run{Key: run}}
		if i > 0 {
			p.Run.Date = time.Date(2025, 1, i, 0, 0, 0, 0, time.UTC)
		}
		list = append(list, p)
	}
	third := time.Date(2025, 1, 3, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		keep   int
		before time.Time
		want   string
	}{
		{2, time.Time{}, "[undated r1]"},
		{0, third, "[r1 r2]"},
		{2, third, "[r1]"},
		{0, time.Time{}, "[]"},
		{9, time.Time{}, "[]"},
	} {
		if got := fmt.Sprint(store.Old(list, c.keep, c.before)); got != c.want {
			t.Errorf("keep %d, before %v: %s, want %s", c.keep, c.before, got, c.want)
		}
	}
}

func TestQueryTypes(t *testing.T) {
	var list []store.Profile
	for id, typ := range map[string]profile.ValueType{
		"a": {Name: profile.CPU, Unit: "nanoseconds", Period: 1e7, PeriodUnit: "nanoseconds"},
		"b": {Name: profile.CPUSamples, Unit: "count", Period: 1e7, PeriodUnit: "nanoseconds", Original: "samples"},
		"c": {Name: profile.CPUSamples, Unit: "count", Period: 4e6, PeriodUnit: "nanoseconds", Original: "samples"},
		"d": {Name: profile.AllocSamples, Unit: "count", Original: "alloc_objects"},
	} {
		list = append(list, store.Profile{ID: store.ProfileID(id), Type: typ, Seq: int64(id[0])})
	}
	for _, test := range []struct {
		q    store.Query
		want string
	}{
		{store.Query{Types: []string{"cpu"}}, "a"},
		{store.Query{Types: []string{"cpu"}, Profiles: []store.ProfileID{"b", "c", "d"}}, "bc"}, // of what else is selected
		{store.Query{Types: []string{"cpu-samples"}}, "bc"},
		{store.Query{Types: []string{"cpu-samples/count@4000000nanoseconds"}}, "c"},
		{store.Query{Types: []string{"samples"}}, "bc"},
		{store.Query{Types: []string{"alloc_objects"}}, "d"},
		{store.Query{Types: []string{"alloc", "cpu"}}, "ad"},
		{store.Query{Types: []string{"*-samples"}}, "bcd"},
		{store.Query{Types: []string{"wall"}}, ""},
	} {
		if got := selected(test.q, list); got != test.want {
			t.Errorf("%s: %q, want %q", test.q.String(), got, test.want)
		}
	}
}

// TestManyGlobs: globs are compared with what is distinct, not with each profile.
func TestManyGlobs(t *testing.T) {
	var list []store.Profile
	for i := range 2000 {
		p := shelf[i%len(shelf)]
		p.ID = store.ProfileID(fmt.Sprint(i))
		list = append(list, p)
	}
	q := store.Query{Groups: []string{"json"}}
	for i := range 500 {
		q.Groups = append(q.Groups, fmt.Sprintf("*%d", i))
	}
	if n := testing.AllocsPerRun(1, func() { q.Filter(list) }); n > 20_000 {
		t.Errorf("%.0f allocations for %d profiles and %d globs", n, len(list), len(q.Groups))
	}
	if got := len(q.Filter(list)); got != 1250 {
		t.Errorf("%d profiles", got)
	}
}
