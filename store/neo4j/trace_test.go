package neo4j

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/store/storetest"
	"github.com/dendroprof/dendro/traceprof"
	"github.com/dendroprof/dendro/traceprof/tracetest"
)

// traceEngine is one Store that is closed and opened again.
var traceEngine = storetest.TraceEngine{
	Open: func(t testing.TB) traceprof.Store { return opened(t, fresh(t, Shared)) },
	Reopen: func(t testing.TB, s traceprof.Store) traceprof.Store {
		if err := s.(*Store).Close(); err != nil {
			t.Fatal(err)
		}
		return opened(t, server(t))
	},
}

// twoServersEngine is two Stores as two processes have them.
var twoServersEngine = storetest.TraceEngine{
	Open: func(t testing.TB) traceprof.Store {
		where := fresh(t, Shared)
		return &twoServers{stores: [2]*Store{opened(t, where), opened(t, where)}}
	},
}

func TestTraces(t *testing.T) { storetest.RunTraces(t, traceEngine) }

func TestTracesOfTwoServers(t *testing.T) { storetest.RunTraces(t, twoServersEngine) }

func TestTraceHistory(t *testing.T) {
	simple := storetest.TraceEngine{Open: func(testing.TB) traceprof.Store { return mem.New() }}
	for seed := range uint64(6) {
		storetest.TraceHistory(t, seed, simple, traceEngine)
		storetest.TraceHistory(t, seed+100, simple, twoServersEngine)
	}
}

// twoServers gives each call to the other one of two Stores.
type twoServers struct {
	stores [2]*Store
	calls  atomic.Int64
}

func (s *twoServers) next() *Store { return s.stores[s.calls.Add(1)%2] }

