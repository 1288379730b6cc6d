package duckdb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/tracetest"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/store/storetest"
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
		return mustOpen(t, s.(*Store).path, Options{})
	},
}

func TestTraces(t *testing.T) { storetest.RunTraces(t, traceEngine) }

func TestTraceHistory(t *testing.T) {
	simple := storetest.TraceEngine{Open: func(testing.TB) traceprof.Store { return mem.New() }}
	for seed := range uint64(12) {
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
		task, err := s.CreateTask(t.Context(), traceprof.Task{Kind: traceprof.TraceKind, Service: fmt.Sprint("s", k), ServiceID: fmt.Sprint("s", k), Created: 1, Start: 1, Duration: 1})
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

// TestCompactTraces wants one row for each segment, the same answers and a store
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
	for _, v := range []traceprof.Snapshots{tracetest.Picture("t", "g", "A-B . @1 A @5:70 A-B"), tracetest.Picture("t", "g", "@5 A @6 B"), goes, tracetest.Picture("t", "h", "@9 A")} {
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

func TestParquetTraces(t *testing.T) {
	s := profiledStore(t)
	dir := filepath.Join(t.TempDir(), "export")
	if err := s.ExportParquet(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, filepath.Join(t.TempDir(), "again.duckdb"), Options{})
	if err := again.ImportParquet(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(drawTraces(t, s), drawTraces(t, again)); d != "" {
		t.Error(d)
	}
}

func TestReadOnlyTraces(t *testing.T) {
	s := profiledStore(t)
	want := drawTraces(t, s)
	s.Close()
	s = mustOpen(t, s.path, Options{ReadOnly: true})
	if d := cmp.Diff(want, drawTraces(t, s)); d != "" {
		t.Error(d)
	}
	if err := s.PutSnapshots(t.Context(), tracetest.Picture("t", "s", "A")); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("PutSnapshots: %v", err)
	}
}

// TestColdStacks reads and writes with a cache that keeps hardly anything.
func TestColdStacks(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
	s.traces.stacks.reset(10_000)
	simple := mem.New()
	r := rand.New(rand.NewPCG(1, 1))
	for i := range int32(240) {
		task := fmt.Sprint("t", r.IntN(4))
		v := tracetest.Picture(task, fmt.Sprint("g", r.IntN(2)), fmt.Sprintf("@%d A-B%d-C%d A-%s", i, r.IntN(30), i, strings.Repeat("x", r.IntN(300)+1)))
		for _, st := range []traceprof.Store{s, simple} {
			if err := st.PutSnapshots(t.Context(), v); err != nil {
				t.Fatal(err)
			}
		}
		if sc := &s.traces.stacks; sc.bytes > sc.limit || len(sc.byTask) > len(sc.byID) || int64(len(sc.byID))*1000 > sc.limit {
			t.Fatalf("%d dictionaries of %d bytes, %d to be added to", len(sc.byID), sc.bytes, len(sc.byTask))
		}
		if i%20 != 19 {
			continue
		}
		for want := range simple.Snapshots(t.Context(), traceprof.SnapshotQuery{Tasks: []string{task}}) {
			for got, err := range s.Snapshots(t.Context(), traceprof.SnapshotQuery{Tasks: []string{task}, Segments: []string{want.Segment}}) {
				if err != nil || !slices.Equal(got.Sequence, want.Sequence) {
					t.Fatal(err, got.Sequence, want.Sequence)
				}
				for k := range got.Path {
					if a, b := got.Stacks.Names(got.Path[k]), want.Stacks.Names(want.Path[k]); !slices.Equal(a, b) {
						t.Fatalf("%v, want %v", a, b)
					}
				}
			}
		}
	}
	got, err := ask(t, s, "SELECT max(paths), count(*) > 8 FROM (SELECT count(*) AS paths FROM stack_path GROUP BY task)")
	var paths int
	if fmt.Sscan(got, &paths); err != nil || paths > 70 || !strings.HasSuffix(got, " true\n") {
		t.Errorf("paths of the largest dictionary, whether there are several for each task: %s, %v", got, err)
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := ask(t, s, "SELECT count(*) FROM sampled_task"); err != nil || got != "4\n" {
		t.Errorf("dictionaries of four tasks after Compact: %s, %v", got, err)
	}
}

// TestSnapshotColumns decodes what was encoded, in parts.
func TestSnapshotColumns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, paths := rapid.IntRange(0, 40).Draw(t, "n"), rapid.Int32Range(0, math.MaxInt32).Draw(t, "paths")
		s := traceprof.Snapshots{}
		if rapid.Bool().Draw(t, "go") {
			s.Language = traceprof.GoProfiles
		}
		var blob []byte
		for part := range 2 {
			v := traceprof.Snapshots{Language: s.Language}
			for range n {
				v.Sequence = append(v.Sequence, rapid.Int32().Draw(t, "sequence"))
				v.Time = append(v.Time, rapid.Int64().Draw(t, "time"))
				v.Path = append(v.Path, rapid.Int32Range(-1, max(paths-1, -1)).Draw(t, "path"))
				if s.Language == traceprof.GoProfiles {
					v.Count, v.Nanos = append(v.Count, rapid.Int64().Draw(t, "count")), append(v.Nanos, rapid.Int64().Draw(t, "nanos"))
				}
			}
			blob = appendSnapshots(nil, &v)
			var d snapshotDecoder
			got := traceprof.Snapshots{Language: s.Language}
			for range part + 1 {
				if err := d.appendTo(&got, blob, n, int(paths)); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(slices.Repeat(v.Sequence, part+1), got.Sequence) || !slices.Equal(slices.Repeat(v.Path, part+1), got.Path) {
				t.Fatalf("%+v, want %+v", got, v)
			}
			for _, c := range [][2][]int64{{v.Time, got.Time}, {v.Count, got.Count}, {v.Nanos, got.Nanos}} {
				if !slices.Equal(slices.Repeat(c[0], part+1), c[1]) {
					t.Fatalf("%+v, want %+v", got, v)
				}
			}
		}
	})
}

// TestSnapshotBytes holds the example of the schema's page.
func TestSnapshotBytes(t *testing.T) {
	s := traceprof.Snapshots{Sequence: []int32{0, 1, 2}, Time: []int64{100, 110, 121}, Path: []int32{4, 4, -1}}
	if got := fmt.Sprintf("% x", appendSnapshots(nil, &s)); got != "00 00 00 c8 01 b3 01 02 08 00 09" {
		t.Error(got)
	}
}

// FuzzSnapshotColumns decodes anything: columns that make sense, or ErrCorrupt.
func FuzzSnapshotColumns(f *testing.F) {
	s := tracetest.Picture("t", "s", "A-B A-B-C . @9 A")
	f.Add(appendSnapshots(nil, &s), 4, false)
	f.Add([]byte{0xff, 0xff}, 1, true)
	f.Add(binary.AppendUvarint(nil, 1<<63), 1<<40, false)
	f.Fuzz(func(t *testing.T, blob []byte, n int, weighted bool) {
		v := traceprof.Snapshots{}
		if weighted {
			v.Language = traceprof.GoProfiles
		}
		var d snapshotDecoder
		if err := d.appendTo(&v, blob, n, 5); err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Error(err)
			}
			return
		}
		v.Stacks = new(calltree.Forest)
		for i := range int32(5) {
			tracetest.Below(v.Stacks, i-1, "f")
		}
		if err := v.Check(); err != nil || v.Len() != n {
			t.Errorf("%d of %d snapshots, %v", v.Len(), n, err)
		}
	})
}

