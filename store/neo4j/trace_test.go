package neo4j

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/store/neo4j/internal/traces"
	"github.com/dendroprof/dendro/test/storetest"
	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/traceprof"
)

// traceEngine is one Store that is closed and opened again, and says to sent what
// it sends to the server.
func traceEngine(sent *statements) storetest.TraceEngine {
	return storetest.TraceEngine{
		Open: func(t testing.TB) traceprof.Store { return sent.of(opened(t, fresh(t, Shared))) },
		Reopen: func(t testing.TB, s traceprof.Store) traceprof.Store {
			if err := s.(*Store).Close(); err != nil {
				t.Fatal(err)
			}
			return sent.of(opened(t, server(t)))
		},
	}
}

func TestTraces(t *testing.T) {
	sent := newStatements()
	storetest.RunTraces(t, traceEngine(sent))
	sent.checkPlans(t, Shared, func(st *Store, stacks int) {
		list := make([]traceprof.Snapshots, stacks)
		for i := range list {
			list[i] = tracetest.Picture(fmt.Sprint("t", i%10), fmt.Sprint("s", i), fmt.Sprintf("main-f%d main-g%d", i, i))
		}
		mustPutSnapshots(t, st, list...)
	})
}

func TestTracesOfTwoServers(t *testing.T) {
	long(t)
	storetest.RunTraces(t, twoServersEngine)
}

func TestTraceHistory(t *testing.T) {
	long(t)
	simple := storetest.TraceEngine{Open: func(testing.TB) traceprof.Store { return mem.New() }}
	for seed := range uint64(6) {
		storetest.TraceHistory(t, seed, simple, traceEngine(nil))
		storetest.TraceHistory(t, seed+100, simple, twoServersEngine)
	}
}

// mustPutSnapshots puts pictures of snapshots.
func mustPutSnapshots(t testing.TB, s traceprof.Store, list ...traceprof.Snapshots) {
	t.Helper()
	if err := s.PutSnapshots(t.Context(), list...); err != nil {
		t.Fatal(err)
	}
}

