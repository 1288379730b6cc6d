package querier

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	oracle "github.com/google/pprof/profile"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/format/pprof"
	"github.com/dendroprof/dendro/profile"
)

// decodeFlame reads bars as Grafana does: each lies in the range of one bar of the level
// above. It returns the self values of one side by path, and fails if a bar has no parent.
func decodeFlame(names []string, levels [][]int64, sides, side int) (map[string]int64, error) {
	type bar struct {
		path       string
		start, end int64
	}
	values := map[string]int64{}
	var above []bar
	step := 3*sides + 1
	for depth, level := range levels {
		var row []bar
		x := int64(0)
		parent := 0
		for i := 0; i < len(level); i += step {
			total, self := level[i+3*side+1], level[i+3*side+2]
			x += level[i+3*side]
			b := bar{names[level[i+step-1]], x, x + total}
			x = b.end
			if depth > 0 {
				for parent < len(above) && (b.start < above[parent].start || b.end > above[parent].end) {
					parent++
				}
				if parent == len(above) {
					return nil, fmt.Errorf("level %d: no parent of %+v", depth, b)
				}
				b.path = above[parent].path + ";" + b.path
			}
			if self != 0 {
				values[strings.TrimPrefix(b.path, "total;")] += self
			}
			if self < 0 || self > total {
				return nil, fmt.Errorf("level %d: %+v has self %d", depth, b, self)
			}
			row = append(row, b)
		}
		above = row
	}
	return values, nil
}

// valuesByPath returns the self values of a tree.
func valuesByPath(t *calltree.Table, self []int64) map[string]int64 {
	values := map[string]int64{}
	for n := range int32(t.Len()) {
		if self[n] != 0 {
			values[strings.Join(t.Path(n), ";")] += self[n]
		}
	}
	return values
}

// randomTree returns a tree of few names, so that paths recur on both sides of a diff.
func randomTree(rnd *rand.Rand, nodes int) *calltree.Tree {
	var forest calltree.Forest
	paths := []int32{calltree.NoNode}
	for range nodes {
		fn := forest.Function(profile.Function{Name: string(rune('a' + rnd.IntN(8)))})
		paths = append(paths, forest.Path(paths[rnd.IntN(len(paths))], fn))
	}
	self := make([]int64, forest.Paths.Len())
	for i := range self {
		self[i] = int64(rnd.IntN(5)) * int64(rnd.IntN(100))
	}
	return forest.Tree(profile.ValueType{Name: "cpu", Unit: "nanoseconds"}, self)
}

// TestFlameGraphOfRandomTrees decodes flame graphs, trees and pprof to the tree that they
// are of. With a limit of nodes, nothing is lost: `other` has the rest.
func TestFlameGraphOfRandomTrees(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		tree := randomTree(rnd, rnd.IntN(60))
		most := int64(rnd.IntN(2) * (1 + rnd.IntN(20)))
		f, err := fold(tree.Table, most, columns{tree.Self, tree.Total})
		if err != nil {
			t.Fatal(err)
		}
		g := newFlameGraph(f)
		if g == nil {
			if tree.RootTotal() != 0 {
				t.Fatalf("seed %d: no graph of %d", seed, tree.RootTotal())
			}
			continue
		}
		got, err := decodeFlame(g.names, g.levels, 1, 0)
		if err != nil {
			t.Fatalf("seed %d: %v: %v", seed, err, g.levels)
		}
		again, err := decodeTree(treeBytes(f))
		if err != nil || !maps.Equal(got, again) {
			t.Fatalf("seed %d: flame graph %v, tree %v (%v)", seed, got, again, err)
		}
		whole := f.tree(tree.Type)
		if err := whole.Check(); err != nil || !maps.Equal(got, valuesByPath(whole.Table, whole.Self)) {
			t.Fatalf("seed %d: flame graph %v, folded tree %v (%v)", seed, got, valuesByPath(whole.Table, whole.Self), err)
		}
		sum := int64(0)
		for _, v := range got {
			sum += v
		}
		if sum != tree.RootTotal() || g.total != sum {
			t.Fatalf("seed %d: total %d, bars %d, tree %d", seed, g.total, sum, tree.RootTotal())
		}
		if want := valuesByPath(tree.Table, tree.Self); most == 0 && !maps.Equal(got, want) {
			t.Fatalf("seed %d: %v, want %v", seed, got, want)
		}
	}
}

// TestDiffOfRandomTrees decodes both sides of diffs.
func TestDiffOfRandomTrees(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		sides := []*calltree.Tree{randomTree(rnd, rnd.IntN(40)), randomTree(rnd, rnd.IntN(40))}
		d, err := calltree.Compare(sides[:1], sides[1:])
		if err != nil {
			t.Fatal(err)
		}
		f, err := fold(d.Table, 0, columns{d.Base.Self, d.Base.Total}, columns{d.New.Self, d.New.Total})
		if err != nil {
			t.Fatal(err)
		}
		g := newFlameGraph(f)
		if g == nil {
			continue
		}
		for i, tree := range sides {
			got, err := decodeFlame(g.names, g.levels, 2, i)
			if want := valuesByPath(tree.Table, tree.Self); err != nil || !maps.Equal(got, want) || g.ticks[i] != tree.RootTotal() {
				t.Fatalf("seed %d, side %d: %v, want %v (%v)", seed, i, got, want, err)
			}
		}
	}
}

