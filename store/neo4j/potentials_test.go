package neo4j

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/test/storetest"
)

// TestPotentialsExample is the example of chapter 5.2: without the correction, A
// would have a potential of 1.5.
func TestPotentialsExample(t *testing.T) {
	f := storetest.File("g", "b", "r", profile.CPUSamples, "×1  ×1\nA  A\nA  B")
	c := newContent("p", f.Records[0])
	p, corrections := c.potentials(c.recursion(), 2)
	want := map[string][2][]float64{
		"root": {{0, 0, 1}, {0, 0, 0}},
		"A":    {{0, 1, 1}, {0, 0.5, 0.5}},
		"A;A":  {{0.5, 0.5, 0.5}, {0, 0, 0}},
		"A;B":  {{0.5, 0.5, 0.5}, {0, 0, 0}},
	}
	got := map[string][2][]float64{"root": {p[0], corrections[0]}}
	for n := range c.paths {
		got[strings.Join(c.cut.Path(int32(n)), ";")] = [2][]float64{p[n+1], corrections[n+1]}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestPotentialsAddUp compares the arrays of random trees, added up by function,
// with the analysis, which computes them in another way.
func TestPotentialsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		forest := new(calltree.Forest)
		var v calltree.Vector
		for range rapid.IntRange(1, 60).Draw(t, "paths") {
			parent := calltree.NoNode
			if n := forest.Paths.Len(); n > 0 && rapid.IntRange(0, 9).Draw(t, "root") > 0 {
				parent = int32(rapid.IntRange(0, n-1).Draw(t, "parent"))
			}
			fn := forest.Function(profile.Function{Name: rapid.SampledFrom([]string{"A", "B", "C", "D"}).Draw(t, "function")})
			v.Nodes, v.Self = append(v.Nodes, forest.Path(parent, fn)), append(v.Self, rapid.Int64Range(0, 9).Draw(t, "self"))
		}
		const highest = 6
		c := newContent("p", &store.Record{Type: storetest.TypeOf(profile.CPUSamples), Forest: forest, Self: calltree.AddVectors(v)})
		p, corrections := c.potentials(c.recursion(), highest)
		self := make([]float64, c.cut.Len())
		got := make([]float64, len(c.cut.Functions)*(highest+1))
		for n := range self {
			self[n] = c.share(c.tree.Self[n])
			for d := range highest + 1 {
				got[int(c.cut.Func[n])*(highest+1)+d] += p[n+1][d] - corrections[n+1][d]
			}
		}
		for i, want := range bottleneck.Potentials(c.cut.Table, self, highest) {
			if math.Abs(got[i]-want) > 1e-12 {
				t.Fatalf("%s, degree %d: %v, want %v", c.cut.Functions[i/(highest+1)].Name, i%(highest+1), got[i], want)
			}
		}
	})
}

// TestPotentialsInCypher runs the query of docs/schema/neo4j.md, which is the last
// statement of the paper's chapter 5.2 with a RETURN and the mean over profiles of equal
// weight in place of the sum. It reads the lists that imports made, among them those of a
// sum and of a replaced profile, and gets the numbers of the analysis.
func TestPotentialsInCypher(t *testing.T) {
	t.Run("import", func(t *testing.T) { testPotentialsInCypher(t, false) })
	t.Run("later", func(t *testing.T) { testPotentialsInCypher(t, true) })
}

