package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/store/storetest"
)

func TestCopy(t *testing.T) {
	ctx := context.Background()
	src, same, renamed := mem.New(), mem.New(), mem.New()
	im := storetest.NewImporter()
	a := im.File("g", "a", "r1", profile.CPUSamples, "A  A\nB1  B2")
	a.Metrics = append(a.Metrics, storetest.Metric("time", 3))
	a.Source = []byte("original")
	for _, f := range []*store.File{a, im.File("g", "b", "r2", profile.CPUSamples, "A\nC")} {
		if _, err := src.Put(ctx, []*store.File{f}, store.PutOptions{Rules: "1"}); err != nil {
			t.Fatal(err)
		}
	}
	drop := func(f profile.Function) profile.Function {
		f.Name = strings.TrimRight(f.Name, "12")
		return f
	}
	if err := store.Copy(ctx, same, src, nil, "1"); err != nil {
		t.Fatal(err)
	}
	if err := store.Copy(ctx, renamed, src, drop, "2"); err != nil {
		t.Fatal(err)
	}
	want, _ := src.Profiles(ctx, store.Query{})
	for _, dst := range []store.Store{same, renamed} {
		got, err := dst.Profiles(ctx, store.Query{})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, cmpopts.IgnoreFields(store.Profile{}, "Seq", "Nodes")); d != "" {
			t.Error(d)
		}
		if data, err := dst.Source(ctx, got[0].ID); err != nil || string(data) != "original" {
			t.Errorf("source %q, %v", data, err)
		}
	}
	paths := func(st store.Store) map[string]int64 {
		tree, _, err := store.MergeTrees(ctx, st, store.Query{})
		if err != nil {
			t.Fatal(err)
		}
		m := map[string]int64{}
		for n := range tree.Self {
			m[strings.Join(tree.Path(int32(n)), ";")] = tree.Self[n]
		}
		return m
	}
	if d := cmp.Diff(paths(src), paths(same)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]int64{"A": 0, "A;B": 2, "A;C": 1}, paths(renamed)); d != "" {
		t.Error(d)
	}
	raw, err := renamed.RawNames(ctx, "g", []string{"B"})
	if err != nil || raw["B"] != "B1" && raw["B"] != "B2" {
		t.Errorf("raw names %v, %v", raw, err)
	}
	if info, _ := renamed.Info(ctx); info.Rules != "2" {
		t.Errorf("rules %q", info.Rules)
	}
}
