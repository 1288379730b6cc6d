package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/calltree/callpath"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
)

// pattern parses a pattern of a test.
func pattern(text string) *callpath.Pattern {
	p, err := callpath.Parse(text)
	if err != nil {
		panic(err)
	}
	return p
}

// TestFind looks for functions and call paths in the store of stocked.
func TestFind(t *testing.T) {
	s := stocked(t)
	for _, test := range []struct {
		pattern string
		want    string // "benchmark run: function self/total", sorted
	}{
		{"A", "a r1: A 1/1, a r2: A 7/7, a r3: A 2/2, b r1: A 5/5, b r2: A 7/7"},
		{"[BC]", ""},
		{"/[BC]/", "a r1: B 3/3, a r2: B 1/1, a r3: C 8/8, b r2: B 1/1"},
		{"ma*", "a r1: main 0/4, a r2: main 0/8, a r3: main 0/10"},
		{"none", ""},
		{"main;A", "a r1: main;A 1/1, a r2: main;A 6/7, a r3: main;A 2/2"},
		{"A;A", "a r2: A;A 1/1"},
		{"main;**;A", "a r1: main;**;A 1/1, a r2: main;**;A 7/7, a r3: main;**;A 2/2"},
		{"^;A", "b r1: ^;A 5/5, b r2: ^;A 7/7"},
		{"main;B;$", "a r1: main;B;$ 3/3, a r2: main;B;$ 1/1"},
	} {
		found, err := store.Find(ctx, s, store.Query{}, pattern(test.pattern), true)
		if err != nil {
			t.Errorf("%s: %v", test.pattern, err)
			continue
		}
		if len(found.Profiles) != 5 {
			t.Errorf("%s: %d profiles, want the whole selection", test.pattern, len(found.Profiles))
		}
		var rows []string
		for i, r := range found.Rows {
			if i > 0 && found.Rows[i-1].Profile > r.Profile {
				t.Errorf("%s: rows are out of order", test.pattern)
			}
			p := found.Profiles[r.Profile]
			rows = append(rows, fmt.Sprintf("%s %s: %s %d/%d", p.Benchmark.Name, p.Run.Key, r.Function, r.Self, r.Total))
		}
		slices.Sort(rows)
		if got := strings.Join(rows, ", "); got != test.want {
			t.Errorf("%s: %s\nwant %s", test.pattern, got, test.want)
		}
	}
}

func TestFindErrors(t *testing.T) {
	s := stocked(t)
	for _, text := range []string{"A", "A;B"} {
		if _, err := store.Find(ctx, s, store.Query{Groups: []string{"none"}}, pattern(text), false); !errors.Is(err, store.ErrNothing) {
			t.Errorf("Find %s in nothing: %v", text, err)
		}
	}
	put(t, s, storetest.File("g", "a", "r1", profile.Alloc, "A"))
	var several *store.SeveralTypesError
	for _, text := range []string{"A", "A;B"} {
		if _, err := store.Find(ctx, s, store.Query{}, pattern(text), false); !errors.As(err, &several) {
			t.Errorf("Find %s in several types: %v", text, err)
		}
	}
}

// TestFindCountsASampleOnce: a pattern of one piece that matches several
// functions of a stack counts the sample once, unless a row per function is
// requested.
func TestFindCountsASampleOnce(t *testing.T) {
	ctx := context.Background()
	s := mem.New()
	im := storetest.NewImporter()
	if _, err := s.Put(ctx, []*store.File{im.File("g", "a", "r1", profile.CPUSamples, "re.A  X\nre.B")},
		store.PutOptions{Rules: "1"}); err != nil {
		t.Fatal(err)
	}
	once, err := store.Find(ctx, s, store.Query{}, pattern("re.*"), false)
	if err != nil || len(once.Rows) != 1 || once.Rows[0].Total != 1 || once.Rows[0].Self != 1 {
		t.Errorf("Find: %+v, %v", once.Rows, err)
	}
	each, err := store.Find(ctx, s, store.Query{}, pattern("re.*"), true)
	if err != nil || len(each.Rows) != 2 {
		t.Errorf("each: %+v, %v", each.Rows, err)
	}
}
