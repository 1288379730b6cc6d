package neo4j

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/test/storetest"
)

// drawnContent returns the content of a random profile.
func drawnContent(t *rapid.T) *content {
	im := storetest.NewImporter()
	f := im.File("g", "b", "r", profile.CPUSamples, "main")
	var samples []storetest.Sample
	for range rapid.IntRange(1, 12).Draw(t, "samples") {
		stack := strings.Split(rapid.StringOfN(rapid.RuneFrom([]rune("ABC")), 1, 9, -1).Draw(t, "stack"), "")
		samples = append(samples, storetest.Sample{Stack: stack, Value: 1})
	}
	r := im.AddSamples(f, profile.CPU, samples...)
	return newContent("0123456789abcdef", r)
}

func put(t testing.TB, s store.Store, c store.Conflict, files ...*store.File) []store.Outcome {
	t.Helper()
	out, err := s.Put(context.Background(), files, store.PutOptions{Conflict: c, Rules: storetest.Rules})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// mustPut puts files of which none may fail.
func mustPut(t testing.TB, s store.Store, c store.Conflict, files ...*store.File) {
	t.Helper()
	for i, out := range put(t, s, c, files...) {
		if out.Err != nil {
			t.Fatalf("%s: %v", files[i].Name, out.Err)
		}
	}
}

// count returns the only number that a query answers with.
func count(t testing.TB, where, query string) (n int64) {
	t.Helper()
	g := dialed(t, where)
	if err := g.Read(context.Background(), func(tx *bolt.Tx) error {
		r, err := tx.One(query, nil)
		if err == nil {
			n = r.Int(0)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestOpenErrors expects errors that say what to do, and no secrets.
func TestOpenErrors(t *testing.T) {
	where := fresh(t, Shared)
	u := parsed(t, where)
	host := u.Host
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	const nobody = "127.0.0.1:1" // a port that the system gives to no listener
	for _, c := range []struct{ name, where, password, want string }{
		{"wrong password", where, "not the password", PasswordEnv},
		{"no server", "bolt://neo4j@" + nobody, "not the password", "is it running"},
		{"no server to route", "neo4j://neo4j@" + nobody, "not the password", "is it running"},
		{"HTTP port", "bolt://neo4j@" + web.Listener.Addr().String(), "not the password", "Bolt port"},
		{"unknown database", "neo4j://" + u.User.Username() + "@" + host + "/nosuch", "", `no database "nosuch"`},
		{"password in the address", "neo4j://neo4j:hunter2@" + host, "", PasswordEnv},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.password != "" {
				t.Setenv(PasswordEnv, c.password)
			}
			s, err := Open(t.Context(), c.where, Options{})
			if err == nil {
				s.Close()
				t.Fatal("it opens")
			}
			if text := err.Error(); !strings.Contains(text, c.want) || strings.Contains(text, "hunter2") ||
				strings.Contains(text, "not the password") {
				t.Errorf("the error is %q, want one with %q and no password", text, c.want)
			}
		})
	}
}

// TestForeignDatabase leaves what somebody else has alone.
func TestForeignDatabase(t *testing.T) {
	where := server(t)
	g := dialed(t, where)
	wipe(t, g, "")
	change(t, g, "CREATE (:"+testMark+":Film {title: 'Alien'})")
	for name, try := range map[string]func() error{
		"Open":          func() error { _, err := Open(t.Context(), where, Options{}); return err },
		"Open, reading": func() error { _, err := Open(t.Context(), where, Options{ReadOnly: true}); return err },
		"Init":          func() error { return Init(t.Context(), where, InitOptions{}) },
	} {
		if err := try(); !errors.Is(err, store.ErrNotStore) || !strings.Contains(err.Error(), "Film") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := count(t, where, "MATCH (n) RETURN count(n)"); n != 1 {
		t.Errorf("%d nodes instead of the one that was there", n)
	}
	if n := count(t, where, "SHOW CONSTRAINTS YIELD name RETURN count(*)"); n != 0 {
		t.Errorf("%d constraints were made", n)
	}
	if err := Init(t.Context(), where, InitOptions{Consent: true}); err != nil {
		t.Fatal(err)
	}
	s := opened(t, where)
	mustPut(t, s, store.Refuse, storetest.File("g", "b", "r", profile.CPU, "A"))
	if n := count(t, where, "MATCH (f:Film) RETURN count(f)"); n != 1 {
		t.Error("the film is gone")
	}

	wipe(t, g, "")
	change(t, g, "CREATE (:"+testMark+":Function {name: 'sine'})")
	if err := Init(t.Context(), where, InitOptions{Consent: true}); !errors.Is(err, store.ErrNotStore) ||
		!strings.Contains(err.Error(), "needs the labels Function") {
		t.Errorf("labels in use: %v", err)
	}
}

// TestModels opens databases of another model, of other versions, and none.
func TestModels(t *testing.T) {
	where := fresh(t, Thesis)
	if err := Init(t.Context(), where, InitOptions{}); err != nil {
		t.Errorf("again, with any model: %v", err)
	}
	if s := opened(t, where); s.Model() != Thesis {
		t.Errorf("the model is %s", s.Model())
	}
	if _, err := Open(t.Context(), where, Options{Model: Shared}); err == nil ||
		!strings.Contains(err.Error(), "has the model thesis, not shared") {
		t.Errorf("another model: %v", err)
	}
	if err := Init(t.Context(), where, InitOptions{Model: Shared}); err == nil ||
		!strings.Contains(err.Error(), "has the model thesis, not shared") {
		t.Errorf("Init with another model: %v", err)
	}
	if err := Init(t.Context(), where, InitOptions{Model: "tree"}); err == nil {
		t.Error("a model that there is not")
	}
	g := dialed(t, where)
	// Another process is at it: what it has put there so far is nothing foreign.
	change(t, g, "MATCH (d:Dendro) SET d.ready = false")
	if err := checkForeign(t.Context(), g, InitOptions{Model: Shared}); err != nil {
		t.Errorf("the nodes of a store in the making: %v", err)
	}
	if _, err := Open(t.Context(), where, Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading a store in the making: %v", err)
	}
	if s := opened(t, where); s.Model() != Thesis {
		t.Errorf("the store that was half made has the model %s", s.Model())
	}
	for _, c := range []struct {
		set  string
		want error
	}{{"d.schema = 99", store.ErrNewer}, {"d.schema = 0", store.ErrCorrupt}, {"d.schema = 1, d.model = 'other'", store.ErrNewer}} {
		change(t, g, "MATCH (d:Dendro) SET "+c.set)
		if _, err := Open(t.Context(), where, Options{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.set, err)
		}
	}
	wipe(t, g, "")
	if _, err := Open(t.Context(), where, Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading an empty database: %v", err)
	}
}

// TestInitAtOnce makes a database ready from several processes with different
// models: one model wins, and nobody works with the other.
func TestInitAtOnce(t *testing.T) {
	where := server(t)
	wipe(t, dialed(t, where), "")
	defer fresh(t, Shared)
	errs := make([]error, 6)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = Init(context.Background(), where, InitOptions{Model: bothModels[i%2]}) })
	}
	wg.Wait()
	s := opened(t, where)
	for i, err := range errs {
		if mine := bothModels[i%2] == s.Model(); mine != (err == nil) || err != nil && !strings.Contains(err.Error(), "has the model") {
			t.Errorf("the model is %s; Init with %s: %v", s.Model(), bothModels[i%2], err)
		}
	}
	change(t, s.db, "MATCH (d:Dendro) SET d:"+testMark)
}

// TestRefusedStatement writes a tree by a statement that the server refuses, as it
// may at any moment when transactions wait for each other, and by one that finds
// nothing.
func TestRefusedStatement(t *testing.T) {
	g := dialed(t, fresh(t, Thesis))
	f := storetest.File("g", "b", "r", profile.CPU, "A")
	for create, want := range map[string]string{"NO STATEMENT": "SyntaxError", "MATCH (p:Profile {key: 'none'})": "were written"} {
		err := g.Write(t.Context(), "the profile", func(t *bolt.Tx) error {
			return thesis{}.writeTree(t, newContent("0123456789abcdef", f.Records[0]), create, nil)
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", create, err, want)
		}
	}
}

// TestReadOnly refuses to change anything.
func TestReadOnly(t *testing.T) {
	where := fresh(t, Shared)
	s, err := Open(t.Context(), where, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, put := s.Put(t.Context(), []*store.File{storetest.File("g", "b", "r", profile.CPU, "A")}, store.PutOptions{})
	_, del := s.Delete(t.Context(), []store.ProfileID{"0123456789abcdef"})
	_, expand := s.Expand(t.Context(), store.Query{}, ExpandOptions{})
	for name, err := range map[string]error{"Put": put, "Delete": del, "Compact": s.Compact(t.Context()), "Expand": expand} {
		if !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLostCommit breaks the connection while a transaction commits, before and
// after the server has done so: the file is stored once, and the importer knows.
func TestLostCommit(t *testing.T) {
	for _, m := range bothModels {
		for name, after := range map[string]bool{"before": false, "after": true} {
			for cname, c := range map[string]store.Conflict{"refuse": store.Refuse, "add": store.Add, "replace": store.Replace} {
				t.Run(fmt.Sprintf("%s/%s/%s", m, name, cname), func(t *testing.T) {
					where := fresh(t, m)
					direct := opened(t, where)
					im := storetest.NewImporter()
					if c != store.Refuse {
						mustPut(t, direct, c, im.File("g", "b", "r", profile.CPUSamples, "×3\nA\nB"))
					}
					b, through := newBreaker(t, where, after)
					s := opened(t, through)
					b.armed.Store(true)
					out := put(t, s, c, im.File("g", "b", "r", profile.CPUSamples, "×5\nA\nC"))
					if out[0].Err != nil || out[0].Stored != 1 || b.broke.Load() != 1 {
						t.Fatalf("%+v after %d broken commits", out[0], b.broke.Load())
					}
					want := int64(5)
					if c == store.Add {
						want = 8
					}
					list, err := direct.Profiles(t.Context(), store.Query{})
					if err != nil || len(list) != 1 || list[0].Sum != want {
						t.Errorf("%+v, %v", list, err)
					}
				})
			}
		}
	}
}

// TestLostCommitOfOthers is TestLostCommit for all else that is done in
// transactions: it is done once more.
func TestLostCommitOfOthers(t *testing.T) {
	ctx := t.Context()
	wide := wideFile("wide", pathsAhead+10)
	for name, after := range map[string]bool{"before": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			where := fresh(t, Shared)
			b, through := newBreaker(t, where, after)
			s := opened(t, through)
			broken := int32(0)
			lose := func(what string, f func() error) {
				t.Helper()
				b.armed.Store(true)
				broken++
				if err := f(); err != nil || b.broke.Load() != broken {
					t.Fatalf("%s: %v, after %d broken commits instead of %d", what, err, b.broke.Load(), broken)
				}
			}
			var list []store.Profile
			lose("paths ahead of a profile", func() error { mustPut(t, s, store.Refuse, wide); return nil })
			lose("a question", func() (err error) { list, err = s.Profiles(ctx, store.Query{}); return err })
			e, err := s.expansionOf(ctx, &list[0], 0)
			if err != nil {
				t.Fatal(err)
			}
			lose("expanding", func() error { _, err := s.expand(ctx, &list[0], e, ExpandOptions{}); return err })
			if n := count(t, where, "MATCH (p:Profile)-[r:SAMPLED]->() WITH p, count(r) AS n RETURN n - p.nodes"); n != 0 {
				t.Errorf("%d relationships too many", n)
			}
			lose("deleting", func() error {
				n, err := s.deleteBatch(ctx, list)
				if n != 1 {
					t.Errorf("%d profiles were deleted", n)
				}
				return err
			})
			lose("compacting", func() error { return s.Compact(ctx) })
			if n := count(t, where, "MATCH (n) WHERE n:Profile OR n:CallPath OR n:Function RETURN count(n)"); n != 0 {
				t.Errorf("%d nodes are left", n)
			}
		})
	}
}

// TestOutOfMemory lets the server run out of memory for transactions, which it
// calls transient: the error is final and describes what to do.
func TestOutOfMemory(t *testing.T) {
	g := dialed(t, fresh(t, Shared))
	params := map[string]any{"text": strings.Repeat("x", 100_000)}
	const statement = "UNWIND range(1, $most) AS i WITH collect(toString(i) + $text) AS l RETURN size(l)"
	if err := g.Read(t.Context(), func(tx *bolt.Tx) error {
		limit, err := memoryLimit(tx)
		params["most"] = max(limit, 1<<30) / 50_000
		return err
	}); err != nil {
		t.Fatal(err)
	}
	tries := 0
	err := g.Write(t.Context(), "the work", func(tx *bolt.Tx) error {
		tries++
		return tx.Do(statement, params)
	})
	var final *bolt.OutOfMemory
	if !errors.As(err, &final) || !strings.HasPrefix(err.Error(), "the work needs more memory") || tries != 1 {
		t.Errorf("%v, after %d tries", err, tries)
	}
	if err := g.Read(t.Context(), func(tx *bolt.Tx) error { return tx.Do(statement, params) }); !errors.As(err, &final) {
		t.Errorf("a question: %v", err)
	}
}

// TestReplacedMeanwhile reads what a selection describes after somebody has put
// something else in its place, or removed it.
func TestReplacedMeanwhile(t *testing.T) {
	for _, m := range bothModels {
		s := opened(t, fresh(t, m))
		im := storetest.NewImporter()
		mustPut(t, s, store.Refuse, im.File("g", "b", "r", profile.CPUSamples, "A\nB"))
		sel, err := s.withSelection(t.Context(), store.Query{}, func(*bolt.Tx, *selection) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		demand := func(when string, ok bool) {
			t.Helper()
			for _, wanted := range [][]int64{nil, {store.FunctionID("A")}} {
				err := s.db.Read(t.Context(), func(t *bolt.Tx) error { _, err := s.readRows(t, sel, [2]int{0, 1}, wanted); return err })
				var changed *bolt.ChangedError
				if ok && err != nil || !ok && !errors.As(err, &changed) {
					t.Errorf("%s, %s, functions %v: %v", m, when, wanted, err)
				}
			}
		}
		demand("as it was", true)
		mustPut(t, s, store.Replace, im.File("g", "b", "r", profile.CPUSamples, "A\nC"))
		demand("replaced", false)
		if _, err := s.Delete(t.Context(), []store.ProfileID{sel.profiles[0].ID}); err != nil {
			t.Fatal(err)
		}
		demand("deleted", false)
		if m == Thesis { // whose profiles have trees of their own
			err := s.db.Read(t.Context(), func(t *bolt.Tx) error {
				values := []sparse{{key: string(sel.profiles[0].ID), paths: []int64{1}}}
				return s.model.structure(t, values, func(int64) bool { return true }, func(_, _, _ []int64) {})
			})
			if changed := (*bolt.ChangedError)(nil); !errors.As(err, &changed) {
				t.Errorf("the tree of a deleted profile: %v", err)
			}
		}
	}
}

// TestKeys expects the database itself to refuse a second node of a key.
func TestKeys(t *testing.T) {
	for m, own := range map[Model]map[string]string{
		Shared: {"Function": "id", "Function ": "name", "CallPath": "id", "TraceTask": "id", "TraceLog": "key", "TraceInstance": "key",
			"TraceSegment": "id", "TraceService": "name", "SampledTask": "task", "SampledSegment": "key"},
		Thesis: {"Function": "key", "CodePath": "id", "CodePath ": "name"},
	} {
		g := dialed(t, fresh(t, m))
		keys := map[string]string{"Dendro": "id", "DendroGate": "id", "BenchmarkGroup": "name", "Benchmark": "key", "TestRun": "key",
			"Measurement": "id", "Profile": "key", "Profile ": "seq", "RawName": "id"}
		maps.Copy(keys, own)
		for label, key := range keys {
			err := g.Write(t.Context(), "a test", func(tx *bolt.Tx) error {
				return tx.Do(fmt.Sprintf("UNWIND [1, 1] AS v CREATE (n:%s {%s: v})", strings.TrimSpace(label), key), nil)
			})
			if !bolt.HasCode(err, "Neo.ClientError.Schema.ConstraintValidationFailed") {
				t.Errorf("%s: two nodes %s of one %s: %v", m, label, key, err)
			}
		}
	}
}

// TestCollision gives an id to something else and expects the import to notice.
func TestCollision(t *testing.T) {
	for _, c := range []struct{ name, damage string }{
		{"function", "MATCH (f:Function {name: 'A'}) SET f.name = 'somebody else'"},
		{"path to another function", "MATCH (c:CallPath {depth: 1})-[o:OF]->() MATCH (f:Function {name: 'A'}) DELETE o CREATE (c)-[:OF]->(f)"},
		{"path from another caller", "MATCH (c:CallPath {depth: 1})<-[o:CALLS]-() MATCH (p:CallPath {depth: 0})-[:OF]->(:Function {name: 'X'}) DELETE o CREATE (p)-[:CALLS]->(c)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			where := fresh(t, Shared)
			mustPut(t, opened(t, where), store.Refuse, storetest.File("g", "b", "r1", profile.CPU, "A  X\nB"))
			change(t, dialed(t, where), c.damage)
			s := opened(t, where)
			_, err := s.Put(t.Context(), []*store.File{storetest.File("g", "b", "r2", profile.CPU, "A\nB")},
				store.PutOptions{Rules: storetest.Rules})
			if err == nil || !strings.Contains(err.Error(), "have the same id") {
				t.Errorf("%v", err)
			}
			if n := count(t, where, "MATCH (p:Profile) RETURN count(p)"); n != 1 {
				t.Errorf("%d profiles", n)
			}
		})
	}
}

// wideFile returns a profile of n call nodes of which no two are alike.
func wideFile(run string, n int) *store.File {
	f := storetest.File("g", "wide", run, profile.CPUSamples, "main")
	forest := new(calltree.Forest)
	v := calltree.Vector{}
	for i := range n {
		parent := calltree.NoNode
		if i > 0 {
			parent = int32(i-1) / 2
		}
		p := forest.Path(parent, forest.Function(profile.Function{Name: fmt.Sprint("f", i%500)}))
		v.Nodes, v.Self = append(v.Nodes, p), append(v.Self, int64(i+1))
	}
	r := f.Records[0]
	r.Forest, r.Self, r.Hash = forest, calltree.AddVectors(v), profile.Hash{byte(n), byte(n >> 8), byte(n >> 16), 1}
	return f
}

// TestLarge puts and deletes profiles that take several transactions.
func TestLarge(t *testing.T) {
	long(t)
	for _, m := range bothModels {
		t.Run(string(m), func(t *testing.T) {
			where := fresh(t, m)
			s := opened(t, where)
			f := wideFile("r1", deleteNodes+5000)
			want := f.Records[0].Self.Sum()
			nodes := f.Records[0].Forest.Cut(f.Records[0].Self.Nodes).Len()
			for range 2 { // the second time beside what the first one left
				mustPut(t, s, store.Refuse, f)
				tree, list, err := store.MergeTrees(t.Context(), s, store.Query{})
				if err != nil || tree.RootTotal() != want || tree.Len() != nodes || list[0].Nodes != nodes {
					t.Fatalf("%v: %v", list, err)
				}
				if n, err := s.Delete(t.Context(), []store.ProfileID{list[0].ID}); n != 1 || err != nil {
					t.Fatal(n, err)
				}
			}
			if err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := count(t, where, "MATCH (n) WHERE NOT n:Dendro AND NOT n:DendroGate RETURN count(n)"); n != 0 {
				t.Errorf("%d nodes are left", n)
			}
		})
	}
}

// TestTooLarge refuses a profile that the server has no memory for, and defines how
// much would do.
func TestTooLarge(t *testing.T) {
	where := fresh(t, Thesis)
	s := opened(t, where)
	var limit int64
	if err := s.db.Read(t.Context(), func(t *bolt.Tx) (err error) { limit, err = memoryLimit(t); return err }); err != nil || limit == 0 {
		t.Fatalf("the server's limit is %d, %v", limit, err)
	}
	out := put(t, s, store.Refuse, wideFile("r1", int(limit/6000)), storetest.File("g", "b", "r", profile.CPU, "A"))
	if err := out[0].Err; err == nil || !strings.Contains(err.Error(), "a heap of") ||
		!strings.Contains(err.Error(), "server.memory.heap.max_size") {
		t.Errorf("%v", err)
	}
	if out[1].Err != nil || out[1].Stored != 1 {
		t.Errorf("the file behind it: %+v", out[1])
	}
}

// TestDoomed finds what a deletion left that was broken off.
func TestDoomed(t *testing.T) {
	where := fresh(t, Thesis)
	s := opened(t, where)
	f := storetest.File("g", "b", "r", profile.CPUSamples, "A  A\nB  C")
	id := store.IDOf(f.Benchmark, f.Run.Key, profile.CPUSamples)
	change(t, s.db, fmt.Sprintf("CREATE (:Doomed {key: '%[1]s'}), (:Function {key: '%[1]s000009', profileKey: '%[1]s', codePath: 'old', depth: 1})", id))
	mustPut(t, s, store.Refuse, f)
	if n := count(t, where, "MATCH (f:Function) RETURN count(f)"); n != 4 {
		t.Errorf("%d nodes of a tree of 3 and its root", n)
	}
}