func (s *twoServers) CreateTask(ctx context.Context, t traceprof.Task) (traceprof.Task, error) {
	return s.next().CreateTask(ctx, t)
}
func (s *twoServers) Task(ctx context.Context, id string) (traceprof.Task, error) {
	return s.next().Task(ctx, id)
}
func (s *twoServers) Tasks(ctx context.Context, q traceprof.TaskQuery) ([]traceprof.Task, error) {
	return s.next().Tasks(ctx, q)
}
func (s *twoServers) StopTask(ctx context.Context, id string, at int64) error {
	return s.next().StopTask(ctx, id, at)
}
func (s *twoServers) AppendLog(ctx context.Context, lines ...traceprof.Log) error {
	return s.next().AppendLog(ctx, lines...)
}
func (s *twoServers) Logs(ctx context.Context, tasks ...string) ([]traceprof.Log, error) {
	return s.next().Logs(ctx, tasks...)
}
func (s *twoServers) PutInstances(ctx context.Context, list ...traceprof.Instance) error {
	return s.next().PutInstances(ctx, list...)
}
func (s *twoServers) Instances(ctx context.Context, service string, since int64) ([]traceprof.Instance, error) {
	return s.next().Instances(ctx, service, since)
}
func (s *twoServers) PutSegments(ctx context.Context, list ...traceprof.Segment) error {
	return s.next().PutSegments(ctx, list...)
}
func (s *twoServers) Segments(ctx context.Context, q traceprof.SegmentQuery) ([]traceprof.Segment, error) {
	return s.next().Segments(ctx, q)
}
func (s *twoServers) Endpoints(ctx context.Context, service, keyword string, limit int) ([]traceprof.Endpoint, error) {
	return s.next().Endpoints(ctx, service, keyword, limit)
}
func (s *twoServers) PutSnapshots(ctx context.Context, list ...traceprof.Snapshots) error {
	return s.next().PutSnapshots(ctx, list...)
}
func (s *twoServers) Snapshots(ctx context.Context, q traceprof.SnapshotQuery) iter.Seq2[traceprof.Snapshots, error] {
	return s.next().Snapshots(ctx, q)
}
func (s *twoServers) Expire(ctx context.Context, e traceprof.Expiry) (traceprof.Expired, error) {
	return s.next().Expire(ctx, e)
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

// TestTwoIntakes lets two servers take in the snapshots of one task at once, in
// parts that go to one of them or to both, and compares the analysis with that of
// a store that got all of them once.
func TestTwoIntakes(t *testing.T) {
	where := fresh(t, Shared)
	stores := [2]*Store{opened(t, where), opened(t, where)}
	simple := mem.New()
	var segments []traceprof.Snapshots
	for i := range 6 {
		v := tracetest.RandomTree(900, 30, 1500+i*50)
		v.Task, v.Segment = "task", fmt.Sprint("segment ", i)
		segments = append(segments, v)
		mustPutSnapshots(t, simple, v)
	}
	var servers sync.WaitGroup
	for n, s := range stores {
		in := traceprof.NewIntake(s, traceprof.IntakeOptions{})
		servers.Go(func() {
			var agents sync.WaitGroup
			for i, v := range segments {
				agents.Go(func() {
					for part := range 30 {
						if part%3 == n { // each part goes to both, to the second, or to the first
							continue
						}
						st := in.Stream()
						some := v
						some.Sequence, some.Time, some.Path = v.Sequence[part*30:part*30+30], v.Time[part*30:part*30+30], v.Path[part*30:part*30+30]
						if err := st.Snapshots(t.Context(), some); err != nil {
							t.Error(i, err)
						}
						if err := st.Wait(t.Context()); err != nil {
							t.Error(i, err)
						}
					}
				})
			}
			agents.Wait()
			if err := in.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	servers.Wait()
	var ranges []traceprof.Range
	for i := range segments {
		ranges = append(ranges, tracetest.All(segments[i].Segment))
	}
	for _, some := range [][]traceprof.Range{ranges, ranges[2:3]} {
		want := analysis(t, simple, some)
		for _, s := range append(stores[:], opened(t, where)) {
			if got := analysis(t, s, some); got != want {
				t.Errorf("another analysis of %d segments:\n%s", len(some), gocmp.Diff(want, got))
			}
		}
	}
	if n := count(t, where, "MATCH (g:SampledSegment)-[:HAS_CHUNK]->(c) WITH g, c.n AS n, count(*) AS times WHERE times > 1 RETURN count(*)"); n != 0 {
		t.Errorf("%d numbers of chunks were given twice", n)
	}
	if n := count(t, where, "MATCH (p:StackPart) UNWIND p.signatures AS s WITH s, count(*) AS times WHERE times > 1 RETURN count(*)"); n != 0 {
		t.Errorf("%d signatures are in the dictionary twice", n)
	}
}

// analysis writes down the trees of some ranges, by names: ids of functions differ
// from store to store.
func analysis(t *testing.T, s traceprof.Store, ranges []traceprof.Range) string {
	t.Helper()
	a, err := traceprof.Analyze(t.Context(), s, ranges, traceprof.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintln(&b, a.Tip, a.Found, a.Snapshots)
	for _, tree := range a.Trees {
		for i := range tree.Len() {
			fmt.Fprintln(&b, tree.Parent[i], a.Functions[tree.Function[i]].Name, tree.Duration[i], tree.Self[i], tree.Count[i])
		}
	}
	return b.String()
}

// TestLargeDictionary gives a task one dictionary after another, and wants the
// snapshots of a segment over all of them.
func TestLargeDictionary(t *testing.T) {
	where := fresh(t, Shared)
	s := opened(t, where)
	other := opened(t, where)
	simple := mem.New()
	for i := range 12 {
		s.traces.stacks.limit = 20_000
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
	if kept := s.traces.stacks.bytes; kept > 2*s.traces.stacks.limit {
		t.Errorf("%d bytes of dictionaries stay", kept)
	}
}

// TestLostPut interns stacks that are never committed while others store some of
// their own, and wants everybody to see the latter, whether one reads or writes
// next.
func TestLostPut(t *testing.T) {
	for _, next := range []string{"read", "write"} {
		t.Run(next, func(t *testing.T) {
			where := fresh(t, Shared)
			s, other := opened(t, where), opened(t, where)
			mustPutSnapshots(t, s, tracetest.Picture("t", "s", "main"))
			lost := tracetest.Picture("t", "s", "@1 main-lost-lost lost")
			p := snapshotPut{s: s, tasks: map[string]*sampledTask{}, byKey: map[chunkKey]*snapshotChunk{}}
			p.gather(&lost)
			broken := errors.New("broken")
			if err := s.graph.write(t.Context(), "a test", func(tx *tx) error { return cmp.Or(p.write(tx), broken) }); !errors.Is(err, broken) {
				t.Fatal(err)
			}
			// The dictionary does not know it yet.
			want := "t s: 0@0 main\n"
			if next == "read" {
				mustPutSnapshots(t, other, tracetest.Picture("t", "s", "@1 main-other other"))
				want = "t s: 0@0 main 1@10 main-other 2@20 other\n"
				if got := drawSnapshots(t, s); got != want {
					t.Errorf("read: %s", got)
				}
			}
			mustPutSnapshots(t, s, tracetest.Picture("t", "s", "@3 main-own"))
			want = strings.TrimSuffix(want, "\n") + " 3@30 main-own\n"
			for _, st := range []*Store{s, other, opened(t, where)} {
				if got := drawSnapshots(t, st); got != want {
					t.Errorf("read: %s", got)
				}
			}
			if n := count(t, where, "MATCH (p:StackPart) WHERE 'lost' IN p.signatures RETURN count(p)"); n != 0 {
				t.Error("what was lost came with something else")
			}
		})
	}
}

// TestOneTaskOfMany lets clients of two servers make tasks that overlap and have
// different ids.
func TestOneTaskOfMany(t *testing.T) {
	where := fresh(t, Shared)
	stores := [2]*Store{opened(t, where), opened(t, where)}
	for round := range int64(8) {
		var won atomic.Int64
		var clients sync.WaitGroup
		for client := range int64(6) {
			clients.Go(func() {
				_, err := stores[client%2].CreateTask(t.Context(), traceprof.Task{Kind: traceprof.TraceKind, Service: "s", ServiceID: "s",
					Created: 1000*round + 10*client, Start: 1000 * round, Duration: 500})
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, traceprof.ErrOverlap) {
					t.Error(err)
				}
			})
		}
		clients.Wait()
		if won.Load() != 1 {
			t.Errorf("round %d: %d tasks were made", round, won.Load())
		}
	}
}

// TestReportsAtOnce lets two servers report one instance, each report with
// something that no other says.
func TestReportsAtOnce(t *testing.T) {
	where := fresh(t, Shared)
	stores := [2]*Store{opened(t, where), opened(t, where)}
	var clients sync.WaitGroup
	for client := range int64(6) {
		clients.Go(func() {
			for i := range int64(10) {
				at := 1000 + 6*i + client
				report := traceprof.Instance{Service: "s", Name: "i", FirstSeen: 5000 - at, LastSeen: at, Polled: 2 * at}
				if err := stores[client%2].PutInstances(t.Context(), report); err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	got, err := stores[0].Instances(t.Context(), "s", 0)
	want := []traceprof.Instance{{Service: "s", Name: "i", FirstSeen: 3941, LastSeen: 1059, Polled: 2118}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestRemovedWhileWaiting removes a task while snapshots of it wait to be stored.
func TestRemovedWhileWaiting(t *testing.T) {
	where := fresh(t, Shared)
	s := opened(t, where)
	g := dialed(t, where)
	mustPutSnapshots(t, s, tracetest.Picture("t", "s", "A-B"))
	stored := make(chan error, 1)
	err := g.write(t.Context(), "a test", func(tx *tx) error {
		if err := tx.do("MATCH (t:SampledTask) SET t.puts = 0", nil); err != nil {
			return err
		}
		go func() { stored <- s.PutSnapshots(context.Background(), tracetest.Picture("t", "s", "C-D")) }()
		for waiting := int64(0); waiting == 0; {
			r, err := tx.one("SHOW TRANSACTIONS YIELD status WHERE status STARTS WITH 'Blocked' RETURN count(*)", nil)
			if err != nil {
				return err
			}
			waiting = r.int(0)
		}
		return tx.do("MATCH (t:SampledTask) REMOVE t:SampledTask SET t:DoomedTask", nil)
	})
	if err := errors.Join(err, <-stored); err != nil {
		t.Fatal(err)
	}
	if got := drawSnapshots(t, s); got != "t s: 0@0 C-D\n" {
		t.Error(got)
	}
	if _, err := s.Expire(t.Context(), traceprof.Expiry{}); err != nil {
		t.Fatal(err)
	}
	if n := count(t, where, "MATCH (n) WHERE n:DoomedTask OR n:SampledSegment AND NOT (n)--() OR n:SnapshotChunk OR n:StackPart RETURN count(n)"); n != 2 {
		t.Errorf("%d nodes of snapshots and stacks are left, want 2", n)
	}
	if got := drawSnapshots(t, s); got != "t s: 0@0 C-D\n" {
		t.Error(got)
	}
}

// TestLostTraceCommit breaks the connection while transactions commit: each is
// done once.
func TestLostTraceCommit(t *testing.T) {
	task := traceprof.Task{Kind: traceprof.TraceKind, Service: "s", ServiceID: "s", Created: 7, Start: 7, Duration: 5, Instances: []string{"i"}}
	for name, after := range map[string]bool{"before": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			where := fresh(t, Shared)
			b, through := newBreaker(t, where, after)
			s := opened(t, through)
			for what, call := range map[string]func() error{
				"CreateTask": func() error {
					made, err := s.CreateTask(t.Context(), task)
					if err == nil && (made.ID != "7_s" || !slices.Equal(made.Instances, task.Instances)) {
						t.Errorf("the task is %+v", made)
					}
					return err
				},
				"PutSnapshots": func() error { return s.PutSnapshots(t.Context(), tracetest.Picture("t", "s", "A-B A-C")) },
				"PutSegments":  func() error { return s.PutSegments(t.Context(), traceprof.Segment{ID: "s"}) },
				"AppendLog":    func() error { return s.AppendLog(t.Context(), traceprof.Log{Task: "t"}) },
			} {
				broke := b.broke.Load()
				b.armed.Store(true)
				if err := call(); err != nil || b.broke.Load() != broke+1 {
					t.Errorf("%s: %v after %d broken commits", what, err, b.broke.Load()-broke)
				}
			}
			direct := opened(t, where)
			if got := drawSnapshots(t, direct); got != "t s: 0@0 A-B 1@10 A-C\n" {
				t.Error(got)
			}
			want := map[string]int64{"TraceTask": 1, "TraceSegment": 1, "TraceLog": 1, "SampledSegment": 1}
			for label, n := range want {
				if got := count(t, where, "MATCH (n:"+label+") RETURN count(n)"); got != n {
					t.Errorf("%d nodes %s, want %d", got, label, n)
				}
			}
		})
	}
}

// TestExpireInBatches removes more than fits into one transaction.
func TestExpireInBatches(t *testing.T) {
	where := fresh(t, Shared)
	s := opened(t, where)
	task, err := s.CreateTask(t.Context(), traceprof.Task{Kind: traceprof.TraceKind, Service: "s", ServiceID: "s", Created: 1, Start: 1, Duration: 1})
	if err != nil {
		t.Fatal(err)
	}
	const looseOnes, traces, each = 2*expiryBatch + 7, 2*expiryBatch/25 + 3, 4
	var segments []traceprof.Segment
	for i := range int64(looseOnes) {
		segments = append(segments, traceprof.Segment{ID: fmt.Sprint("loose ", i), Start: i})
	}
	profiled := tracetest.Picture(task.ID, "", "A")
	var list []traceprof.Snapshots
	for i := range traces {
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
		{traceprof.Expiry{Before: 3}, traceprof.Expired{Tasks: 1, Segments: traces * each}},
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
		"id": {traceprof.SegmentQuery{IDs: []string{b.ID}}, []traceprof.Segment{b}}, "trace": {traceprof.SegmentQuery{Traces: []string{a.Trace}}, []traceprof.Segment{a}},
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

// TestOrderOfTexts wants the order of Go, that of bytes, where servers may have
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

// TestSchemaQuery asks the query of docs/schema/neo4j.md.
func TestSchemaQuery(t *testing.T) {
	page, err := os.ReadFile("../../docs/schema/neo4j.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## Trace profiling")
	_, block, _ := strings.Cut(section, "```cypher\n")
	query, _, ok := strings.Cut(block, "```")
	if !ok {
		t.Fatal("the section has no query")
	}
	s := opened(t, fresh(t, Shared))
	mustPutSnapshots(t, s, tracetest.Picture("t", "s", "A-B . A-B-C"), tracetest.Picture("other", "s", "D"))
	mustPutSnapshots(t, s, tracetest.Picture("t", "r", "A-B-C X-Y-C A-B-C A"))
	answer, err := s.Query(t.Context(), query, map[string]any{"task": "t"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for row, err := range answer.Rows {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(row...))
	}
	if want := []string{"C 4", "A 1", "B 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestDamagedTraces reads what no Dendro has written.
func TestDamagedTraces(t *testing.T) {
	for name, damage := range map[string]string{
		"path below none":        "MATCH (c:SnapshotChunk) SET c.paths = [0, -2]",
		"path of 33 bits":        "MATCH (c:SnapshotChunk) SET c.paths = [0, 4294967296]",
		"sequence of 33 bits":    "MATCH (c:SnapshotChunk) SET c.sequences = [0, -4294967296]",
		"sequence that is text":  "MATCH (c:SnapshotChunk) SET c.sequences = ['0', '1']",
		"parent behind":          "MATCH (p:StackPart) SET p.parents = [-1, 1, 0]",
		"function that is not":   "MATCH (p:StackPart) SET p.functions = [0, 1, 3]",
		"function that is below": "MATCH (p:StackPart) SET p.functions = [0, 1, -1]",
	} {
		t.Run(name, func(t *testing.T) {
			where := fresh(t, Shared)
			mustPutSnapshots(t, opened(t, where), tracetest.Picture("t", "s", "A-B A-C"))
			change(t, dialed(t, where), damage)
			err := error(nil)
			for _, err = range opened(t, where).Snapshots(t.Context(), traceprof.SnapshotQuery{}) {
			}
			if !errors.Is(err, store.ErrCorrupt) {
				t.Error(err)
			}
		})
	}
}

// TestTracesRefused calls everything where there is no trace profiling, and
// everything that writes where nothing may be written.
func TestTracesRefused(t *testing.T) {
	thesis := opened(t, fresh(t, Thesis))
	for name, err := range calledTraces(t.Context(), thesis) {
		if err == nil || !strings.Contains(err.Error(), "needs a database of the model shared") {
			t.Errorf("%s in the model thesis: %v", name, err)
		}
	}
	where := fresh(t, Shared)
	reading, err := Open(t.Context(), where, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Close()
	for name, err := range calledTraces(t.Context(), reading) {
		writes := !slices.Contains([]string{"Task", "Tasks", "Logs", "Instances", "Segments", "Endpoints", "Snapshots"}, name)
		if errors.Is(err, store.ErrReadOnly) != writes {
			t.Errorf("%s of a store for reading: %v", name, err)
		}
	}
	if n := count(t, where, "MATCH (n) WHERE NOT n:Dendro AND NOT n:DendroGate RETURN count(n)"); n != 0 {
		t.Errorf("%d nodes were made", n)
	}
}

// calledTraces returns the errors of all methods.
func calledTraces(ctx context.Context, s traceprof.Store) map[string]error {
	errs := map[string]error{}
	_, errs["CreateTask"] = s.CreateTask(ctx, traceprof.Task{Service: "s"})
	_, errs["Task"] = s.Task(ctx, "t")
	_, errs["Tasks"] = s.Tasks(ctx, traceprof.TaskQuery{})
	errs["StopTask"] = s.StopTask(ctx, "t", 1)
	errs["AppendLog"] = s.AppendLog(ctx, traceprof.Log{Task: "t"})
	_, errs["Logs"] = s.Logs(ctx, "t")
	errs["PutInstances"] = s.PutInstances(ctx, traceprof.Instance{Name: "i"})
	_, errs["Instances"] = s.Instances(ctx, "", 0)
	errs["PutSegments"] = s.PutSegments(ctx, traceprof.Segment{ID: "s"})
	_, errs["Segments"] = s.Segments(ctx, traceprof.SegmentQuery{})
	_, errs["Endpoints"] = s.Endpoints(ctx, "s", "", 0)
	errs["PutSnapshots"] = s.PutSnapshots(ctx, tracetest.Picture("t", "s", "A"))
	for _, err := range s.Snapshots(ctx, traceprof.SnapshotQuery{}) {
		errs["Snapshots"] = err
	}
	_, errs["Expire"] = s.Expire(ctx, traceprof.Expiry{Before: 1})
	return errs
}