// drawSnapshots writes down all snapshots.
func drawSnapshots(t testing.TB, s traceprof.Store) string {
	t.Helper()
	var b strings.Builder
	for v, err := range s.Snapshots(t.Context(), traceprof.SnapshotQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s:", v.Task, v.Segment)
		for i, p := range v.Path {
			fmt.Fprintf(&b, " %d@%d %s", v.Sequence[i], v.Time[i], strings.Join(v.Stacks.Names(p), "-"))
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

// TestLargeDictionary gives a task one dictionary after another, and expects the
// snapshots of a segment over all of them.
func TestLargeDictionary(t *testing.T) {
	long(t)
	where := fresh(t, Shared)
	s := opened(t, where)
	other := opened(t, where)
	simple := mem.New()
	s.LimitStacks(20_000)
	for i := range 12 {
		stack := "main"
		for k := range 40 {
			stack += fmt.Sprintf("-frame%d.%d", i, k)
		}
		v := tracetest.Picture("t", "s", fmt.Sprintf("@%d main-again %s . main", 10*i, stack))
		mustPutSnapshots(t, s, v)
		mustPutSnapshots(t, simple, v)
		v = tracetest.Picture("t", "s", fmt.Sprintf("@%d main-%s-again@%d", 10*i+5, stack, i))
		mustPutSnapshots(t, other, v)
		mustPutSnapshots(t, simple, v)
	}
	want := drawSnapshots(t, simple)
	for _, st := range []*Store{s, other, opened(t, where)} {
		if d := gocmp.Diff(want, drawSnapshots(t, st)); d != "" {
			t.Error(d)
		}
	}
	if n := count(t, where, "MATCH (p:StackPart) RETURN count(DISTINCT p.dictionary)"); n < 3 {
		t.Errorf("%d dictionaries", n)
	}
}

// TestExpireInBatches removes more than fits into one transaction.
func TestExpireInBatches(t *testing.T) {
	long(t)
	where := fresh(t, Shared)
	s := opened(t, where)
	task, err := s.CreateTask(t.Context(), traceprof.Task{Kind: traceprof.TraceKind, Service: "s", ServiceID: "s", Created: 1, Start: 1,
		Duration: 1})
	if err != nil {
		t.Fatal(err)
	}
	const looseOnes, profiledTraces, each = 2*traces.ExpiryBatch + 7, 2*traces.ExpiryBatch/25 + 3, 4
	var segments []traceprof.Segment
	for i := range int64(looseOnes) {
		segments = append(segments, traceprof.Segment{ID: fmt.Sprint("loose ", i), Start: i})
	}
	profiled := tracetest.Picture(task.ID, "", "A")
	var list []traceprof.Snapshots
	for i := range profiledTraces {
		for k := range each {
			segments = append(segments, traceprof.Segment{ID: fmt.Sprintf("%d.%d", i, k), Trace: fmt.Sprint("trace ", i), Start: 1 << 40})
		}
		profiled.Segment = fmt.Sprintf("%d.%d", i, i%each)
		list = append(list, profiled)
	}
	if err := s.PutSegments(t.Context(), segments...); err != nil {
		t.Fatal(err)
	}
	mustPutSnapshots(t, s, list...)
	for _, c := range []struct {
		e    traceprof.Expiry
		want traceprof.Expired
	}{
		{traceprof.Expiry{MaxBytes: 1 << 50}, traceprof.Expired{}},
		{traceprof.Expiry{Before: 1, Now: 1}, traceprof.Expired{Segments: 1}},
		{traceprof.Expiry{Now: 1, MaxBytes: 1}, traceprof.Expired{Segments: looseOnes - 1}},
		{traceprof.Expiry{Before: 3}, traceprof.Expired{Tasks: 1, Segments: profiledTraces * each}},
	} {
		if got, err := s.Expire(t.Context(), c.e); err != nil || got != c.want {
			t.Errorf("%+v: %+v, %v, want %+v", c.e, got, err, c.want)
		}
	}
	if n := count(t, where, "MATCH (n) WHERE NOT n:Dendro AND NOT n:DendroGate AND NOT n:TraceService RETURN count(n)"); n != 0 {
		t.Errorf("%d nodes are left", n)
	}
}

// TestLongTexts stores texts that no index has room for.
func TestLongTexts(t *testing.T) {
	s := opened(t, fresh(t, Shared))
	long := func(end string) string { return strings.Repeat("é long ", 2000) + end }
	a := traceprof.Segment{ID: long("id a"), Trace: long("trace a"), Service: long("service"), Endpoint: long("/a"), Start: 1}
	b := traceprof.Segment{ID: long("id b"), Trace: long("trace b"), Service: long("service"), Endpoint: long("/b"), Start: 1}
	if err := s.PutSegments(t.Context(), b, a, b); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		q    traceprof.SegmentQuery
		want []traceprof.Segment
	}{
		"id":       {traceprof.SegmentQuery{IDs: []string{b.ID}}, []traceprof.Segment{b}},
		"trace":    {traceprof.SegmentQuery{Traces: []string{a.Trace}}, []traceprof.Segment{a}},
		"endpoint": {traceprof.SegmentQuery{Service: a.Service, Endpoint: b.Endpoint, NoRaw: true}, []traceprof.Segment{b}},
	} {
		if got, err := s.Segments(t.Context(), c.q); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("by %s: %d segments, %v", name, len(got), err)
		}
	}
	endpoints, err := s.Endpoints(t.Context(), a.Service, "/B", 0)
	if err != nil || len(endpoints) != 1 || endpoints[0].Name != b.Endpoint {
		t.Errorf("endpoints: %d, %v", len(endpoints), err)
	}
	task, err := s.CreateTask(t.Context(), traceprof.Task{Service: a.Service, ServiceID: long("service id"), Start: 5, Duration: 5})
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := s.Task(t.Context(), task.ID); err != nil || !reflect.DeepEqual(kept, task) {
		t.Errorf("another task, %v", err)
	}
	if _, err := s.CreateTask(t.Context(), traceprof.Task{Service: a.Service, Start: 7}); !errors.Is(err, traceprof.ErrOverlap) {
		t.Errorf("an overlapping task: %v", err)
	}
	mustPutSnapshots(t, s, tracetest.Picture(task.ID, a.ID, "A"), tracetest.Picture(task.ID, b.ID, "B"))
	for v, err := range s.Snapshots(t.Context(), traceprof.SnapshotQuery{Tasks: []string{task.ID}, Segments: []string{b.ID}}) {
		if err != nil || v.Task != task.ID || v.Segment != b.ID || v.Stacks.Names(v.Path[0])[0] != "B" {
			t.Errorf("other snapshots, %v", err)
		}
	}
}

// TestOrderOfTexts expects the order of Go, that of bytes, where servers may have
// that of UTF-16.
func TestOrderOfTexts(t *testing.T) {
	s := opened(t, fresh(t, Shared))
	var all []traceprof.Segment
	for _, id := range []string{"\U0001F600", "\uFFFD", "é", "z", "", "\U0001F600a", "e\u0301"} {
		all = append(all, traceprof.Segment{ID: id, Start: 1})
	}
	if err := s.PutSegments(t.Context(), all...); err != nil {
		t.Fatal(err)
	}
	for _, q := range []traceprof.SegmentQuery{{}, {Limit: 3}, {Offset: 3, Limit: 3}, {BySlowest: true}} {
		want := q.Filter(slices.Clone(all))
		if got, err := s.Segments(t.Context(), q); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: %+v, %v", q, got, err)
		}
	}
}

// schemaQuery returns the first query of a section of a page.
func schemaQuery(t *testing.T, file, section string) string {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## "+section+"\n")
	_, block, _ := strings.Cut(text, "```cypher\n")
	query, _, ok := strings.Cut(block, "```")
	if !ok {
		t.Fatalf("the section %s has no query", section)
	}
	return query
}

// TestSchemaQuery runs the query on snapshots in FORMAT.md.
func TestSchemaQuery(t *testing.T) {
	query := schemaQuery(t, "FORMAT.md", "Trace profiling")
	s := opened(t, fresh(t, Shared))
	mustPutSnapshots(t, s, tracetest.Picture("t", "s", "A-B . A-B-C"), tracetest.Picture("other", "s", "D"))
	mustPutSnapshots(t, s, tracetest.Picture("t", "r", "A-B-C X-Y-C A-B-C A"))
	answer, err := s.Cypher(t.Context(), query, map[string]any{"task": "t"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for row, err := range answer.Rows {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.TrimSpace(fmt.Sprintln(row...)))
	}
	if want := []string{"C 4", "A 1", "B 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
