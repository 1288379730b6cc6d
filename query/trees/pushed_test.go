package trees_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/format/pprof"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/find"
	"github.com/dendroprof/dendro/query/listing"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
)

// pushedStore has four hours of a service with two versions, the newer one slower in parse
// and with a growing heap, and of another service.
func pushedStore(t *testing.T) store.Store {
	t.Helper()
	st := mem.New()
	put := func(service, typ, unit, version string, hour int, stacks map[string]int64) {
		id, err := continuous.ParseType(typ)
		if err != nil {
			t.Fatal(err)
		}
		var forest calltree.Forest
		self := map[int32]int64{}
		for stack, v := range stacks {
			path := calltree.NoNode
			for name := range strings.SplitSeq(stack, ";") {
				path = forest.Path(path, forest.Function(profile.Function{Name: name}))
			}
			self[path] = v
		}
		w := &continuous.Window{Series: continuous.Series{Service: service, Type: id}, Start: pushedAt(hour), Length: 10 * time.Second,
			Type: profile.ValueType{Name: id.SampleType, Unit: unit}, Forest: &forest}
		if version != "" {
			w.Series.Labels = continuous.Labels{{Name: "version", Value: version}}
		}
		for p := range int32(forest.Paths.Len()) {
			if self[p] != 0 {
				w.Self.Nodes, w.Self.Self = append(w.Self.Nodes, p), append(w.Self.Self, self[p])
			}
		}
		copy(w.Hash[:], fmt.Sprint(service, typ, version, hour))
		if _, err := any(st).(continuous.Store).PutWindows(context.Background(), []*continuous.Window{w}); err != nil {
			t.Fatal(err)
		}
	}
	for hour := range 4 {
		put("checkout", "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "nanoseconds", "1.4", hour,
			map[string]int64{"main;parse": 100, "main;send": 100})
		put("checkout", "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "nanoseconds", "1.5", hour,
			map[string]int64{"main;parse": 150, "main;send": 100})
		put("checkout", "memory:inuse_space:bytes:space:bytes", "bytes", "1.5", hour, map[string]int64{"main;cache": int64(1000 * (hour + 1))})
	}
	put("cart", "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "nanoseconds", "", 0, map[string]int64{"main": 7})
	return st
}

func pushedAt(hour int) time.Time { return time.Date(2026, 3, 1, hour, 0, 0, 0, time.UTC) }

// TestPushedTree: a tree, functions and a flame graph of pushed profiles are those of their sum.
func TestPushedTree(t *testing.T) {
	st := pushedStore(t)
	for _, c := range []struct {
		request  trees.TreeRequest
		total    float64
		profiles int
		note     string
	}{
		{trees.TreeRequest{Selection: query.Selection{Pushed: store.Pushed{Service: "checkout"}}}, 1800, 8, "8 windows of 2 series from 2026-03-01 00:00 to 2026-03-01 03:00 UTC"},
		{trees.TreeRequest{Selection: query.Selection{Pushed: store.Pushed{Service: "checkout", Labels: `{version="1.5"}`}}}, 1000, 4,
			"type process_cpu:cpu:nanoseconds:cpu:nanoseconds; --type shows others: memory:inuse_space:bytes:space:bytes"},
		{trees.TreeRequest{Selection: query.Selection{Pushed: store.Pushed{Labels: `{service_name=~"c.*"}`}, Since: pushedAt(1),
			Until: pushedAt(3),
			Types: []string{"cpu"}}}, 900, 4,
			"4 windows of 2 series from 2026-03-01 01:00 to"},
		{trees.TreeRequest{Selection: query.Selection{Pushed: store.Pushed{Service: "checkout"}, Types: []string{"inuse_space"}}}, 2500, 4,
			"mean over time"},
		{trees.TreeRequest{Selection: query.Selection{Pushed: store.Pushed{Service: "checkout"},
			Types: []string{"memory:inuse_space:bytes:space:bytes"}}}, 2500, 4, ""},
		{trees.TreeRequest{Selection: query.Selection{Pushed: store.Pushed{Service: "checkout"}},
			Filter: trees.Filter{SampleFilter: trees.SampleFilter{Search: "parse"}}},
			1000, 8, ""},
	} {
		tree, err := trees.Tree(t.Context(), st, &c.request)
		if err != nil {
			t.Fatal(err)
		}
		functions, err := trees.Functions(t.Context(), st, &c.request)
		if err != nil {
			t.Fatal(err)
		}
		flame, err := trees.Flame(t.Context(), st, &c.request)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range []trees.Head{tree.Head, functions.Head, flame.Head} {
			if h.RootTotal.Value() != c.total || h.Profiles != c.profiles || !strings.Contains(strings.Join(h.Notes, "\n"), c.note) {
				t.Errorf("%+v: %v, %d profiles, notes %q", c.request.Pushed, h.RootTotal.Value(), h.Profiles, h.Notes)
			}
		}
	}
}

// TestPushedMeans: blocks of a state are averaged, and those of an amount added.
func TestPushedMeans(t *testing.T) {
	st := pushedStore(t)
	for _, c := range []struct {
		typ  string
		last int
		want float64
	}{{"inuse_space", 1, 4000}, {"inuse_space", 2, 3500}, {"inuse_space", 4, 2500}, {"cpu", 2, 900}} {
		of := query.Selection{Pushed: store.Pushed{Service: "checkout"}, Types: []string{c.typ}, Last: c.last}
		tree, err := trees.Tree(t.Context(), st, &trees.TreeRequest{Selection: of})
		if err != nil {
			t.Fatal(err)
		}
		p, _, _, err := trees.Export(t.Context(), st, &trees.ExportRequest{Selection: of})
		if err != nil {
			t.Fatal(err)
		}
		exported := float64(p.Tables[0].Total()) * math.Pow10(-p.Tables[0].Type.Scale)
		if tree.RootTotal.Value() != c.want || exported != c.want {
			t.Errorf("%s of the last %d blocks: %v, exported %v, not %v", c.typ, c.last, tree.RootTotal.Value(), exported, c.want)
		}
	}
	_, err := trees.Tree(t.Context(), st, &trees.TreeRequest{Selection: query.Selection{Pushed: store.Pushed{Labels: `{service_name=~"c.*"}`},
		Types: []string{"inuse_space"}, Last: 2}})
	if err == nil || !strings.Contains(err.Error(), "give --service") {
		t.Errorf("of several services: %v", err)
	}
	diff, err := trees.DiffFunctions(t.Context(), st, &trees.DiffRequest{By: "value",
		Selection: query.Selection{Pushed: store.Pushed{Service: "checkout"}, Types: []string{"inuse_space"}, Last: 3}})
	if err != nil {
		t.Fatal(err)
	}
	if diff.RootTotal.Base.Value() != 1000 || diff.RootTotal.Head.Value() != 3000 {
		t.Errorf("a diff of %v and %v: %+v", diff.RootTotal.Base.Value(), diff.RootTotal.Head.Value(), diff.DiffHead)
	}
}

// TestPushedExport: an exported profile has the time of its windows, the sum of their lengths, and
// what their period counts, so that other tools show a rate.
func TestPushedExport(t *testing.T) {
	st := pushedStore(t)
	for _, filter := range []trees.Filter{{}, {SampleFilter: trees.SampleFilter{Search: "parse"}}} {
		p, table, _, err := trees.Export(t.Context(), st, &trees.ExportRequest{Filter: filter,
			Selection: query.Selection{Pushed: store.Pushed{Service: "checkout"}, Since: pushedAt(1)}})
		if err != nil {
			t.Fatal(err)
		}
		if typ := p.Tables[table].Type; !p.Start.Equal(pushedAt(1)) || p.Duration != time.Minute || typ.PeriodName != "cpu" ||
			typ.PeriodUnit != "nanoseconds" {
			t.Errorf("from %s for %s, of %+v", p.Start, p.Duration, typ)
		}
	}
}

// TestPushedDiff: two versions are compared per second of their windows, gauges by value.
func TestPushedDiff(t *testing.T) {
	st := pushedStore(t)
	r := &trees.DiffRequest{Selection: query.Selection{Pushed: store.Pushed{Service: "checkout"}}, Base: trees.Side{Labels: `{version="1.4"}`},
		Head: trees.Side{Labels: `{version="1.5"}`}}
	d, err := trees.DiffFunctions(t.Context(), st, r)
	if err != nil {
		t.Fatal(err)
	}
	if d.By != "second" || d.RootTotal.Base.Value() != 20 || d.RootTotal.Head.Value() != 25 || d.Functions.Increased != 2 {
		t.Errorf("%+v, functions %+v", d.DiffHead, d.Functions)
	}
	checkout, full := store.Pushed{Service: "checkout"}, "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
	for _, named := range []*trees.DiffRequest{
		{Selection: query.Selection{Pushed: checkout, Types: []string{full}}},
		{Selection: query.Selection{Pushed: checkout}, Base: trees.Side{Type: full}},
		{Selection: query.Selection{Pushed: checkout}, Base: trees.Side{Type: "process_cpu"}, Head: trees.Side{Type: full}},
	} {
		named.Base.Labels, named.Head.Labels = `{version="1.4"}`, `{version="1.5"}`
		if d, err = trees.DiffFunctions(t.Context(), st, named); err != nil || d.RootTotal.Head.Value() != 25 {
			t.Errorf("a type in full: %+v (%v)", d, err)
		}
	}
	r = &trees.DiffRequest{Selection: query.Selection{Pushed: store.Pushed{Service: "checkout"}, Types: []string{"memory"}},
		Base: trees.Side{Until: pushedAt(1)}, Head: trees.Side{Since: pushedAt(2)}}
	if d, err = trees.DiffFunctions(t.Context(), st, r); err != nil || d.RootTotal.Base.Value() != 1000 || d.RootTotal.Head.Value() != 3500 {
		t.Errorf("heap: %+v (%v)", d, err)
	}
}

// TestPushedErrors says what a wrong selection of pushed profiles lacks.
func TestPushedErrors(t *testing.T) {
	st := pushedStore(t)
	for want, r := range map[string]*trees.TreeRequest{
		"no profile was pushed by this selection (list: dendro services)": {Selection: query.Selection{Pushed: store.Pushed{Service: "none"}}},
		"--labels: selector \"{x\": column 3":                             {Selection: query.Selection{Pushed: store.Pushed{Labels: "{x"}}},
		"no group g, there are cart":                                      {Selection: query.Selection{Pushed: store.Pushed{Service: "cart"}, Groups: []string{"g"}}},
		"--type wall: the pushed profiles have process_cpu:cpu": {Selection: query.Selection{Pushed: store.Pushed{Service: "cart"},
			Types: []string{"wall"}}},
		"--range needs single samples: pushed profiles are sums": {Selection: query.Selection{Pushed: store.Pushed{Service: "cart"}},
			Filter: trees.Filter{SampleFilter: trees.SampleFilter{Range: "1..2"}}},
		"only profiles of services (--service; list: dendro services)": {},
		"--raw-names needs runs": {Selection: query.Selection{Pushed: store.Pushed{Service: "cart"}}, RawNames: true},
	} {
		if _, err := trees.Tree(t.Context(), st, r); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "store is empty") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	cart := query.Selection{Pushed: store.Pushed{Service: "cart"}}
	if _, err := trees.Diff(t.Context(), st, &trees.DiffRequest{Selection: cart}); err == nil ||
		!strings.Contains(err.Error(), "--base-labels and --head-labels") {
		t.Errorf("a diff without sides: %v", err)
	}
}

// TestPushedServices lists services with what can be selected of them.
func TestPushedServices(t *testing.T) {
	st := pushedStore(t)
	list, err := query.PushedServices(t.Context(), st, &query.PushedServicesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range list.Rows {
		got = append(got, fmt.Sprint(s.Service, " ", s.Type, " ", s.Series, " ", s.Gauge, " ", s.Labels, " ", s.Last.Sub(s.First)))
	}
	want := `cart process_cpu:cpu:nanoseconds:cpu:nanoseconds 1 false [] 10s
checkout memory:inuse_space:bytes:space:bytes 1 true [{version [1.5] 0}] 3h0m10s
checkout process_cpu:cpu:nanoseconds:cpu:nanoseconds 2 false [{version [1.4 1.5] 0}] 3h0m10s`
	if strings.Join(got, "\n") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, "\n"), want)
	}
	late := query.PushedTime{Since: pushedAt(1)}
	list, err = query.PushedServices(t.Context(), st, &query.PushedServicesRequest{PushedTime: late, Rows: 1})
	if err != nil || len(list.Rows) != 1 || list.Omitted.Rows != 1 {
		t.Errorf("%+v (%v)", list, err)
	}
}

