package regression_test

import (
	"testing"
	"time"

	"github.com/dendroprof/dendro/analysis/regression"
)

// TestAcknowledgeAsShown accepts a finding by the name that people read: that of the
// user's own function, in which the changed function is.
func TestAcknowledgeAsShown(t *testing.T) {
	for glob, want := range map[string]bool{"*label*": true, "(anonymous)*": true, "*receipt*": false} {
		list := []regression.Finding{{Group: "node", Benchmark: "bench", Function: "(anonymous) (shop.js)",
			Headline: &regression.Headline{Function: "label (shop.js)", Own: true}}}
		regression.Acknowledge(list, []regression.Acknowledgement{{Function: glob}}, time.Time{})
		if got := list[0].Acknowledged != nil; got != want {
			t.Errorf("%s: accepted %t", glob, got)
		}
	}
	library := []regression.Finding{{Function: "parse", Headline: &regression.Headline{Function: "JSON.parse"}}}
	if regression.Acknowledge(library, []regression.Acknowledgement{{Function: "JSON*"}}, time.Time{}); library[0].Acknowledged != nil {
		t.Error("a headline that is not the user's own code was accepted")
	}
}
