package store_test

import (
	"errors"
	"math"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
	"github.com/dendroprof/dendro/testrun"
)

func TestFileCheck(t *testing.T) {
	file := func(change func(*store.File)) *store.File {
		f := storetest.NewImporter().File("g", "b", "r", profile.CPUSamples, "A\nB")
		if change != nil {
			change(f)
		}
		return f
	}
	values := func(self ...int64) func(*store.File) {
		return func(f *store.File) { f.Records[0].Self = calltree.Vector{Nodes: []int32{0, 1}[:len(self)], Self: self} }
	}
	if err := file(nil).Check(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*store.File)
		want   error // nil: any
	}{
		"no name of a metric": {func(f *store.File) { f.Metrics = []testrun.Metric{{}} }, nil},
		"a type twice":        {func(f *store.File) { f.Records = append(f.Records, f.Records[0]) }, store.ErrConflict},
		"no such path":        {func(f *store.File) { f.Records[0].Self = calltree.Vector{Nodes: []int32{9}, Self: []int64{1}} }, profile.ErrMalformed},
		"a path below none": {func(f *store.File) { f.Records[0].Self = calltree.Vector{Nodes: []int32{-1}, Self: []int64{1}} },
			profile.ErrMalformed},
		"no forest":           {func(f *store.File) { f.Records[0].Forest = nil }, profile.ErrMalformed},
		"paths without value": {func(f *store.File) { f.Records[0].Self.Self = nil }, profile.ErrMalformed},
		"64 bits":             {values(math.MaxInt64, -1), profile.ErrMalformed},
		"the least value":     {values(math.MinInt64), profile.ErrMalformed},
		"of a mode": {func(f *store.File) {
			f.Records[0].Modes = []store.ModeVector{{Vector: calltree.Vector{Nodes: []int32{9}, Self: []int64{1}}}}
		}, profile.ErrMalformed},
		"no UTF-8": {func(f *store.File) { f.Run.Key = "r\xff" }, profile.ErrMalformed},
	} {
		f := file(c.change)
		err := f.Check()
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		// The engine in memory asks it too.
		out, putErr := mem.New().Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: "1"})
		if putErr != nil || out[0].Err == nil {
			t.Errorf("%s: Put: %+v, %v", name, out, putErr)
		}
	}
	if err := file(values(math.MaxInt64)).Check(); err != nil {
		t.Errorf("the largest value: %v", err)
	}
}
