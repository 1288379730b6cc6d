package judge

import (
	"testing"

	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/test/runtest"
)

// TestRowsOfLists: lists in the order of time keep the newest rows, others the first, and say
// how many are left out.
func TestRowsOfLists(t *testing.T) {
	st := runtest.Store(t,
		runtest.Run{Benchmark: "a", Stacks: "main 1"}, runtest.Run{Benchmark: "a", Stacks: "main 1"},
		runtest.Run{Benchmark: "b", Stacks: "main 1"})
	ctx := t.Context()
	runs, err := query.Runs(ctx, st, &query.RunsRequest{Newest: query.Newest{Rows: 2}})
	if err != nil || len(runs.Rows) != 2 || runs.Rows[1].Key != "03" || runs.Omitted.Rows != 1 {
		t.Errorf("runs: %+v, %v", runs, err)
	}
	profiles, err := query.Profiles(ctx, st, &query.ProfilesRequest{Newest: query.Newest{Rows: 1}})
	if err != nil || len(profiles.Rows) != 1 || profiles.Rows[0].Run.Key != "03" || profiles.Omitted.Rows != 2 {
		t.Errorf("profiles: %+v, %v", profiles, err)
	}
	overview, err := Overview(ctx, st, &OverviewRequest{Points: 1, Rows: 1})
	if err != nil || len(overview.Benchmarks) != 1 || overview.Benchmarks[0].Name != "a" || overview.Runs != 3 || overview.Omitted.Rows != 1 {
		t.Errorf("overview: %+v, %v", overview, err)
	}
	h, err := History(ctx, st, &HistoryRequest{Function: "main", Window: 2, Newest: query.Newest{Rows: 1}})
	if err != nil || len(h.Series) != 2 || len(h.Series[0].Runs) != 1 || h.Series[0].Runs[0].Key != "02" || h.Omitted.Rows != 1 {
		t.Errorf("history: %+v, %v", h, err)
	}
}
