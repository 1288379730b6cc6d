package query

import (
	"testing"

	"github.com/dendroprof/dendro/test/runtest"
)

// TestRowsOfLists: lists in the order of time keep the newest rows, others the first, and say
// how many are left out.
func TestRowsOfLists(t *testing.T) {
	st := runtest.Store(t,
		runtest.Run{Benchmark: "a", Stacks: "main 1"}, runtest.Run{Benchmark: "a", Stacks: "main 1"},
		runtest.Run{Benchmark: "b", Stacks: "main 1"})
	ctx := t.Context()
	runs, err := Runs(ctx, st, &RunsRequest{Newest: Newest{2}})
	if err != nil || len(runs.Rows) != 2 || runs.Rows[1].Key != "03" || runs.Omitted.Rows != 1 {
		t.Errorf("runs: %+v, %v", runs, err)
	}
	profiles, err := Profiles(ctx, st, &ProfilesRequest{Newest: Newest{1}})
	if err != nil || len(profiles.Rows) != 1 || profiles.Rows[0].Run.Key != "03" || profiles.Omitted.Rows != 2 {
		t.Errorf("profiles: %+v, %v", profiles, err)
	}
	overview, err := Overview(ctx, st, &OverviewRequest{Points: 1, Rows: 1})
	if err != nil || len(overview.Benchmarks) != 1 || overview.Benchmarks[0].Name != "a" || overview.Runs != 3 || overview.Omitted.Rows != 1 {
		t.Errorf("overview: %+v, %v", overview, err)
	}
	h, err := History(ctx, st, &HistoryRequest{Function: "main", Window: 2, Newest: Newest{1}})
	if err != nil || len(h.Series) != 2 || len(h.Series[0].Runs) != 1 || h.Series[0].Runs[0].Key != "02" || h.Omitted.Rows != 1 {
		t.Errorf("history: %+v, %v", h, err)
	}
}
