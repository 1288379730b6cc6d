package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
	"github.com/dendroprof/dendro/testrun"
)

func TestCopy(t *testing.T) {
	ctx := context.Background()
	src, same, renamed := mem.New(), mem.New(), mem.New()
	im := storetest.NewImporter()
	a := im.File("g", "a", "r1", profile.CPUSamples, "A  A\nB1  B2")
	a.Metrics = append(a.Metrics, storetest.Metric("time", 3))
	a.Source = []byte("original")
	for _, f := range []*store.File{a, im.File("g", "b", "r2", profile.CPUSamples, "A\nC")} {
		if _, err := src.Put(ctx, []*store.File{f}, store.PutOptions{Rules: "1"}); err != nil {
			t.Fatal(err)
		}
	}
	drop := func(f profile.Function) profile.Function {
		f.Name = strings.TrimRight(f.Name, "12")
		return f
	}
	if err := store.Copy(ctx, same, src, store.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := store.Copy(ctx, renamed, src, store.CopyOptions{Rename: drop, Rules: "2"}); err != nil {
		t.Fatal(err)
	}
	want, _ := src.Profiles(ctx, store.Query{})
	for _, dst := range []store.Store{same, renamed} {
		got, err := dst.Profiles(ctx, store.Query{})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, cmpopts.IgnoreFields(store.Profile{}, "Seq", "Nodes")); d != "" {
			t.Error(d)
		}
		if data, err := dst.Source(ctx, got[0].ID); err != nil || string(data) != "original" {
			t.Errorf("source %q, %v", data, err)
		}
	}
	paths := func(st store.Store) map[string]int64 {
		tree, _, err := store.MergeTrees(ctx, st, store.Query{})
		if err != nil {
			t.Fatal(err)
		}
		m := map[string]int64{}
		for n := range tree.Self {
			m[strings.Join(tree.Path(int32(n)), ";")] = tree.Self[n]
		}
		return m
	}
	if d := cmp.Diff(paths(src), paths(same)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]int64{"A": 0, "A;B": 2, "A;C": 1}, paths(renamed)); d != "" {
		t.Error(d)
	}
	raw, err := renamed.RawNames(ctx, "g", []string{"B"})
	if err != nil || raw["B"] != "B1" && raw["B"] != "B2" {
		t.Errorf("raw names %v, %v", raw, err)
	}
	if info, _ := renamed.Info(ctx); info.Rules != "2" {
		t.Errorf("rules %q", info.Rules)
	}
}

// copied makes a source of files profiles, two of them from one file, and returns
// it with its profiles in import order.
func copied(t *testing.T, files int) (*mem.Store, []store.Profile) {
	t.Helper()
	src := mem.New()
	im := storetest.NewImporter()
	for i := range files {
		run := string(rune('z' - i)) // against the order of import
		f := im.File("g", "b", run, profile.CPUSamples, "A  A\nB  C")
		if i == 0 {
			im.Add(f, "alloc", "A\nC")
		}
		f.Metrics = []testrun.Metric{storetest.Metric("time", float64(i))}
		if _, err := src.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: "1"}); err != nil {
			t.Fatal(err)
		}
	}
	return src, inOrder(t, src)
}

// inOrder returns the profiles of a store in import order, without what engines
// number themselves.
func inOrder(t *testing.T, s store.Reader) []store.Profile {
	t.Helper()
	list, err := s.Profiles(t.Context(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b store.Profile) int { return int(a.Seq - b.Seq) })
	for i := range list {
		list[i].Seq = 0
	}
	return list
}

// dying is a store that breaks down at its nth Put.
type dying struct {
	store.Store
	puts int
}

var errDied = errors.New("died")

func (d *dying) Put(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
	if d.puts--; d.puts < 0 {
		return nil, errDied
	}
	return d.Store.Put(ctx, files, opts)
}

// reading counts the profiles whose trees were read.
type reading struct {
	store.Reader
	trees int
}

func (r *reading) Trees(ctx context.Context, q store.Query, opts store.TreeOptions) (*store.TreeSet, error) {
	r.trees += len(q.Profiles)
	return r.Reader.Trees(ctx, q, opts)
}

