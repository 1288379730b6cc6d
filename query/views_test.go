package query_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/runtest"
	"github.com/dendroprof/dendro/test/viewtest"
	"github.com/dendroprof/dendro/traceprof"
)

// TestViews: what lists of runs, profiles, functions, choices and pushed profiles answer.
func TestViews(t *testing.T) {
	for _, file := range []string{"runs", "pushed", "selected"} {
		t.Run(file, func(t *testing.T) {
			viewtest.Run(t, "testdata/"+file+".txt", viewtest.Print, map[string]viewtest.Question{
				"runs":           viewtest.Query(query.Runs),
				"profiles":       viewtest.Query(query.Profiles),
				"choices":        viewtest.Query(query.Choices),
				"function-names": viewtest.Query(query.FunctionNames),
				"completions":    viewtest.Query(query.Completions),
				"prune":          viewtest.Query(query.Prune),
				"services":       viewtest.Query(query.PushedServices),
				"series":         viewtest.Query(query.PushedSeries),
				"sums":           sums,
				"keep-link":      viewtest.Query(query.KeepLink),
				"link":           viewtest.Query(query.Link),
				"original": viewtest.Query(func(ctx context.Context, st store.Store, r *query.RunsRequest) (*strings.Builder, error) {
					data, err := query.Original(ctx, st, &r.Selection)
					var b strings.Builder
					b.Write(data)
					return &b, err
				}),
				"selected": viewtest.Query(func(ctx context.Context, st store.Store, r *query.RunsRequest) (*query.ProfilesResult, error) {
					list, err := query.Selected(ctx, st, &r.Selection)
					return &query.ProfilesResult{Rows: list}, err
				}),
			})
		})
	}
}

// sums are the pushed profiles of two versions as a run each, with what the store says of them.
func sums(ctx context.Context, st store.Store, set func(any) error) (any, error) {
	var r query.RunsRequest
	if err := set(&r); err != nil {
		return nil, err
	}
	base, head := r.Selection, r.Selection
	runs, err := query.PushedSums(ctx, st, query.PushedSide{Run: "one", Labels: `{version="1"}`, Selection: &base},
		query.PushedSide{Run: "two", Labels: `{version="2"}`, Selection: &head})
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, s := range []*query.Selection{&base, &head} {
		list, err := runs.Profiles(ctx, *s)
		if err != nil {
			return nil, err
		}
		for i := range list {
			fmt.Fprintln(&b, list[i].Run.Key, list[i].Benchmark.Group, list[i].Type.Name, list[i].Sum, query.Summed(runs, list))
		}
	}
	fmt.Fprint(&b, strings.Join(query.PushedNotes(runs), "\n"))
	return &b, nil
}

// counted is a store that counts its changes.
type counted struct {
	*mem.Store
	own, windows uint64
}

func (c *counted) Version() uint64                      { return c.own }
func (c *counted) WindowsVersion(service string) uint64 { return c.windows + uint64(len(service)) }

// TestVersion: an answer follows from the runs of a store and from the windows of its service.
func TestVersion(t *testing.T) {
	st := runtest.Store(t, runtest.Run{Benchmark: "a", Type: profile.CPU, Stacks: "main 1"})
	if _, ok := query.Version(st, ""); ok {
		t.Error("a store that counts no changes has a version")
	}
	for service, want := range map[string]uint64{"": 12, "shop": 16} {
		if got, ok := query.Version(&counted{mem.New(), 5, 7}, service); !ok || got != want {
			t.Errorf("of %q: %d, want %d", service, got, want)
		}
	}
	list, err := st.Profiles(t.Context(), store.Query{})
	if err != nil || query.Summed(st, list) != 1 || query.PushedNotes(st) != nil {
		t.Error("runs are taken for pushed profiles", err)
	}
}

