package trees

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/runtest"
)

// TestModes: categories of a tree and of a list are the modes of self samples, with their
// shares where a function has several.
func TestModes(t *testing.T) {
	st := runtest.Store(t, runtest.Run{Benchmark: "a", Stacks: "main;parse 10, main;send 3, main 2", Interpreted: "main;parse 6, main 2"},
		runtest.Run{Benchmark: "a", Stacks: "main;read 5"})
	r := TreeRequest{View: "tree", Modes: true}
	tree, err := Tree(t.Context(), st, &r)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for n := range tree.Rows.All() {
		got = append(got, fmt.Sprintf("%s %v: %s", n.Function, n.Self, n.Category))
	}
	if want := "main 2: interpreted; parse 10: interpreted 60.0%, jit 40.0%; read 5: ; send 3: jit"; strings.Join(got, "; ") != want {
		t.Errorf("tree: %s\nwant %s", strings.Join(got, "; "), want)
	}
	r = TreeRequest{View: "functions", Modes: true}
	list, err := Functions(t.Context(), st, &r)
	if err != nil {
		t.Fatal(err)
	}
	if first := list.Rows.At(0); first.Function != "parse" || first.Category != "interpreted 60.0%, jit 40.0%" {
		t.Errorf("functions: %+v", first)
	}
	r = TreeRequest{View: "tree", Modes: true, Filter: Filter{Select: "main;parse"}}
	node, err := Node(t.Context(), st, &r)
	if err != nil || len(node.Self.Categories) != 2 || node.Self.Categories[0].Name != "interpreted" || node.Self.Categories[0].Share != 0.6 {
		t.Errorf("node: %+v, %v", node, err)
	}
	for _, r := range []TreeRequest{{Modes: true, Average: Average{Average: "mean"}}, {Modes: true, Filter: Filter{Callees: "parse"}}} {
		if _, err := Tree(t.Context(), st, &r); err == nil || !strings.Contains(err.Error(), "--modes") {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// TestExportKeepsModes: the sum of a selection has the modes that its profiles have, and the
// same samples.
func TestExportKeepsModes(t *testing.T) {
	st := runtest.Store(t, runtest.Run{Benchmark: "a", Stacks: "main;parse 10, main;send 3, main 2", Interpreted: "main;parse 6, main 2"},
		runtest.Run{Benchmark: "a", Stacks: "main;read 5, main;parse 1"})
	for _, c := range []struct {
		r    ExportRequest
		want string
	}{
		{ExportRequest{}, "main;parse 1|main;parse_[0] 6|main;parse_[j] 4|main;read 5|main;send_[j] 3|main_[0] 2|"},
		{ExportRequest{Selection: store.Query{Runs: []string{"02"}}}, "main;parse 1|main;read 5|"},
		{ExportRequest{Filter: Filter{Transforms: []string{"drop-function:send"}}}, "main 2|main;parse 11|main;read 5|"},
	} {
		p, table, _, err := Export(t.Context(), st, &c.r)
		if err != nil {
			t.Fatal(err)
		}
		f, err := format.Lookup("folded")
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := f.Encode(&b, p, table); err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(b.String(), "\n", "|"); got != c.want {
			t.Errorf("%+v: %s\nwant %s", c.r.Filter, got, c.want)
		}
	}
}
