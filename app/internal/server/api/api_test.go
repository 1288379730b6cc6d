package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/transfer"
	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/find"
	"github.com/dendroprof/dendro/query/growth"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
)

type rowsOf[T any] struct{ Rows []T }

func TestListings(t *testing.T) {
	l := newLab(t)
	var empty rowsOf[any]
	l.get("/api/v1/runs", &empty)
	if empty.Rows == nil || len(empty.Rows) > 0 {
		t.Errorf("runs of an empty store: %v", empty.Rows)
	}
	l.put()
	var info transfer.About
	l.get("/api/v1/info", &info)
	if info.Product != "dendro" || info.API != 1 || info.Store.Profiles != 3 || info.SQL {
		t.Errorf("info: %+v", info)
	}
	var runs query.RunsResult
	l.get("/api/v1/runs", &runs)
	if len(runs.Rows) != 2 || runs.Rows[0].Key != "r1" || runs.Rows[0].Benchmarks != 2 || runs.Rows[0].Profiles != 2 ||
		fmt.Sprint(runs.Rows[0].Types) != "[alloc cpu-samples]" {
		t.Errorf("runs: %+v", runs.Rows)
	}
	var list rowsOf[store.Profile]
	l.get("/api/v1/profiles?group=shop&last=1", &list)
	want, err := l.st.Profiles(t.Context(), store.Query{Groups: []string{"shop"}, Last: 1})
	if err != nil || len(list.Rows) != 1 || list.Rows[0].ID != want[0].ID || list.Rows[0].Sum != 13 {
		t.Errorf("profiles: %+v, %v", list.Rows, err)
	}
	first, _ := l.st.Profiles(t.Context(), store.Query{Groups: []string{"shop"}, Runs: []string{"r1"}})
	id := string(first[0].ID)
	var one store.Profile
	l.get("/api/v1/profiles/"+id, &one)
	if one.Run.Key != "r1" || len(one.Metrics) != 1 {
		t.Errorf("profile: %+v", one)
	}
	w := l.serve(httptest.NewRequest("GET", "/api/v1/profiles/"+id+"/source", nil))
	if w.Code != 200 || w.Body.String() != "the original" {
		t.Errorf("source: %d %q", w.Code, w.Body)
	}
	l.problem(l.serve(httptest.NewRequest("GET", "/api/v1/profiles/"+string(want[0].ID)+"/source", nil)), 404, "no-source")
	l.problem(l.serve(httptest.NewRequest("GET", "/api/v1/profiles/0000000000000000", nil)), 404, "no-such-profile")
	l.problem(l.serve(httptest.NewRequest("GET", "/api/v1/profiles/none", nil)), 400, "bad-request")

	var names query.FunctionNamesResult
	l.get("/api/v1/function-names?pattern=pa*", &names)
	if len(names.Rows) != 2 || names.Rows[0].Function != "parse" || names.Rows[1].Function != "pay" {
		t.Errorf("names: %+v", names.Rows)
	}
	l.problem(l.serve(httptest.NewRequest("GET", "/api/v1/function-names?pattern=a;b", nil)), 400, "bad-request")
}

// columns is a tree as it is answered.
type columns struct {
	Columns struct {
		Parent, Depth, Function, Self, Total     []int64
		BaseSelf, HeadSelf, BaseTotal, HeadTotal []int64
		Noise                                    []float64
		Functions                                []query.Function
	}
	Notes   []string
	Omitted query.Omitted
}

// draw writes a tree as lines "··name total self".
func (c *columns) draw() string {
	var b strings.Builder
	for i, fn := range c.Columns.Function {
		fmt.Fprintf(&b, "%s%s %d %d\n", strings.Repeat("·", int(c.Columns.Depth[i])), c.Columns.Functions[fn].Function, c.Columns.Total[i],
			c.Columns.Self[i])
		if p := c.Columns.Parent[i]; p >= int64(i) || p < 0 != (c.Columns.Depth[i] == 0) || p >= 0 && c.Columns.Depth[p] != c.Columns.Depth[i]-1 {
			fmt.Fprintf(&b, "its parent is %d\n", p)
		}
	}
	return b.String()
}

