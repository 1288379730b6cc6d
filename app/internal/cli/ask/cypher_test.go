package ask

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/store"
)

func TestCypherParams(t *testing.T) {
	got, err := cypherParams([]string{"n=10", "$share=0.5", `keys=["a", 3, {"b": [1.0]}]`, "f=java/util/HashMap.get", `quoted="7"`, "e=",
		"two=1 2", "off=false", "none=null", "k=v=w"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"n": int64(10), "share": 0.5, "keys": []any{"a", int64(3), map[string]any{"b": []any{1.0}}},
		"f":      "java/util/HashMap.get",
		"quoted": "7", "e": "", "two": "1 2", "off": false, "none": nil, "k": "v=w"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"n", "=1", "n=9223372036854775808", "n=[99999999999999999999]", "n=1e999"} {
		var usage command.UsageError
		if got, err := cypherParams([]string{bad}); !errors.As(err, &usage) {
			t.Errorf("%s: %v, %v", bad, got, err)
		}
	}
}

// TestCypherUnknownName wants an error of a query that could find nothing, because the
// graph has no such label, and a note where it found something.
func TestCypherUnknownName(t *testing.T) {
	unknown := []string{"The label Benchmrk does not exist in database neo4j."}
	for _, rows := range [][][]any{nil, {{"checkout"}}} {
		var out, errOut strings.Builder
		e := &command.Env{Out: &out, Err: &errOut}
		o := cypherOptions{output: "text"}
		err := o.print(e, &store.CypherAnswer{Columns: []string{"name"}, Notes: func() []string { return unknown },
			Rows: func(yield func([]any, error) bool) {
				for _, row := range rows {
					if !yield(row, nil) {
						return
					}
				}
			}})
		if found := rows != nil; found != (err == nil) ||
			err != nil && !strings.Contains(err.Error(), "no rows: The label Benchmrk does not exist") ||
			found != strings.Contains(errOut.String(), "note: The label Benchmrk") || found != strings.Contains(out.String(), "checkout") {
			t.Errorf("%v: %v\n%s%s", rows, err, &out, &errOut)
		}
	}
}
