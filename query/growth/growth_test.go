package growth_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/growth"
	"github.com/dendroprof/dendro/table"
	"github.com/dendroprof/dendro/test/runtest"
)

// TestList: shares are means over the profiles of a benchmark, then over benchmarks.
func TestList(t *testing.T) {
	var runs []runtest.Run
	for _, stacks := range []string{"main;load 4, main;sort 4", "main;load 2, main;sort 6", "main;load 5, main;sort 3"} {
		runs = append(runs, runtest.Run{Benchmark: "cart", Stacks: stacks})
	}
	st := runtest.Store(t, runs...)
	for _, test := range []struct {
		sort string
		most int
		want string
	}{
		{"", 0, "load 0.625 0.375 0.25, main 1 1 0, sort 0.375 0.625 -0.25"},
		{"diff", 1, "load 0.625 0.375 0.25 and 2"},
		{"total", 0, "main 1 1 0, load 0.625 0.375 0.25, sort 0.375 0.625 -0.25"},
		{"self", 2, "load 0.625 0.375 0.25, sort 0.375 0.625 -0.25 and 1"},
	} {
		r, err := growth.List(t.Context(), st, &query.Selection{Last: 1}, test.sort, test.most)
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for _, x := range r.Rows {
			rows = append(rows, fmt.Sprintf("%s %g %g %g", x.Function, x.Head, x.Base, x.Diff))
		}
		got := strings.Join(rows, ", ")
		if r.Omitted.Rows > 0 {
			got += fmt.Sprintf(" and %d", r.Omitted.Rows)
		}
		if got != test.want || strings.Join(r.Head, " ") != "03" || strings.Join(r.Base, " ") != "01 02" {
			t.Errorf("%s: %s, %s after %s\nwant %s", test.sort, got, r.Head, r.Base, test.want)
		}
		var b bytes.Buffer
		err = r.Table(true).Print(&table.Output{W: &b, Err: &b, Format: "tsv"})
		if err != nil || !strings.Contains(b.String(), "0.625\t0.375\t0.25\t0.625\t0.375\tload\n") {
			t.Errorf("%s: printed %s, %v", test.sort, b.String(), err)
		}
	}
	_, err := growth.List(t.Context(), st, &query.Selection{Last: 3}, "", 0)
	if err == nil || !strings.Contains(err.Error(), "no run before the last 3") {
		t.Errorf("nothing before: %v", err)
	}
}
