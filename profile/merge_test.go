package profile_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/proftest"
)

// drawn adds a profile that a drawing shows to s.
func drawn(s *profile.Symbols, drawing string) *profile.Profile {
	p := profile.New(s)
	p.Tables = []profile.Samples{{Type: profile.ValueType{Name: profile.CPUSamples, Unit: "count"}}}
	proftest.AddColumns(p, 0, drawing)
	return p
}

// sum merges profiles over one Symbols.
func sum(t interface{ Fatalf(string, ...any) }, types []string, profiles ...*profile.Profile) *profile.Profile {
	m := profile.NewMerger(profiles[0].Symbols, types)
	for _, p := range profiles {
		if err := m.Add(p); err != nil {
			t.Fatalf("%v", err)
		}
	}
	p, err := m.Profile()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return p
}

func TestMergerAddsEqualStacks(t *testing.T) {
	s := profile.NewSymbols()
	p := sum(t, nil, drawn(s, `
		×1  ×2  ×5  ×3
		A   A   B   ·
		    C
	`), drawn(s, `
		×10  ×-5  ×1
		A    B    D
		C
	`))
	want := proftest.Trim(`
		- A (total: 13, self: 1)
		  - C (total: 12, self: 12)
		- D (total: 1, self: 1)
	`)
	if diff := cmp.Diff(want, proftest.Draw(calltree.FromProfile(p, 0))); diff != "" {
		t.Error(diff)
	}
	// B cancelled and is left out; what has no stack keeps its place.
	if s := &p.Tables[0]; s.Len() != 4 || s.Stack[0] != profile.NoStack || s.Value[0] != 3 || s.Thread != nil || s.Labels != nil {
		t.Errorf("%+v", s)
	}
}

func TestMergerKeepsThreadsAndLabelsApart(t *testing.T) {
	a, b := full(), full()
	b.Symbols, b.Tables[0].Stack = a.Symbols, a.Tables[0].Stack
	// The same thread and labels under other ids.
	b.Threads = []profile.Thread{{}, {Name: "other"}, a.Threads[1]}
	b.LabelSets = [][]profile.Label{nil, {{Key: "tenant", Text: "other"}}, a.LabelSets[1]}
	b.Tables[0].Thread, b.Tables[0].Labels = []profile.ThreadID{2, 1}, []profile.LabelsID{2, 1}
	got := sum(t, nil, a, b)
	table := &got.Tables[0]
	if diff := cmp.Diff([]int64{4, 4, 6}, slices.Sorted(slices.Values(table.Value))); diff != "" {
		t.Errorf("3 + 3 of the same, 4 and 4 of others: %s", diff)
	}
	for i, v := range table.Value {
		if v == 6 && (got.Threads[table.Thread[i]] != a.Threads[1] || !slices.Equal(got.LabelSets[table.Labels[i]], a.LabelSets[1])) {
			t.Errorf("the sum is on thread %+v", got.Threads[table.Thread[i]])
		}
	}
	if table.Time != nil || table.State != nil || table.Address != nil {
		t.Error("times, states and addresses do not add")
	}
}

func TestMergerDescribes(t *testing.T) {
	s := profile.NewSymbols()
	day := time.Date(2024, 5, 17, 0, 0, 0, 0, time.UTC)
	a, b, c := drawn(s, "A"), drawn(s, "A"), drawn(s, "A")
	a.Comments, b.Comments = []string{"x"}, []string{"y", "x"}
	b.Start, b.Duration = day, time.Second
	c.Start, c.Duration = day.Add(-time.Hour), time.Minute
	p := sum(t, nil, a, b, c)
	if !p.Start.Equal(c.Start) || p.Duration != time.Minute+time.Second {
		t.Errorf("start %v, %v: want the earliest and the sum", p.Start, p.Duration)
	}
	if diff := cmp.Diff([]string{"x", "y"}, p.Comments); diff != "" {
		t.Error(diff)
	}
}

