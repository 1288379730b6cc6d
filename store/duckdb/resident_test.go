package duckdb

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/storetest"
)

// TestResidentGenerations fills both generations and looks at what goes.
func TestResidentGenerations(t *testing.T) {
	vector := func(n int) residentVector {
		return packed(calltree.Vector{Nodes: make([]int32, n), Self: make([]int64, n)})
	}
	var r resident
	r.reset(2 * 3 * vector(10).bytes()) // three vectors a generation
	if _, pays := r.ask(10); pays {
		t.Error("the first question of a process keeps what it reads")
	}
	epoch, pays := r.ask(10)
	if !pays {
		t.Error("the second question keeps nothing")
	}
	if _, pays := r.ask(1 << 20); pays {
		t.Error("a question keeps more than there is room for")
	}
	has := func(want ...int32) {
		t.Helper()
		for id := range int32(20) {
			_, young := r.young.entries[residentKey{id, vectorOf}]
			_, old := r.old.entries[residentKey{id, vectorOf}]
			is := false
			for _, w := range want {
				is = is || w == id
			}
			if is != (young || old) {
				t.Errorf("vector %d: there %v, want %v", id, young || old, is)
			}
		}
		if r.young.bytes > r.limit/2 || r.old.bytes > r.limit/2 {
			t.Errorf("%d and %d bytes of %d", r.young.bytes, r.old.bytes, r.limit)
		}
	}
	for id := range int32(6) {
		r.addVector(epoch, id, vector(10))
	}
	has(0, 1, 2, 3, 4, 5)
	if _, ok := r.vector(1); !ok { // asked for: it is young again, and the others of its age go
		t.Error("vector 1 is gone")
	}
	has(1, 3, 4, 5)
	r.addVector(epoch, 6, vector(10))
	r.addVector(epoch, 6, vector(10)) // twice counts once
	r.addVector(epoch, 7, vector(10))
	has(1, 3, 4, 5, 6, 7)
	r.addVector(epoch, 8, vector(10))
	has(1, 6, 7, 8)
	r.addVector(epoch, 9, vector(1000)) // larger than a generation
	has(1, 6, 7, 8)
	r.reset(r.limit)
	r.addVector(epoch, 1, vector(10)) // of another epoch
	r.addFunctions(epoch, 1, functionRows{})
	has()
	if _, ok := r.functions(1); ok {
		t.Error("rows of another epoch were kept")
	}
}

// TestResidentAnswers asks again and again while the store changes, with room for
// everything, for some, and for nothing.
func TestResidentAnswers(t *testing.T) {
	for _, limit := range []int{1 << 20, 2000, 0} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			kept, fresh := mustOpen(t, filepath.Join(t.TempDir(), "kept"), Options{}), mustOpen(t, filepath.Join(t.TempDir(), "fresh"), Options{})
			kept.resident.reset(limit)
			im := storetest.NewImporter()
			put := func(conflict store.Conflict, run, drawing string) {
				t.Helper()
				for _, s := range []*Store{kept, fresh} {
					f := im.File("g", "b", run, profile.CPUSamples, drawing)
					if out, err := s.Put(t.Context(), []*store.File{f}, store.PutOptions{Conflict: conflict, Rules: storetest.Rules}); err != nil || out[0].Err != nil {
						t.Fatal(err, out)
					}
				}
			}
			compare := func() {
				t.Helper()
				for _, q := range []store.Query{{}, {Runs: []string{"r1", "r3"}}, {Runs: []string{"r2"}}} {
					for range 2 {
						got := answers(t, kept, q)
						fresh.resident.reset(0) // reads the file every time
						if want := answers(t, fresh, q); got != want {
							t.Fatalf("%+v:\n%s\nwant\n%s", q, got, want)
						}
					}
				}
			}
			for i := range 9 {
				put(store.Refuse, fmt.Sprint("r", i), fmt.Sprintf("×%d  ×2\nA  A\nB  f%d", i+1, i%3))
				if i >= 3 {
					compare()
				}
			}
			put(store.Replace, "r1", "×70\nX")
			compare()
			put(store.Add, "r2", "×5  ×1\nA  Y\nB  Z")
			compare()
			for _, s := range []*Store{kept, fresh} {
				list, err := s.Profiles(t.Context(), store.Query{Runs: []string{"r0", "r3"}})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.Delete(t.Context(), []store.ProfileID{list[0].ID, list[1].ID}); err != nil {
					t.Fatal(err)
				}
			}
			compare()
			for _, s := range []*Store{kept, fresh} {
				if err := s.Compact(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			kept.resident.reset(limit)
			compare()
			put(store.Refuse, "r9", "B\nA\nX")
			compare()
			put(store.Refuse, "r10", "×5000000000  ×1\nA  Y\nB  Z") // no 32-bit number
			compare()
		})
	}
}

// answers writes down what the three ways to read rows say, and spoils what it
// was given: it is the caller's.
func answers(t *testing.T, s *Store, q store.Query) string {
	t.Helper()
	sums, err := s.SumFunctions(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, r := range sums.Rows {
		text += fmt.Sprintln(sums.Functions[r.Function].Name, r.Profiles, r.Self, r.Total)
	}
	few, err := s.Functions(t.Context(), q, []string{"A", "f1", "X", "nobody"})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string // in no order
	for rows, err := range few.Rows {
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range rows.Profile {
			lines = append(lines, fmt.Sprintln(few.Profiles[at].Run.Key, few.Functions[rows.Function[i]].Name, rows.Self[i], rows.Total[i]))
		}
	}
	slices.Sort(lines)
	text += strings.Join(lines, "")
	set, err := s.Trees(t.Context(), q, store.TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for v, err := range set.Vectors {
		if err != nil {
			t.Fatal(err)
		}
		byPath := map[string]int64{}
		for i, n := range v.Nodes {
			byPath[fmt.Sprint(set.Table.Path(n))] = v.Self[i]
			v.Nodes[i], v.Self[i] = -1, -1
		}
		text += fmt.Sprintln(v.Profile, byPath)
	}
	tree, _, err := s.MergeTrees(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for n := range tree.Len() {
		text += fmt.Sprintln(tree.Path(int32(n)), tree.Self[n], tree.Total[n])
		tree.Self[n] = -1
	}
	return text
}