// TestPushedSeries: lines over time, of everything or of a function.
func TestPushedSeries(t *testing.T) {
	st := pushedStore(t)
	for _, c := range []struct {
		request query.PushedSeriesRequest
		want    string
	}{
		{query.PushedSeriesRequest{}, "[450 450 450 450]"},
		{query.PushedSeriesRequest{By: "version", Function: "parse", Self: true}, "1.4[100 100 100 100] 1.5[150 150 150 150]"},
		{query.PushedSeriesRequest{Function: "main", Step: query.Seconds(2 * time.Hour)}, "[450 900 450]"},
		{query.PushedSeriesRequest{Function: "none"}, "[0 0 0 0]"},
		{query.PushedSeriesRequest{Types: []string{"inuse_space"}}, "[1000 2000 3000 4000]"},
		{query.PushedSeriesRequest{PushedTime: query.PushedTime{Since: pushedAt(1), Until: pushedAt(2)}}, "[450]"},
	} {
		c.request.Service = "checkout"
		r, err := query.PushedSeries(t.Context(), st, &c.request)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range r.Rows {
			got = append(got, l.Value+fmt.Sprint(l.Values))
			for i, at := range l.Times {
				if i > 0 && (at-l.Times[i-1])%r.Step != 0 || at < r.Since || at > r.Until {
					t.Errorf("times %v of %d to %d with step %d", l.Times, r.Since, r.Until, r.Step)
				}
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %q, want %q", c.request, got, c.want)
		}
	}
}

// TestPushedRuns: what is asked of runs is asked of pushed profiles too: a run is then a block of time.
func TestPushedRuns(t *testing.T) {
	st := pushedStore(t)
	of := query.Selection{Pushed: store.Pushed{Service: "checkout"}}
	ask := func(view func(context.Context) (any, error)) any {
		t.Helper()
		result, err := view(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	runs := ask(func(ctx context.Context) (any, error) {
		return query.ViewOf(query.Runs).Answer(ctx, st, &query.RunsRequest{Selection: of})
	}).(*query.RunsResult)
	if len(runs.Rows) != 4 || runs.Rows[3].Key != "2026-03-01T03:00" || !runs.Rows[3].Date.Equal(pushedAt(3)) {
		t.Errorf("runs: %+v", runs.Rows)
	}
	found := ask(func(ctx context.Context) (any, error) {
		r := find.Request{Selection: of, Pattern: "parse", By: "run"}
		r.Since = pushedAt(1)
		return find.View(&r).Answer(ctx, st, &r)
	}).(*find.SumsResult)
	if len(found.Rows) != 3 || found.Rows[0].Self.Value() != 250 || found.Rows[0].Of != 1 {
		t.Errorf("found: %+v", found.Rows)
	}
	last := of
	last.Last = 1
	for _, r := range []*trees.TreeRequest{{Selection: last}, {Selection: last, Average: trees.Average{Average: "mean"}}} {
		tree, err := trees.Tree(t.Context(), st, r)
		if err != nil {
			t.Fatal(err)
		}
		if got := tree.RootTotal.Value(); got != 450 {
			t.Errorf("the newest block has %v", got)
		}
	}
	diff, err := trees.DiffFunctions(t.Context(), st, &trees.DiffRequest{Selection: last})
	if err != nil || diff.RootTotal.Base.Value() != diff.RootTotal.Head.Value() || diff.Profiles != (trees.Counts{6, 2}) {
		t.Errorf("the newest block against those before: %+v, %v", diff, err)
	}
	if list, err := st.Profiles(t.Context(), of); err != nil || len(list) > 0 {
		t.Errorf("the store has %d runs of the service, %v", len(list), err)
	}
	if _, err := query.ViewOf(query.Prune).Answer(t.Context(), st, &query.PruneRequest{Selection: of, Keep: 1}); err == nil ||
		!strings.Contains(err.Error(), "prune removes runs") {
		t.Errorf("prune: %v", err)
	}
}

// TestPushedLines lists and exports the lines that are kept beside windows.
func TestPushedLines(t *testing.T) {
	st := pushedStore(t)
	put := func(typ, version string, day int, windows int64, lines map[int32]int64) {
		t.Helper()
		id, err := continuous.ParseType(typ)
		if err != nil {
			t.Fatal(err)
		}
		p := profile.New(nil)
		fn := p.Symbols.Function(profile.Function{Name: "main.parse", File: "/src/parse.go", StartLine: 7})
		table := profile.Samples{Type: profile.ValueType{Name: id.SampleType, Unit: id.SampleUnit, Original: id.SampleType}}
		for line, v := range lines {
			table.Add(p.Symbols.Stack(profile.NoStack, p.Symbols.Frame(profile.Frame{Function: fn, Line: line})), v)
		}
		p.Tables = append(p.Tables, table)
		var b bytes.Buffer
		packed := gzip.NewWriter(&b)
		if err := pprof.Encode(packed, p, 0); err != nil {
			t.Fatal(err)
		}
		packed.Close()
		l := &continuous.Lines{Windows: windows, Profile: b.Bytes(), Day: continuous.DayOf(pushedAt(0)).AddDate(0, 0, day),
			Series: continuous.Series{Service: "checkout", Type: id, Labels: continuous.Labels{{Name: "version", Value: version}}}}
		if err := st.(continuous.LineStore).PutLines(t.Context(), []*continuous.Lines{l}, continuous.LineRoom{}); err != nil {
			t.Fatal(err)
		}
	}
	const cpu, heap = "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "memory:inuse_space:bytes:space:bytes"
	put(cpu, "1.4", 0, 4, map[int32]int64{10: 100, 11: 300})
	put(cpu, "1.5", 0, 4, map[int32]int64{11: 500, 12: 60})
	put(cpu, "1.5", 1, 2, map[int32]int64{12: 1})
	put(heap, "1.5", 0, 4, map[int32]int64{20: 8000})
	for _, test := range []struct {
		labels, typ, since, want, note string
	}{
		{"", "", "", "10=100 11=800 12=61 ", "lines of 10 windows of 2 versions, whose lines may differ, the whole days from"},
		{`{version="1.5"}`, "", "", "11=500 12=61 ", "lines of 6 windows, the whole days from"},
		{`{version="1.4"}`, "", "", "10=100 11=300 ", "lines of 4 windows, the whole day"},
		{"", "inuse_space", "", "20=2000 ", "mean of a window"},
		{`{pod="a"}`, "", "", "", "lines are kept per service, type, version and day, and not per pod"},
	} {
		r := &listing.Request{Function: "main.parse",
			Selection: query.Selection{Pushed: store.Pushed{Service: "checkout", Labels: test.labels}}}
		if test.typ != "" {
			r.Types = []string{test.typ}
		}
		got, notes := "", ""
		answer, err := query.ViewOf(listing.List).Answer(t.Context(), st, r)
		if err != nil {
			notes = err.Error()
		} else {
			result := answer.(*listing.Result)
			for _, l := range result.Rows[0].Lines {
				got += fmt.Sprintf("%d=%v ", l.Line, l.Self)
			}
			notes = strings.Join(result.Notes, "; ")
		}
		if got != test.want || !strings.Contains(notes, test.note) {
			t.Errorf("%s %s: %q (%s), not %q (%s)", test.labels, test.typ, got, notes, test.want, test.note)
		}
	}
	p, _, _, err := trees.Export(t.Context(), st, &trees.ExportRequest{Lines: true,
		Selection: query.Selection{Pushed: store.Pushed{Service: "checkout", Labels: `{version="1.5"}`}}})
	if err != nil {
		t.Fatal(err)
	}
	if f := p.Symbols.Functions[0]; len(p.Tables) != 1 || p.Tables[0].Total() != 561 || f.StartLine != 7 {
		t.Errorf("exported: %+v of %+v", p.Tables, f)
	}
	if _, _, _, err := trees.Export(t.Context(), st, &trees.ExportRequest{Lines: true,
		Selection: query.Selection{Pushed: store.Pushed{Service: "cart"}}}); err == nil || !strings.Contains(err.Error(), "no lines are kept") {
		t.Errorf("without lines: %v", err)
	}
}
