package report

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/peer"
)

// TestSARIFSchema validates a report with every form of result by OASIS's schema, if there is
// one: tools/sarif-test gets it.
func TestSARIFSchema(t *testing.T) {
	name := os.Getenv("DENDRO_SARIF_SCHEMA")
	if name == "" {
		t.Skip("DENDRO_SARIF_SCHEMA names no schema")
	}
	validator := peer.Start(t, "schema", name)
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
		var wrong string
		if err := validator.Ask(json.RawMessage(c.log), &wrong); err != nil {
			t.Fatal(err)
		}
		if (wrong == "") != c.valid {
			t.Errorf("%s: %s", c.what, wrong)
		}
	}
}
