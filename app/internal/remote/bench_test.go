package remote_test

import (
	"testing"

	"github.com/dendroprof/dendro/test/storetest"
)

// BenchmarkStore measures what HTTP adds: compare it with the same of package mem.
func BenchmarkStore(b *testing.B) { storetest.Benchmark(b, ofMem()) }