func TestTree(t *testing.T) {
	l := newLab(t)
	l.put()
	for params, want := range map[string]string{
		"":                              "main 23 0\n·load 19 4\n··parse 15 15\n·pay 4 4\n",
		"&last=1":                       "main 13 0\n·load 11 2\n··parse 9 9\n·pay 2 2\n",
		"&depth=2":                      "main 23 0\n·load 19 4\n·pay 4 4\n",
		"&rows=2":                       "main 23 0\n·load 19 4\n",
		"&min-percent=50":               "main 23 0\n·load 19 4\n··parse 15 15\n",
		"&invert&depth=1":               "parse 15 15\nload 4 4\npay 4 4\n",
		"&callers=load":                 "load 19 19\n·main 19 0\n",
		"&callees=load":                 "load 19 4\n·parse 15 15\n",
		"&under=load;parse":             "parse 15 15\n",
		"&transform=drop-function:load": "main 4 0\n·pay 4 4\n",
		"&search=pay":                   "main 4 0\n·pay 4 4\n",
	} {
		var c columns
		l.get("/api/v1/tree?group=shop&form=columns"+params, &c)
		if c.draw() != want {
			t.Errorf("tree %s:\n%s\nwant\n%s", params, c.draw(), want)
		}
	}
	var c columns
	l.problem(l.serve(httptest.NewRequest("GET", "/api/v1/tree?group=shop&callers=nothing", nil)), 404, "nothing-selected")
	l.get("/api/v1/tree?form=columns&group=shop&rows=1", &c)
	if c.Omitted.Rows != 2 { // load and pay
		t.Errorf("omitted: %+v", c.Omitted)
	}
	for _, bad := range []string{"depth=-1", "depth=x", "invert=maybe", "transform=nothing:x", "kind=cobol", "callers=a&callees=b",
		"min-percent=NaN", "rows=1&rows=2", "last=-1", "since=someday", "profile=x", "attr=x", "under=%2F%28%2F"} {
		l.problem(l.serve(httptest.NewRequest("GET", "/api/v1/tree?group=shop&"+bad, nil)), 400, "bad-request")
	}
	p := l.problem(l.serve(httptest.NewRequest("GET", "/api/v1/tree?type=*", nil)), 422, "several-types")
	if types, ok := p["types"].([]any); !ok || len(types) != 2 {
		t.Errorf("types to choose from: %v", p["types"])
	}
	l.problem(l.serve(httptest.NewRequest("GET", "/api/v1/tree?group=none", nil)), 404, "nothing-selected")
}

// TestSheet: a result is also its table, with what is said beside it in a header.
func TestSheet(t *testing.T) {
	l := newLab(t)
	l.put()
	for form, want := range map[string]string{
		"tsv": "self\tself%\ttotal\ttotal%\tfunction\n15\t0.6521739130434783\t15\t0.6521739130434783\tparse\n",
		"csv": "self,self%,total,total%,function\n15,0.6521739130434783,15,0.6521739130434783,parse\n",
	} {
		w := l.serve(httptest.NewRequest("GET", "/api/v1/functions?group=shop&sort=self&rows=1&form="+form, nil))
		if w.Code != 200 || w.Body.String() != want || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/") {
			t.Errorf("%s: %d %v\n%q\nwant\n%q", form, w.Code, w.Header(), w.Body, want)
		}
	}
	runs := func() string { return l.serve(httptest.NewRequest("GET", "/api/v1/runs", nil)).Body.String() }
	before := runs()
	l.problem(l.serve(httptest.NewRequest("POST", "/api/v1/prune?older-than=0s&form=tsv", nil)), 400, "bad-request")
	if runs() != before {
		t.Error("a refused change was made")
	}
}

