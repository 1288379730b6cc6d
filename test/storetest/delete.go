package storetest

import (
	"fmt"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// testDelete deletes profiles, some of them the last of a run or a benchmark.
func testDelete(l *lab) {
	im := NewImporter()
	for run := range 3 {
		for _, b := range []string{"a", "b"} {
			f := im.File("g", b, fmt.Sprint("r", run), profile.CPUSamples, fmt.Sprintf("A\n%s\nr%d", b, run))
			im.Add(f, profile.Alloc, fmt.Sprintf("only in %s r%d", b, run))
			f.Metrics = []testrun.Metric{Metric("time", float64(run))}
			f.Run.Commit = "c"
			l.put(f)
		}
	}
	id := func(b string, run int, typ string) store.ProfileID {
		return store.IDOf(testrun.Benchmark{Group: "g", Name: b}, fmt.Sprint("r", run), typ)
	}
	l.delete("0123456789abcdef", id("a", 0, profile.CPUSamples), id("a", 0, profile.CPUSamples))
	l.check()
	l.delete(id("a", 0, profile.CPUSamples))
	l.check()
	l.delete(id("a", 0, profile.Alloc), id("b", 0, profile.Alloc), id("b", 0, profile.CPUSamples)) // all of r0
	l.check()
	l.reopen()
	l.check()

	// Deleted runs leave nothing: the run may come again with other facts.
	back := im.File("g", "a", "r0", profile.CPUSamples, "A\nback")
	back.Run.Commit = "other"
	l.put(back)
	if p, ok := l.profiles(store.Query{Runs: []string{"r0"}})[0].Metric(); ok {
		l.t.Errorf("metric %+v outlived the profiles of its run", p)
	}
	l.check()
	l.compact()
	l.check()

	var rest []store.ProfileID
	for _, p := range l.profiles(store.Query{}) {
		rest = append(rest, p.ID)
	}
	l.delete(rest...)
	l.check()
	l.compact()
	l.check()
	l.put(im.File("g", "a", "r1", profile.CPUSamples, "A\na\nr1"))
	l.check()
}

// testCompact compacts again and again: it changes no answer, and importers
// that know the forest from before continue.
func testCompact(l *lab) {
	im := NewImporter()
	var first []store.ProfileID
	for run := range 4 {
		f := im.File("g", "a", fmt.Sprint("r", run), profile.CPUSamples, fmt.Sprintf("×%d  ×2\nA  A\nB%d  C", run+1, run))
		l.put(f)
		first = append(first, store.IDOf(f.Benchmark, f.Run.Key, profile.CPUSamples))
	}
	l.compact()
	l.check()
	l.delete(first[:2]...)
	l.check()
	l.compact()
	l.check()
	// B0 and B1 are no longer stored; the importer's forest still has them.
	l.put(im.File("g", "b", "r0", profile.CPUSamples, "A   A   B0\nB1  B0  D\n·   E"))
	l.check()
	l.compact()
	l.reopen()
	l.check()
	l.put(im.File("g", "c", "r0", profile.CPUSamples, "A   F\nB1"))
	l.check()
}

// testForests puts from several growing forests in turn.
func testForests(l *lab) {
	importers := make([]*Importer, 12)
	for i := range importers {
		importers[i] = NewImporter()
	}
	for round := range 3 {
		for i, im := range importers {
			// Each forest numbers the same paths in another order.
			l.put(im.File("g", fmt.Sprint("b", i), fmt.Sprint("r", round), profile.CPUSamples,
				fmt.Sprintf("×%d  ×3  ×4\nf%d  main  main\nx   f%d   new%d\n·   x", i+1, (i+round)%5, i%3, round)))
		}
	}
	l.check()
	// A record over the forest itself, not a snapshot, and over an old snapshot.
	im := importers[0]
	old := im.File("g", "old snapshot", "r1", profile.CPUSamples, "main\nf0")
	f := im.File("g", "no snapshot", "r1", profile.CPUSamples, "main\nmuch\nnew")
	f.Records[0].Forest = im.Forest
	l.put(f)
	l.put(old)
	l.check()
	l.put(im.File("g", "later", "r1", profile.CPUSamples, "much\nnew  main\nmain new"))
	l.reopen()
	l.put(im.File("g", "after reopening", "r1", profile.CPUSamples, "much\nmain"))
	l.check()
}
