package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// testConcurrent runs several importers that put different files and the same files,
// while others read, delete and compact. A reader must see whole profiles.
func testConcurrent(l *lab) {
	const importers, rounds = 4, 6
	own := func(im *Importer, who, round int) *store.File {
		return im.File("own", fmt.Sprint("b", who), fmt.Sprint("r", round), profile.CPUSamples,
			fmt.Sprintf("×%d  ×2  ×3\nmain  main  f%d\nf%d  g%d", who+1, round, who, round))
	}
	shared := func(im *Importer, round int) *store.File {
		return im.File("shared", "b", fmt.Sprint("r", round), profile.CPUSamples, fmt.Sprintf("×5\nmain\ns%d", round))
	}
	victims := NewImporter()
	var doomed []store.ProfileID
	for i := range rounds {
		f := victims.File("doomed", "b", fmt.Sprint("d", i), profile.CPUSamples, fmt.Sprintf("×9\nmain\nv%d", i))
		l.put(f)
		doomed = append(doomed, store.IDOf(f.Benchmark, f.Run.Key, profile.CPUSamples))
	}

	var writers, readers sync.WaitGroup
	var storedShared atomic.Int64
	done := make(chan struct{})
	for who := range importers {
		writers.Go(func() {
			im := NewImporter()
			for round := range rounds {
				out, err := l.s.Put(l.ctx, []*store.File{own(im, who, round), shared(im, round)}, store.PutOptions{Rules: Rules})
				if err != nil || out[0].Err != nil || out[1].Err != nil || out[0].Stored != 1 {
					l.t.Errorf("Put: %+v, %v", out, err)
					return
				}
				storedShared.Add(int64(out[1].Stored))
			}
		})
	}
	writers.Go(func() {
		for _, id := range doomed {
			if n, err := l.s.Delete(l.ctx, []store.ProfileID{id}); err != nil || n != 1 {
				l.t.Errorf("Delete: %d, %v", n, err)
			}
			if err := l.s.Compact(l.ctx); err != nil {
				l.t.Errorf("Compact: %v", err)
			}
		}
	})
	for range 2 {
		readers.Go(func() {
			for {
				if err := l.wholeProfiles(); err != nil {
					l.t.Error(err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	if n := storedShared.Load(); n != rounds {
		l.t.Errorf("%d files that %d importers put were stored %d times", rounds, importers, n)
	}

	im := NewImporter()
	opts := store.PutOptions{Rules: Rules}
	for round := range rounds {
		l.m.put(shared(im, round), opts)
		for who := range importers {
			l.m.put(own(im, who, round), opts)
		}
	}
	l.m.delete(doomed)
	l.check()
	l.reopen()
	l.check()
}

// wholeProfiles reads everything and checks that every profile adds up.
func (l *lab) wholeProfiles() error {
	set, err := l.s.Functions(l.ctx, store.Query{}, nil)
	if err != nil {
		return err
	}
	sum := make([]int64, len(set.Profiles))
	for rows, err := range set.Rows {
		if err != nil {
			return err
		}
		for i, p := range rows.Profile {
			sum[p] += rows.Self[i]
		}
	}
	for i, p := range set.Profiles {
		if sum[i] != p.Sum {
			return fmt.Errorf("function rows: %s %s has %d of %d", p.Benchmark, p.Run.Key, sum[i], p.Sum)
		}
	}
	trees, err := l.s.Trees(l.ctx, store.Query{}, store.TreeOptions{})
	if err != nil {
		return err
	}
	for v, err := range trees.Vectors {
		if err != nil {
			return err
		}
		if p := trees.Profiles[v.Profile]; v.Sum() != p.Sum {
			return fmt.Errorf("trees: %s %s has %d of %d", p.Benchmark, p.Run.Key, v.Sum(), p.Sum)
		}
	}
	if _, err := l.s.FunctionNames(l.ctx); err != nil {
		return err
	}
	_, err = l.s.Info(l.ctx)
	return err
}

// testContested runs several clients that change the same profiles at once: exactly one
// succeeds where the changes conflict, and all do where they add.
func testContested(l *lab) {
	const clients, rounds = 4, 5
	var wg sync.WaitGroup
	put := func(c store.Conflict, f *store.File) store.Outcome {
		out, err := l.s.Put(l.ctx, []*store.File{f}, store.PutOptions{Rules: Rules, Conflict: c})
		if err != nil {
			l.t.Errorf("Put: %v", err)
			return store.Outcome{Err: err}
		}
		return out[0]
	}
	var lock sync.Mutex
	winners := map[int][]*store.File{} // by round
	var shards, facts []*store.File
	for client := range clients {
		wg.Go(func() {
			im := NewImporter()
			for round := range rounds {
				one := im.File("one", "wins", fmt.Sprint("r", round), profile.CPUSamples, fmt.Sprintf("A\n%d", client))
				won := put(store.Refuse, one).Err == nil
				shard := im.File("all", "add up", fmt.Sprint("r", round), profile.CPUSamples,
					fmt.Sprintf("×%d  ×1\nA   A\nB   %d", 100+client, client))
				if err := put(store.Add, shard).Err; err != nil {
					l.t.Errorf("adding: %v", err)
				}
				fact := MetricsFile("all", "add up", fmt.Sprint("r", round), Metric(fmt.Sprint("of ", client), float64(round)))
				fact.Run.Attributes = map[string]string{fmt.Sprint("of ", client): "yes"}
				if err := put(store.Refuse, fact).Err; err != nil {
					l.t.Errorf("metrics: %v", err)
				}
				lock.Lock()
				shards, facts = append(shards, shard), append(facts, fact)
				if won {
					winners[round] = append(winners[round], one)
				}
				lock.Unlock()
			}
		})
	}
	wg.Wait()
	for round := range rounds {
		if n := len(winners[round]); n != 1 {
			l.t.Fatalf("%d of %d contents of one identity were stored", n, clients)
		}
		l.m.put(winners[round][0], store.PutOptions{Rules: Rules})
	}
	for _, f := range append(shards, facts...) {
		l.m.put(f, store.PutOptions{Rules: Rules, Conflict: store.Add})
	}
	l.m.leftovers = true
	l.check()
	l.reopen()
	l.check()
}

// testPipeline puts snapshots of a forest while the importer fills it on, as
// one that decodes the next file during the Put of the last one does.
func testPipeline(l *lab) {
	im := NewImporter()
	files := make(chan *store.File, 2)
	var all []*store.File
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for f := range files {
				if out, err := l.s.Put(l.ctx, []*store.File{f}, store.PutOptions{Rules: Rules}); err != nil || out[0].Err != nil {
					l.t.Errorf("Put: %+v, %v", out, err)
				}
			}
		})
	}
	for i := range 60 {
		f := im.File("g", fmt.Sprint("b", i%7), fmt.Sprint("r", i), profile.CPUSamples,
			fmt.Sprintf("×%d  ×1  ×2\nmain  main  f%d\nf%d  g%d  h", i+1, i, i/2, i))
		all = append(all, f)
		files <- f
	}
	close(files)
	wg.Wait()
	for _, f := range all {
		l.m.put(f, store.PutOptions{Rules: Rules})
	}
	l.check()
}
