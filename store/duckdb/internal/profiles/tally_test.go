package profiles

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/storetest"
)

// randomForest returns a forest of recursive paths as a view.
func randomForest(r *rand.Rand, functions, paths int) *view {
	f := new(calltree.Forest)
	for i := range functions {
		f.Function(profile.Function{Name: fmt.Sprint("f", i)})
	}
	w := &writer{}
	for f.Paths.Len() < paths {
		parent := int32(r.IntN(f.Paths.Len()+1)) - 1
		if p := f.Path(parent, int32(r.IntN(functions))); int(p) == len(w.rec) {
			w.paths = f.Paths
			w.rec = append(w.rec, w.recursion(parent, f.Paths.Item[p]))
		}
	}
	return &view{names: &names{functions: f.Functions}, forest: f, rec: w.rec}
}

// TestTally compares the rows of profiles, which one tally computes one after the other, of all functions and of
// some, with those of their trees. Some values are negative, and totals zero.
func TestTally(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for round := range 60 {
		v := randomForest(r, 1+r.IntN(12), 1+r.IntN(400))
		var fns []int32
		if round%2 > 0 {
			fns = []int32{}
			for fn := range int32(len(v.functions)) {
				if r.IntN(3) == 0 {
					fns = append(fns, fn)
				}
			}
		}
		all := v.tallies(fns)
		for range 20 {
			var vector calltree.Vector
			from := r.IntN(len(v.rec))
			for p := from; p < len(v.rec); p++ {
				if x := r.Int64N(4) - int64(round/3%2)*2; x != 0 && r.IntN(4) == 0 {
					vector.Nodes, vector.Self = append(vector.Nodes, int32(p)), append(vector.Self, x)
				}
			}
			want, got := map[int32][2]int64{}, map[int32][2]int64{}
			cut := v.forest.Cut(vector.Nodes)
			for _, row := range calltree.NewTree(cut.Table, profile.ValueType{}, cut.Self(vector)).FunctionRows() {
				fn := v.find([]string{cut.Functions[row.Func].Name})[0]
				if round%2 == 0 || slices.Contains(fns, fn) {
					want[fn] = [2]int64{row.Self, row.Total}
				}
			}
			var rows columns
			all.of(0).add(vector, 0)
			all.of(0).rows(&rows, 7)
			for i, fn := range rows.fn {
				got[fn] = [2]int64{rows.self[i], rows.total[i]}
			}
			if !maps.Equal(got, want) || len(got) != len(rows.fn) {
				t.Fatalf("round %d, functions %v: %v, want %v", round, fns, got, want)
			}
		}
		all.release()
	}
}

// TestSumsOfMany compares the sums of more profiles than are added up together, some with values that
// cancel, with those of their rows.
func TestSumsOfMany(t *testing.T) {
	s, im, r := open(t), storetest.NewImporter(), rand.New(rand.NewPCG(5, 6))
	var files []*store.File
	for run := range 3*tallied + 7 {
		f := im.File("g", fmt.Sprint("b", run%2), fmt.Sprint("r", run), profile.CPUSamples,
			fmt.Sprintf("×%d  ×2  ×3  ×4  ×4\nA  A  f%d  x  x\nB  C  D   -  y\nA", run+1, r.IntN(9)))
		if run%10 == 0 || run > 3*tallied {
			rec := f.Records[0]
			for i, p := range rec.Self.Nodes {
				if rec.Forest.Functions[rec.Forest.Paths.Item[p]].Name == "y" {
					rec.Self.Self[i] = -4 // x has a total of zero
				}
			}
		}
		files = append(files, f)
	}
	if _, err := s.Put(t.Context(), files, store.PutOptions{Rules: storetest.Rules}); err != nil {
		t.Fatal(err)
	}
	set, err := s.Functions(t.Context(), store.Query{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]store.FunctionSum{}
	for rows, err := range set.Rows {
		if err != nil {
			t.Fatal(err)
		}
		for i, fn := range rows.Function {
			w, whole := want[set.Functions[fn].Name], float64(set.Profiles[rows.Profile[i]].Sum)
			w.Profiles, w.Self, w.Total = w.Profiles+1, w.Self+rows.Self[i], w.Total+rows.Total[i]
			w.SelfShare, w.TotalShare = w.SelfShare+float64(rows.Self[i])/whole, w.TotalShare+float64(rows.Total[i])/whole
			want[set.Functions[fn].Name] = w
		}
	}
	for range 3 { // the first one without the rows of profiles, the last one of rows in memory
		sums, err := s.SumFunctions(t.Context(), store.Query{})
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range sums.Rows {
			name := sums.Functions[got.Function].Name
			w := want[name]
			for _, x := range [][2]float64{{got.SelfShare, w.SelfShare}, {got.TotalShare, w.TotalShare}} {
				if math.Abs(x[0]-x[1]) > 1e-9 {
					t.Errorf("%s: shares of %v, want %v", name, got, w)
				}
			}
			w.Function, w.SelfShare, w.TotalShare = got.Function, got.SelfShare, got.TotalShare
			if got != w {
				t.Errorf("%s: %v, want %v", name, got, w)
			}
		}
		if len(sums.Rows) != len(want) || len(want) < 10 {
			t.Errorf("%d functions, want %d", len(sums.Rows), len(want))
		}
	}
	if n := s.cache.rows.Len(); n != len(files) {
		t.Errorf("the rows of %d profiles are kept, want %d", n, len(files))
	}
}
