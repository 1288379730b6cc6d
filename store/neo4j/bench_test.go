package neo4j

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/store/neo4j/internal/identity"
	"github.com/dendroprof/dendro/test/storetest"
	"github.com/dendroprof/dendro/testrun"
)

// BenchmarkStore is what all engines are measured by.
func BenchmarkStore(b *testing.B) {
	for _, m := range bothModels {
		b.Run(string(m), func(b *testing.B) { storetest.Benchmark(b, engine(m, nil)) })
	}
}

// history makes profiles of a suite of benchmarks over many runs: each has about
// nodes call nodes, nearly all of them known from the runs before.
type history struct {
	r          *rand.Rand
	benchmarks []*calltree.Forest
	nodes      int
	made       int
}

func newHistory(benchmarks, nodes int) *history {
	h := &history{r: rand.New(rand.NewPCG(7, 11)), nodes: nodes}
	for range benchmarks {
		h.benchmarks = append(h.benchmarks, new(calltree.Forest))
		h.grow(len(h.benchmarks)-1, nodes+nodes/5)
	}
	return h
}

// grow adds paths to a benchmark. Functions of a program are called from few
// places, and benchmarks share half of them.
func (h *history) grow(b, n int) {
	f := h.benchmarks[b]
	for range n {
		parent := calltree.NoNode
		if have := f.Paths.Len(); have > 0 {
			parent = int32(have - 1 - h.r.IntN(min(have, 500)))
		}
		fn := h.r.IntN(h.nodes / 5)
		suite := "common"
		if fn%2 == 0 {
			suite = fmt.Sprint("benchmark", b)
		}
		f.Path(parent, f.Function(profile.Function{
			Name: fmt.Sprintf("org.example.%s.pkg%d.SomeClass%d.someMethod%d", suite, fn/100, fn/10, fn), Kind: profile.KindJava}))
	}
}

// next returns the next profile: of each benchmark in turn.
func (h *history) next() *store.File {
	b, run := h.made%len(h.benchmarks), h.made/len(h.benchmarks)
	h.made++
	h.grow(b, h.nodes/25)
	f := h.benchmarks[b]
	v := calltree.Vector{}
	paths := f.Paths.Len()
	for p := range paths {
		if h.r.IntN(paths) < h.nodes/2 {
			v.Nodes, v.Self = append(v.Nodes, int32(p)), append(v.Self, 1+int64(100*h.r.ExpFloat64()))
		}
	}
	r := &store.Record{Type: storetest.TypeOf(profile.CPUSamples), Profiler: "bench", Samples: int64(len(v.Nodes)), Forest: f.Snapshot(),
		Self: v}
	binary.BigEndian.PutUint64(r.Hash[:], uint64(h.made))
	return &store.File{
		Name:      fmt.Sprintf("%d.collapsed", h.made),
		Benchmark: testrun.Benchmark{Group: "group", Name: fmt.Sprint("benchmark", b)},
		Run:       testrun.Run{Key: fmt.Sprint("run", run), Date: time.Unix(int64(run)*86400, 0).UTC(), Branch: "main"},
		Metrics:   []testrun.Metric{{Name: "time", Mean: 100 + h.r.NormFloat64(), Unit: "ms", Primary: true}},
		Records:   []*store.Record{r},
	}
}

