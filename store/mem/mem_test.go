package mem_test

import (
	"testing"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/store/storetest"
)

var engine = storetest.Engine{Open: func(testing.TB) store.Store { return mem.New() }}

func TestStore(t *testing.T) { storetest.Run(t, engine) }

func TestHistory(t *testing.T) {
	for seed := range uint64(25) {
		storetest.History(t, seed, engine)
	}
}

func BenchmarkStore(b *testing.B) { storetest.Benchmark(b, engine) }
