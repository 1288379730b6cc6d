package judge

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	queryfind "github.com/dendroprof/dendro/query/find"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/runtest"
)

// manyRuns returns a store with runs of a benchmark, of which the last is slower.
func manyRuns(t *testing.T) store.Store {
	t.Helper()
	var runs []runtest.Run
	for range 12 {
		runs = append(runs, runtest.Run{Benchmark: "a", Stacks: "main;load 600, main;query;load 200, main;query 400"})
	}
	runs = append(runs, runtest.Run{Benchmark: "a", Stacks: "main;load 600, main;query;load 200, main;query 400, main;query;slow 300, <b> 1"})
	return runtest.Store(t, runs...)
}

// withDefaults returns a request with the defaults of its parameters and some of their values.
func withDefaults[R any](t *testing.T, values map[string]string) *R {
	t.Helper()
	r := new(R)
	known := map[string]bool{}
	for _, p := range param.Of(r) {
		if text, ok := values[p.Name]; ok {
			known[p.Name] = true
			if err := p.Set(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name := range values {
		if !known[name] {
			t.Fatalf("%T has no parameter %s", r, name)
		}
	}
	return r
}

// sameAfterDecoding asks for a view and wants that its document, decoded into the type that
// the view promises, is written again byte for byte.
func sameAfterDecoding[R any](t *testing.T, st store.Store, view func(*R) query.View[R], values map[string]string) {
	t.Helper()
	r := withDefaults[R](t, values)
	v := view(r)
	result, err := v.Answer(t.Context(), st, r)
	if err != nil {
		t.Errorf("%v: %v", values, err)
		return
	}
	if _, ok := result.(query.Result); !ok {
		t.Errorf("%v: %T does not describe its table", values, result)
	}
	decoded := v.New()
	if a, b := reflect.TypeOf(result), reflect.TypeOf(decoded); a != b {
		t.Fatalf("%v: answers with %s, New makes %s", values, a, b)
	}
	for _, form := range []document.Form{{}, {Client: true}} {
		document := written(t, result, form)
		if err := json.Unmarshal(document, decoded); err != nil {
			t.Fatalf("%v: %v\n%s", values, err, document)
		}
		if again := written(t, decoded, form); !bytes.Equal(document, again) {
			t.Errorf("%v: %T\n%s\nafter decoding\n%s", values, result, document, again)
		}
	}
}

func written(t *testing.T, result any, form document.Form) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := document.Write(&b, result, form); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Every document is read into the type it was written from, and loses nothing: a client
// decodes what a server wrote and prints it as the server would.
func TestResultsDecode(t *testing.T) {
	st := manyRuns(t)
	type values = map[string]string
	for _, x := range []values{{}, {"invert": "true"}, {"view": "flame"}, {"view": "functions"}, {"view": "functions", "last": "1"},
		{"select": "main;query"}, {"average": "mean"}} {
		sameAfterDecoding(t, st, trees.TreeView, x)
	}
	for _, x := range []values{{}, {"by": "share"}, {"by": "value"}, {"view": "flame"}, {"view": "functions"},
		{"view": "functions", "sort": "self"}, {"select": "main;query"},
		{"net": "true"}, {"net": "true", "view": "functions"}, {"net": "true", "view": "flame"}, {"net": "true", "select": "main;query"},
		{"against": "history"}} {
		x["last"] = "1"
		sameAfterDecoding(t, st, trees.DiffView, x)
	}
	for _, by := range []string{"profile", "run", "benchmark", "group", "function"} {
		sameAfterDecoding(t, st, queryfind.View, values{"pattern": "load", "by": by})
	}
	for _, x := range []values{{}, {"expand": "greedy"}, {"method": "thesis"}, {"method": "thesis", "expand": "greedy"},
		{"method": "hotelling", "last": "2"}} {
		sameAfterDecoding(t, st, MethodView, x)
	}
	sameAfterDecoding(t, st, func(*OverviewRequest) query.View[OverviewRequest] { return query.ViewOf(Overview) }, values{})
	sameAfterDecoding(t, st, func(*query.RunsRequest) query.View[query.RunsRequest] { return query.ViewOf(query.Runs) }, values{})
	sameAfterDecoding(t, st, func(*query.ProfilesRequest) query.View[query.ProfilesRequest] { return query.ViewOf(query.Profiles) }, values{})
	sameAfterDecoding(t, st, func(*HistoryRequest) query.View[HistoryRequest] { return query.ViewOf(History) }, values{"function": "load"})
	sameAfterDecoding(t, st, func(*query.FunctionNamesRequest) query.View[query.FunctionNamesRequest] {
		return query.ViewOf(query.FunctionNames)
	}, values{})
	sameAfterDecoding(t, st, func(*BottlenecksRequest) query.View[BottlenecksRequest] { return query.ViewOf(Bottlenecks) },
		values{"contexts": "2", "plots": "1", "expand": "greedy"})
}

// TestScoresNameTheirWindow: a score says of which runs it is, and amounts have their unit.
func TestScoresNameTheirWindow(t *testing.T) {
	st := manyRuns(t)
	res, err := Scores(t.Context(), st, &RegressionsRequest{Judging: Judging{Window: 5}, Scored: Scored{Measure: "total"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Notes) == 0 || res.Notes[len(res.Notes)-1] != "13 is scored against 5 of 12 runs before it, 08 … 12 (--window)" || res.Unit != "count" {
		t.Errorf("%+v", res)
	}
	res.Unit = "nanoseconds"
	columns := res.Table(false).Columns
	if got := columns[1].Text(1.5e6) + ", " + columns[2].Text(2e9); got != "1.50 ms, 2 s" {
		t.Errorf("amounts %s", got)
	}
}