func testPotentialsInCypher(t *testing.T, later bool) {
	const highest = 4
	query := schemaQuery(t, "../../docs/schema/neo4j.md", "Model thesis")
	ctx := context.Background()
	where := server(t)
	wipe(t, dialed(t, where), Thesis)
	init := InitOptions{Model: Thesis, Potentials: highest}
	if later {
		init.Potentials = 0
	}
	for range 2 { // again changes nothing
		if err := Init(ctx, where, init); err != nil {
			t.Fatal(err)
		}
	}
	change(t, dialed(t, where), "MATCH (d:Dendro) SET d:"+testMark)
	if err := Init(ctx, where, InitOptions{Model: Thesis, Potentials: highest + 1}); err == nil ||
		!strings.Contains(err.Error(), fmt.Sprintf("potentials up to degree %d", init.Potentials)) {
		t.Errorf("another degree: %v", err)
	}
	s := opened(t, where)
	im := storetest.NewImporter()
	recursive := "×4  ×2  ×3  ×5\nmain  main  main  run\nA     A     B     A\nA     B     A     C\nC     A     A     A"
	mustPut(t, s, store.Refuse,
		im.File("g", "b", "r1", profile.CPUSamples, recursive),
		im.File("g", "b", "r2", profile.CPUSamples, "×1  ×7\nmain  main\nB     A"),
		im.File("g", "b", "r3", profile.CPUSamples, "main"))
	mustPut(t, s, store.Add, im.File("g", "b", "r2", profile.CPUSamples, "×3  ×2\nmain  main\nC     A\n·     A"))
	mustPut(t, s, store.Replace, im.File("g", "b", "r3", profile.CPUSamples, recursive+"\n·     ·     B     B"))
	if n, err := s.Expand(ctx, store.Query{}, ExpandOptions{Potentials: highest}); later && (n != 3 || err != nil) || !later && err == nil {
		t.Errorf("%d profiles were expanded, %v", n, err)
	}
	list, err := s.Profiles(ctx, store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	var keys []any
	for _, p := range list {
		keys = append(keys, string(p.ID))
	}
	for degree := range highest + 1 {
		result, err := bottleneck.Find(ctx, s, store.Query{}, bottleneck.Options{Rank: bottleneck.Subtree, Degree: degree})
		if err != nil {
			t.Fatal(err)
		}
		want, got := map[string]float64{}, map[string]float64{}
		for _, r := range result.Rows {
			want[r.Function] = r.Score
		}
		if err := s.db.Read(ctx, func(tx *bolt.Tx) error {
			return tx.Each(query, map[string]any{"profile_keys": keys, "n": degree}, func(r bolt.Row) error {
				if potential, _ := r[1].(float64); potential > 0 {
					got[r.Text(0)] = potential
				}
				return nil
			})
		}); err != nil {
			t.Fatal(err)
		}
		near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
		if diff := cmp.Diff(want, got, near); diff != "" || len(want) < 3 {
			t.Errorf("degree %d (-dendro +cypher)\n%s", degree, diff)
		}
	}
	// The roots have arrays too: the whole tree, as far down as the degree goes.
	if n := count(t, where, "MATCH (f:Function) WHERE size(f.p) = 5 AND size(f.c) = 5 RETURN count(f)"); n == 0 ||
		n != count(t, where, "MATCH (f:Function) RETURN count(f)") {
		t.Errorf("%d nodes have potentials", n)
	}
	if n, err := s.Expand(ctx, store.Query{}, ExpandOptions{Undo: true}); later && (n != 3 || err != nil) {
		t.Errorf("undone for %d profiles, %v", n, err)
	}
	if n := count(t, where, "MATCH (f:Function) WHERE f.p IS NOT NULL OR f.c IS NOT NULL RETURN count(f)"); later && n != 0 {
		t.Errorf("%d nodes still have potentials", n)
	}
}

func TestPotentialsRefused(t *testing.T) {
	for _, test := range []struct {
		model   Model
		highest int
		say     string
	}{
		{Thesis, -1, "choose 1 to 64"}, {Thesis, MaxPotentials + 1, "choose 1 to 64"}, {Shared, 1, "the model thesis has"},
		{Thesis, 0, ""}, {Thesis, MaxPotentials, ""}, {Shared, 0, ""},
	} {
		err := checkPotentials(test.model, test.highest)
		if (err == nil) != (test.say == "") || err != nil && !strings.Contains(err.Error(), test.say) {
			t.Errorf("%s, %d: %v", test.model, test.highest, err)
		}
	}
}
