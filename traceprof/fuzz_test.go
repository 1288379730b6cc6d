package traceprof_test

import (
	"strings"
	"testing"

	"github.com/dendroprof/dendro/traceprof"
)

// FuzzSignatures makes frames of what an agent may send as a stack: one signature
// a line.
func FuzzSignatures(f *testing.F) {
	f.Add("java.lang.Thread.run:840\nshop.Cart.total:-1\nshop.Cart$$sw$auxiliary$8.call:-1\nshop.Cart.$sw$original$total$eq:105")
	f.Add("/srv/shop.py.checkout: 58\n<frozen runpy>._run: 1\n.: 3")
	f.Add("App.work$original$Cd34:21\n$original$\n.$sw$original$\n.$sw$original$$:1")
	f.Fuzz(func(t *testing.T, text string) {
		signatures := strings.Split(text, "\n")
		for _, language := range []traceprof.Language{traceprof.Dumps, traceprof.GoProfiles} {
			if got := frames(signatures, language); len(got) > len(signatures) {
				t.Errorf("%d frames of %d signatures: %q", len(got), len(signatures), got)
			}
		}
	})
}
