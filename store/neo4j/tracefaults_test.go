package neo4j

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	driver "github.com/neo4j/neo4j-go-driver/v6/neo4j"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/traceprof"
)

// TestLostPut interns stacks that are never committed while others store some of
// their own, and expects everybody to see the latter, whether one reads or writes
// next.
func TestLostPut(t *testing.T) {
	for _, next := range []string{"read", "write"} {
		t.Run(next, func(t *testing.T) {
			where := fresh(t, Shared)
			s, other := opened(t, where), opened(t, where)
			mustPutSnapshots(t, s, tracetest.Picture("t", "s", "main"))
			lost := tracetest.Picture("t", "s", "@1 main-lost-lost lost")
			loser := losingDriver{Driver: s.db.Driver, lose: new(atomic.Bool), lost: make(chan struct{}), proceed: make(chan struct{})}
			loser.lose.Store(true)
			s.db.Driver = loser
			failed := make(chan error)
			go func() { failed <- s.PutSnapshots(t.Context(), lost) }()
			<-loser.lost
			// The dictionary in memory has stacks that were rolled back.
			want := "t s: 0@0 main\n"
			if next == "read" {
				mustPutSnapshots(t, other, tracetest.Picture("t", "s", "@1 main-other other"))
				want = "t s: 0@0 main 1@10 main-other 2@20 other\n"
				if got := drawSnapshots(t, s); got != want {
					t.Errorf("read: %s", got)
				}
			}
			close(loser.proceed)
			if err := <-failed; !errors.Is(err, errLost) {
				t.Fatal(err)
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

// losingDriver rolls the next transaction back that writes, and holds its error back
// until proceed is closed.
type losingDriver struct {
	driver.Driver
	lose          *atomic.Bool
	lost, proceed chan struct{}
}

var errLost = errors.New("lost")

func (d losingDriver) NewSession(ctx context.Context, c driver.SessionConfig) driver.Session {
	return losingSession{d.Driver.NewSession(ctx, c), d}
}

type losingSession struct {
	driver.Session
	d losingDriver
}

func (s losingSession) ExecuteWrite(ctx context.Context, work driver.ManagedTransactionWork, c ...func(*driver.TransactionConfig)) (any,
	error) {
	if !s.d.lose.CompareAndSwap(true, false) {
		return s.Session.ExecuteWrite(ctx, work, c...)
	}
	_, err := s.Session.ExecuteWrite(ctx, func(tx driver.ManagedTransaction) (any, error) {
		_, err := work(tx)
		return nil, cmp.Or(err, errLost)
	}, c...)
	close(s.d.lost)
	<-s.d.proceed
	return nil, err
}

// TestRemovedWhileWaiting removes a task while snapshots of it wait to be stored.
func TestRemovedWhileWaiting(t *testing.T) {
	where := fresh(t, Shared)
	s := opened(t, where)
	g := dialed(t, where)
	mustPutSnapshots(t, s, tracetest.Picture("t", "s", "A-B"))
	stored := make(chan error, 1)
	err := g.Write(t.Context(), "a test", func(tx *bolt.Tx) error {
		if err := tx.Do("MATCH (t:SampledTask) SET t.puts = 0", nil); err != nil {
			return err
		}
		go func() { stored <- s.PutSnapshots(context.Background(), tracetest.Picture("t", "s", "C-D")) }()
		for waiting := int64(0); waiting == 0; {
			r, err := tx.One("SHOW TRANSACTIONS YIELD status WHERE status STARTS WITH 'Blocked' RETURN count(*)", nil)
			if err != nil {
				return err
			}
			waiting = r.Int(0)
		}
		return tx.Do("MATCH (t:SampledTask) REMOVE t:SampledTask SET t:DoomedTask", nil)
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
	task := traceprof.Task{Kind: traceprof.TraceKind, Service: "s", ServiceID: "s", Created: 7, Start: 7, Duration: 5,
		Instances: []string{"i"}}
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
		if !errors.Is(err, traceprof.ErrNotKept) || !strings.Contains(err.Error(), "needs a database of the model shared") {
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
