package recorded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/dendroprof/dendro/app"
)

// TestTurns judges version bumps that were recorded in turns on a busy machine, by the commands that
// a user runs: what fails, in whose code, by how much. The truth is the CPU time per operation of ten
// pairs, measured apart. A run of the base against the others has no change that fails.
func TestTurns(t *testing.T) {
	for _, tt := range []struct {
		bump, head      string
		fails           bool
		function, calls string
		low, high       float64 // of the truth
	}{
		{"jsonschema", "attr.side=pr-head", true, "check_orders.<locals>.<genexpr> (/src/orders.py)",
			"create.<locals>.Validator.iter_errors (/src/.dendro-venv/lib/python3.11/site-packages/jsonschema/validators.py)", .35, .64},
		{"fxp", "pr-head-3", true, "load (work.mjs)", "parse (node_modules/fast-xml-parser/src/xmlparser/XMLParser.js)", .56, 1.25},
		{"jexl", "pr-head-2", true, "com.acme.shop.Shop.loadRules", "org.apache.commons.jexl3.JexlEngine.createScript", .34, 1.03},
	} {
		store := filepath.Join(t.TempDir(), tt.bump+".duckdb")
		dendro(t, "import", "--store", store, "--manifest", filepath.Join("testdata", "turns", tt.bump, "manifest.json"))
		check := func(head string) (failed bool, costs []cost) {
			var out, errOut bytes.Buffer
			status := app.Main([]string{"check", "--store", store, "-o", "json", "--base", "attr.side=pr-base", "--head", head}, nil, &out, &errOut)
			var doc struct{ Changes []cost }
			if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
				t.Fatal(err, &errOut)
			}
			for _, c := range doc.Changes {
				if c.Kind == "regression" || c.Kind == "slowdown" {
					costs = append(costs, c)
				}
			}
			return status == 3, costs
		}
		failed, costs := check(tt.head)
		if failed != tt.fails || len(costs) != 1 {
			t.Fatalf("%s: failed %v: %+v", tt.bump, failed, costs)
		}
		if c := costs[0]; c.Headline.Function != tt.function || c.Headline.Calls != tt.calls {
			t.Errorf("%s: %+v", tt.bump, c.Headline)
		} else if d := c.Delta.Share; d < .7*tt.low || d > 1.3*tt.high {
			t.Errorf("%s: +%.1f%%, want %.0f … %.0f", tt.bump, 100*d, 100*tt.low, 100*tt.high)
		}
		for k := range TurnRuns {
			if failed, costs := check(fmt.Sprintf("pr-base-%d", k+1)); failed {
				t.Errorf("%s: run %d of the base fails: %+v", tt.bump, k+1, costs)
			}
		}
	}
}

// cost is a change that takes time.
type cost struct {
	Kind, Benchmark string
	Headline        struct{ Function, Calls string }
	Delta           struct {
		Share float64
		Time  struct{ Value, Low, High float64 }
	}
}
