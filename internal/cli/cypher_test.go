package cli

import (
	"errors"
	"iter"
	"math"
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

// counting yields n rows, then err if there is one, and counts those taken.
func counting(n int, taken *int, err error) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for i := range n {
			*taken++
			if !yield([]any{int64(i), []any{"x", math.NaN()}}, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func TestStream(t *testing.T) {
	columns := []column{{name: "n"}, {name: "list"}}
	for _, c := range []struct {
		format outputFormat
		row    func(i string) string
		head   string
		end    string
	}{
		{"tsv", func(i string) string { return i + "\t" + `["x",null]` + "\n" }, "n\tlist\n", ""},
		{"csv", func(i string) string { return i + "," + `"[""x"",null]"` + "\n" }, "n,list\n", ""},
		{"md", func(i string) string { return "| " + i + ` | ["x",null] |` + "\n" }, "| n | list |\n|---|---|\n", ""},
	} {
		for _, n := range []int{0, 1, streamRows, streamRows + 1} {
			var out, errOut strings.Builder
			e := &env{out: &out, err: &errOut}
			taken := 0
			if err := (&table{columns: columns}).stream(e, counting(n, &taken, nil), c.format, 0); err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitAfter(strings.TrimPrefix(out.String(), c.head), "\n")
			if !strings.HasPrefix(out.String(), c.head) || len(lines) != n+1 || n > 0 && lines[0] != c.row("0") || errOut.Len() > 0 {
				t.Errorf("%s, %d rows: %d lines, the first %q behind %q; %s", c.format, n, len(lines)-1, lines[0], c.head, &errOut)
			}
		}
	}
}

func TestStreamJSON(t *testing.T) {
	for n, want := range []string{`{"rows":[]}`, `{"rows":[{"list":["x",null],"n":0}]}`, `{"rows":[{"list":["x",null],"n":0},{"list":["x",null],"n":1}]}`} {
		var out strings.Builder
		taken := 0
		err := (&table{columns: []column{{name: "n"}, {name: "list"}}}).stream(&env{out: &out}, counting(n, &taken, nil), "json", 0)
		if got := strings.ReplaceAll(out.String(), "\n", ""); got != want || err != nil {
			t.Errorf("%d rows: %s, %v", n, got, err)
		}
	}
}

// TestStreamEnds wants the query left at the limit, and errors in the middle
// reported.
func TestStreamEnds(t *testing.T) {
	var out, errOut strings.Builder
	e := &env{out: &out, err: &errOut}
	taken := 0
	err := (&table{columns: []column{{name: "n"}, {name: "list"}}}).stream(e, counting(10*streamRows, &taken, nil), "tsv", 3)
	if lines := strings.Count(out.String(), "\n"); err != nil || lines != 4 || taken != 4 || !strings.Contains(errOut.String(), "stopped after 3 rows (--rows)") {
		t.Errorf("%v; %d lines, %d rows taken: %s", err, lines, taken, &errOut)
	}
	broken := errors.New("broken")
	if err := (&table{columns: []column{{name: "n"}, {name: "list"}}}).stream(e, counting(streamRows+5, &taken, broken), "tsv", 0); !errors.Is(err, broken) {
		t.Errorf("%v", err)
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
