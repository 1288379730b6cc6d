package neo4j

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/traceprof"
)

// twoServersEngine is two Stores as two processes have them.
var twoServersEngine = storetest.TraceEngine{
	Open: func(t testing.TB) traceprof.Store {
		where := fresh(t, Shared)
		return &twoServers{stores: [2]*Store{opened(t, where), opened(t, where)}}
	},
}

// twoServers gives each call to the other one of two Stores.
type twoServers struct {
	stores [2]*Store
	calls  atomic.Int64
}

func (s *twoServers) next() *Store { return s.stores[s.calls.Add(1)%2] }

func (s *twoServers) LimitStacks(bytes int64) {
	for _, one := range s.stores {
		one.LimitStacks(bytes)
	}
}
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
func (s *twoServers) SampledSegments(ctx context.Context, q traceprof.SnapshotQuery) ([]traceprof.SampledSegment, error) {
	return s.next().SampledSegments(ctx, q)
}

func (s *twoServers) Expire(ctx context.Context, e traceprof.Expiry) (traceprof.Expired, error) {
	return s.next().Expire(ctx, e)
}

// TestTwoIntakes lets two servers take in the snapshots of one task at once, in
// parts that go to one of them or to both, and compares the analysis with that of
// a store that got all of them once.
func TestTwoIntakes(t *testing.T) {
	long(t)
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
