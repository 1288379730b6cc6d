package traces

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/schema"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/traceprof"
)

// open returns an empty store.
func open(t testing.TB) *Store {
	file, err := driver.NewFile(filepath.Join(t.TempDir(), "store.duckdb"), driver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := New(file)
	err = file.Open(t.Context(), driver.Hooks{Session: Session, Closing: func() {}, Load: func(ctx context.Context, c *driver.Conn) error {
		if err := c.Exec(schema.After(0)); err != nil {
			return err
		}
		return Load(ctx, s, c)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return s
}

func number(t testing.TB, s *Store, sql string) (n int64) {
	t.Helper()
	err := s.file.With(func(c *driver.Conn) (err error) {
		n, err = c.Number(t.Context(), sql)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestColdStacks reads and writes with a cache that keeps hardly anything.
func TestColdStacks(t *testing.T) {
	s := open(t)
	s.LimitStacks(10_000)
	simple := mem.New()
	r := rand.New(rand.NewPCG(1, 1))
	for i := range int32(240) {
		task := fmt.Sprint("t", r.IntN(4))
		v := tracetest.Picture(task, fmt.Sprint("g", r.IntN(2)),
			fmt.Sprintf("@%d A-B%d-C%d A-%s", i, r.IntN(30), i, strings.Repeat("x", r.IntN(300)+1)))
		for _, st := range []traceprof.Store{s, simple} {
			if err := st.PutSnapshots(t.Context(), v); err != nil {
				t.Fatal(err)
			}
		}
		if sc := &s.stacks; sc.byID.Bytes() > sc.byID.Limit() || len(sc.byTask) > sc.byID.Len() || int64(sc.byID.Len())*1000 > sc.byID.Limit() {
			t.Fatalf("%d dictionaries of %d bytes, %d that are added to", sc.byID.Len(), sc.byID.Bytes(), len(sc.byTask))
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
	if n := number(t, s, "SELECT max(paths) FROM (SELECT count(*) AS paths FROM stack_path GROUP BY task)"); n > 70 {
		t.Errorf("the largest dictionary has %d paths", n)
	}
	if n := number(t, s, "SELECT count(*) FROM sampled_task"); n <= 8 {
		t.Errorf("%d dictionaries of four tasks, want several for each", n)
	}
	err := s.file.With(func(c *driver.Conn) error {
		if err := c.Exec("ATTACH ':memory:' AS fresh; USE fresh; " + schema.After(0) + "; USE store"); err != nil {
			return err
		}
		return errors.Join(Copy(t.Context(), s, c, "fresh"), func() error { c.DropAppenders(); return nil }())
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := number(t, s, "SELECT count(*) FROM fresh.sampled_task"); n != 4 {
		t.Errorf("%d dictionaries of four tasks after Copy", n)
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
	s := open(t)
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
	full := s.seen.parts[0].Bytes()
	copy(full, bytes.Repeat([]byte{0xff}, len(full)))
	put("b", "c", "c", "a", "d")
	list, err := s.Segments(t.Context(), traceprof.SegmentQuery{})
	if err != nil || len(list) != 4 {
		t.Errorf("segments %v, %v", list, err)
	}
	if _, err := s.Expire(t.Context(), traceprof.Expiry{Before: 11}); err != nil {
		t.Fatal(err)
	}
	if s.seen.loaded {
		t.Error("the filter knows the keys of segments that are gone")
	}
	put("a", "a")
	if n := number(t, s, "SELECT count(*) FROM segment"); n != 1 {
		t.Errorf("%d segments", n)
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
	s := open(t)
	ctx := &endedWith{Context: t.Context(), stacks: &s.stacks, task: "t", held: make(chan struct{})}
	failed := make(chan error)
	go func() { failed <- s.PutSnapshots(ctx, tracetest.Picture("t", "s", "A-B")) }()
	<-ctx.held
	for range 30 { // it would be quick
		if s.write.TryLock() {
			s.write.Unlock()
			t.Error("others may write while stacks are known that are not in the file")
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.stacks.mu.Unlock()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := s.PutSnapshots(t.Context(), tracetest.Picture("u", "s", "C"), tracetest.Picture("t", "s", "D")); err != nil {
		t.Fatal(err)
	}
	text := ""
	for v, err := range s.Snapshots(t.Context(), traceprof.SnapshotQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintln(v.Task, v.Segment, v.Stacks.Names(v.Path[0]))
	}
	if text != "t s [D]\nu s [C]\n" {
		t.Error(text)
	}
}
