package judge

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// listOnly is a store that lists profiles and answers nothing else: other methods panic.
type listOnly struct {
	store.Store
	list  []store.Profile
	calls int
}

func (s *listOnly) Profiles(context.Context, store.Query) ([]store.Profile, error) {
	s.calls++
	return s.list, nil
}

// The start page of a large store costs one list of profiles and reads no tree, however
// many benchmarks and runs there are, and its answer does not grow with the runs.
func TestOverviewCost(t *testing.T) {
	st := &listOnly{}
	for run := range 200 {
		for b := range 25 {
			st.list = append(st.list, store.Profile{
				Benchmark: testrun.Benchmark{Group: "g", Name: fmt.Sprintf("b%02d", b)},
				Run:       testrun.Run{Key: fmt.Sprintf("r%03d", run), Date: time.Date(2026, 1, 1, run, 0, 0, 0, time.UTC)},
				Type:      profile.NamedType("cpu"),
				Metrics:   []testrun.Metric{{Name: "time/op", Mean: float64(100 + run%7), Unit: "ns/op", Primary: true}},
			})
		}
	}
	r, err := Overview(t.Context(), st, &OverviewRequest{Points: 30, Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	if st.calls != 1 || r.Profiles != 5000 || len(r.Benchmarks) != 25 {
		t.Errorf("%d lists, %d profiles, %d benchmarks", st.calls, r.Profiles, len(r.Benchmarks))
	}
	for _, b := range r.Benchmarks {
		if b.Runs != 200 || b.Metric == nil || len(b.Metric.Values) != 30 {
			t.Fatalf("%s: %d runs, metric %+v", b.Name, b.Runs, b.Metric)
		}
	}
}
