package public

import (
	"os"
	"testing"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/detection"
)

// TestConservation: of all recorded pairs, and of their single runs and controls, the amounts of
// findings are consistent.
func TestConservation(t *testing.T) {
	pairs, err := Load(t.Context(), os.DirFS("testdata"))
	if err != nil {
		t.Fatal(err)
	}
	compared, found := 0, 0
	for _, p := range pairs {
		for _, side := range [][]store.Profile{p.Head, p.Control} {
			keys := detection.RunsOf(side)
			for i := range keys {
				for k := i + 1; k <= len(keys); k++ {
					o, err := p.Measure(t.Context(), p.Base, ofRuns(side, keys[i:k]...))
					if err != nil {
						t.Fatal(err)
					}
					compared++
					for b := range o.Result.Benchmarks {
						wrong, findings, err := detection.Conservation(t.Context(), p.Store, &o.Result.Benchmarks[b])
						if err != nil {
							t.Fatal(err)
						}
						for _, text := range wrong {
							t.Errorf("%s, %v: %s", p.Name, keys[i:k], text)
						}
						found += min(findings, 1)
					}
				}
			}
		}
	}
	if compared < 100 || found < 30 {
		t.Errorf("%d comparisons, %d with findings: too few to prove anything", compared, found)
	}
	t.Logf("%d comparisons, %d benchmarks with findings", compared, found)
}