func TestKeyFilter(t *testing.T) {
	var f keyFilter
	r := rand.New(rand.NewPCG(1, 2))
	if f.mayHave(r.Uint64()) {
		t.Error("an empty filter has a key")
	}
	const n = partKeys + partKeys/4
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = r.Uint64()
		f.add(keys[i])
	}
	if len(f.parts) != 2 || f.len() != n {
		t.Errorf("%d parts of %d keys", len(f.parts), f.len())
	}
	for _, key := range keys {
		if !f.mayHave(key) {
			t.Fatal("a key is lost")
		}
	}
	passed := 0
	for range 200_000 {
		if f.mayHave(r.Uint64()) {
			passed++
		}
	}
	if passed > 400 {
		t.Errorf("%d of 200,000 unknown keys pass", passed)
	}
}

// TestSegmentKeys lets the filter say "perhaps" always, and forget after Expire.
func TestSegmentKeys(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
	put := func(ids ...string) {
		t.Helper()
		var list []traceprof.Segment
		for _, id := range ids {
			list = append(list, traceprof.Segment{ID: id, Start: 10})
		}
		if err := s.PutSegments(t.Context(), list...); err != nil {
			t.Fatal(err)
		}
	}
	put("a", "b")
	for i := range s.traces.seen.parts[0].blocks {
		for k := range s.traces.seen.parts[0].blocks[i] {
			s.traces.seen.parts[0].blocks[i][k] = math.MaxUint32
		}
	}
	put("b", "c", "c", "a", "d")
	if got, err := ask(t, s, "SELECT string_agg(id, ' ' ORDER BY seq) FROM segment"); err != nil || got != "a b c d\n" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := s.Expire(t.Context(), traceprof.Expiry{Before: 11}); err != nil {
		t.Fatal(err)
	}
	if s.traces.seen.loaded {
		t.Error("the filter knows the keys of segments that are gone")
	}
	put("a", "a")
	if got, err := ask(t, s, "SELECT count(*) FROM segment"); err != nil || got != "1\n" {
		t.Errorf("%q, %v", got, err)
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
		edit(t, s.path, sql)
		damaged, err := Open(s.path, Options{})
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
	raw := make([]byte, 4<<20) // every sixteenth commit brings on a checkpoint
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
		return s.PutSnapshots(t.Context(), tracetest.Picture("kept", "s", fmt.Sprintf("@%d A-B%d", round, round)), tracetest.Picture(fmt.Sprint("t", round), "x", "A"))
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
		s = mustOpen(t, s.path, Options{})
	}
}