// TestOneType: an answer about one type has that of most benchmarks, and names the others.
func TestOneType(t *testing.T) {
	st := runtest.Store(t,
		runtest.Run{Benchmark: "a", Type: profile.Wall, Stacks: "main 1"},
		runtest.Run{Benchmark: "b", Type: profile.CPU, Stacks: "main 1"},
		runtest.Run{Benchmark: "b", Type: profile.Alloc, Stacks: "main 1"},
		runtest.Run{Benchmark: "a", Type: profile.Wall, Stacks: "main 1"})
	for _, c := range []struct {
		s    query.Selection
		want string
	}{
		{query.Selection{}, "cpu [value type cpu; --type shows others: alloc, wall]"},
		{query.Selection{Benchmarks: []string{"a"}}, " []"},
		{query.Selection{Types: []string{"alloc"}}, "alloc []"},
		{query.Selection{Runs: []string{"02"}}, " []"},
	} {
		q, notes, err := query.OneType(t.Context(), st, &c.s)
		if got := fmt.Sprint(query.TypeOf(&q), " ", notes); err != nil || got != c.want {
			t.Errorf("%+v: %s, %v, want %s", c.s, got, err, c.want)
		}
	}
	list, err := query.ProfilesOf(t.Context(), st, store.Query{})
	if err != nil || query.RunsOf(list) != "4 runs, 01 … 04" || query.RunsOf(list[:1]) != "run 01" || query.RunsOf(nil) != "no runs" ||
		len(query.RunKeys(nil)) != 0 {
		t.Errorf("%s %v", query.RunsOf(list), err)
	}
	if query.RunsText([]string{"\x1b1"}) != `\x1b1` || query.RunsText([]string{"1", "2"}) != "2 runs" {
		t.Error(query.RunsText([]string{"\x1b1"}))
	}
	if _, err := query.ProfilesOf(t.Context(), st, store.Query{Runs: []string{"9"}}); !errors.Is(err, store.ErrNothing) {
		t.Errorf("no profiles: %v", err)
	}
	now, before, err := query.NewestAndBefore(t.Context(), st, store.Query{Benchmarks: []string{"a"}, Last: 1})
	if err != nil || fmt.Sprint(query.RunKeys(now), query.RunKeys(before)) != "[04] [01]" {
		t.Errorf("%v %v %v", now, before, err)
	}
	if _, _, err := query.NewestAndBefore(t.Context(), st,
		store.Query{Benchmarks: []string{"a"}, Types: []string{profile.Wall}, Last: 9}); err == nil ||
		!strings.Contains(err.Error(), "no run before the last 9") {
		t.Error(err)
	}
}

// TestShare: shares are written as percentages or fractions.
func TestShare(t *testing.T) {
	for text, want := range map[string]float64{"5%": .05, "5 %": .05, "0.05": .05, "0": 0, "100%": 1, "5": -1, "-1%": -1, "NaN": -1, "": -1,
		"101%": -1} {
		var s query.Share
		err := s.UnmarshalText([]byte(text))
		if wrong := new(param.Error); want < 0 && !errors.As(err, &wrong) || want >= 0 && (err != nil || float64(s) != want) {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
	if query.ShareOf(1, 4) != .25 || query.ShareOf(1, 0) != 0 {
		t.Error("a share of nothing is 0")
	}
}

// TestNames: what a message says of names that nothing has.
func TestNames(t *testing.T) {
	functions := []profile.Function{{Name: "pkg.(*Type).load (a.py)"}, {Name: "query"}}
	for got, want := range map[string]string{
		query.UnknownFunction("quary", functions).Error():                         "did you mean query",
		query.ClosestOrAll("quary", []string{"query"}):                            "did you mean query",
		query.ClosestOrAll("xxxxxx", []string{"a", "b"}):                          "; there are a, b",
		query.ClosestOrAll("xxxxxx", slices.Repeat([]string{"a"}, 13)) + "none":   "none",
		query.Unqualified("load (a.py)") + " " + query.Unqualified("(anonymous)"): "load (anonymous)",
		words.Counted(1, "run") + ", " + words.Counted(2, "run"):                  "1 run, 2 runs",
		query.Noun(profile.Goroutines, "count") + query.Noun("cpu", "count"):      "goroutinescount",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestServices: a service was last seen when the newest of its instances was.
func TestServices(t *testing.T) {
	st := mem.New()
	err := st.PutInstances(t.Context(), traceprof.Instance{Service: "stem", Name: "a", FirstSeen: 1, LastSeen: 4},
		traceprof.Instance{Service: "shop", Name: "a", FirstSeen: 1, LastSeen: 9},
		traceprof.Instance{Service: "shop", Name: "b", FirstSeen: 2, LastSeen: 5})
	if err != nil {
		t.Fatal(err)
	}
	for since, want := range map[int64]string{0: "[{shop 2 9} {stem 1 4}]", 5: "[{shop 2 9}]", 6: "[{shop 1 9}]"} {
		got, err := query.Services(t.Context(), st, &query.ServicesRequest{Since: time.UnixMilli(since)})
		if err != nil || fmt.Sprint(got.Rows) != want {
			t.Errorf("since %d: %v %v, want %s", since, got, err, want)
		}
	}
	got, err := query.Services(t.Context(), st, &query.ServicesRequest{Rows: 1})
	if err != nil || len(got.Rows) != 1 || got.Omitted.Rows != 1 {
		t.Errorf("%+v %v", got, err)
	}
}
