package mcp

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/test/storetest"
)

// pushed is a session with what two releases of a service pushed in two hours each: 1.1 takes more
// of tax.
func pushed(t *testing.T) *sdk.ClientSession {
	t.Helper()
	st, err := duckdb.Open(t.Context(), filepath.Join(t.TempDir(), "s.duckdb"), duckdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	windows := storetest.NewWindowMaker()
	var list []*continuous.Window
	for minute := range 4 * 60 {
		version, tax := "1.0", int64(20)
		if minute >= 2*60 {
			version, tax = "1.1", 60
		}
		value := func(v int64) int64 { return v * int64(10*time.Millisecond) }
		list = append(list, windows.Window("shop", time.Date(2026, 11, 20, 8, minute, 0, 0, time.UTC), []string{"version", version},
			storetest.Sample{Stack: []string{"main.main", "main.price"}, Value: value(100 + int64(minute%3))},
			storetest.Sample{Stack: []string{"main.main", "main.tax", "lib.round"}, Value: value(tax + int64(minute%2))}))
	}
	if _, err := st.PutWindows(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	return connect(t, st, Options{SQL: Of(st)})
}

// TestPushed: the tools answer about pushed profiles of a service, of all of it and of a release.
func TestPushed(t *testing.T) {
	s := pushed(t)
	for _, c := range []struct {
		tool, labels string
		more         map[string]any
		want         []string
	}{
		{"top", "", nil, []string{"340 s in total", "97.2 s   28.6%  lib.round"}},
		{"top", `{version="1.1"}`, nil, []string{"194 s in total", "72.6 s   37.5%  lib.round"}},
		{"tree", `{version="1.0"}`, nil, []string{"main.tax", "lib.round"}},
		{"find", "", map[string]any{"pattern": "lib.round"}, []string{"2026-11-20T11:50", "6.05 s", "lib.round"}},
		{"bottlenecks", "", nil, []string{"72.8%", "main.price"}},
		{"history", "", nil, []string{"shop"}},
		{"diff", "", map[string]any{"base-labels": `{version="1.0"}`, "head-labels": `{version="1.1"}`}, []string{"main.tax", "lib.round"}},
		{"regressions", "", nil, []string{"shop", "main.tax", "1.1"}},
		{"report", "", nil, []string{"shop", "main.tax"}},
		{"overview", "", nil, []string{"shop", "main.tax → lib.round"}},
		{"sql", "", map[string]any{"query": "SELECT function, sum(self)::BIGINT AS ns FROM function_sample GROUP BY function ORDER BY function"},
			[]string{"lib.round", "97200000000", "main.price", "242400000000"}},
		{"sql", `{version="1.1"}`, map[string]any{"query": "SELECT sum(self)::BIGINT FROM function_sample"}, []string{"193800000000"}},
	} {
		arguments := map[string]any{"service": "shop"}
		if c.labels != "" {
			arguments["labels"] = c.labels
		}
		for k, v := range c.more {
			arguments[k] = v
		}
		text, failed := call(t, s, c.tool, arguments)
		if failed {
			t.Errorf("%s %v: %s", c.tool, arguments, text)
		}
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s %v lacks %q:\n%s", c.tool, arguments, want, text)
			}
		}
	}
	text, failed := call(t, s, "top", map[string]any{"service": "nowhere"})
	if !failed || !strings.Contains(text, "no profile was pushed by this selection") {
		t.Errorf("a service that pushes nothing: %s", text)
	}
}
