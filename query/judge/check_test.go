package judge

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/runtest"
)

// countingTrees counts how often trees are read.
type countingTrees struct {
	store.Store
	store.VerdictKeeper
	calls atomic.Int64
}

func (s *countingTrees) Trees(ctx context.Context, q store.Query, o store.TreeOptions) (*store.TreeSet, error) {
	if !o.Modes { // which are read where there is a finding
		s.calls.Add(1)
	}
	return s.Store.Trees(ctx, q, o)
}

// TestCheckReadsTreesOnce: without candidates there is no evidence to read trees for, and the
// verdict is the same.
func TestCheckReadsTreesOnce(t *testing.T) {
	var runs []runtest.Run
	for i := range 8 {
		slow := 100
		if i > 5 {
			slow = 300
		}
		for _, name := range []string{"a", "b", "c"} {
			runs = append(runs, runtest.Run{Benchmark: name, Stacks: fmt.Sprintf("main;load %d, main;sort %d, main;plan %d, main;join %d, main;scan 250", slow+i, 300-i, 200+2*i, 150-i)})
			slow = 100
		}
	}
	inner := runtest.Store(t, runs...)
	st := &countingTrees{Store: inner, VerdictKeeper: inner}
	if err := Follow(t.Context(), st, nil, nil); err != nil {
		t.Fatal(err)
	}
	for candidates, want := range map[int]int64{0: 3, 5: 6} {
		st.calls.Store(0)
		doc, err := Check(t.Context(), st, &CheckRequest{ReportRequest: ReportRequest{Candidates: candidates}, FailOn: "regression:0"})
		if err != nil {
			t.Fatal(err)
		}
		if got := st.calls.Load(); got != want || !doc.Verdict.Failed {
			t.Errorf("%d candidates: trees were read %d times, want %d; failed: %t", candidates, got, want, doc.Verdict.Failed)
		}
	}
}
