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
	if f.Found < 8 || f.False > 0 {
		t.Errorf("changes found: %d of %d; controls with a finding: %d of %d", f.Found, f.Changes, f.False, f.Controls)
	}
	t.Logf("%d pairs\n%s\n%s", f.Pairs, &text, f)
}
