package docs

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/program"
)

// TestFields compares the fields of JSON documents with the pages that describe them:
// every field that a command prints must be on its page.
func TestFields(t *testing.T) {
	dir := t.TempDir()
	surroundings(t, dir)
	all := pages(t)
	findings := all["docs/schema/findings.md"]
	for _, test := range []struct{ page, command string }{
		{findings, "regressions --type cpu"},
		{findings + all["docs/method/bottlenecks.md"], "report --type cpu"},
		{all["docs/method/bottlenecks.md"], "bottlenecks --type cpu --by subtree --contexts 1 --rows 5 --expand greedy"},
		{all["docs/method/bottlenecks.md"], "bottlenecks --type cpu --by correlation --rows 5"},
		{all["docs/method/bottlenecks.md"], "diff --type cpu --benchmark checkout --against history"},
		{all["docs/schema/json.md"], "tree --type cpu --benchmark checkout --last 1 --depth 2"},
		{all["docs/schema/json.md"], "tree --type cpu --benchmark checkout --last 1 --depth 2 --view flame"},
		{all["docs/schema/json.md"], "tree after.pb.gz --type cpu --select github.com/dendroprof/dendro/test/demo/workload/pipeline.work[go.shape.*uint8]"},
		{all["docs/schema/json.md"], "diff before.pb.gz after.pb.gz --type cpu --depth 2"},
		{all["docs/schema/json.md"], "runs"},
		{all["docs/schema/json.md"], "runs --profiles"},
		{all["docs/schema/json.md"], "find regexp.Compile --type cpu"},
		{all["docs/schema/json.md"], "top --type cpu --last 2 --rows 3"},
		{all["docs/schema/json.md"], "import profiles --dry-run"},
	} {
		out, errOut, status := program.Run(t, dir, append(strings.Fields(test.command), "--store", "dendro.duckdb", "-o", "json")...)
		if status != 0 {
			t.Errorf("%s: status %d: %s", test.command, status, errOut)
			continue
		}
		var doc any
		if err := json.Unmarshal([]byte(out), &doc); err != nil {
			t.Errorf("%s: %v", test.command, err)
		}
		known := regexp.MustCompile(`[A-Za-z_][A-Za-z_0-9]*`).FindAllString(test.page, -1)
		for _, field := range fields(doc, nil) {
			if !slices.Contains(known, field) {
				t.Errorf("%s prints the field %s, which its page does not have", test.command, field)
			}
		}
	}
}

// fields adds the names of all members of a JSON value to a list. Those of params
// and attributes are names of the user.
func fields(doc any, list []string) []string {
	switch doc := doc.(type) {
	case []any:
		for _, element := range doc {
			list = fields(element, list)
		}
	case map[string]any:
		for name, member := range doc {
			if !slices.Contains(list, name) {
				list = append(list, name)
			}
			if name != "params" && name != "attributes" {
				list = fields(member, list)
			}
		}
	}
	return list
}
