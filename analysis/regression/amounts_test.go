package regression_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/runtest"
)

// TestAmounts compares live bytes over runs. One function always holds 99.9% of them, so
// that its share says nothing about growth.
func TestAmounts(t *testing.T) {
	for name, tt := range map[string]struct {
		mib     []float64
		process string
		want    string
	}{
		"grows from run to run":     {mib: []float64{25, 50, 75, 100}, want: "regression confirmed +75 MiB since 02 after 01 in com.shop.Cache.put"},
		"grows in one process":      {mib: []float64{25, 50, 75, 100}, process: "42", want: "leak confirmed +75 MiB since 02 after 01 in com.shop.Cache.put"},
		"more in the newest two":    {mib: []float64{25, 26, 25, 24, 40, 40}, want: "regression confirmed +15 MiB since 05 after 04 in com.shop.Cache.put"},
		"more in the newest":        {mib: []float64{25, 26, 25, 24, 40}, want: "regression suspect +15 MiB since 05 after 04 in com.shop.Cache.put"},
		"stays":                     {mib: []float64{25, 26, 24.5, 25.5, 25, 26}},
		"falls":                     {mib: []float64{100, 75, 50, 25}},
		"saw teeth of a collector":  {mib: []float64{25, 40, 25, 40, 25, 40, 25, 40}},
		"was larger, and grows":     {mib: []float64{100, 25, 26, 25, 26}},
		"grew once, long ago":       {mib: []float64{25, 25, 25, 40, 40, 40, 40, 40}},
		"too few runs for anything": {mib: []float64{25, 50}},
	} {
		var runs []runtest.Run
		for _, v := range tt.mib {
			whole := int(v * (1 << 20))
			runs = append(runs, runtest.Run{Benchmark: "soak", Type: "live", Process: tt.process,
				Stacks: fmt.Sprintf("com.shop.Main.main;com.shop.Cache.put %d, com.shop.Main.main;com.shop.Log.of %d", whole-whole/1000, whole/1000)})
		}
		res, err := regression.Find(t.Context(), runtest.Store(t, runs...), store.Query{}, regression.Request{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range res.Findings {
			got += fmt.Sprintf("%s %s %+.0f MiB since %s after %s in %s", f.Kind, f.Status, math.Round(f.Delta.Time.Value/(1<<20)), f.Since.Run,
				f.Since.LastGood, f.Function)
			if f.Delta.Time.Unit != "bytes" || f.Headline == nil || f.Delta.Time.Low > f.Delta.Time.Value {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
