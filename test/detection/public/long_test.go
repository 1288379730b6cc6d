package public

import (
	"os"
	"testing"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/detection"
)

// TestLongHistory judges bumps of Python and Node.js against 16 runs of the base: each run of the head
// alone, and each two in succession, must show the change in its place; no control may.
func TestLongHistory(t *testing.T) {
	pairs, err := Load(t.Context(), os.DirFS("testdata"))
	if err != nil {
		t.Fatal(err)
	}
	const long = 16
	measured := 0
	for _, p := range pairs {
		if len(detection.RunsOf(p.Base)) < long {
			continue
		}
		measured++
		var singles, twos, found, failed, placed, sized, holds, beside, controls, wrong int
		for _, side := range [][]store.Profile{p.Head, p.Control} {
			keys := detection.RunsOf(side)
			for i := range keys {
				for n := 1; n <= 2 && i+n <= len(keys); n++ {
					o, err := p.Measure(t.Context(), p.Base, ofRuns(side, keys[i:i+n]...))
					if err != nil {
						t.Fatal(p.Name, err)
					}
					if &side[0] == &p.Control[0] {
						controls++
						wrong += count(o.Found || o.Beside > 0)
						continue
					}
					if n == 1 {
						singles++
					} else {
						twos++
						failed += count(o.Failed)
					}
					found += count(o.Found)
					placed += count(o.HeadlineOK && o.PlaceOK)
					sized += count(p.Sized(o))
					holds += count(p.Holds(o))
					beside += count(o.Beside > 0)
				}
			}
		}
		all := singles + twos
		t.Logf("%s: of %d: found %d, in place %d, sized %d, interval holds %d, beside %d; gate of two runs %d of %d; controls %d of %d", p.Name, all,
			found, placed, sized, holds, beside, failed, twos, wrong, controls)
		if 20*found < 19*all || 10*sized < 9*all || beside > 0 || wrong > 0 {
			t.Errorf("%s: too few are found", p.Name)
		}
		if 20*placed < 19*all || 10*holds < 9*all || 10*failed < 9*twos {
			t.Errorf("%s: too few are right", p.Name)
		}
	}
	if measured < 2 {
		t.Errorf("%d pairs have %d runs", measured, long)
	}
}
