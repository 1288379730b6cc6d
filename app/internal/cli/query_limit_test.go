package cli

import (
	"strings"
	"testing"
)

// TestQueryLimit wants a query that is too long refused, and not the beginning of it
// asked.
func TestQueryLimit(t *testing.T) {
	long := "SELECT 1 AS one" + strings.Repeat(" ", queryLimit)
	for _, command := range []string{"sql", "cypher"} {
		var out, errOut strings.Builder
		e := &env{in: strings.NewReader(long), out: &out, err: &errOut, store: "mem:"}
		if status := run(t.Context(), e, []string{command, "-"}); status != exitError ||
			!strings.Contains(errOut.String(), "the query is longer than") {
			t.Errorf("%s: %d, %s%s", command, status, &out, &errOut)
		}
	}
}
