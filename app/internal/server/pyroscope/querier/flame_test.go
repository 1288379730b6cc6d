package querier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	oracle "github.com/google/pprof/profile"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/pyroscope"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/calltree/diff"
	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/internal/cost"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/mem"
)

// decodeFlame reads bars as Grafana does: each lies in the range of one bar of the level
// above. It returns the self values of one side by path, and fails if a bar has no parent.
func decodeFlame(names []string, levels []level, sides, side int) (map[string]int64, error) {
	type bar struct {
		path       string
		start, end int64
	}
	values := map[string]int64{}
	var above []bar
	step := 3*sides + 1
	for depth := range levels {
		level := levels[depth].Values
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
		rows := int64(0)
		for _, fn := range f.Func {
			if int(fn) < len(tree.Functions) { // not other
				rows++
			}
		}
		if most > 0 && rows > most {
			t.Fatalf("seed %d: %d nodes, at most %d", seed, rows, most)
		}
		g := newFlameGraph(f)
		if g == nil {
			if tree.RootTotal() != 0 {
				t.Fatalf("seed %d: no graph of %d", seed, tree.RootTotal())
			}
			continue
		}
		got, err := decodeFlame(g.Names, g.Levels, 1, 0)
		if err != nil {
			t.Fatalf("seed %d: %v: %v", seed, err, g.Levels)
		}
		again, err := decodeTree(treeBytes(f))
		if err != nil || !maps.Equal(got, again) {
			t.Fatalf("seed %d: flame graph %v, tree %v (%v)", seed, got, again, err)
		}
		whole := calltree.NewTree(f.Table, tree.Type, f.sides[0].self)
		if err := whole.Check(); err != nil || !maps.Equal(got, valuesByPath(whole.Table, whole.Self)) {
			t.Fatalf("seed %d: flame graph %v, folded tree %v (%v)", seed, got, valuesByPath(whole.Table, whole.Self), err)
		}
		sum := int64(0)
		for _, v := range got {
			sum += v
		}
		if sum != tree.RootTotal() || g.Total != sum {
			t.Fatalf("seed %d: total %d, bars %d, tree %d", seed, g.Total, sum, tree.RootTotal())
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
		d, err := diff.Compare(sides[:1], sides[1:])
		if err != nil {
			t.Fatal(err)
		}
		f, err := fold(d.Table, 0, columns{d.Base.Self, d.Base.Total}, columns{d.Head.Self, d.Head.Total})
		if err != nil {
			t.Fatal(err)
		}
		g := newFlameGraph(f)
		if g == nil {
			continue
		}
		for i, tree := range sides {
			got, err := decodeFlame(g.Names, g.Levels, 2, i)
			if want := valuesByPath(tree.Table, tree.Self); err != nil || !maps.Equal(got, want) || []int64{g.Left, g.Right}[i] != tree.RootTotal() {
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
		if got, err := decodeFlame(g.Names, g.Levels, 1, 0); err != nil || !maps.Equal(got, want) {
			t.Errorf("%d nodes: %v, want %v (%v)", most, got, want, err)
		}
	}
	if _, err := fold(tree.Table, 0, columns{make([]int64, tree.Len()), tree.Total}, columns{[]int64{-1}, tree.Total}); err == nil {
		t.Error("negative values are drawn")
	}
}

// TestFoldsEqualNodes: of nodes with equal totals no more are kept than the limit says, and
// what a graph takes is counted before it is made.
func TestFoldsEqualNodes(t *testing.T) {
	var stacks []string
	for i := range 1000 {
		stacks = append(stacks, fmt.Sprintf("f%d;g;h 1", i))
	}
	w := window(cpuType, begin, "a", nil, stacks...)
	cut := w.Forest.Cut(w.Self.Nodes)
	tree := calltree.NewTree(cut.Table, w.Type, cut.Self(w.Self))
	for most, want := range map[int64]map[string]int64{
		1: {"f0;other": 1, "other": 999},
		4: {"f0;g;h": 1, "f1;other": 1, "other": 998},
	} {
		f, err := fold(tree.Table, most, columns{tree.Self, tree.Total})
		if err != nil {
			t.Fatal(err)
		}
		g := newFlameGraph(f)
		if got, err := decodeFlame(g.Names, g.Levels, 1, 0); err != nil || !maps.Equal(got, want) {
			t.Errorf("%d nodes: %v, want %v (%v)", most, got, want, err)
		}
	}
	ctx, end := cost.Begin(t.Context(), cost.Limits{Memory: cost.Limit{Max: 3000 * barBytes, What: "bytes"}})
	defer end()
	f, err := fold(tree.Table, 0, columns{tree.Self, tree.Total})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := graph(ctx, f); !errors.As(err, new(*cost.Exceeded)) { // 3,000 nodes and the root
		t.Errorf("a graph that takes more than is left: %v", err)
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

// TestEqualsGooglePprof: the flame graph, the tree and the pprof message of pushed files, without a
// limit that folds anything, are what google/pprof merges from the same files.
func TestEqualsGooglePprof(t *testing.T) {
	st := mem.New()
	in := intake.New(st, intake.Options{})
	defer in.Close(context.Background())
	s, err := server.New(server.Options{}, pyroscope.New(in).Part(), Part(st))
	if err != nil {
		t.Fatal(err)
	}
	var parsed []*oracle.Profile
	for i, data := range goFiles(t) {
		p, err := oracle.ParseData(data)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, p)
		from := begin.Add(time.Duration(i) * 15 * time.Second).Unix()
		r := httptest.NewRequest("POST", fmt.Sprintf("http://localhost/ingest?name=go&format=pprof&from=%d&until=%d", from, from+15), bytes.NewReader(data))
		w := httptest.NewRecorder()
		if s.Handler().ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatal(w.Code, w.Body)
		}
	}
	merged, err := oracle.Merge(parsed)
	if err != nil {
		t.Fatal(err)
	}
	want := oracleValues(merged)
	if len(want) < 50 {
		t.Fatalf("%d stacks", len(want))
	}
	ask := func(format int) (answer selectMergeStacktracesResponse) {
		body := wire.AppendInt(wire.AppendInt(wire.AppendBytes(nil, 1, cpuType.String()), 5, maxNodes), 6, uint64(format))
		r, w := httptest.NewRequest("POST", "http://localhost/querier.v1.QuerierService/SelectMergeStacktraces", bytes.NewReader(body)), httptest.NewRecorder()
		r.Header.Set("Content-Type", "application/proto")
		if s.Handler().ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatal(w.Code, w.Body)
		}
		if err := protobuf.Of[selectMergeStacktracesResponse]().Decode(new(protobuf.Decoder), &answer, w.Body.Bytes()); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	again, err := oracle.ParseData(ask(int(formatPprof)).Pprof.Profile)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.SampleType[0].Type + "/" + again.SampleType[0].Unit + "/" + again.PeriodType.Type + "/" +
		again.PeriodType.Unit; got != "cpu/nanoseconds/cpu/nanoseconds" {
		t.Errorf("types %s", got)
	}
	if got := oracleValues(again); !maps.Equal(got, want) {
		t.Errorf("the pprof message has %d stacks, google/pprof %d", len(got), len(want))
	}
	if got, err := decodeTree(ask(int(formatTree)).Tree); err != nil || !maps.Equal(got, want) {
		t.Errorf("the tree has %d stacks, google/pprof %d (%v)", len(got), len(want), err)
	}
	graph := ask(int(formatFlame)).Flamegraph
	if got, err := decodeFlame(graph.Names, graph.Levels, 1, 0); err != nil || !maps.Equal(got, want) {
		t.Errorf("the flame graph has %d stacks, google/pprof %d (%v)", len(got), len(want), err)
	}
}

// oracleValues returns the values of the last type by stack, of functions as Dendro calls them.
func oracleValues(p *oracle.Profile) map[string]int64 {
	values, rules := map[string]int64{}, normalize.New(nil)
	for _, s := range p.Sample {
		var names []string
		for i := len(s.Location) - 1; i >= 0; i-- {
			for j := len(s.Location[i].Line) - 1; j >= 0; j-- {
				names = append(names, rules.Function(profile.Function{Name: s.Location[i].Line[j].Function.Name}).Name)
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
		if len(protobuf.Encode(newFlameGraph(f))) == 0 {
			b.Fatal("empty")
		}
	}
}

// TestStackFilter compares the samples that a filter leaves with those whose stacks meet it.
func TestStackFilter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "c"}), 0, 2)
		s := &stackTraceSelector{Frames: frameFilter{Include: names.Draw(t, "include"), Exclude: names.Draw(t, "exclude"),
			IncludePatterns: names.Draw(t, "patterns"), ExcludePatterns: names.Draw(t, "not")}}
		for _, name := range names.Draw(t, "site") {
			s.CallSite = append(s.CallSite, callSite{name})
		}
		f, err := s.filter()
		if err != nil {
			t.Fatal(err)
		}
		tree, want := &calltree.Forest{}, map[string]int64{}
		values := map[int32]int64{}
		for range rapid.IntRange(0, 20).Draw(t, "samples") {
			stack := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "c"}), 1, 5).Draw(t, "stack")
			path := calltree.NoNode
			for _, name := range stack {
				path = tree.Path(path, tree.Function(profile.Function{Name: name}))
			}
			values[path]++
			has := func(match func(name string) bool) bool { return slices.ContainsFunc(stack, match) }
			selected := len(stack) >= len(s.CallSite)
			for i, site := range s.CallSite {
				selected = selected && stack[i] == site.Name
			}
			for _, name := range s.Frames.Include {
				selected = selected && has(func(n string) bool { return n == name })
			}
			for _, name := range s.Frames.IncludePatterns {
				selected = selected && has(func(n string) bool { return strings.Contains(n, name) })
			}
			for _, name := range s.Frames.Exclude {
				selected = selected && !has(func(n string) bool { return n == name })
			}
			for _, name := range s.Frames.ExcludePatterns {
				selected = selected && !has(func(n string) bool { return strings.Contains(n, name) })
			}
			if selected {
				want[strings.Join(stack, ";")]++
			}
		}
		self := make([]int64, tree.Paths.Len())
		for p, v := range values {
			self[p] = v
		}
		all, got := tree.Tree(profile.ValueType{}, self), map[string]int64{}
		if f != nil {
			if all, err = f.of(context.Background(), all); err != nil {
				t.Fatal(err)
			}
		}
		for n := range int32(all.Len()) {
			if all.Self[n] != 0 {
				got[strings.Join(all.Path(n), ";")] = all.Self[n]
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("%+v: %v, want %v", s, got, want)
		}
	})
}