func TestFlame(t *testing.T) {
	l := newLab(t)
	l.put()
	var f struct {
		Columns struct {
			Depth, Function  []int
			Start, End, Self []float64
			Functions        []query.Function
		}
	}
	l.get("/api/v1/flame?group=shop&form=columns", &f)
	if c := f.Columns; len(c.Depth) != 4 || c.Start[0] != 0 || c.End[0] != 1 || c.Functions[c.Function[0]].Function != "main" {
		t.Errorf("boxes: %+v", f)
	}
	l.get("/api/v1/flame?group=shop&depth=1&invert&form=columns", &f)
	if len(f.Columns.Depth) != 3 {
		t.Errorf("inverted, one level: %+v", f)
	}
}

func TestFunctions(t *testing.T) {
	l := newLab(t)
	l.put()
	var f struct {
		rowsOf[struct {
			Function    string
			Self, Total int64
		}]
		Omitted   query.Omitted
		RootTotal int64
	}
	l.get("/api/v1/functions?group=shop&sort=self&rows=2", &f)
	if f.Omitted.Rows != 2 || f.RootTotal != 23 || len(f.Rows) != 2 || f.Rows[0].Function != "parse" || f.Rows[0].Self != 15 {
		t.Errorf("functions: %+v", f)
	}
	var g growth.Result
	l.get("/api/v1/functions?group=shop&last=1&sort=diff", &g)
	if len(g.Rows) != 4 || g.Rows[0].Function != "parse" || math.Abs(g.Rows[0].Head-9./13) > 1e-12 || g.Rows[0].Base != 0.6 {
		t.Errorf("functions now and before: %+v", g)
	}
}

func TestFind(t *testing.T) {
	l := newLab(t)
	l.put()
	var f rowsOf[struct {
		Run   string
		Total int64
		Share float64
	}]
	l.get("/api/v1/find?group=shop&pattern=main%3Bpay&min-share=18%25", &f)
	if len(f.Rows) != 1 || f.Rows[0].Run != "r1" || f.Rows[0].Total != 2 || f.Rows[0].Share != 0.2 {
		t.Errorf("find: %+v", f.Rows)
	}
	l.problem(l.serve(httptest.NewRequest("GET", "/api/v1/find?group=shop&pattern=nothing", nil)), 404, "nothing-selected")
	var by rowsOf[find.Sum]
	l.get("/api/v1/find?group=shop&pattern=pay&by=benchmark&form=rows", &by)
	if len(by.Rows) != 1 || by.Rows[0].Name != "shop/checkout" || by.Rows[0].Profiles != 2 {
		t.Errorf("by benchmark: %+v", by.Rows)
	}
	for _, bad := range []string{"", "?pattern=", "?pattern=/(/", "?pattern=a&by=colour"} {
		l.problem(l.serve(httptest.NewRequest("GET", "/api/v1/find"+bad, nil)), 400, "bad-request")
	}
}

func TestDiff(t *testing.T) {
	l := newLab(t)
	l.put()
	for _, target := range []string{"?group=shop&last=1", "?group=shop&base-run=r1&head-run=r2"} {
		var c columns
		l.get("/api/v1/diff"+target+"&form=columns", &c)
		if n := len(c.Columns.Noise); n != 4 || c.Columns.BaseTotal[0] != 10 || c.Columns.HeadTotal[0] != 13 {
			t.Errorf("diff %s: %+v", target, c.Columns)
		}
	}
	for _, bad := range []string{"", "?base-run=r1"} {
		l.problem(l.serve(httptest.NewRequest("GET", "/api/v1/diff"+bad, nil)), 400, "bad-request")
	}
	for _, none := range []string{"group=shop&base-run=r1&head-run=r9", "group=lab&last=1", "group=shop&last=2"} {
		l.problem(l.serve(httptest.NewRequest("GET", "/api/v1/diff?"+none, nil)), 404, "nothing-selected")
	}
	for _, path := range []string{"diff", "report"} {
		l.problem(l.serve(httptest.NewRequest("GET", "/api/v1/"+path+"?base=nowhere&head=nothing", nil)), 404, "no-side")
	}
}