// TestFoldsSmallNodes: the largest nodes stay, and the rest of each parent is one bar.
func TestFoldsSmallNodes(t *testing.T) {
	w := window(cpuType, begin, "a", nil, "main;work 50", "main;work;x 3", "main;work;y 2", "main;idle 1", "gc 9", "other;z 1")
	cut := w.Forest.Cut(w.Self.Nodes)
	tree := calltree.NewTree(cut.Table, w.Type, cut.Self(w.Self))
	for most, want := range map[int64]map[string]int64{
		0: {"main;work": 50, "main;work;x": 3, "main;work;y": 2, "main;idle": 1, "gc": 9, "other;z": 1},
		4: {"main;work": 50, "main;work;x": 3, "main;work;other": 2, "main;other": 1, "gc": 9, "other": 1},
		3: {"main;work": 50, "main;work;other": 5, "main;other": 1, "gc": 9, "other": 1},
		1: {"main;other": 56, "other": 10},
	} {
		f, err := fold(tree.Table, most, columns{tree.Self, tree.Total})
		if err != nil {
			t.Fatal(err)
		}
		g := newFlameGraph(f)
		if got, err := decodeFlame(g.names, g.levels, 1, 0); err != nil || !maps.Equal(got, want) {
			t.Errorf("%d nodes: %v, want %v (%v)", most, got, want, err)
		}
	}
	if _, err := fold(tree.Table, 0, columns{make([]int64, tree.Len()), tree.Total}, columns{[]int64{-1}, tree.Total}); err == nil {
		t.Error("negative values are drawn")
	}
}

// goFiles are profiles of Go programs.
func goFiles(t *testing.T) (files [][]byte) {
	for _, name := range []string{"go-cpu.pb.gz", "go-cpu-small.pb.gz"} {
		data, err := os.ReadFile(filepath.Join("../../../../../format/pprof/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	return files
}

// TestEqualsGooglePprof: the flame graph, the tree and the pprof message of windows are what
// google/pprof merges from the same files.
func TestEqualsGooglePprof(t *testing.T) {
	var list []*continuous.Window
	var parsed []*oracle.Profile
	for i, data := range goFiles(t) {
		raw, err := oracle.ParseData(data)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, raw)
		var plain bytes.Buffer
		if err := raw.WriteUncompressed(&plain); err != nil {
			t.Fatal(err)
		}
		p, err := pprof.NewDecoder().Decode(&plain, nil, profile.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for table := range p.Tables {
			if p.Tables[table].Type.Original != "cpu" {
				continue
			}
			forest := new(calltree.Forest)
			projection := calltree.NewProjection(p.Symbols, forest, calltree.NoNode, forest.Function)
			w := &continuous.Window{Series: continuous.Series{Service: "go", Type: cpuType}, Start: begin.Add(time.Duration(i) * time.Second), Length: time.Second,
				Type: p.Tables[table].Type, Forest: forest, Self: projection.Vector(&p.Tables[table], nil)}
			list = append(list, w)
		}
	}
	merged, err := oracle.Merge(parsed)
	if err != nil {
		t.Fatal(err)
	}
	want := oracleValues(merged)
	if len(list) != 2 || len(want) < 50 {
		t.Fatalf("%d windows, %d stacks", len(list), len(want))
	}
	q := New(storeOf(t, list...))
	m, err := q.merge(t.Context(), &treeRequest{query: continuous.Query{Type: cpuType}})
	if err != nil {
		t.Fatal(err)
	}
	message, err := m.pprof()
	if err != nil {
		t.Fatal(err)
	}
	again, err := oracle.ParseData(message)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.SampleType[0].Type + "/" + again.SampleType[0].Unit + "/" + again.PeriodType.Type + "/" + again.PeriodType.Unit; got != "cpu/nanoseconds/cpu/nanoseconds" {
		t.Errorf("types %s", got)
	}
	if got := oracleValues(again); !maps.Equal(got, want) {
		t.Errorf("the pprof message has %d stacks, google/pprof %d", len(got), len(want))
	}
	f, err := m.fold()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeTree(treeBytes(f)); err != nil || !maps.Equal(got, want) {
		t.Errorf("the tree has %d stacks, google/pprof %d (%v)", len(got), len(want), err)
	}
	g := newFlameGraph(f)
	if got, err := decodeFlame(g.names, g.levels, 1, 0); err != nil || !maps.Equal(got, want) {
		t.Errorf("the flame graph has %d stacks, google/pprof %d (%v)", len(got), len(want), err)
	}
}

// oracleValues returns the values of the last type by stack.
func oracleValues(p *oracle.Profile) map[string]int64 {
	values := map[string]int64{}
	for _, s := range p.Sample {
		var names []string
		for i := len(s.Location) - 1; i >= 0; i-- {
			for j := len(s.Location[i].Line) - 1; j >= 0; j-- {
				names = append(names, s.Location[i].Line[j].Function.Name)
			}
		}
		if v := s.Value[len(s.Value)-1]; v != 0 {
			values[strings.Join(names, ";")] += v
		}
	}
	return values
}

func BenchmarkFlameGraph(b *testing.B) {
	tree := randomTree(rand.New(rand.NewPCG(1, 1)), 50_000)
	for b.Loop() {
		f, err := fold(tree.Table, defaultNodes, columns{tree.Self, tree.Total})
		if err != nil {
			b.Fatal(err)
		}
		if len(newFlameGraph(f).message()) == 0 {
			b.Fatal("empty")
		}
	}
}
