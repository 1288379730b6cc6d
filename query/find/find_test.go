package find

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/runtest"
)

// TestFindSums: the share and the minimum of a benchmark, group, run or function are those of
// all its profiles; one without the function counts as 0.
func TestFindSums(t *testing.T) {
	var runs []runtest.Run
	for _, stacks := range []string{"parse 5, main 95", "parse 5, main 95", "parse 5, main 95", "main;parse 40, main 60"} {
		runs = append(runs, runtest.Run{Benchmark: "even", Stacks: stacks})
	}
	for i := range 10 {
		stacks := "main 100"
		if i == 3 {
			stacks = "main;parse 10, main 90"
		}
		runs = append(runs, runtest.Run{Benchmark: "odd", Stacks: stacks})
	}
	st := runtest.Store(t, runs...)
	for _, test := range []struct {
		values string // parameters besides the pattern
		want   string
	}{
		{"by=benchmark", "g/even 4 of 4 0.1375 max 0.4 in 04 55; g/odd 1 of 10 0.01 max 0.1 in 08 10"},
		{"by=benchmark min-share=15%", ""},
		{"by=benchmark min-share=13%", "g/even 4 of 4 0.1375 max 0.4 in 04 55"},
		{"by=benchmark min-share=15% in-any-run=true", "g/even 1 of 4 0.1375 max 0.4 in 04 55"},
		{"by=benchmark min-share=10% in-any-run=true", "g/even 1 of 4 0.1375 max 0.4 in 04 55; g/odd 1 of 10 0.01 max 0.1 in 08 10"},
		{"by=benchmark min-value=50", "g/even 4 of 4 0.1375 max 0.4 in 04 55"},
		{"by=benchmark min-value=50 in-any-run=true", ""},
		{"by=benchmark last=1", "g/even 1 of 1 0.4 max 0.4 in 04 40"},
		{"by=benchmark pattern=main;parse", "g/even 1 of 4 0.1 max 0.4 in 04 40; g/odd 1 of 10 0.01 max 0.1 in 08 10"},
		{"by=benchmark pattern=p*|x*", "g/even 4 of 4 0.1375 max 0.4 in 04 55; g/odd 1 of 10 0.01 max 0.1 in 08 10"},
		{"by=group", "g 5 of 14 0.0464286 max 0.4 in 04 65"},
		{"by=function", "parse 5 of 14 0.0464286 max 0.4 in 04 65"},
		{"by=function pattern=* self=true min-share=50%", "main 14 of 14 0.953571 max 1 in 05 1335"},
		{"by=run min-share=20%", "04 1 of 1 0.4 max 0.4 in 04 40"},
	} {
		r := Request{Pattern: "parse"}
		parameters := param.Of(&r)
		for _, v := range strings.Fields(test.values) {
			name, value, _ := strings.Cut(v, "=")
			i := slices.IndexFunc(parameters, func(p *param.Parameter) bool { return p.Name == name })
			if err := parameters[i].Set(value); err != nil {
				t.Fatal(err)
			}
		}
		found, err := Sums(t.Context(), st, &r)
		if err != nil {
			t.Errorf("%s: %v", test.values, err)
			continue
		}
		var rows []string
		for _, x := range found.Rows {
			value := x.Total
			if r.Self {
				value = x.Self
			}
			rows = append(rows, fmt.Sprintf("%s %d of %d %.6g max %.6g in %s %v", x.Name, x.Profiles, x.Of, x.Share, x.MaxShare, x.MaxRun, value))
		}
		if got := strings.Join(rows, "; "); got != test.want {
			t.Errorf("%s: %s\nwant %s", test.values, got, test.want)
		}
		if len(rows) == 0 && (len(found.Notes) != 1 || !strings.Contains(found.Notes[0], "is below --min-")) {
			t.Errorf("%s: notes %q", test.values, found.Notes)
		}
	}
	r := Request{Pattern: "parse", InAnyRun: true}
	param.Of(&r)
	if _, err := Find(t.Context(), st, &r); err == nil || !strings.Contains(err.Error(), "--in-any-run needs --by") {
		t.Errorf("--in-any-run by profile: %v", err)
	}
}

// countingNames counts how often the names of a store are read.
type countingNames struct {
	store.Store
	names int
}

func (r *countingNames) FunctionNames(ctx context.Context) ([]profile.Function, error) {
	r.names++
	return r.Store.FunctionNames(ctx)
}

// TestFindReadsNamesOnce: also where the error names what is alike.
func TestFindReadsNamesOnce(t *testing.T) {
	of := runtest.Store(t, runtest.Run{Benchmark: "b", Stacks: "main;parse 5, main 95"})
	for _, test := range []struct {
		pattern, err string
		reads        int
	}{
		{"parse", "", 1},
		{"p*|main", "", 1},
		{"main;parse", "", 0},
		{"parze", "no function in the store matches parze; did you mean parse?", 1},
		{"main;parze", "no function in the store matches parze; did you mean parse?", 1},
	} {
		st := &countingNames{Store: of}
		_, err := Find(t.Context(), st, &Request{Pattern: test.pattern, By: "profile"})
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) || st.names != test.reads {
			t.Errorf("%s: %d reads: %v", test.pattern, st.names, err)
		}
	}
}
