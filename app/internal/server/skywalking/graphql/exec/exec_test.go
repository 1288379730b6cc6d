package exec

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/dendroprof/dendro/app/internal/server/skywalking/graphql/values"
)

// TestGeneratedIsFresh: the generated code has a function for each field of the
// schema and for no other. It does not know those below a streamed answer, nor absent ones.
func TestGeneratedIsFresh(t *testing.T) {
	code, err := os.ReadFile("generated.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for name, def := range Schema().Types {
		stub := parsedSchema.Types[name]
		if def.Kind != ast.Object || strings.HasPrefix(name, "__") || stub == nil || stub.Kind == ast.Scalar {
			continue
		}
		for _, f := range def.Fields {
			if !strings.HasPrefix(f.Name, "__") && !values.IsAbsent(f) {
				want = append(want, name+"_"+f.Name)
			}
		}
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^func \(ec \*executionContext\) _(\w+)\(ctx context.Context, field graphql`).FindAllSubmatch(code, -1) {
		if name := string(m[1]); !strings.HasPrefix(name, "__") && !strings.Contains(name, "___") {
			got = append(got, name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("run go generate: the code has\n%v\nthe schema\n%v", got, want)
	}
	if len(got) < 100 {
		t.Errorf("%d fields", len(got))
	}
}

// TestStreamedTypes: what the generated code takes for a scalar is an object of
// the schema.
func TestStreamedTypes(t *testing.T) {
	for _, name := range []string{"ProfileAnalyzation", "AsyncProfilerAnalyzation", "PprofAnalyzation"} {
		if got := Schema().Types[name]; got == nil || got.Kind != ast.Object || parsedSchema.Types[name].Kind != ast.Scalar {
			t.Errorf("%s: %v", name, got)
		}
	}
	if Schema().Directives["defer"] != nil {
		t.Error("answers in parts are not written")
	}
}
