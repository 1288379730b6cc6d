package functions

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
)

// scraped returns the lines of /metrics/functions without comments.
func scraped(t *testing.T, m *metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("GET", "/metrics/functions", nil))
	var b strings.Builder
	for line := range strings.Lines(w.Body.String()) {
		if !strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	return fmt.Sprintln(w.Code) + b.String()
}

// TestMetrics: cores are CPU time per second of all instances over the last minutes, of the
// hottest functions of each service and of the chosen ones.
func TestMetrics(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	st, windows := mem.New(), storetest.NewWindowMaker()
	seconds := func(stack string, n int64) storetest.Sample {
		return storetest.Sample{Stack: strings.Split(stack, ";"), Value: n * int64(time.Second)}
	}
	heap := windows.Window("shop", now.Add(-2*time.Minute), nil, seconds("main", 500))
	heap.Series.Type = storetest.HeapWindows
	for _, w := range []*continuous.Window{heap,
		windows.Window("shop", now.Add(-2*time.Minute), []string{"pod", "a"}, seconds("main;price", 300), seconds("main", 30)),
		windows.Window("shop", now.Add(-3*time.Minute), []string{"pod", "b"}, seconds("main;price;main", 60), seconds("main;tax", 3)),
		windows.Window("shop", now.Add(-30*time.Second), nil, seconds("main;late", 1000)),
		windows.Window("shop", now.Add(-time.Hour), nil, seconds("main;old", 1000)),
		windows.Window("a\"b\\\n", now.Add(-2*time.Minute), nil, seconds("f\"{\n", 150), seconds("tax", 15), seconds("other", 1)),
	} {
		if _, err := st.PutWindows(t.Context(), []*continuous.Window{w}); err != nil {
			t.Fatal(err)
		}
	}
	m := &metrics{Chosen: Chosen{Top: 1, Named: []string{"tax", "nowhere"}}, st: st,
		now: func() time.Time { return now }}
	const want = `200
dendro_function_own_cores{function="f\"{\n",service="a\"b\\\n"} 0.5
dendro_function_own_cores{function="price",service="shop"} 1
dendro_function_own_cores{function="tax",service="a\"b\\\n"} 0.05
dendro_function_own_cores{function="tax",service="shop"} 0.01
dendro_function_self_cores{function="f\"{\n",service="a\"b\\\n"} 0.5
dendro_function_self_cores{function="price",service="shop"} 1
dendro_function_self_cores{function="tax",service="a\"b\\\n"} 0.05
dendro_function_self_cores{function="tax",service="shop"} 0.01
dendro_function_total_cores{function="f\"{\n",service="a\"b\\\n"} 0.5
dendro_function_total_cores{function="price",service="shop"} 1.2
dendro_function_total_cores{function="tax",service="a\"b\\\n"} 0.05
dendro_function_total_cores{function="tax",service="shop"} 0.01
dendro_functions_omitted 0
`
	if got := scraped(t, m); got != want {
		t.Errorf("scraped:\n%s\nwant:\n%s", got, want)
	}
	if _, err := st.PutWindows(t.Context(), []*continuous.Window{
		windows.Window("shop", now.Add(-2*time.Minute), []string{"pod", "c"}, seconds("tax", 600))}); err != nil {
		t.Fatal(err)
	}
	if got := scraped(t, m); got != want {
		t.Error("an answer is read again at once")
	}
	now = now.Add(functionsKept)
	if got := scraped(t, m); !strings.Contains(got, `dendro_function_self_cores{function="tax",service="shop"} 2.01`) {
		t.Errorf("later:\n%s", got)
	}
}

// TestOwnCode: the hottest function is that of the service's own code with what it calls, as it is
// in overview, and not a part of the runtime.
func TestOwnCode(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	st, windows := mem.New(), storetest.NewWindowMaker()
	w := windows.Window("shop", now.Add(-2*time.Minute), nil,
		storetest.Sample{Stack: []string{"main.main", "main.price", "runtime.mallocgc"}, Value: int64(300 * time.Second)},
		storetest.Sample{Stack: []string{"main.main", "main.tax"}, Value: int64(200 * time.Second)})
	if _, err := st.PutWindows(t.Context(), []*continuous.Window{w}); err != nil {
		t.Fatal(err)
	}
	got := scraped(t, &metrics{Chosen: Chosen{Top: 1}, st: st, now: func() time.Time { return now }})
	if !strings.Contains(got, `dendro_function_own_cores{function="main.price",service="shop"} 1`+"\n") ||
		strings.Contains(got, "mallocgc") {
		t.Errorf("scraped:\n%s", got)
	}
	uses, err := query.PushedUses(t.Context(), st, func(string) bool { return true }, time.Time{})
	if err != nil || len(uses) != 1 || uses[0].Function != "main.price" || uses[0].Share != 0.6 {
		t.Errorf("overview has %+v, %v", uses, err)
	}
}

// TestManyFunctions: an answer has a limit of functions, and long names are cut.
func TestManyFunctions(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	st, windows := mem.New(), storetest.NewWindowMaker()
	for service := range 11 {
		var samples []storetest.Sample
		for i := range 1000 {
			samples = append(samples, storetest.Sample{Stack: []string{fmt.Sprintf("f%d%s", i, strings.Repeat("x", 2000))}, Value: int64(i + 1)})
		}
		if _, err := st.PutWindows(t.Context(), []*continuous.Window{
			windows.Window(fmt.Sprint("s", service), now.Add(-2*time.Minute), nil, samples...)}); err != nil {
			t.Fatal(err)
		}
	}
	m := &metrics{Chosen: Chosen{Top: 1000}, st: st, now: func() time.Time { return now }}
	got := scraped(t, m)
	if n := strings.Count(got, "dendro_function_self_cores{"); n != maxFunctions || !strings.Contains(got, "dendro_functions_omitted 1000\n") {
		t.Errorf("%d functions", n)
	}
	for line := range strings.Lines(got) {
		if len(line) > maxLabel+100 {
			t.Fatalf("%d bytes of a line", len(line))
		}
	}
}

func TestParse(t *testing.T) {
	for _, text := range []string{"0", "-1", "1001", ""} {
		if _, err := Parse([]string{text}); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
	m, err := Parse([]string{"10", "main.price"})
	if err != nil || m.Top != 10 || len(m.Named) != 1 || m.Named[0] != "main.price" {
		t.Errorf("%+v, %v", m, err)
	}
}
