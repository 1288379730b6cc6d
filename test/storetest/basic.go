package storetest

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// testEmpty calls every query of an empty store.
func testEmpty(l *lab) {
	l.check()
	if out, err := l.s.Put(l.ctx, nil, store.PutOptions{Rules: Rules}); err != nil || len(out) != 0 {
		l.t.Errorf("Put of nothing: %v, %v", out, err)
	}
	l.delete()
	l.delete("0123456789abcdef")
	l.compact()
	if list := l.profiles(store.Query{}); len(list) != 0 {
		l.t.Errorf("an empty store lists %d profiles", len(list))
	}
}

// testOne puts one profile and compares every result with constants, which finds faults
// of the model too.
func testOne(l *lab) {
	f := File("json", "parse/size=10", "r3", profile.CPUSamples, `
		×3    ×1    ×2
		main  main  main
		A     B     A
		B     ·     A`)
	l.put(f)
	p := l.only()
	if p.ID != store.IDOf(f.Benchmark, "r3", profile.CPUSamples) || p.Benchmark != f.Benchmark ||
		p.Type != TypeOf(profile.CPUSamples) || p.Run.Key != "r3" || !p.Run.Date.Equal(RunOf("r3").Date) ||
		p.Sum != 6 || p.Nodes != 5 || p.Samples != 3 || p.Profiler != "storetest" || p.ProfilerVersion != "1.2" ||
		p.Duration != 1500*time.Millisecond || p.File != f.Name || p.HasSource || p.Hash != f.Records[0].Hash.String() {
		l.t.Errorf("the profile is %+v", p)
	}
	if zone := p.Run.Date.Location(); zone != time.UTC {
		l.t.Errorf("the date of the run is in %v, want UTC", zone)
	}
	set, err := l.s.Functions(l.ctx, store.Query{}, nil)
	l.ok(err)
	l.same("the function list", l.readFunctions(set)[p.ID], map[string]numbers{
		"main": {0, 6}, "A": {2, 5}, "B": {4, 4},
	})
	trees, err := l.s.Trees(l.ctx, store.Query{}, store.TreeOptions{})
	l.ok(err)
	paths := tablePaths(trees.Table)
	l.same("the table", strings.ReplaceAll(strings.Join(paths, " "), sep, ";"), "main main;A main;A;A main;A;B main;B")
	l.same("the tree", l.readTrees(trees, paths)[p.ID][0], map[string]int64{
		"main" + sep + "A" + sep + "A": 2, "main" + sep + "A" + sep + "B": 3, "main" + sep + "B": 1,
	})
	info, err := l.s.Info(l.ctx)
	l.ok(err)
	l.same("the counts of Info", []int64{info.Benchmarks, info.Runs, info.Profiles, info.Functions, info.Paths}, []int64{1, 1, 1, 3, 5})
	l.check()
	l.reopen()
	l.check()
}

// testTypes puts several value types of one file.
func testTypes(l *lab) {
	im := NewImporter()
	f := im.File("g", "b", "r1", profile.CPU, "A  A\nB")
	im.Add(f, profile.Alloc, "×4096  ×16\nA  C\nB  D")
	odd := im.Add(f, profile.CPUSamples, "A")
	odd.Type = profile.ValueType{Name: "ctx-switches", Unit: "count", Scale: 3, Period: 10_000_000, PeriodUnit: "nanoseconds",
		PeriodName: "cpu", Original: "context_switches"}
	l.put(f)
	for _, p := range l.profiles(store.Query{Types: []string{"ctx-switches"}}) {
		if p.Type != odd.Type {
			l.t.Errorf("the type is %+v, want %+v", p.Type, odd.Type)
		}
	}
	l.check()
	all := l.profiles(store.Query{})
	for _, typ := range []string{profile.CPU, profile.Alloc, "ctx-switches", "c*"} {
		l.checkSelection(store.Query{Types: []string{typ}}, all)
	}
	l.reopen()
	l.check()
}

// testFacts puts all facts of runs and benchmarks.
func testFacts(l *lab) {
	f := File("", "a/b", "2024-05-06 r1", profile.CPUSamples, "A")
	f.Run.Date = time.Date(2024, 5, 6, 7, 8, 9, 123_456_789, time.FixedZone("", 2*3600))
	f.Run.Commit, f.Run.Branch, f.Run.Repository = "0123456789abcdef0123456789abcdef01234567", "feature/ü", "https://example.org/a.git"
	f.Run.Machine = "build 7"
	f.Run.Attributes = map[string]string{"jdk": "21", "empty": "", "odd 'key'": `"value"; --`}
	f.Source = []byte{0, 1, 2, 0xff, '\'', 0}
	bare := File("g", "c", "no date", profile.CPUSamples, "A")
	bare.Run.Date = time.Time{}
	bare.Source = []byte{}
	old := File("g", "c", "old", profile.CPUSamples, "B")
	old.Run.Date = time.Date(1969, 7, 20, 20, 17, 40, 0, time.UTC)
	old.Records[0].Profiler, old.Records[0].ProfilerVersion, old.Records[0].Duration = "", "", 0
	l.put(f, bare, old)
	for _, p := range l.profiles(store.Query{}) {
		if zone := p.Run.Date.Location(); !p.Run.Date.IsZero() && zone != time.UTC {
			l.t.Errorf("the date of run %s is in %v, want UTC", p.Run.Key, zone)
		}
	}
	if list := l.profiles(store.Query{Runs: []string{"no date"}}); len(list) != 1 || !list[0].Run.Date.IsZero() {
		l.t.Errorf("a run without a date came back as %+v", list)
	}
	l.check()
	l.reopen()
	l.check()
}