func TestMergerTypes(t *testing.T) {
	s := profile.NewSymbols()
	with := func(types ...profile.ValueType) *profile.Profile {
		p := profile.New(s)
		for _, typ := range types {
			table := profile.Samples{Type: typ}
			table.Add(proftest.Stack(s, "A"), 1)
			p.Tables = append(p.Tables, table)
		}
		return p
	}
	cpu, alloc, slow := profile.NamedType("cpu"), profile.NamedType("alloc"), profile.ValueType{Name: "cpu", Unit: "nanoseconds", Period: 7}
	first := with(alloc, cpu)
	first.Default = 1
	p := sum(t, nil, first, with(cpu))
	if len(p.Tables) != 2 || p.Tables[p.Default].Type != cpu || p.Tables[p.Default].Total() != 2 {
		t.Errorf("%+v", p.Tables)
	}
	if p := sum(t, []string{"alloc"}, first, with(alloc)); len(p.Tables) != 1 || p.Tables[0].Total() != 2 || p.Default != 0 {
		t.Errorf("%+v", p.Tables)
	}
	m := profile.NewMerger(s, []string{"lock"})
	if err := m.Add(first); err == nil || err.Error() != `value types ["alloc" "cpu"] include none of the selected ones` {
		t.Error(err)
	}
	m = profile.NewMerger(s, nil)
	if err := errors.Join(m.Add(with(cpu)), m.Add(with(slow))); err != nil {
		t.Fatal(err)
	}
	if p, err := m.Profile(); err != nil || len(p.Tables) != 1 || p.Tables[0].Total() != 2 || p.Tables[0].Type != cpu || p.Warnings != nil {
		t.Errorf("times of two periods: %+v, %v", p, err)
	}
	count := profile.ValueType{Name: "cpu-samples", Unit: "count", Period: 10}
	other := count
	other.Period = 1
	m = profile.NewMerger(s, nil)
	if err := errors.Join(m.Add(with(count, cpu)), m.Add(with(other, slow))); err != nil {
		t.Fatal(err)
	}
	const why = "cpu-samples/count@10 and cpu-samples/count@1 do not add: unit, scale or period differ"
	if p, err := m.Profile(); err != nil || len(p.Tables) != 1 || p.Tables[0].Total() != 2 || len(p.Warnings) != 1 ||
		p.Warnings[0].Message != why+"; they are left out" {
		t.Errorf("counts of two periods beside times: %+v, %v", p, err)
	}
	m = profile.NewMerger(s, nil)
	if err := errors.Join(m.Add(with(count)), m.Add(with(other))); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Profile(); err == nil || err.Error() != why {
		t.Error(err)
	}
	if err := m.Add(profile.New(nil)); err == nil || !strings.Contains(err.Error(), "share their symbols") {
		t.Error(err)
	}
}

func TestMergerRefusesOverflowAndAddsNothing(t *testing.T) {
	s := profile.NewSymbols()
	of := func(name string, values ...int64) *profile.Profile {
		p := profile.New(s)
		for _, v := range values {
			table := profile.Samples{Type: profile.NamedType(name)}
			table.Add(proftest.Stack(s, "A"), v)
			p.Tables = append(p.Tables, table)
		}
		return p
	}
	m := profile.NewMerger(s, nil)
	if err := m.Add(of("cpu", 1<<62)); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*profile.Profile{
		"sum":                        of("cpu", 1<<62),
		"sizes":                      of("cpu", -1<<62),
		"one type in several tables": of("alloc", 1<<62, 1<<62, 1<<62, 1<<62),
		"largest":                    of("cpu", math.MaxInt64),
	} {
		if err := m.Add(p); !errors.Is(err, profile.ErrMalformed) || !strings.Contains(err.Error(), "exceeds 63 bits") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := m.Add(of("cpu", 1<<62-1)); err != nil {
		t.Errorf("the largest sum: %v", err)
	}
	p, err := m.Profile()
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Tables) != 1 || p.Tables[0].Total() != math.MaxInt64 {
		t.Errorf("what was refused left something behind: %+v", p.Tables)
	}
}

func TestMergerDoesNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := profile.NewSymbols()
		var profiles []*profile.Profile
		var trees []*calltree.Tree
		for range 3 {
			p := build(s, drawSamples(t))
			profiles = append(profiles, p)
			trees = append(trees, calltree.FromProfile(p, 0))
		}
		merged := sum(t, nil, profiles...)
		if other := sum(t, nil, rapid.Permutation(profiles).Draw(t, "order")...); other.Hash(0) != merged.Hash(0) {
			t.Fatal("another order gives other content")
		}
		want, err := calltree.Merge(trees...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := calltree.Merge(calltree.FromProfile(merged, 0))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(proftest.Draw(want), proftest.Draw(got)); diff != "" {
			t.Fatalf("merged trees (-) and the tree of merged samples (+):\n%s", diff)
		}
	})
}

func TestRename(t *testing.T) {
	p := full()
	if p.Rename(func(f profile.Function) profile.Function { return f }) != p {
		t.Error("renaming nothing copies the profile")
	}
	before := p.Hash(0)
	one := p.Rename(func(profile.Function) profile.Function { return profile.Function{Name: "all"} })
	if len(one.Symbols.Functions) != 1 || one.Tables[0].Len() != 2 || p.Hash(0) != before {
		t.Errorf("%d functions, %d samples", len(one.Symbols.Functions), one.Tables[0].Len())
	}
	if err := one.Check(); err != nil {
		t.Error(err)
	}
	null := proftest.Columns("·  A").Rename(func(profile.Function) profile.Function { return profile.Function{Name: "B"} })
	if null.Tables[0].Stack[0] != profile.NoStack {
		t.Error("a sample without a stack got one")
	}
}

// TestRenameKeepsCategories wants the categories of frames and markers to mean the
// same afterwards, and what is known of modules to stay.
func TestRenameKeepsCategories(t *testing.T) {
	p := profile.New(nil)
	p.Symbols.Category(profile.Category{Name: "Other", Color: "grey"})
	idle := profile.Category{Name: "Idle", Color: "transparent", Subcategory: "poll"}
	frame := profile.Frame{Function: p.Symbols.Function(profile.Function{Name: "A", Module: "m"}), Category: p.Symbols.Category(idle)}
	p.Tables = []profile.Samples{{Type: profile.NamedType(profile.CPUSamples)}}
	p.Tables[0].Add(p.Symbols.Stack(profile.NoStack, p.Symbols.Frame(frame)), 1)
	p.Markers = []profile.Marker{{Name: "GC", Category: frame.Category}}
	p.Symbols.Scripts["m"] = true
	q := p.Rename(func(f profile.Function) profile.Function { f.Name = "B"; return f })
	s := q.Symbols
	for _, id := range []profile.CategoryID{s.Frames[s.Leaf(q.Tables[0].Stack[0])].Category, q.Markers[0].Category} {
		if int(id) >= len(s.Categories) || s.Categories[id] != idle {
			t.Errorf("category %d of %+v, want %+v", id, s.Categories, idle)
		}
	}
	if !s.Scripts["m"] {
		t.Error("what the module is was forgotten")
	}
}

func TestNamedType(t *testing.T) {
	for name, unit := range map[string]string{
		"cpu": "nanoseconds", "wall": "nanoseconds", "lock": "nanoseconds", "alloc": "bytes", "live": "bytes", "malloc": "bytes",
		"trace": "milliseconds", "cpu-samples": "count", "lock-samples": "count", "cache-misses": "count",
	} {
		if got := profile.NamedType(name); got != (profile.ValueType{Name: name, Unit: unit}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
