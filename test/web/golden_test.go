package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/app"
	"github.com/dendroprof/dendro/test/readtest"
)

// golden is a tree or diff and its views.
type golden struct {
	Input json.RawMessage `json:"input"`
	Cases []viewCase      `json:"cases"`
}

// viewCase is a view. A row is depth, function, self, total and category; in a diff base
// and new of both.
type viewCase struct {
	Flags []string `json:"flags"`
	Rows  []string `json:"rows"`
}

// stacks returns random stacks of few functions, which recur often.
func stacks(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	names := []string{"main", "load", "parse", "read;x", "pay", "Load", "emit", "zip"}
	var b strings.Builder
	for range 30 {
		stack := []string{"main"}
		for range r.IntN(8) {
			stack = append(stack, strings.ReplaceAll(names[r.IntN(len(names))], ";", "/"))
		}
		fmt.Fprintln(&b, strings.Join(stack, ";"), 1+r.IntN(5))
	}
	return b.String()
}

// withCategories returns a Firefox profile of random stacks with categories, modules and
// scripts.
func withCategories(t *testing.T) []byte {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 1))
	names := []string{"main", "load", "parse", "onclick", "render", "paint", "libone", "libtwo"}
	type object map[string]any
	column := func(n int, of func(i int) any) []any {
		list := make([]any, n)
		for i := range list {
			list[i] = of(i)
		}
		return list
	}
	null := func(int) any { return nil }
	const functions, categories, count = 6, 3, 40
	frames := functions * categories // one of each function in each category
	var frame, prefix, leaf, times []any
	at := map[string]int{}
	for i := range count {
		path, up := "", any(nil)
		for d := range 1 + r.IntN(7) {
			f := r.IntN(frames)
			if d == 0 {
				f = 0
			}
			path += fmt.Sprint(";", f)
			if _, ok := at[path]; !ok {
				at[path] = len(frame)
				frame, prefix = append(frame, f), append(prefix, up)
			}
			up = at[path]
		}
		leaf, times = append(leaf, up), append(times, i)
	}
	category := func(name, color string) object {
		return object{"name": name, "color": color, "subcategories": []string{"Other"}}
	}
	thread := object{"processType": "default", "processStartupTime": 0, "processShutdownTime": nil, "registerTime": 0, "unregisterTime": nil,
		"pausedRanges": []any{},
		"name":         "main", "isMainThread": true, "pid": "1", "tid": 1,
		"funcTable": object{"length": functions, "name": column(functions, func(i int) any { return i }),
			"isJS":          column(functions, func(i int) any { return i == 3 || i == 4 }),
			"relevantForJS": column(functions, func(i int) any { return false }), "resource": column(functions, func(i int) any { return i%3 - 1 }),
			"fileName": column(functions, null), "lineNumber": column(functions, func(i int) any { return 10 + i }),
			"columnNumber": column(functions, null)},
		"frameTable": object{"length": frames, "func": column(frames, func(i int) any { return i % functions }),
			"category": column(frames, func(i int) any { return i / functions }),
			"address":  column(frames, func(int) any { return -1 }), "inlineDepth": column(frames, func(int) any { return 0 }),
			"subcategory":  column(frames, func(int) any { return 0 }),
			"nativeSymbol": column(frames, null), "innerWindowID": column(frames, null), "line": column(frames, null),
			"column": column(frames, null)},
		"stackTable":    object{"length": len(frame), "frame": frame, "prefix": prefix},
		"resourceTable": object{"length": 2, "name": []int{6, 7}, "host": []any{nil, nil}, "type": []int{1, 1}, "lib": []any{nil, nil}},
		"nativeSymbols": object{"length": 0, "libIndex": []any{}, "address": []any{}, "name": []any{}, "functionSize": []any{}},
		"samples":       object{"length": count, "stack": leaf, "time": times, "weight": nil, "weightType": "samples"},
		"markers": object{"length": 0, "data": []any{}, "name": []any{}, "startTime": []any{}, "endTime": []any{}, "phase": []any{},
			"category": []any{}}}
	data, err := json.Marshal(object{"meta": object{"preprocessedProfileVersion": 57, "interval": 1, "startTime": 0, "processType": 0,
		"product": "test", "stackwalk": 0,
		"markerSchema": []any{}, "symbolicated": true, "version": 30,
		"categories": []object{category("Graphics", "green"), category("Other", "grey"), category("JavaScript", "yellow")}},
		"libs": []any{}, "shared": object{"stringArray": names}, "threads": []object{thread}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// views are the flags of the cases, for functions a, b and c that a calls.
func views(a, b, c string) [][]string {
	path := a + ";" + b
	list := [][]string{
		{}, {"--invert"}, {"--view", "functions", "--sort", "total"}, {"--callers", b}, {"--callees", b}, {"--view", "flame"},
	}
	transforms := []string{"merge-function:" + b, "merge-node:" + path, "drop-function:" + b, "focus-function:" + b, "focus-subtree:" + path,
		"focus-subtree-inverted:" + b + ";" + a, "focus-self:" + b, "collapse-function:" + b, "collapse-direct-recursion:" + b,
		"collapse-recursion:" + b, "collapse-recursion:*", "filter:stack-prefix:" + path, "filter:stack-suffix:" + b,
		"filter:function-include:" + b + ";" + c}
	for _, t := range transforms {
		list = append(list, []string{"--transform", t}, []string{"--transform", "merge-function:" + c, "--transform", t, "--invert"})
	}
	return append(list, []string{"--transform", "collapse-recursion:" + b, "--transform", "drop-function:" + c, "--transform",
		"focus-function:" + b, "--view", "functions", "--sort", "total"})
}

func TestGolden(t *testing.T) {
	folder := t.TempDir()
	for i := range uint64(2) {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.folded", i)), []byte(stacks(i)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	base, now := filepath.Join(folder, "0.folded"), filepath.Join(folder, "1.folded")
	firefox := filepath.Join(folder, "categories.json")
	if err := os.WriteFile(firefox, withCategories(t), 0o600); err != nil {
		t.Fatal(err)
	}
	categories := views("main", "load", "parse")
	for _, kind := range []string{"js", "cpp"} {
		categories = append(categories, []string{"--kind", kind})
		for _, x := range []string{"merge-node", "focus-subtree", "focus-subtree-inverted", "focus-self", "collapse-direct-recursion"} {
			arg := "load"
			if x == "merge-node" || x == "focus-subtree" {
				arg = "main;load"
			}
			categories = append(categories, []string{"--transform", x + "@" + kind + ":" + arg},
				[]string{"--kind", kind, "--transform", x + ":" + arg})
		}
		categories = append(categories, []string{"--transform", "collapse-resource@" + kind + ":libone"})
	}
	categories = append(categories, []string{"--transform", "collapse-resource:libone"},
		[]string{"--transform", "collapse-resource:libtwo", "--invert"})
	check(t, "tree", []string{"tree", base}, views("main", "load", "parse"))
	check(t, "categories", []string{"tree", firefox}, categories)
	check(t, "diff", []string{"diff", "--by", "value", base, now}, views("main", "load", "parse"))
}

// check compares a golden file of `make web-test`, which the flag -update rewrites.
func check(t *testing.T, name string, command []string, flags [][]string) {
	t.Helper()
	g := golden{Input: run(t, append(command, "-o", "json-columns"))}
	for _, f := range flags {
		g.Cases = append(g.Cases, viewCase{f, rows(t, run(t, append(append(append([]string{}, command...), "-o", "json"), f...)))})
	}
	got, err := json.MarshalIndent(g, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	readtest.Golden(t, "../../../web/test/testdata/"+name+".json", string(got)+"\n")
}

func run(t *testing.T, args []string) []byte {
	t.Helper()
	var out, errOut bytes.Buffer
	if status := app.Main(args, strings.NewReader(""), &out, &errOut); status != 0 {
		t.Fatalf("dendro %s: status %d\n%s", strings.Join(args, " "), status, errOut.String())
	}
	return out.Bytes()
}

// rows draws the rows of a document as lines.
func rows(t *testing.T, document []byte) []string {
	t.Helper()
	type change struct{ Base, Head json.Number }
	var d struct {
		Rows []struct {
			Depth       int
			Function    string
			Category    string
			Start, End  *float64
			Self, Total json.RawMessage
		}
	}
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	value := func(v json.RawMessage) string {
		var c change
		if json.Unmarshal(v, &c) == nil {
			return c.Base.String() + " " + c.Head.String()
		}
		return string(v)
	}
	list := []string{}
	for _, r := range d.Rows {
		if r.Start != nil {
			list = append(list, fmt.Sprintf("%d %s [%.6f %.6f]", r.Depth, r.Function, *r.Start, *r.End))
			continue
		}
		list = append(list, fmt.Sprintf("%d %s %s/%s %s", r.Depth, r.Function, value(r.Self), value(r.Total), r.Category))
	}
	return list
}