// TestOneSpelling wants benchmarks of two groups to be two, though they are written
// alike.
func TestOneSpelling(t *testing.T) {
	l := newLab(t)
	im := storetest.NewImporter()
	files := []*store.File{
		im.File("a/b", "c", "r1", profile.CPUSamples, "×3\nmain"),
		im.File("a/b", "c", "r2", profile.CPUSamples, "×5\nmain"),
		im.File("a", "b/c", "r2", profile.CPUSamples, "×7\nmain"), // has no run before
	}
	if _, err := l.st.Put(t.Context(), files, store.PutOptions{Rules: "1"}); err != nil {
		t.Fatal(err)
	}
	var c columns
	l.get("/api/v1/diff?last=1&form=columns", &c)
	if len(c.Columns.HeadTotal) != 1 || c.Columns.BaseTotal[0] != 3 || c.Columns.HeadTotal[0] != 5 {
		t.Errorf("compared with what was before: %+v", c.Columns)
	}
	var runs query.RunsResult
	l.get("/api/v1/runs", &runs)
	if len(runs.Rows) != 2 || runs.Rows[1].Benchmarks != 2 {
		t.Errorf("runs: %+v", runs.Rows)
	}
}

// hasty is a store that says what it holds unless whoever asked has gone.
type hasty struct{ store.Store }

func (hasty) Info(ctx context.Context) (store.Info, error) { return store.Info{}, ctx.Err() }

// TestReadyForAll wants a client that goes away not to be what others hear of the
// store.
func TestReadyForAll(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	a := newAPI(Options{Store: hasty{mem.New()}})
	_ = a.isReady(gone)
	if err := a.isReady(t.Context()); err != nil {
		t.Errorf("the store is not ready: %v", err)
	}
}

