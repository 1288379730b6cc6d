package format

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// TestReported reads the files after public bug reports: what each means is in the golden
// file next to it.
func TestReported(t *testing.T) {
	for _, base := range readtest.Names(t, 5, "reported/*") {
		name := "reported/" + base
		if ext := filepath.Ext(base); ext == ".md" || ext == ".want" {
			continue
		}
		var out strings.Builder
		for d, err := range NewReader(profile.Limits{}).Read(base, bytes.NewReader(readtest.File(t, name))) {
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			out.WriteString(readtest.Describe(d.Profile))
		}
		readtest.Golden(t, name+".want", out.String())
	}
}
