package cli

import (
	"strings"
	"testing"

	"github.com/dendroprof/dendro/app/internal/cli/command"
)

// TestQueryLimit wants a query that is too long refused, and not the beginning of it
// asked.
func TestQueryLimit(t *testing.T) {
	long := "SELECT 1 AS one" + strings.Repeat(" ", 16<<20)
	for _, name := range []string{"sql", "cypher"} {
		var out, errOut strings.Builder
		e := &command.Env{In: strings.NewReader(long), Out: &out, Err: &errOut, Store: "mem:"}
		if status := run(t.Context(), e, []string{name, "-"}); status != exitError ||
			!strings.Contains(errOut.String(), "the query is longer than") {
			t.Errorf("%s: %d, %s%s", name, status, &out, &errOut)
		}
	}
}
