package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCypherParams(t *testing.T) {
	got, err := cypherParams([]string{"n=10", "$share=0.5", `keys=["a", 3, {"b": [1.0]}]`, "f=java/util/HashMap.get", `quoted="7"`, "e=", "two=1 2", "off=false", "none=null", "k=v=w"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"n": int64(10), "share": 0.5, "keys": []any{"a", int64(3), map[string]any{"b": []any{1.0}}}, "f": "java/util/HashMap.get",
		"quoted": "7", "e": "", "two": "1 2", "off": false, "none": nil, "k": "v=w"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"n", "=1", "n=9223372036854775808", "n=[99999999999999999999]", "n=1e999"} {
		var usage usageError
		if got, err := cypherParams([]string{bad}); !errors.As(err, &usage) {
			t.Errorf("%s: %v, %v", bad, got, err)
		}
	}
}

// TestQueryLimit wants a query that is too long refused, and not the beginning of it
// asked.
func TestQueryLimit(t *testing.T) {
	long := "SELECT 1 AS one" + strings.Repeat(" ", queryLimit)
	for _, command := range []string{"sql", "cypher"} {
		var out, errOut strings.Builder
		e := &env{in: strings.NewReader(long), out: &out, err: &errOut, store: "mem:"}
		if status := e.run(t.Context(), []string{command, "-"}); status != exitError || !strings.Contains(errOut.String(), "the query is longer than") {
			t.Errorf("%s: %d, %s%s", command, status, &out, &errOut)
		}
	}
}
