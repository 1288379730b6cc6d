package coderepo

import (
	"testing"

	"github.com/dendroprof/dendro/app/internal/gitlog"
)

func TestAboutDependency(t *testing.T) {
	guilty := []string{"example.com/shop/pricing.rule", "example.com/tokens/v2.Fields", "regexp.MustCompile"}
	for _, c := range []struct {
		file, line string
		foreign    bool
		want       bool
	}{
		{"go.mod", "require example.com/tokens/v2 v2.1.0", false, true},
		{"go.mod", "\texample.com/tokens/v2 v2.1.0 // indirect", false, true},
		{"go.mod", "replace example.com/tokens/v2 => ../tokens", false, true},
		{"go.mod", "\texample.com/token v1.0.0", true, false},
		{"go.mod", "\texample.com/other v1.0.0", true, false},
		{"go.mod", "go 1.26.0", false, true},
		{"go.mod", "toolchain go1.26.1", false, true},
		{"go.mod", ")", true, false},
		{"go.mod", "", true, false},
		{"pom.xml", "<version>2.17.2</version>", true, true},
		{"pom.xml", "<version>2.17.2</version>", false, false},
	} {
		if got := aboutDependency(gitlog.Line{File: c.file, Text: c.line}, guilty, c.foreign); got != c.want {
			t.Errorf("%s: %q: %v, want %v", c.file, c.line, got, c.want)
		}
	}
}