// TestStackFilterLimits: a filter has a maximum of conditions, and its patterns cost steps.
func TestStackFilterLimits(t *testing.T) {
	for _, s := range []frameFilter{{Include: make([]string, 65)}, {ExcludePatterns: []string{"(a{100}){100}"}},
		{IncludePatterns: []string{"("}}} {
		if f, err := (&stackTraceSelector{Frames: s}).filter(); err == nil || f != nil {
			t.Errorf("%.40v: %v", s, f)
		}
	}
	f, err := (&stackTraceSelector{Frames: frameFilter{Include: make([]string, 64), IncludePatterns: nil}}).filter()
	if err != nil {
		t.Fatal(err)
	}
	var forest calltree.Forest
	forest.Path(calltree.NoNode, forest.Function(profile.Function{Name: "a"}))
	tree := forest.Tree(profile.ValueType{}, []int64{1})
	if got, err := f.of(t.Context(), tree); err != nil || got.RootTotal() != 0 {
		t.Error(got, err)
	}
	f, _ = (&stackTraceSelector{Frames: frameFilter{ExcludePatterns: []string{"xyz"}}}).filter()
	ctx, end := cost.Begin(t.Context(), cost.Limits{Steps: cost.Limit{Max: 5}})
	defer end()
	if _, err := f.of(ctx, tree); err == nil {
		t.Error("the steps of patterns are not counted")
	}
}