func TestCopyContinues(t *testing.T) {
	const files = 150 // three batches
	src, want := copied(t, files)
	dst := mem.New()
	if err := store.Copy(t.Context(), &dying{dst, 1}, src, store.CopyOptions{}); !errors.Is(err, errDied) {
		t.Fatalf("%v", err)
	}
	half := len(inOrder(t, dst))
	if half == 0 || half == len(want) {
		t.Fatalf("%d of %d profiles were copied before the end: nothing to continue", half, len(want))
	}
	from := &reading{Reader: src}
	var unchanged, stored, last int
	report := func(c store.Copied) {
		unchanged, stored, last = unchanged+c.Unchanged, stored+c.Stored, c.Done
		if c.All != len(want) || len(c.Profiles) != c.Stored+c.Unchanged {
			t.Errorf("report %+v", c)
		}
	}
	if err := store.Copy(t.Context(), dst, from, store.CopyOptions{Report: report}); err != nil {
		t.Fatal(err)
	}
	if unchanged != half || stored != len(want)-half || last != len(want) || from.trees != stored {
		t.Errorf("%d unchanged, %d stored, %d done, %d trees read; %d of %d were there", unchanged, stored, last, from.trees, half, len(want))
	}
	if d := cmp.Diff(want, inOrder(t, dst)); d != "" {
		t.Errorf("the copy (-source +copy):\n%s", d)
	}
}

// TestCopyWaiting expects metrics that wait for their profile to wait in the copy.
func TestCopyWaiting(t *testing.T) {
	src, _ := copied(t, 1)
	more := storetest.MetricsFile("g", "still to come", "z", storetest.Metric("bytes", 5))
	more.Run.Commit = "abc"
	if _, err := src.Put(t.Context(), []*store.File{more}, store.PutOptions{Rules: "1"}); err != nil {
		t.Fatal(err)
	}
	dst, part := mem.New(), mem.New()
	for range 2 {
		if err := store.Copy(t.Context(), dst, src, store.CopyOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Copy(t.Context(), part, src, store.CopyOptions{Query: store.Query{Types: []string{"cpu"}}}); err != nil {
		t.Fatal(err)
	}
	want, _ := src.Waiting(t.Context())
	got, err := dst.Waiting(t.Context())
	if d := cmp.Diff(want, got); err != nil || d != "" || len(want) != 1 {
		t.Errorf("%v; (-source +copy):\n%s", err, d)
	}
	if got, _ := part.Waiting(t.Context()); len(got) != 0 {
		t.Errorf("a copy of some profiles brought %v", got)
	}
}

// TestCopyFacts expects what became known after a copy to arrive with the next one.
func TestCopyFacts(t *testing.T) {
	src, _ := copied(t, 3)
	dst := mem.New()
	if err := store.Copy(t.Context(), dst, src, store.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	more := storetest.MetricsFile("g", "b", "z", storetest.Metric("bytes", 5))
	more.Run.Commit = "abc"
	if _, err := src.Put(t.Context(), []*store.File{more}, store.PutOptions{Rules: "1"}); err != nil {
		t.Fatal(err)
	}
	from := &reading{Reader: src}
	if err := store.Copy(t.Context(), dst, from, store.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(inOrder(t, src), inOrder(t, dst)); d != "" || from.trees != 0 {
		t.Errorf("%d trees read; (-source +copy):\n%s", from.trees, d)
	}
}

func TestCopyConflicts(t *testing.T) {
	src, want := copied(t, 3)
	other := func() *mem.Store {
		dst := mem.New()
		f := storetest.File("g", "b", "y", profile.CPUSamples, "Other")
		if _, err := dst.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: "1"}); err != nil {
			t.Fatal(err)
		}
		return dst
	}
	dst := other()
	var conflict *store.ConflictError
	if err := store.Copy(t.Context(), dst, src, store.CopyOptions{}); !errors.As(err, &conflict) {
		t.Errorf("%v", err)
	}
	if n := len(inOrder(t, dst)); n != len(want) {
		t.Errorf("%d profiles beside the conflict, want %d", n, len(want))
	}
	dst = other()
	if err := store.Copy(t.Context(), dst, src, store.CopyOptions{Conflict: store.Replace}); err != nil {
		t.Error(err)
	}
	sortByID := cmpopts.SortSlices(func(a, b store.Profile) bool { return a.ID < b.ID })
	if d := cmp.Diff(want, inOrder(t, dst), sortByID); d != "" {
		t.Errorf("replaced (-source +copy):\n%s", d)
	}
	if err := store.Copy(t.Context(), dst, src, store.CopyOptions{Rules: "2"}); !errors.Is(err, store.ErrOtherRules) {
		t.Errorf("under other rules: %v", err)
	}
}

func TestCopySelection(t *testing.T) {
	src, _ := copied(t, 5)
	dst := mem.New()
	if err := store.Copy(t.Context(), dst, src, store.CopyOptions{Query: store.Query{Runs: []string{"z", "w"}}}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range inOrder(t, dst) {
		got = append(got, p.Run.Key+" "+p.Type.Name)
	}
	if d := cmp.Diff([]string{"z " + profile.CPUSamples, "z alloc", "w " + profile.CPUSamples}, got); d != "" {
		t.Error(d)
	}
}
