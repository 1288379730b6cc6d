package judge

import (
	"testing"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
)

// TestMemoryOfJudgedStore: judgements of benchmarks are kept by the store that has them;
// those of releases, whose runs exist for one request, are not kept among them.
func TestMemoryOfJudgedStore(t *testing.T) {
	st := manyRuns(t)
	if _, err := Regressions(t.Context(), st, withDefaults[RegressionsRequest](t, map[string]string{"last": "1"})); err != nil {
		t.Fatal(err)
	}
	if store.MemoryOf(st).Bytes() == 0 {
		t.Error("nothing is kept of a benchmark")
	}
	services := mem.New()
	forest := &calltree.Forest{}
	root := forest.Path(calltree.NoNode, forest.Function(profile.Function{Name: "main"}))
	for hour := range 12 {
		version := "v1"
		if hour >= 6 {
			version = "v2"
		}
		for minute := range 60 {
			w := &continuous.Window{Start: time.Date(2026, 11, 20, hour, minute, 0, 0, time.UTC), Length: time.Minute, Type: profile.NamedType("cpu"), Forest: forest, Hash: profile.Hash{byte(hour), byte(minute)},
				Series: continuous.Series{Service: "shop", Type: continuous.Type{Name: "process_cpu", SampleType: "cpu", SampleUnit: "nanoseconds", PeriodType: "cpu", PeriodUnit: "nanoseconds"},
					Labels: continuous.Labels{{Name: "version", Value: version}}},
				Self: calltree.Vector{Nodes: []int32{root}, Self: []int64{int64(hour+1) * 1e7}}}
			if _, err := services.PutWindows(t.Context(), []*continuous.Window{w}); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := withDefaults[RegressionsRequest](t, map[string]string{"service": "shop"})
	if res, err := Regressions(t.Context(), services, r); err != nil || len(res.Benchmarks) == 0 {
		t.Fatal(res, err)
	}
	if n := services.Memory().Bytes(); n != 0 {
		t.Errorf("%d bytes of releases are kept among benchmarks", n)
	}
}