func TestAnalyses(t *testing.T) {
	l := newLab(t)
	l.put()
	for _, target := range []string{
		"/api/v1/bottlenecks?group=shop", "/api/v1/bottlenecks?group=shop&by=subtree&degree=all&contexts=2", "/api/v1/bottlenecks?group=shop&by=correlation",
		"/api/v1/regressions?group=shop", "/api/v1/report?group=shop", "/api/v1/report?group=shop&format=md",
		"/api/v1/report?group=shop&format=text",
		"/api/v1/report?group=shop&format=sarif", "/api/v1/check?group=shop&format=junit&fail-on=regression:2%25", "/api/v1/check?group=shop&base=r1&head=r2",
		"/api/v1/regressions?group=shop&method=thesis", "/api/v1/regressions?group=shop&method=correlation",
		"/api/v1/regressions?group=shop&method=hotelling",
	} {
		w := l.serve(httptest.NewRequest("GET", target, nil))
		if w.Code != 200 || w.Body.Len() == 0 {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	for _, bad := range []string{"bottlenecks?degree=65", "bottlenecks?least-occurrences=1", "check?fail-on=nothing", "report?format=pdf",
		"regressions?scan&last=1", "report?scan&last=1", "regressions?alpha=1", "check?alpha=0.1&fail-on=regression"} {
		l.problem(l.serve(httptest.NewRequest("GET", "/api/v1/"+bad, nil)), 400, "bad-request")
	}
}

func TestExport(t *testing.T) {
	l := newLab(t)
	l.put()
	for _, f := range format.All() {
		if f.Encode == nil || f.NewDecoder == nil || f.Name == "flamebearer" {
			continue
		}
		w := l.serve(httptest.NewRequest("GET", "/api/v1/export?group=shop&format="+f.Name, nil))
		if w.Code != 200 {
			t.Errorf("%s: %d %s", f.Name, w.Code, w.Body)
			continue
		}
		for d, err := range format.NewReader(profile.Limits{}).Read("x"+f.Extensions[0], w.Body) {
			if err != nil {
				t.Errorf("%s: %v", f.Name, err)
			} else if d.Profile.Tables[0].Len() == 0 {
				t.Errorf("%s: no samples", f.Name)
			}
		}
	}
	l.problem(l.serve(httptest.NewRequest("GET", "/api/v1/export?format=jfr", nil)), 400, "bad-request")
	l.problem(l.serve(httptest.NewRequest("GET", "/api/v1/export?invert", nil)), 400, "bad-request")
	// What a format cannot hold shows only when it is written.
	l.problem(l.serve(httptest.NewRequest("GET", "/api/v1/export?group=shop&format=folded-diff", nil)), 400, "bad-request")
}

func TestPruneAndDelete(t *testing.T) {
	l := newLab(t)
	l.put()
	var pruned struct {
		Removed, Kept int
		DryRun        bool
	}
	prune := func(params string, removed, kept int) {
		t.Helper()
		w := l.post("/api/v1/prune"+params, "", nil)
		if err := decodeInto(w, &pruned); err != nil || pruned.Removed != removed || pruned.Kept != kept {
			t.Errorf("prune %s: %d %s", params, w.Code, w.Body)
		}
	}
	prune("?group=shop&keep=1&dry-run", 1, 1)
	prune("?group=shop&keep=1", 1, 1)
	prune("?group=shop&keep=1", 0, 1)
	l.problem(l.post("/api/v1/prune?older-than=0d", "", nil), 400, "bad-request")
	prune("?older-than=0d&yes", 2, 0)
	l.problem(l.post("/api/v1/prune", "", nil), 400, "bad-request")
	l.put()
	list, err := l.st.Profiles(t.Context(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	target := "/api/v1/profiles/" + string(list[0].ID)
	if w := l.serve(httptest.NewRequest("DELETE", target, nil)); w.Code != 204 {
		t.Errorf("delete: %d %s", w.Code, w.Body)
	}
	l.problem(l.serve(httptest.NewRequest("DELETE", target, nil)), 404, "no-such-profile")
	if w := l.post("/api/v1/compact", "", nil); w.Code != 200 {
		t.Errorf("compact: %d %s", w.Code, w.Body)
	}
}

// speaking is a store that answers SQL with rows of its own.
type speaking struct {
	store.Store
	fault error // in the midst of the rows
}

func (s speaking) SQL(_ context.Context, query string) (*store.SQLAnswer, error) {
	times := map[string]int{"good": 1, "long": 5000}[query]
	if times == 0 {
		return nil, errors.New("syntax error")
	}
	rows := [][]any{{int64(math.MaxInt64), "text", nil, 1.5}, {true, []byte{0xab}, time.Unix(0, 0).UTC(), math.NaN()}}
	var seq iter.Seq2[[]any, error] = func(yield func([]any, error) bool) {
		for i := range times * len(rows) {
			if !yield(rows[i%len(rows)], nil) {
				return
			}
		}
		if s.fault != nil {
			yield(nil, s.fault)
		}
	}
	return &store.SQLAnswer{Columns: []string{"a", "b", "c", "d"}, Types: []string{"A", "B", "C", "D"}, Rows: seq}, nil
}

func (s speaking) SQLOf(ctx context.Context, _ store.Reader, query string) (*store.SQLAnswer, error) {
	return s.SQL(ctx, query)
}

func TestSQL(t *testing.T) {
	l := labOf(t, speaking{Store: mem.New()}, server.Options{}, Options{SQL: true})
	w := l.post("/api/v1/sql", "text/plain", strings.NewReader("good"))
	want := `"rows":[[9223372036854775807,"text",null,1.5],[true,"ab","1970-01-01T00:00:00Z","NaN"]],"complete":true}`
	if !strings.HasSuffix(strings.TrimSpace(w.Body.String()), want) {
		t.Errorf("SQL: %d %s", w.Code, w.Body)
	}
	w = l.post("/api/v1/sql?rows=1", "text/plain", strings.NewReader("good"))
	if !strings.Contains(w.Body.String(), `"complete":false`) {
		t.Errorf("one row: %s", w.Body)
	}
	l.problem(l.post("/api/v1/sql", "text/plain", strings.NewReader("bad")), 400, "bad-request")
	l.problem(labOf(t, speaking{Store: mem.New()}, server.Options{}, Options{}).post("/api/v1/sql", "text/plain", strings.NewReader("good")),
		501, "not-here")
	l.problem(newLab(t).post("/api/v1/sql", "text/plain", strings.NewReader("good")), 501, "not-here")
}

// failing is a store whose every change fails.
type failing struct {
	store.Store
	err error
}

func (s failing) Put(context.Context, []*store.File, store.PutOptions) ([]store.Outcome, error) {
	return nil, s.err
}
func (s failing) Delete(context.Context, []store.ProfileID) (int, error) { return 0, s.err }
func (s failing) Compact(context.Context) error                          { return s.err }

func TestStoreErrors(t *testing.T) {
	for err, want := range map[error]struct {
		status int
		kind   string
	}{
		store.ErrNoSpace:          {507, "no-space"},
		store.ErrReadOnly:         {409, "read-only"},
		store.ErrCorrupt:          {500, "corrupt"},
		store.ErrOtherRules:       {409, "other-rules"},
		errors.New("out of luck"): {500, "failed"},
		context.Canceled:          {503, "ended"},
	} {
		l := labOf(t, failing{mem.New(), fmt.Errorf("s.duckdb: %w", err)}, server.Options{}, Options{})
		l.problem(l.post("/api/v1/compact", "", nil), want.status, want.kind)
		l.problem(l.serve(httptest.NewRequest("DELETE", "/api/v1/profiles/0000000000000000", nil)), want.status, want.kind)
		w := l.post("/api/v1/import?run=r", "application/octet-stream", strings.NewReader("a;b 1\n"))
		l.problem(w, want.status, want.kind)
	}
}

func decodeInto(w *httptest.ResponseRecorder, into any) error {
	return json.Unmarshal(w.Body.Bytes(), into)
}

// TestConcurrentImports uploads from several clients at once while others ask.
func TestConcurrentImports(t *testing.T) {
	l := newLab(t)
	const clients, files = 4, 8
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for f := range files {
				target := fmt.Sprintf("/api/v1/import?run=r%d&benchmark=b%d&group=g", f, c)
				w := l.post(target, "application/octet-stream", strings.NewReader(fmt.Sprintf("main;f%d %d\n", c, f+1)))
				if w.Code != 200 || !strings.Contains(w.Body.String(), `"status":"stored"`) {
					t.Errorf("import: %d %s", w.Code, w.Body)
				}
				l.serve(httptest.NewRequest("GET", "/api/v1/functions", nil))
			}
		})
	}
	wg.Wait()
	var list rowsOf[store.Profile]
	l.get("/api/v1/profiles", &list)
	if len(list.Rows) != clients*files {
		t.Errorf("%d profiles, want %d", len(list.Rows), clients*files)
	}
}

type countedListings struct {
	store.Store
	count int
}

func (s *countedListings) Profiles(ctx context.Context, q store.Query) ([]store.Profile, error) {
	s.count++
	return s.Store.Profiles(ctx, q)
}

// TestWarm holds that a server lists the profiles before it is asked.
func TestWarm(t *testing.T) {
	st := &countedListings{Store: mem.New()}
	if err := Part(Options{Store: st}).Run(t.Context()); err != nil || st.count != 1 {
		t.Errorf("%d listings, %v", st.count, err)
	}
}
