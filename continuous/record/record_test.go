package record_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/record"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
)

// travelled is a store whose windows come as records.
type travelled struct {
	continuous.Store
	mem *mem.Store

	mu     sync.Mutex // a log is read by one; what was read is of the reader's forest
	reader record.Reader
}

func (s *travelled) PutWindows(ctx context.Context, list []*continuous.Window) ([]continuous.Outcome, error) {
	for _, w := range list {
		if err := w.Check(); err != nil {
			return nil, err
		}
	}
	written := record.Append(nil, list)
	s.mu.Lock()
	defer s.mu.Unlock()
	read, err := s.reader.Read(written)
	if err != nil {
		return nil, err
	}
	return s.Store.PutWindows(ctx, read)
}

// Unwrap implements store.Wrapper: lines do not travel.
func (s *travelled) Unwrap() store.Reader { return s.mem }

// TestTravelled: a store cannot tell windows that were written and read again from others.
func TestTravelled(t *testing.T) {
	storetest.RunWindows(t, storetest.WindowEngine{Open: func(testing.TB) continuous.Store {
		st := mem.New()
		return &travelled{Store: st, mem: st}
	}})
}

// example returns two windows with everything that windows have, over two forests.
func example() []*continuous.Window {
	forest := &calltree.Forest{}
	handle := forest.Function(profile.Function{Name: "handle", SystemName: "_handle", Module: "shop", File: "shop.go",
		StartLine: 12, Column: 3, Language: "Go", Kind: 2})
	root := forest.Path(calltree.NoNode, forest.Function(profile.Function{Name: "main"}))
	leaf := forest.Path(forest.Path(root, handle), handle)
	cpu := &continuous.Window{Start: time.UnixMilli(1_790_000_000_123).UTC(), Length: 15 * time.Second, Forest: forest, Untimed: true,
		Series: continuous.Series{Service: "shop", Type: storetest.CPUWindows, Labels: continuous.Labels{{Name: "pod", Value: "a"}},
			Facts: continuous.Labels{{Name: "process.pid", Value: "7"}}},
		Type: profile.ValueType{Name: "cpu", Unit: "nanoseconds", Scale: -3, Period: 10, PeriodUnit: "nanoseconds", PeriodName: "cpu",
			Original: "cpu"},
		Self: calltree.Vector{Nodes: []int32{root, leaf}, Self: []int64{-5, 1 << 40}}, Hash: profile.Hash{1, 15: 9}}
	other := storetest.NewWindowMaker().Window("web", time.UnixMilli(-4), nil, storetest.Sample{Stack: []string{"main"}, Value: 1})
	return []*continuous.Window{cpu, other}
}

// text is a window with its paths as names.
func text(w *continuous.Window) map[string]any {
	paths := map[string]int64{}
	functions := map[string]profile.Function{}
	for i, p := range w.Self.Nodes {
		paths[calltree.FormatPath(w.Forest.Names(p))] = w.Self.Self[i]
		for ; p != calltree.NoNode; p = w.Forest.Paths.Parent[p] {
			fn := w.Forest.Functions[w.Forest.Paths.Item[p]]
			functions[fn.Name] = fn
		}
	}
	return map[string]any{"series": w.Series, "start": w.Start.UnixMilli(), "length": w.Length, "type": w.Type, "hash": w.Hash,
		"untimed": w.Untimed, "paths": paths, "functions": functions}
}

func TestEverything(t *testing.T) {
	list := example()
	var reader record.Reader
	for range 2 { // the second time the reader knows all paths
		got, err := reader.Read(record.Append(nil, list))
		if err != nil || len(got) != len(list) {
			t.Fatal(got, err)
		}
		for i := range list {
			if d := cmp.Diff(text(list[i]), text(got[i])); d != "" {
				t.Error(d)
			}
		}
	}
	if content := record.Append([]byte("before"), nil); !bytes.HasPrefix(content, []byte("before")) {
		t.Errorf("%q", content)
	}
}

// TestReleased: records of the first release lie in logs, and workers of every later one read them.
func TestReleased(t *testing.T) {
	want := example()
	content, err := os.ReadFile("testdata/v0.1.0.record")
	if err != nil {
		t.Fatal(err)
	}
	var reader record.Reader
	got, err := reader.Read(content)
	if err != nil || len(got) != len(want) {
		t.Fatal(got, err)
	}
	for i := range want {
		if d := cmp.Diff(text(want[i]), text(got[i])); d != "" {
			t.Error(d)
		}
	}
}

// TestTree: a tree is the same after it travelled, whatever its values are.
func TestTree(t *testing.T) {
	w := example()[0]
	w.Self.Self[1] = 1<<62 + 1
	cut := w.Forest.Cut(w.Self.Nodes)
	tree := calltree.NewTree(cut.Table, w.Type, cut.Self(w.Self))
	got, err := record.ReadTree(record.AppendTree(nil, tree))
	if err != nil || got.Check() != nil {
		t.Fatal(err, got.Check())
	}
	if d := cmp.Diff([]any{tree.Type, tree.Functions, tree.Self, tree.Total}, []any{got.Type, got.Functions, got.Self, got.Total}); d != "" {
		t.Error(d)
	}
	for _, list := range [][]*continuous.Window{nil, example()} {
		if _, err := record.ReadTree(record.Append(nil, list)); !errors.Is(err, record.ErrMalformed) {
			t.Errorf("%d windows: %v", len(list), err)
		}
	}
}

// TestDamaged: what is cut or of another version is an error, whatever it is.
func TestDamaged(t *testing.T) {
	content := record.Append(nil, example())
	for n := range content {
		var reader record.Reader
		if _, err := reader.Read(content[:n]); !errors.Is(err, record.ErrMalformed) {
			t.Errorf("%d bytes of %d: %v", n, len(content), err)
		}
	}
	var reader record.Reader
	for name, bad := range map[string][]byte{"a byte more": append(bytes.Clone(content), 0), "a version": append([]byte{99}, content[1:]...)} {
		if _, err := reader.Read(bad); !errors.Is(err, record.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(record.Append(nil, example()))
	f.Fuzz(func(t *testing.T, content []byte) {
		var reader record.Reader
		list, err := reader.Read(content)
		if err != nil {
			return
		}
		again, err := reader.Read(record.Append(nil, list))
		if err != nil || len(again) != len(list) {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		for i := range list {
			if d := cmp.Diff(text(list[i]), text(again[i])); d != "" {
				t.Error(d)
			}
		}
	})
}
