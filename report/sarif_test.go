package report

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestSARIFSchema validates a report with every form of result by OASIS's schema, if there is
// one: tools/sarif-test gets it.
func TestSARIFSchema(t *testing.T) {
	name := os.Getenv("DENDRO_SARIF_SCHEMA")
	if name == "" {
		t.Skip("DENDRO_SARIF_SCHEMA names no schema")
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("sarif.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := sample().SARIF(&b); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, log string
		valid     bool
	}{
		{"the report", b.String(), true},
		{"another level", strings.Replace(b.String(), `"level":"error"`, `"level":"fatal"`, 1), false},
		{"a driver without a name", strings.Replace(b.String(), `"name":"dendro"`, `"nome":"dendro"`, 1), false},
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(c.log))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != c.valid {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
