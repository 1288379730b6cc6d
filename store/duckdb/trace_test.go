package duckdb

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/nightly"
	"github.com/dendroprof/dendro/test/storetest"
	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/traceprof"
)

var traceEngine = storetest.TraceEngine{
	Open: func(t testing.TB) traceprof.Store {
		return mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
	},
	Reopen: func(t testing.TB, s traceprof.Store) traceprof.Store {
		if err := s.(*Store).Close(); err != nil {
			t.Fatal(err)
		}
		return mustOpen(t, s.(*Store).file.Path, Options{})
	},
}

func TestTraces(t *testing.T) { storetest.RunTraces(t, traceEngine) }

func TestTraceHistory(t *testing.T) {
	simple := storetest.TraceEngine{Open: func(testing.TB) traceprof.Store { return mem.New() }}
	for seed := range nightly.Or[uint64](4, 12) {
		storetest.TraceHistory(t, seed, simple, traceEngine)
	}
}

// drawTraces writes down the snapshots, segments and tasks of a store.
func drawTraces(t testing.TB, s *Store) string {
	t.Helper()
	var b strings.Builder
	for v, err := range s.Snapshots(t.Context(), traceprof.SnapshotQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, v.Task, v.Segment, v.Language, v.Count, v.Nanos)
		for i, p := range v.Path {
			fmt.Fprintln(&b, v.Sequence[i], v.Time[i], v.Stacks.Names(p))
		}
	}
	segments, err := s.Segments(t.Context(), traceprof.SegmentQuery{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&b, segments)
	tasks, err := s.Tasks(t.Context(), traceprof.TaskQuery{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&b, tasks)
	return b.String()
}

// profiledStore returns a store with tasks whose snapshots came in many parts.
func profiledStore(t testing.TB) *Store {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
	for k := range 2 {
		task, err := s.CreateTask(t.Context(), traceprof.Task{Kind: traceprof.TraceKind, Service: fmt.Sprint("s", k),
			ServiceID: fmt.Sprint("s", k), Created: 1, Start: 1, Duration: 1})
		if err != nil {
			t.Fatal(err)
		}
		for i := range int32(12) {
			v := tracetest.Picture(task.ID, fmt.Sprint("g", i%3), fmt.Sprintf("@%d A-B%d A-B-C . @%d A", i, i, i-1))
			if err := s.PutSnapshots(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			if err := s.PutSegments(t.Context(), traceprof.Segment{ID: fmt.Sprint("g", i%3), Trace: "t", Raw: []byte{1}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// TestCompactTraces expects one row for each segment, the same answers and a store
// that goes on.
func TestCompactTraces(t *testing.T) {
	s := profiledStore(t)
	want := drawTraces(t, s)
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, drawTraces(t, s)); d != "" {
		t.Error(d)
	}
	if rows, err := ask(t, s, "SELECT count(*), min(seq), max(seq) FROM snapshot"); err != nil || rows != "6 0 5\n" {
		t.Errorf("rows, first and last: %s, %v", rows, err)
	}
	if err := s.PutSnapshots(t.Context(), tracetest.Picture("1_s0", "g0", "@0 again @100 A-B-D")); err != nil {
		t.Fatal(err)
	}
	if got := drawTraces(t, s); strings.Contains(got, "again") || !strings.Contains(got, "100 1000 [A B D]") {
		t.Error(got)
	}
}

// TestTraceViews asks users' SQL.
func TestTraceViews(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
	goes := tracetest.Picture("t", "h", "A-C")
	goes.Language, goes.Count, goes.Nanos = traceprof.GoProfiles, []int64{2}, []int64{20}
	for _, v := range []traceprof.Snapshots{tracetest.Picture("t", "g", "A-B . @1 A @5:70 A-B"), tracetest.Picture("t", "g", "@5 A @6 B"),
		goes, tracetest.Picture("t", "h", "@9 A")} {
		if err := s.PutSnapshots(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ query, want string }{
		{"SELECT task, segment, received, row_count FROM sampled_segment ORDER BY ALL", "t g 6 2\nt h 2 2\n"},
		{"SELECT path, parent, signature FROM stack ORDER BY ALL", "0 <nil> A\n1 0 B\n2 <nil> B\n3 0 C\n"},
		{"SELECT segment, sequence, time, path, count, nanos FROM thread_snapshot ORDER BY ALL",
			"g 0 0 1 <nil> <nil>\ng 1 10 <nil> <nil> <nil>\ng 5 70 1 <nil> <nil>\ng 6 60 2 <nil> <nil>\nh 0 0 3 2 20\n"},
		{"SELECT signature, count(*) FROM thread_snapshot JOIN stack USING (task, stacks, path) GROUP BY ALL ORDER BY ALL", "B 3\nC 1\n"},
	} {
		if got, err := ask(t, s, c.query); err != nil || got != c.want {
			t.Errorf("%s: %v\n%s", c.query, err, cmp.Diff(c.want, got))
		}
	}
	if _, err := ask(t, s, "SELECT dendro_snapshots('x'::BLOB, 7, 0::UTINYINT)"); err == nil {
		t.Error("nonsense was decoded")
	}
}

func TestReadOnlyTraces(t *testing.T) {
	s := profiledStore(t)
	want := drawTraces(t, s)
	s.Close()
	s = mustOpen(t, s.file.Path, Options{ReadOnly: true})
	if d := cmp.Diff(want, drawTraces(t, s)); d != "" {
		t.Error(d)
	}
	if err := s.PutSnapshots(t.Context(), tracetest.Picture("t", "s", "A")); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("PutSnapshots: %v", err)
	}
}

// TestCorruptTraces damages rows as no disk would.
func TestCorruptTraces(t *testing.T) {
	for _, sql := range []string{
		"UPDATE snapshot SET n = n + 1",
		"UPDATE snapshot SET data = '\\xFF'::BLOB",
		"DELETE FROM stack_path WHERE id = 1",
		"DELETE FROM stack_path WHERE id >= 1",
		"DELETE FROM stack_signature WHERE id = 1",
		"UPDATE stack_path SET parent = id",
		"UPDATE stack_path SET signature = 1000",
		"UPDATE stack_path SET id = 0 WHERE id = 1",
		"UPDATE stack_signature SET id = 7 WHERE id = 1",
		"UPDATE task SET instances = '['",
	} {
		s := profiledStore(t)
		s.Close()
		edit(t, s.file.Path, sql)
		damaged, err := Open(t.Context(), s.file.Path, Options{})
		if err == nil {
			for _, e := range damaged.Snapshots(t.Context(), traceprof.SnapshotQuery{}) {
				err = e
			}
			damaged.Close()
		}
		if !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestTracesBesideProfiles changes traces and profiles at once, over some
// checkpoints: neither makes the other fail, and nothing gets lost.
func TestTracesBesideProfiles(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
	const rounds = 40
	var wg sync.WaitGroup
	do := func(f func(round int) error) {
		wg.Go(func() {
			for round := range rounds {
				if err := f(round); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	im := storetest.NewImporter()
	raw := make([]byte, 4<<20) // every sixteenth commit causes a checkpoint
	do(func(round int) error {
		f := im.File("g", "b", fmt.Sprint("r", round), profile.CPUSamples, fmt.Sprintf("×%d  ×1\nA  A\nB%d  C", round+1, round))
		out, err := s.Put(t.Context(), []*store.File{f}, rules)
		if err == nil {
			err = out[0].Err
		}
		if err == nil && round%4 == 3 {
			_, err = s.Delete(t.Context(), []store.ProfileID{store.IDOf(f.Benchmark, f.Run.Key, profile.CPUSamples)})
		}
		return err
	})
	do(func(round int) error {
		return s.PutSegments(t.Context(), traceprof.Segment{ID: fmt.Sprint(round), Trace: "t", Start: int64(round), Raw: raw})
	})
	do(func(round int) error {
		return s.PutSnapshots(t.Context(), tracetest.Picture("kept", "s", fmt.Sprintf("@%d A-B%d", round, round)),
			tracetest.Picture(fmt.Sprint("t", round), "x", "A"))
	})
	do(func(round int) error {
		_, err := s.Expire(t.Context(), traceprof.Expiry{Before: int64(min(round, rounds/2))})
		return err
	})
	do(func(round int) error {
		_, err := s.SumFunctions(t.Context(), store.Query{})
		for v, e := range s.Snapshots(t.Context(), traceprof.SnapshotQuery{Segments: []string{"s"}}) {
			if e != nil {
				return e
			}
			if err := v.Check(); err != nil {
				return err
			}
		}
		return err
	})
	wg.Wait()
	for range 2 {
		profiles, err := s.Profiles(t.Context(), store.Query{})
		if err != nil || len(profiles) != rounds-rounds/4 {
			t.Errorf("%d profiles, %v", len(profiles), err)
		}
		segments, err := s.Segments(t.Context(), traceprof.SegmentQuery{From: rounds / 2, NoRaw: true})
		if err != nil || len(segments) != rounds/2 {
			t.Errorf("%d segments, %v", len(segments), err)
		}
		s.Close()
		s = mustOpen(t, s.file.Path, Options{})
	}
}

// TestReadGrowingStacks reads a dictionary while it is added to. It is for the race
// detector.
func TestReadGrowingStacks(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
	var reader sync.WaitGroup
	done := make(chan struct{})
	reader.Go(func() {
		for {
			for v, err := range s.Snapshots(t.Context(), traceprof.SnapshotQuery{Segments: []string{"s"}}) {
				if err == nil {
					err = v.Check()
				}
				if err != nil {
					t.Error(err)
				}
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for i := range 40 {
		if err := s.PutSnapshots(t.Context(), tracetest.Picture("t", "s", fmt.Sprintf("@%d A-B%d", i, i))); err != nil {
			t.Error(err)
		}
	}
	close(done)
	reader.Wait()
}
