package neo4j

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/calltree/callpath"
	"github.com/dendroprof/dendro/store"
)

// benchProfiles is how many profiles of 10,000 call nodes BenchmarkAsk asks, in
// ten benchmarks; DENDRO_BENCH_PROFILES says another number.
const benchProfiles = 200

// askRounds is how often each query is asked of each store.
const askRounds = 7

// BenchmarkAsk measures queries to the model shared, and to the embedded engine
// with the same content beside it. How much space the nodes that it logs take
// shows in the server's store files once it has been stopped.
//
// Medians are reported: of a Store that has answered before (graph-ms), of one
// that is fresh, as each command has it (fresh-ms), and of the embedded engine.
func BenchmarkAsk(b *testing.B) {
	ctx := context.Background()
	profiles := benchProfiles
	if n, err := strconv.Atoi(os.Getenv("DENDRO_BENCH_PROFILES")); err == nil {
		profiles = n
	}
	where := fresh(b, Shared)
	s := opened(b, where)
	duck := openDuckDB(b, filepath.Join(b.TempDir(), "store.duckdb"))
	h := newHistory(10, 10_000)
	nodes := 0
	var graphTook, duckTook time.Duration
	for done := 0; done < profiles; {
		var files []*store.File
		for range min(len(h.benchmarks), profiles-done) {
			files = append(files, h.next())
			nodes += nodesOf(files[len(files)-1])
		}
		graphTook += took(func() { mustPut(b, s, store.Refuse, files...) })
		duckTook += took(func() { mustPut(b, duck, store.Refuse, files...) })
		done += len(files)
	}
	b.Logf("%d profiles, %d nodes: graph %s, embedded %s", profiles, nodes, graphTook, duckTook)
	name := h.benchmarks[0].Functions[11].Name
	run := store.Query{Benchmarks: []string{"benchmark0"}, Runs: []string{"run0"}}
	one, all := store.Query{Benchmarks: []string{"benchmark0"}}, store.Query{}
	first := store.Query{}
	list, err := s.Profiles(ctx, all)
	if err != nil {
		b.Fatal(err)
	}
	for i := range min(100, len(list)) {
		first.Profiles = append(first.Profiles, list[i].ID)
	}
	subtree := bottleneck.Options{Rank: bottleneck.Subtree, Degree: 5, Rows: 20}
	for _, q := range []struct {
		name string
		ask  func(s store.Store) error
	}{
		{"function by name, everything", finding(all, name)},
		{"function by pattern, everything", finding(all, "org.example.common.pkg1.*")},
		{"series of a function", finding(one, name)},
		{"tree of one profile", func(s store.Store) error { _, _, err := store.MergeTrees(ctx, s, run); return err }},
		{"potential of one benchmark", func(s store.Store) error { _, err := store.SumFunctions(ctx, s, one); return err }},
		{"potential of everything", func(s store.Store) error { _, err := store.SumFunctions(ctx, s, all); return err }},
		{"subtree potential of degree 5", func(s store.Store) error { _, err := bottleneck.Find(ctx, s, one, subtree); return err }},
		{"moments of one benchmark", func(s store.Store) error {
			_, err := store.FunctionMoments(ctx, s, one, store.Measure{Share: true})
			return err
		}},
		{"merged tree of 100 profiles", func(s store.Store) error { _, _, err := store.MergeTrees(ctx, s, first); return err }},
	} {
		b.Run(strings.ReplaceAll(q.name, " ", "_"), func(b *testing.B) {
			var graph, anew, embedded []time.Duration
			ask := func(s store.Store) time.Duration {
				return took(func() {
					if err := q.ask(s); err != nil {
						b.Fatal(err)
					}
				})
			}
			ask(s)
			ask(duck)
			for b.Loop() {
				for range askRounds {
					graph, embedded = append(graph, ask(s)), append(embedded, ask(duck))
					anew = append(anew, ask(opened(b, where)))
				}
			}
			b.ReportMetric(median(graph), "graph-ms")
			b.ReportMetric(median(anew), "fresh-ms")
			b.ReportMetric(median(embedded), "duckdb-ms")
			b.ReportMetric(median(graph)/median(embedded), "times-duckdb")
		})
	}
}

func took(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// median returns the middle of times in milliseconds.
func median(times []time.Duration) float64 {
	slices.Sort(times)
	return times[len(times)/2].Seconds() * 1000
}

// finding asks for the functions that a pattern matches.
func finding(q store.Query, text string) func(store.Store) error {
	return func(s store.Store) error {
		p, err := callpath.Parse(text)
		if err == nil {
			_, err = store.Find(context.Background(), s, q, p, true)
		}
		return err
	}
}
