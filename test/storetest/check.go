package storetest

import (
	"cmp"
	"maps"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// check compares the results of all queries with the model's.
func (l *lab) check() {
	l.t.Helper()
	all := l.checkProfiles()
	l.checkInfo()
	l.checkFunctionNames()
	l.checkSelection(store.Query{}, all)
	l.checkRawNames()
	l.checkSources(all)
	l.checkWaiting()
}

// checkWaiting compares the metrics without a profile.
func (l *lab) checkWaiting() {
	l.t.Helper()
	list, err := l.s.Waiting(l.ctx)
	if err != nil {
		l.t.Fatalf("Waiting: %v", err)
	}
	byName := func(a, b testrun.Metric) int { return cmp.Compare(a.Name, b.Name) }
	got := map[pair]store.Measurement{}
	for _, m := range list {
		slices.SortFunc(m.Metrics, byName)
		got[pair{m.Benchmark, m.Run.Key}] = m
	}
	want := map[pair]store.Measurement{}
	pairs, _ := l.m.used()
	for at, metrics := range l.m.metrics {
		if !pairs[at] {
			want[at] = store.Measurement{Benchmark: at.benchmark, Run: l.m.runs[at.run],
				Metrics: slices.SortedFunc(maps.Values(metrics), byName)}
		}
	}
	l.same("Waiting", got, want)
	if len(got) != len(list) {
		l.t.Errorf("Waiting lists %d, of %d benchmarks and runs", len(list), len(got))
	}
}

// checkSelection compares the results of all methods with a Query. All is the listing of the whole store.
func (l *lab) checkSelection(q store.Query, all []store.Profile) {
	l.t.Helper()
	want := q.Filter(all)
	l.same("Profiles("+q.String()+")", l.profiles(q), want)
	l.checkFunctions(q, nil, want)
	l.checkTrees(q, store.TreeOptions{}, want)
	l.checkTrees(q, store.TreeOptions{Modes: true}, want)
	l.checkAnswers(q, want)
}

// checkProfiles compares the listing and returns it.
func (l *lab) checkProfiles() []store.Profile {
	l.t.Helper()
	all := l.profiles(store.Query{})
	l.same("the order of Profiles", ids(all), ids(new(store.Query).Filter(all)))
	got, want := map[store.ProfileID]store.Profile{}, map[store.ProfileID]store.Profile{}
	seqs := map[int64]bool{}
	for _, p := range all {
		if seqs[p.Seq] {
			l.t.Errorf("Seq %d occurs twice", p.Seq)
		}
		seqs[p.Seq] = true
		got[p.ID] = fixedFields(p, l.m.profiles[p.ID])
	}
	if len(got) != len(all) {
		l.t.Errorf("Profiles lists %d profiles with %d ids", len(all), len(got))
	}
	for id, p := range l.m.profiles {
		want[id] = fixedFields(l.m.describe(p), p)
	}
	l.same("Profiles", got, want)
	return all
}

// fixedFields returns a description without fields that engines may choose.
func fixedFields(p store.Profile, m *modelProfile) store.Profile {
	p.Seq = 0
	if m != nil && m.added {
		p.File, p.Duration, p.HasSource = "", 0, false
	}
	return p
}

func ids(list []store.Profile) []store.ProfileID {
	ids := make([]store.ProfileID, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	return ids
}

func (l *lab) checkInfo() {
	l.t.Helper()
	got, err := l.s.Info(l.ctx)
	if err != nil {
		l.t.Fatalf("Info: %v", err)
	}
	if got.Engine == "" {
		l.t.Error("Info names no engine")
	}
	if got.Bytes < 0 {
		l.t.Errorf("Info has %d bytes", got.Bytes)
	}
	if got.Rules != l.m.rules {
		l.t.Errorf("Info has the rules %q, want %q", got.Rules, l.m.rules)
	}
	if got.Profiles != int64(len(l.m.profiles)) {
		l.t.Errorf("Info counts %d profiles, want %d", got.Profiles, len(l.m.profiles))
	}
	if !l.m.waiting() {
		benchmarks := map[string]bool{}
		for _, p := range l.m.profiles {
			benchmarks[p.description.Benchmark.Group+sep+p.description.Benchmark.Name] = true
		}
		if got.Runs != int64(len(l.m.runs)) || got.Benchmarks != int64(len(benchmarks)) {
			l.t.Errorf("Info counts %d runs and %d benchmarks, want %d and %d", got.Runs, got.Benchmarks, len(l.m.runs), len(benchmarks))
		}
	}
	nodes := map[string]int64{}
	for _, p := range l.m.profiles {
		maps.Copy(nodes, totals(p.self))
	}
	functions, paths := int64(len(l.m.functionNames())), int64(len(nodes))
	if got.Functions < functions || got.Paths < paths || !l.m.leftovers && (got.Functions > functions || got.Paths > paths) {
		l.t.Errorf("Info counts %d functions and %d paths, the profiles have %d and %d", got.Functions, got.Paths, functions, paths)
	}
}

func (l *lab) checkFunctionNames() {
	l.t.Helper()
	list, err := l.s.FunctionNames(l.ctx)
	if err != nil {
		l.t.Fatalf("FunctionNames: %v", err)
	}
	l.checkOrder("FunctionNames", list)
	want, got := l.m.functionNames(), map[string]bool{}
	for _, fn := range list {
		if !l.m.leftovers || want[fn.Name] {
			got[fn.Name] = true
			l.checkAttributes("FunctionNames", fn)
		}
	}
	l.same("FunctionNames", got, want)
}

// checkOrder requires strictly ascending names.
func (l *lab) checkOrder(what string, list []profile.Function) {
	l.t.Helper()
	for i := 1; i < len(list); i++ {
		if list[i-1].Name >= list[i].Name {
			l.t.Errorf("%s: %q comes before %q", what, list[i-1].Name, list[i].Name)
		}
	}
}

func (l *lab) checkAttributes(what string, fn profile.Function) {
	l.t.Helper()
	if want, ok := l.m.attributes[fn.Name]; ok && fn != want {
		l.t.Errorf("%s: function %+v, want %+v", what, fn, want)
	}
}

// checkFunctions compares the rows of the selection want, of all functions (nil)
// or of those named.
func (l *lab) checkFunctions(q store.Query, names []string, want []store.Profile) {
	l.t.Helper()
	set, err := l.s.Functions(l.ctx, q, names)
	if err != nil {
		l.t.Fatalf("Functions(%s): %v", q.String(), err)
	}
	l.same("Functions: profiles of "+q.String(), set.Profiles, want)
	l.checkOrder("Functions", set.Functions)
	got := l.readFunctions(set)
	expected := map[store.ProfileID]map[string]numbers{}
	for _, p := range want {
		m, err := l.m.find(p.ID)
		if err != nil {
			l.t.Error(err)
			continue
		}
		list := m.functions()
		if names != nil {
			maps.DeleteFunc(list, func(name string, _ numbers) bool { return !slices.Contains(names, name) })
		}
		if len(list) > 0 {
			expected[p.ID] = list
		}
	}
	l.same("Functions of "+q.String(), got, expected)
}

// readFunctions reads the stream of a set into maps.
func (l *lab) readFunctions(set *store.FunctionSet) map[store.ProfileID]map[string]numbers {
	l.t.Helper()
	got := map[store.ProfileID]map[string]numbers{}
	attributed := map[int32]bool{}
	for rows, err := range set.Rows {
		if err != nil {
			l.t.Fatalf("Functions: %v", err)
		}
		if n := len(rows.Profile); len(rows.Function) != n || len(rows.Self) != n || len(rows.Total) != n {
			l.t.Fatalf("Functions: a chunk with columns of %d, %d, %d and %d rows", n, len(rows.Function), len(rows.Self), len(rows.Total))
		}
		for i, fn := range rows.Function {
			id, f := set.Profiles[rows.Profile[i]].ID, set.Functions[fn]
			if got[id] == nil {
				got[id] = map[string]numbers{}
			}
			if _, twice := got[id][f.Name]; twice {
				l.t.Errorf("Functions: %q occurs twice in profile %s", f.Name, id)
			}
			got[id][f.Name] = numbers{rows.Self[i], rows.Total[i]}
			if !attributed[fn] {
				attributed[fn] = true
				l.checkAttributes("Functions", f)
			}
		}
	}
	return got
}

// values are the self values of a profile by path, in one mode or (0) in all.
type values map[profile.FrameType]map[string]int64

// checkTrees compares the trees of the selection want.
func (l *lab) checkTrees(q store.Query, opts store.TreeOptions, want []store.Profile) {
	l.t.Helper()
	set, err := l.s.Trees(l.ctx, q, opts)
	if err != nil {
		l.t.Fatalf("Trees(%s): %v", q.String(), err)
	}
	l.same("Trees: profiles of "+q.String(), set.Profiles, want)
	if err := set.Table.Check(); err != nil {
		l.t.Fatalf("Trees(%s): %v", q.String(), err)
	}
	l.checkOrder("Trees", set.Table.Functions)
	paths := tablePaths(set.Table)
	got := l.readTrees(set, paths)

	expected := map[store.ProfileID]values{}
	nodes := map[string]bool{}
	for _, p := range want {
		m, err := l.m.find(p.ID)
		if err != nil {
			l.t.Error(err)
			continue
		}
		for path := range totals(m.self) {
			nodes[path] = true
		}
		expected[p.ID] = values{0: m.self}
		if opts.Modes {
			for mode, part := range m.modes {
				if len(part) > 0 {
					expected[p.ID][mode] = part
				}
			}
		}
	}
	l.same("Trees of "+q.String(), got, expected)
	have := map[string]bool{}
	for _, path := range paths {
		have[path] = true
	}
	l.same("the table of Trees of "+q.String(), have, nodes)
	for _, fn := range usedInTable(set.Table) {
		l.checkAttributes("Trees", fn)
	}
}

// readTrees reads the stream of a set into maps.
func (l *lab) readTrees(set *store.TreeSet, paths []string) map[store.ProfileID]values {
	l.t.Helper()
	got := map[store.ProfileID]values{}
	next := 0
	for v, err := range set.Vectors {
		if err != nil {
			l.t.Fatalf("Trees: %v", err)
		}
		if v.Profile != next {
			l.t.Fatalf("Trees: vector of profile %d, want %d", v.Profile, next)
		}
		next++
		of := values{0: l.spell(v.Vector, paths)}
		for _, mode := range v.Modes {
			if of[mode.Mode] != nil {
				l.t.Errorf("Trees: mode %s occurs twice", mode.Mode)
			}
			of[mode.Mode] = l.spell(mode.Vector, paths)
		}
		got[set.Profiles[v.Profile].ID] = of
	}
	if next != len(set.Profiles) {
		l.t.Fatalf("Trees: %d vectors for %d profiles", next, len(set.Profiles))
	}
	return got
}

// spell returns the values of a vector by path and checks the vector.
func (l *lab) spell(v calltree.Vector, paths []string) map[string]int64 {
	l.t.Helper()
	if len(v.Nodes) != len(v.Self) {
		l.t.Fatalf("a vector of %d nodes and %d values", len(v.Nodes), len(v.Self))
	}
	self := make(map[string]int64, len(v.Nodes))
	for i, n := range v.Nodes {
		if _, twice := self[paths[n]]; twice || v.Self[i] == 0 {
			l.t.Errorf("a vector has node %d twice, or with value 0", n)
		}
		self[paths[n]] = v.Self[i]
	}
	return self
}

// tablePaths spells out the path of every node.
func tablePaths(t *calltree.Table) []string {
	paths := make([]string, t.Len())
	for n, p := range t.Parent {
		paths[n] = t.Name(int32(n))
		if p != calltree.NoNode {
			paths[n] = paths[p] + sep + paths[n]
		}
	}
	return paths
}

func usedInTable(t *calltree.Table) []profile.Function {
	used := make([]bool, len(t.Functions))
	for _, fn := range t.Func {
		used[fn] = true
	}
	var list []profile.Function
	for fn, ok := range used {
		if ok {
			list = append(list, t.Functions[fn])
		}
	}
	return list
}

// checkRawNames compares the raw names of every function, by group.
func (l *lab) checkRawNames() {
	l.t.Helper()
	names := slices.Sorted(maps.Keys(l.m.functionNames()))
	groups := map[string]bool{"": true, "no such group": true}
	for _, p := range l.m.profiles {
		groups[p.description.Benchmark.Group] = true
	}
	for group := range groups {
		got, err := l.s.RawNames(l.ctx, group, append(names, "no such function"))
		if err != nil {
			l.t.Fatalf("RawNames: %v", err)
		}
		for name, raw := range got {
			if !l.isRawName(group, name, raw) {
				l.t.Errorf("RawNames(%q): %q was %q, which no profile has", group, name, raw)
			}
		}
		for _, name := range names {
			if len(l.m.raw[name]) > 0 && got[name] == "" {
				l.t.Errorf("RawNames(%q) has none for %q", group, name)
			}
		}
	}
}

// isRawName reports whether a profile of the group, or of any group if the
// group has none, had the function under the raw name. If profiles were removed
// since, any group is accepted.
func (l *lab) isRawName(group, name, raw string) bool {
	byGroup := l.m.raw[name]
	if own := byGroup[group]; group != "" && len(own) > 0 && len(byGroup) <= fewGroups && !l.m.forgot {
		return own[raw]
	}
	for _, set := range byGroup {
		if set[raw] {
			return true
		}
	}
	return false
}

// fewGroups is for how many groups an engine keeps a raw name of a function at
// least.
const fewGroups = 4

func (l *lab) checkSources(all []store.Profile) {
	l.t.Helper()
	for _, p := range all {
		m := l.m.profiles[p.ID]
		if m == nil || m.added {
			continue
		}
		got, err := l.s.Source(l.ctx, p.ID)
		switch {
		case m.source == nil && !isNoSource(err):
			l.t.Errorf("Source of a profile without: %v, want ErrNoSource", err)
		case m.source != nil && err != nil:
			l.t.Errorf("Source: %v", err)
		case m.source != nil:
			l.same("Source", string(got), string(m.source))
		}
	}
}