// serverCPU returns the processor time that the server has taken so far, if
// DENDRO_TEST_NEO4J_PID defines which process it is: on a machine with other work
// it says more than the time that went by.
func serverCPU() time.Duration {
	text, err := os.ReadFile("/proc/" + os.Getenv("DENDRO_TEST_NEO4J_PID") + "/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks int64
	for _, i := range []int{11, 12} {
		n, _ := strconv.ParseInt(fields[i], 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// effort is what a way to import has cost.
type effort struct {
	name     string
	embedded bool // the server has no part in it
	from     *history
	put      func(f *store.File)

	perNode []time.Duration // of each round
	nodes   int
	cpu     time.Duration
}

// warmRounds are not counted: the server compiles, and most paths are new.
const warmRounds = 12

// measure imports in interleaved rounds and reports for each way nodes per second
// in the median round, microseconds of the server's processors per node in all of
// them, and how many times better that is than the last way.
func measure(b *testing.B, rounds int, ways ...*effort) {
	for round := range warmRounds + rounds {
		for _, w := range ways {
			nodes, took, cpu := 0, time.Duration(0), serverCPU()
			for range len(w.from.benchmarks) {
				f := w.from.next()
				start := time.Now()
				w.put(f)
				took += time.Since(start)
				nodes += nodesOf(f)
			}
			if round >= warmRounds {
				w.perNode = append(w.perNode, took/time.Duration(nodes))
				w.nodes, w.cpu = w.nodes+nodes, w.cpu+serverCPU()-cpu
			}
		}
	}
	last := ways[len(ways)-1]
	for _, w := range ways {
		cpu := func(w *effort) float64 { return w.cpu.Seconds() * 1e6 / float64(w.nodes) }
		b.ReportMetric(1e3/median(w.perNode), w.name+"-nodes/s")
		b.ReportMetric(median(last.perNode)/median(w.perNode), w.name+"-times-"+last.name)
		if w.cpu > 0 && !w.embedded {
			b.ReportMetric(cpu(w), w.name+"-cpu-µs/node")
			b.ReportMetric(cpu(last)/cpu(w), w.name+"-cpu-times-"+last.name)
		}
	}
}

// nodesOf counts the call nodes of a file.
func nodesOf(f *store.File) int {
	return f.Records[0].Forest.Cut(f.Records[0].Self.Nodes).Len()
}

// BenchmarkImport measures both models against the paper's own way to import
// and against MERGE per node, both written down straightforwardly, and against
// the embedded engine, in one run.
func BenchmarkImport(b *testing.B) {
	ctx := context.Background()
	for _, m := range bothModels {
		b.Run(string(m), func(b *testing.B) {
			where := fresh(b, m)
			s := opened(b, where)
			g := dialed(b, where)
			for _, statement := range []string{
				bolt.Constraint("Paper", "key"), bolt.Index("Paper", "codePath"), bolt.Index("Paper", "profileKey"), bolt.Constraint("Single", "key"),
				bolt.Constraint("PaperBenchmark", "key"), bolt.Constraint("PaperRun", "key"), bolt.Constraint("PaperProfile", "key"),
			} {
				if err := g.Schema(ctx, statement); err != nil {
					b.Fatal(err)
				}
			}
			duck := openDuckDB(b, filepath.Join(b.TempDir(), "store.duckdb"))
			putInto := func(s store.Store) func(f *store.File) {
				return func(f *store.File) { mustPut(b, s, store.Refuse, f) }
			}
			ours := &effort{name: string(m), from: newHistory(2, 10_000), put: putInto(s)}
			embedded := &effort{name: "duckdb", embedded: true, from: newHistory(2, 10_000), put: putInto(duck)}
			single := &effort{name: "merge", from: newHistory(1, 250), put: func(f *store.File) { importByMerge(b, g, f) }}
			paper := &effort{name: "paper", from: newHistory(2, 10_000), put: func(f *store.File) { importAsPaper(b, g, f) }}
			for b.Loop() {
				measure(b, 16, ours, embedded, single, paper)
			}
		})
	}
}

// importByMerge makes each node with a transaction of its own, as chapter 4.2
// begins.
func importByMerge(b *testing.B, g *bolt.DB, f *store.File) {
	c := newContent(store.IDOf(f.Benchmark, f.Run.Key, "single"), f.Records[0])
	for n := range c.paths {
		if err := g.Write(context.Background(), "a node", func(t *bolt.Tx) error {
			return t.Do(`MERGE (f:Single {key: $key}) SET f.codePath = $codePath
				WITH f MATCH (p:Single {key: $parent}) MERGE (p)-[:INVOKES]->(f)`, map[string]any{
				"key": nodeKey(c.key, n), "codePath": c.names[c.cut.Func[n]], "parent": nodeKey(c.key, int(c.cut.Parent[n]))})
		}); err != nil {
			b.Fatal(err)
		}
	}
}

// importAsPaper imports a profile the way of chapter 4.2: nodes by UNWIND and
// CREATE, then relationships by UNWIND, two MATCH and CREATE, in one transaction.
func importAsPaper(b *testing.B, g *bolt.DB, f *store.File) {
	c := newContent(store.IDOf(f.Benchmark, f.Run.Key, "paper"), f.Records[0])
	var functions, invocations, recursions []map[string]any
	recursion := c.recursion()
	for n := range c.paths {
		functions = append(functions, map[string]any{
			"key": nodeKey(c.key, n), "codePath": c.names[c.cut.Func[n]], "depth": int64(c.cut.Depth[n]),
			"baseSamples": c.tree.Self[n], "totalSamples": c.tree.Total[n],
			"base": float64(c.tree.Self[n]) / float64(c.sum), "total": float64(c.tree.Total[n]) / float64(c.sum),
		})
		if up := c.cut.Parent[n]; up != calltree.NoNode {
			invocations = append(invocations, map[string]any{"from": nodeKey(c.key, int(up)), "to": nodeKey(c.key, n)})
		}
		if up := recursion[n]; up != calltree.NoNode {
			recursions = append(recursions, map[string]any{"from": nodeKey(c.key, int(up)), "to": nodeKey(c.key, n),
				"distance": int64(c.cut.Depth[n] - c.cut.Depth[up])})
		}
	}
	err := g.Write(context.Background(), "the paper's import", func(t *bolt.Tx) error {
		if err := t.Do(`MERGE (b:PaperBenchmark {key: $benchmark}) MERGE (r:PaperRun {key: $run})
			CREATE (b)-[:HAS_PROFILE]->(p:PaperProfile {key: $profile})<-[:HAS_PROFILE]-(r)`,
			map[string]any{"benchmark": identity.Benchmark(f.Benchmark), "run": f.Run.Key, "profile": c.key}); err != nil {
			return err
		}
		if err := t.Do(`UNWIND $functions AS f CREATE (fn:Paper {key: f.key, profileKey: $profile, codePath: f.codePath, depth: f.depth,
			baseSamples: f.baseSamples, totalSamples: f.totalSamples, base: f.base, total: f.total})`,
			map[string]any{"functions": functions, "profile": c.key}); err != nil {
			return err
		}
		if err := t.Do("UNWIND $list AS i MATCH (a:Paper {key: i.from}) MATCH (b:Paper {key: i.to}) CREATE (a)-[:INVOKES]->(b)",
			map[string]any{"list": invocations}); err != nil {
			return err
		}
		return t.Do("UNWIND $list AS i MATCH (a:Paper {key: i.from}) MATCH (b:Paper {key: i.to}) CREATE (a)-[:RECURS {distance: i.distance}]->(b)",
			map[string]any{"list": recursions})
	})
	if err != nil {
		b.Fatal(err)
	}
}
