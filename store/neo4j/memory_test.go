package neo4j

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/test/storetest"
	"github.com/dendroprof/dendro/testrun"
)

// TestMillionNodes puts a profile of a million call nodes, all of them new. A
// server whose transactions may take what the model needs stores it (a heap of
// 2 GB is enough for the model shared); any other one refuses it before its
// memory is touched, and the error defines which heap would do.
func TestMillionNodes(t *testing.T) {
	long(t)
	ctx := context.Background()
	f := millionFile(40_000, 25)
	nodes := f.Records[0].Self.Len()
	for _, m := range bothModels {
		t.Run(string(m), func(t *testing.T) {
			s := opened(t, fresh(t, m))
			var limit int64
			if err := s.db.Read(ctx, func(t *bolt.Tx) (err error) { limit, err = memoryLimit(t); return err }); err != nil {
				t.Fatal(err)
			}
			out, err := s.Put(ctx, []*store.File{f}, store.PutOptions{Rules: storetest.Rules})
			if err != nil {
				t.Fatal(err)
			}
			need := models[m].memory(nodes)
			if limit == 0 || need <= limit {
				checkMillion(t, s, f, out[0])
				return
			}
			var refused *bolt.OutOfMemory
			if !errors.As(out[0].Err, &refused) {
				t.Fatalf("%d MB where a transaction may take %d MB: %+v", need>>20, limit>>20, out[0])
			}
			heap := regexp.MustCompile(`a heap of (\d+) MB is enough`).FindStringSubmatch(refused.Error())
			if heap == nil {
				t.Fatalf("the error names no heap: %v", refused)
			}
			if mb, _ := strconv.ParseInt(heap[1], 10, 64); heapLimit((mb+1)<<20*7/10) < need-1<<20 {
				t.Errorf("a heap of %d MB does not do for %d MB", mb, need>>20)
			}
			if info, err := s.Info(ctx); err != nil || info.Profiles != 0 || info.Paths != 0 || info.Functions != 0 {
				t.Errorf("afterwards the store has %+v, %v", info, err)
			}
		})
	}
}

// checkMillion compares what was stored with what was put.
func checkMillion(t *testing.T, s *Store, f *store.File, out store.Outcome) {
	t.Helper()
	if out.Err != nil || out.Stored != 1 {
		t.Fatalf("%+v", out)
	}
	tree, list, err := store.MergeTrees(context.Background(), s, store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	v := f.Records[0].Self
	if tree.Len() != v.Len() || list[0].Nodes != v.Len() {
		t.Fatalf("%d nodes (the profile says %d), want %d", tree.Len(), list[0].Nodes, v.Len())
	}
	var got, want int64
	for _, n := range tree.Self {
		got += n
	}
	for _, n := range v.Self {
		want += n
	}
	if got != want {
		t.Errorf("the values add up to %d, want %d", got, want)
	}
}

// millionFile returns a file of one profile with so many stacks, which share no
// path, of so many frames. Every fourth frame calls the function of the frame
// before it.
func millionFile(stacks, frames int) *store.File {
	forest := new(calltree.Forest)
	function := func(n int) int32 {
		return forest.Function(profile.Function{Name: fmt.Sprintf("org.example.pkg%d.Class%d.method%d", n%100, n%5000, n),
			Kind: profile.KindJava})
	}
	var v calltree.Vector
	for stack := range stacks {
		at, fn := forest.Path(calltree.NoNode, function(stack)), int32(0)
		v.Nodes, v.Self = append(v.Nodes, at), append(v.Self, 1)
		for depth := 1; depth < frames; depth++ {
			if depth%4 != 0 {
				fn = function((stack*31 + depth*977) % 20_000)
			}
			at = forest.Path(at, fn)
			v.Nodes, v.Self = append(v.Nodes, at), append(v.Self, int64(depth%7+1))
		}
	}
	return &store.File{
		Name: "wide.collapsed", Benchmark: testrun.Benchmark{Group: "group", Name: "wide"}, Run: testrun.Run{Key: "run"},
		Records: []*store.Record{{Type: storetest.TypeOf(profile.CPUSamples), Forest: forest.Snapshot(), Self: v, Hash: profile.Hash{1}}},
	}
}

func TestHeap(t *testing.T) {
	for _, test := range []struct{ heap, limit int64 }{ // in MB
		{256, 64}, {512, 256}, {1000, 700}, {2000, 1400}, {8000, 5600},
	} {
		if limit := heapLimit(test.heap << 20 * 7 / 10); (limit+1<<19)>>20 != test.limit {
			t.Errorf("of %d MB a transaction may take %d MB, want %d", test.heap, limit>>20, test.limit)
		}
		if heap := heapFor(test.limit << 20); test.heap > 256 && (heap+1<<19)>>20 != test.heap {
			t.Errorf("for %d MB a heap of %d MB would do, want %d", test.limit, heap>>20, test.heap)
		}
	}
}

// TestNearLimit stores a profile that takes nearly what a transaction may take: a
// server that has answered other queries before stays alive.
func TestNearLimit(t *testing.T) {
	long(t)
	for _, highest := range []int{0, MaxPotentials} {
		where := server(t)
		wipe(t, dialed(t, where), Thesis)
		if err := Init(t.Context(), where, InitOptions{Model: Thesis, Potentials: highest}); err != nil {
			t.Fatal(err)
		}
		change(t, dialed(t, where), "MATCH (d:Dendro) SET d:"+testMark)
		s := opened(t, where)
		var limit int64
		if err := s.db.Read(t.Context(), func(t *bolt.Tx) (err error) { limit, err = memoryLimit(t); return err }); err != nil {
			t.Fatal(err)
		}
		nodes := min(limit, heapLimit(358<<20)) * 95 / 100 / s.model.memory(1) // a larger server needs no more
		mustPut(t, s, store.Refuse, wideFile("r1", int(nodes)))
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{"0B": 0, "": 0, "nonsense": 0, "-1": 0, "17": 17, "2.00KiB": 2048, "716.80MiB": 751619276,
		"1g": 1 << 30, "1.5T": 3 << 39} {
		if got := parseBytes(text); got != want {
			t.Errorf("%q is %d bytes, want %d", text, got, want)
		}
	}
}
