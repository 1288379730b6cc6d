package public

import (
	"os"
	"strings"
	"testing"
)

// TestPublic measures all pairs and requires the figures of the method.
func TestPublic(t *testing.T) {
	pairs, err := Load(t.Context(), os.DirFS("testdata"))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	f, err := Run(t.Context(), &text, pairs)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Checks() {
		if !c.OK {
			t.Errorf("%s: %.3f, required %s", c.Name, c.Value, c.Required)
		}
	}
	t.Logf("%d pairs\n%s\n%s", f.Pairs, &text, f)
}