// testValues puts values at the limits.
func testValues(l *lab) {
	im := NewImporter()
	put := func(benchmark string, samples ...Sample) {
		f := newFile("values", benchmark, "r1")
		im.AddSamples(f, profile.CPUSamples, samples...)
		l.put(f)
	}
	put("huge", Sample{[]string{"A", "B"}, math.MaxInt64 - 1}, Sample{[]string{"A"}, 1})
	put("hugely negative", Sample{[]string{"A", "B"}, -math.MaxInt64 + 1}, Sample{[]string{"C"}, -1})
	put("half", Sample{[]string{"A", "B"}, math.MaxInt64/2 + 1})
	put("negative", Sample{[]string{"A", "B"}, -3}, Sample{[]string{"A", "C"}, 5}, Sample{[]string{"A"}, -7})
	put("cancelled", Sample{[]string{"A", "B"}, 5}, Sample{[]string{"A"}, -5}, Sample{[]string{"D"}, 1}, Sample{[]string{"D", "A"}, 2})
	put("cancelled all", Sample{[]string{"E", "F"}, 1}, Sample{[]string{"E", "G"}, -1})
	put("empty")
	nothing := newFile("values", "no forest", "r1")
	nothing.Records = []*store.Record{{Type: TypeOf(profile.CPUSamples)}}
	l.put(nothing)
	put("roots", Sample{[]string{"Z"}, 1}, Sample{[]string{"Y"}, 2}, Sample{[]string{"X"}, 3})
	put("recursion", Sample{strings.Split("ABABBAC", ""), 1}, Sample{strings.Split("BAB", ""), 10}, Sample{strings.Split("AAAA", ""), 100})
	all := l.profiles(store.Query{})
	l.checkProfiles()
	l.checkInfo()
	l.checkFunctionNames()
	l.checkFunctions(store.Query{}, nil, all)
	l.checkTrees(store.Query{}, store.TreeOptions{}, all)
	for _, p := range all {
		l.checkSelection(store.Query{Profiles: []store.ProfileID{p.ID}}, all)
	}
	// Two halves and a little do not add.
	l.checkMerge(store.Query{Benchmarks: []string{"h*"}}, (&store.Query{Benchmarks: []string{"h*"}}).Filter(all))
	l.reopen()
	l.checkFunctions(store.Query{}, nil, all)
}

// testNames puts unusual function names.
func testNames(l *lab) {
	long := strings.Repeat("x", 3999)
	names := []string{
		"a", "B", "é", "e\u0301", "日本.語", "🌲", `"quoted"`, `it's`, `'; drop table functions; --`, "two\nlines", "tab\tand\rreturn", `back\slash\`,
		"{a:1}", "[kernel]", "$1", "%s", "a;b", "a,b", " leading", "trailing ", "*", "?",
		"bell\u0007", long + "y", long + "z", "java.util.List<java.lang.String>.add(Object)", "operator<<",
	}
	im := NewImporter()
	f := newFile("names 'and\n\"groups", "Größe/名=1 ;\"'", "run\n1")
	f.Name = "dir with\nnewline/it's.pb"
	var samples []Sample
	for i, name := range names {
		samples = append(samples, Sample{[]string{"main", name, names[(i+1)%len(names)]}, int64(i + 1)})
	}
	im.AddSamples(f, profile.CPUSamples, samples...)
	f.Metrics = append(f.Metrics, Metric("größe\n'\"", 1))
	l.put(f)
	l.check()
	l.checkFunctions(store.Query{}, names, l.profiles(store.Query{}))
	l.reopen()
	l.check()
}

// testDeep puts a path of 10,000 frames: no engine may recurse on the depth.
func testDeep(l *lab) {
	const depth = 10_000
	im := NewImporter()
	parent := calltree.NoNode
	for d := range depth {
		parent = im.Forest.Path(parent, im.Forest.Function(profile.Function{Name: fmt.Sprintf("f%d", d%(depth/4))}))
	}
	f := newFile("deep", "b", "r1")
	f.Records = []*store.Record{{
		Type: TypeOf(profile.CPUSamples), Samples: 1, Hash: profile.Hash{1},
		Forest: im.Forest.Snapshot(),
		Self:   calltree.Vector{Nodes: []int32{0, parent}, Self: []int64{2, 3}},
	}}
	opts := store.PutOptions{Rules: Rules}
	if out, err := l.s.Put(l.ctx, []*store.File{f}, opts); err != nil || out[0].Err != nil {
		l.t.Fatalf("Put: %v, %v", out, err)
	}
	if p := l.only(); p.Nodes != depth || p.Sum != 5 {
		l.t.Errorf("the profile has %d nodes and the sum %d", p.Nodes, p.Sum)
	}
	tree, _, err := store.MergeTrees(l.ctx, l.s, store.Query{})
	l.ok(err)
	last := int32(tree.Len() - 1)
	if tree.Len() != depth || tree.Depth[last] != depth-1 || tree.Self[last] != 3 || tree.Total[0] != 5 || tree.Self[0] != 2 {
		l.t.Errorf("the tree has %d nodes, the last at depth %d", tree.Len(), tree.Depth[last])
	}
	set, err := l.s.Functions(l.ctx, store.Query{}, nil)
	l.ok(err)
	list := l.readFunctions(set)[l.only().ID]
	if len(list) != depth/4 || list["f0"] != (numbers{2, 5}) || list["f2499"] != (numbers{3, 3}) || list["f7"] != (numbers{0, 3}) {
		l.t.Errorf("%d functions, f0 %v, f7 %v, f2499 %v", len(list), list["f0"], list["f7"], list["f2499"])
	}
}
