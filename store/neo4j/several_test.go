package neo4j

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
)

// TestSeveralImporters lets Stores of their own, as processes have them, import
// into the same benchmarks and runs at once, while one deletes and compacts. What
// is there afterwards is what an engine has that got it in turn.
func TestSeveralImporters(t *testing.T) {
	long(t)
	const importers, rounds = 4, 8
	for _, m := range bothModels {
		t.Run(string(m), func(t *testing.T) {
			where := fresh(t, m)
			var lock sync.Mutex
			want := mem.New()
			opts := store.PutOptions{Conflict: store.Add, Rules: storetest.Rules}
			var wg sync.WaitGroup
			for who := range importers {
				s := opened(t, where)
				im := storetest.NewImporter()
				im.Rename = func(fn profile.Function) profile.Function { fn.Module = fmt.Sprint("lib", who); return fn }
				wg.Go(func() {
					for round := range rounds {
						files := []*store.File{
							im.File("own", fmt.Sprint("b", who), fmt.Sprint("r", round), profile.CPUSamples,
								fmt.Sprintf("×%d  ×2\nmain  main\nf%d  g%d", who+1, round, who)),
							im.File("all", "add up", fmt.Sprint("r", round), profile.CPUSamples,
								fmt.Sprintf("×%d  ×1  ×2\nmain  main  main\nx  p%d  x\n·   ·   x", 100+who, who)),
							storetest.MetricsFile("all", "add up", fmt.Sprint("r", round), storetest.Metric(fmt.Sprint("of ", who), float64(round))),
						}
						files[2].Run.Attributes = map[string]string{fmt.Sprint("of ", who): "yes"}
						out, err := s.Put(context.Background(), files, opts)
						if err != nil || out[0].Err != nil || out[1].Err != nil || out[2].Err != nil || out[0].Stored+out[1].Stored != 2 {
							t.Errorf("%+v, %v", out, err)
							return
						}
						lock.Lock()
						_, err = want.Put(context.Background(), files, opts)
						lock.Unlock()
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Go(func() { deleteAndCompact(t, opened(t, where), rounds) })
			wg.Wait()
			equalStores(t, opened(t, where), want)
			if n := count(t, where, "MATCH (g:BenchmarkGroup {name: 'all'}) RETURN count(g)"); n != 1 {
				t.Errorf("the group is there %d times", n)
			}
		})
	}
}

// deleteAndCompact puts profiles of its own and removes them again.
func deleteAndCompact(t *testing.T, s *Store, rounds int) {
	ctx := context.Background()
	im := storetest.NewImporter()
	for round := range rounds {
		f := im.File("doomed", "b", fmt.Sprint("r", round), profile.CPUSamples, fmt.Sprintf("main\nx\nv%d", round))
		out, err := s.Put(ctx, []*store.File{f}, store.PutOptions{Rules: storetest.Rules})
		if err != nil || out[0].Err != nil {
			t.Errorf("%+v, %v", out, err)
			return
		}
		if n, err := s.Delete(ctx, []store.ProfileID{store.IDOf(f.Benchmark, f.Run.Key, profile.CPUSamples)}); n != 1 || err != nil {
			t.Errorf("Delete: %d, %v", n, err)
		}
		if err := s.Compact(ctx); err != nil {
			t.Errorf("Compact: %v", err)
		}
	}
}

// equalStores compares trees, function rows, properties and attributes.
func equalStores(t *testing.T, got, want store.Store) {
	t.Helper()
	a, b := spell(t, got), spell(t, want)
	for k, v := range b {
		if a[k] != v {
			t.Errorf("%s is\n%s, want\n%s", k, a[k], v)
		}
	}
	if len(a) != len(b) {
		t.Errorf("%d bolt.Props, want %d", len(a), len(b))
	}
}

// spell writes down what a store answers, by what it is about.
func spell(t *testing.T, s store.Store) map[string]string {
	t.Helper()
	ctx := context.Background()
	out := map[string]string{}
	trees, err := s.Trees(ctx, store.Query{}, store.TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for v, err := range trees.Vectors {
		if err != nil {
			t.Fatal(err)
		}
		p := trees.Profiles[v.Profile]
		name := p.Benchmark.String() + ", " + p.Run.Key
		out[name] = fmt.Sprint(p.Sum, p.Nodes, p.Hash, p.Parts, p.Run, p.Metrics)
		for i, n := range v.Nodes {
			out[name+": "+strings.Join(trees.Table.Path(n), ";")] = fmt.Sprint(v.Self[i])
		}
	}
	sums, err := s.Functions(ctx, store.Query{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for rows, err := range sums.Rows {
		if err != nil {
			t.Fatal(err)
		}
		for i, fn := range rows.Function {
			p := sums.Profiles[rows.Profile[i]]
			out[fmt.Sprint(p.Benchmark, p.Run.Key, sums.Functions[fn])] = fmt.Sprint(rows.Self[i], rows.Total[i])
		}
	}
	return out
}

// TestDeleteAtOnce deletes profiles in many transactions, several at once: what two of
// them referred to is gone too.
func TestDeleteAtOnce(t *testing.T) {
	defer func(n int) { deleteNodes = n }(deleteNodes)
	deleteNodes = 10
	for _, m := range bothModels {
		t.Run(string(m), func(t *testing.T) {
			where := fresh(t, m)
			s := opened(t, where)
			im := storetest.NewImporter()
			var files []*store.File
			for run := range 6 {
				for benchmark := range 4 {
					files = append(files, im.File("g", fmt.Sprint("b", benchmark), fmt.Sprint("r", run), profile.CPUSamples,
						fmt.Sprintf("A  A\nB  C\nD  v%d", run)))
				}
			}
			mustPut(t, s, store.Refuse, files...)
			list, err := s.Profiles(t.Context(), store.Query{})
			if err != nil || len(list) != len(files) {
				t.Fatal(list, err)
			}
			if n, err := s.Delete(t.Context(), store.IDs(list)); n != len(list) || err != nil {
				t.Fatal(n, err)
			}
			if n := count(t, where, "MATCH (n) WHERE n:BenchmarkGroup OR n:Benchmark OR n:TestRun OR n:Measurement OR n:Profile RETURN count(n)"); n != 0 {
				t.Errorf("%d nodes are left", n)
			}
			mustPut(t, s, store.Refuse, files[0])
			if err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			if info, err := s.Info(t.Context()); err != nil || info.Paths != 5 || info.Functions != 5 {
				t.Errorf("%+v, %v", info, err)
			}
		})
	}
}

// TestWarmImporter goes on importing what another process has deleted and
// compacted away: what it remembers of the database holds no longer.
func TestWarmImporter(t *testing.T) {
	where := fresh(t, Shared)
	warm, other := opened(t, where), opened(t, where)
	im := storetest.NewImporter()
	first := im.File("g", "b", "r1", profile.CPUSamples, "A  A\nB  C")
	mustPut(t, warm, store.Refuse, first)
	if n, err := other.Delete(t.Context(), []store.ProfileID{store.IDOf(first.Benchmark, "r1", profile.CPUSamples)}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if err := other.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count(t, where, "MATCH (c:CallPath) RETURN count(c)"); n != 0 {
		t.Fatalf("%d paths are left", n)
	}
	want := mem.New()
	files := []*store.File{im.File("g", "b", "r2", profile.CPUSamples, "A  A\nB  D")}
	mustPut(t, warm, store.Refuse, files...)
	if _, err := want.Put(t.Context(), files, store.PutOptions{Rules: storetest.Rules}); err != nil {
		t.Fatal(err)
	}
	equalStores(t, other, want)
}

// TestRolledBack expects nothing remembered of an import that failed.
func TestRolledBack(t *testing.T) {
	where := fresh(t, Shared)
	s := opened(t, where)
	im := storetest.NewImporter()
	bad := im.File("g", "b", "r1", profile.CPUSamples, "A\nB")
	ctx, cancel := context.WithCancel(t.Context())
	b, through := newBreaker(t, where, false)
	broken := opened(t, through)
	b.armed.Store(true)
	go func() {
		<-b.broken
		cancel()
	}()
	if _, err := broken.Put(ctx, []*store.File{bad}, store.PutOptions{Rules: storetest.Rules}); err != nil &&
		!errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	good := im.File("g", "b", "r2", profile.CPUSamples, "A\nB")
	mustPut(t, broken, store.Refuse, good)
	tree, _, err := store.MergeTrees(t.Context(), s, store.Query{Runs: []string{"r2"}})
	if err != nil || tree.Len() != 2 {
		t.Errorf("%v, %v", tree, err)
	}
}

// TestExpand asks by plain patterns, and expands what is there already.
func TestExpand(t *testing.T) {
	where := fresh(t, Shared)
	s := opened(t, where)
	im := storetest.NewImporter()
	mustPut(t, s, store.Refuse, im.File("g", "b", "r1", profile.CPUSamples, "×3  ×4  ×2\nA  A  A\nB  C  A\n·  ·  B"),
		im.File("g", "b", "r2", profile.CPUSamples, "×5\nA\nB"),
		wideFile("r3", expandPaths+10))
	for _, want := range []int{1, 0} {
		if n, err := s.Expand(t.Context(), store.Query{Runs: []string{"r1"}}, ExpandOptions{}); n != want || err != nil {
			t.Errorf("%d profiles were expanded, %v", n, err)
		}
	}
	if n, err := s.Expand(t.Context(), store.Query{}, ExpandOptions{}); n != 2 || err != nil {
		t.Errorf("%d profiles were expanded, %v", n, err)
	}
	if n := count(t, where, "MATCH (:Profile)-[s:SAMPLED]->(:CallPath)-[:OF]->(:Function {name: 'B'}) RETURN sum(s.self)"); n != 10 {
		t.Errorf("B took %d", n)
	}
	list, err := s.Profiles(t.Context(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if n := count(t, where, "MATCH ()-[s:SAMPLED]->() RETURN count(s)"); n != int64(list[0].Nodes+list[1].Nodes+list[2].Nodes) {
		t.Errorf("%d relationships for %d, %d and %d nodes", n, list[0].Nodes, list[1].Nodes, list[2].Nodes)
	}
	// Potentials of the recursive profile, added later: by function as the analysis has them.
	r1 := store.Query{Runs: []string{"r1"}}
	if n, err := s.Expand(t.Context(), r1, ExpandOptions{Potentials: 2}); n != 1 || err != nil {
		t.Errorf("%d profiles were expanded, %v", n, err)
	}
	want, err := bottleneck.Find(t.Context(), s, r1, bottleneck.Options{Rank: bottleneck.Subtree, Degree: 2})
	if err != nil || len(want.Rows) == 0 {
		t.Fatal(want, err)
	}
	for _, row := range want.Rows {
		n := count(t, where, "MATCH (:Profile)-[s:SAMPLED]->(:CallPath)-[:OF]->(:Function {name: '"+row.Function+"'}) WHERE size(s.p) = 3 RETURN toInteger(round(1e6 * sum(s.p[2] - s.c[2])))")
		if math.Abs(row.Score*1e6-float64(n)) > 1 {
			t.Errorf("%s: %d, want %v", row.Function, n, row.Score)
		}
	}
	for _, want := range []int{3, 0} {
		if n, err := s.Expand(t.Context(), store.Query{}, ExpandOptions{Undo: true}); n != want || err != nil {
			t.Errorf("undone for %d profiles, %v", n, err)
		}
	}
	if n := count(t, where, "MATCH ()-[s:SAMPLED]->() RETURN count(s)"); n != 0 {
		t.Errorf("%d relationships are left", n)
	}
	if n, err := s.Delete(t.Context(), []store.ProfileID{list[0].ID, list[1].ID, list[2].ID}); n != 3 || err != nil {
		t.Error(n, err)
	}
	if _, err := opened(t, fresh(t, Thesis)).Expand(t.Context(), store.Query{}, ExpandOptions{}); err == nil {
		t.Error("a tree of nodes can be expanded")
	}
}