// endedWith is a context that ends as soon as the store knows a task's dictionary,
// which from then on is held with all others.
type endedWith struct {
	context.Context
	stacks *stackCache
	task   string
	held   chan struct{}
}

func (c *endedWith) Err() error {
	select {
	case <-c.held:
		return context.Canceled
	default:
	}
	c.stacks.mu.Lock()
	if c.stacks.byTask[c.task] == nil {
		c.stacks.mu.Unlock()
		return nil
	}
	close(c.held)
	return context.Canceled
}

// TestForgetFirst lets a call fail that has taken in stacks: they are forgotten
// before the next call can build on them.
func TestForgetFirst(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
	ctx := &endedWith{Context: t.Context(), stacks: &s.traces.stacks, task: "t", held: make(chan struct{})}
	failed := make(chan error)
	go func() { failed <- s.PutSnapshots(ctx, tracetest.Picture("t", "s", "A-B")) }()
	<-ctx.held
	for range 30 { // it would be quick
		if s.traces.write.TryLock() {
			s.traces.write.Unlock()
			t.Error("others may write while stacks are known that are not in the file")
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.traces.stacks.mu.Unlock()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := s.PutSnapshots(t.Context(), tracetest.Picture("u", "s", "C"), tracetest.Picture("t", "s", "D")); err != nil {
		t.Fatal(err)
	}
	want := "t s 0 [] []\n0 0 [D]\nu s 0 [] []\n0 0 [C]\n[]\n[]\n"
	if d := cmp.Diff(want, drawTraces(t, s)); d != "" {
		t.Error(d)
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
