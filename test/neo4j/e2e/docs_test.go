package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/test/program"
)

// question is a section of the user guide with a query for each model.
type question struct {
	title   string
	queries map[string]string // by model
}

var (
	section    = regexp.MustCompile(`(?m)^### (.*)$`)
	cypherCode = regexp.MustCompile("(?s)```cypher\n(.*?)```")
)

const thesis = "../../../store/neo4j/THESIS.md"

// questions reads the queries of the model shared, and the same in the model thesis.
func questions(t *testing.T) []question {
	t.Helper()
	var list []question
	for _, page := range []string{"../../../docs/graph.md", "../../../store/neo4j/QUERIES.md", thesis} {
		for title, code := range queries(t, page) {
			at := slices.IndexFunc(list, func(q question) bool { return q.title == title })
			switch {
			case page != thesis: // a query that has no other form holds in both models
				list = append(list, question{title, map[string]string{models[0]: code, models[1]: code}})
			case at < 0:
				t.Fatalf("%s: no page of the model shared has a section %q", page, title)
			default:
				list[at].queries[models[1]] = code
			}
		}
	}
	return list
}

// queries yields the sections of a page that have a query, each with its only one.
func queries(t *testing.T, page string) iter.Seq2[string, string] {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(title, code string) bool) {
		places := section.FindAllSubmatchIndex(text, -1)
		for i, at := range places {
			end := len(text)
			if i+1 < len(places) {
				end = places[i+1][0]
			}
			title := string(text[at[2]:at[3]])
			code := cypherCode.FindAllSubmatch(text[at[1]:end], -1)
			if len(code) > 1 {
				t.Fatalf("%s: section %q has %d queries", page, title, len(code))
			}
			if len(code) == 1 && !yield(title, string(code[0][1])) {
				return
			}
		}
	}
}

// guide is what the sections are asked with and must answer.
type guide struct {
	// want returns rows with some of the columns of the answer, from Dendro's own
	// commands on the embedded store.
	want func(t *testing.T, dir string) []map[string]any
	// sparse: rows whose numbers are 0 may be missing in what Dendro lists.
	sparse bool
}

// What the queries are asked with, and Dendro's commands about one benchmark.
var (
	common = []string{"--param", "function=app.F1.call", "--param", "type=cpu-samples", "--param", "share=0.2", "--param", "group=suite",
		"--param", "benchmark=b0",
		"--param", `chain=["app.F0.call", "app.F0.call", "app.F0.call"]`, "--param", "leastOccurrences=2", "--param", "window_size=10"}
	ofOne = []string{"--group", "suite", "--benchmark", "b0", "--type", "cpu-samples"}
)

// answersTo returns the rows of a command's JSON on the embedded store, with the key of a
// run in place of the run.
func answersTo(t *testing.T, dir string, args ...string) []map[string]any {
	t.Helper()
	rows := program.Rows(t, must(t, dir, append(args, "--store", "embedded.duckdb", "-o", "json")...))
	for _, r := range rows {
		if run, ok := r["run"].(map[string]any); ok { // of a profile
			r["run"] = run["run"]
		}
	}
	return rows
}

// pick keeps some columns of rows, some under another name: "new=old".
func pick(list []map[string]any, columns ...string) []map[string]any {
	var out []map[string]any
	for _, r := range list {
		row := map[string]any{}
		for _, c := range columns {
			name, old, _ := strings.Cut(c, "=")
			row[name] = r[cmp.Or(old, name)]
		}
		out = append(out, row)
	}
	return out
}

var guides = map[string]guide{
	"Runs in which a function exceeds a share": {want: func(t *testing.T, dir string) []map[string]any {
		return pick(answersTo(t, dir, "find", "app.F1.call", "--type", "cpu-samples", "--min-share", "20%"), "benchmark", "run", "share")
	}},
	"Benchmarks in which a function exceeds a share": {want: func(t *testing.T, dir string) []map[string]any {
		return pick(answersTo(t, dir, "find", "app.F1.call", "--type", "cpu-samples", "--min-share", "20%", "--by", "benchmark"), "name",
			"profiles", "of", "share", "maxShare")
	}},
	"Benchmarks and runs that contain a function": {want: func(t *testing.T, dir string) []map[string]any {
		return pick(answersTo(t, dir, "find", "app.F1.call", "--type", "cpu-samples"), "group", "benchmark", "run", "self", "total")
	}},
	"The tree of one profile": {want: func(t *testing.T, dir string) []map[string]any {
		profile := answersTo(t, dir, append([]string{"runs", "--profiles"}, ofOne...)...)
		var path []any
		var out []map[string]any
		for _, r := range answersTo(t, dir, "tree", "--profile", fmt.Sprint(profile[len(profile)-1]["id"])) {
			path = append(path[:int(r["depth"].(float64))], r["function"])
			out = append(out, map[string]any{"path": slices.Clone(path), "self": r["self"], "total": r["total"]})
		}
		return out
	}},
	"Code path potential": {want: func(t *testing.T, dir string) []map[string]any {
		var out []map[string]any
		for _, r := range answersTo(t, dir, append([]string{"bottlenecks", "--weight", "samples"}, ofOne...)...) {
			out = append(out, map[string]any{"function": r["function"], "percent": 100 * r["score"].(float64)})
		}
		return out
	}},
	"Subtree potential": {want: func(t *testing.T, dir string) []map[string]any {
		var out []map[string]any
		for _, r := range answersTo(t, dir, append([]string{"bottlenecks", "--by", "subtree", "--degree", "2"}, ofOne...)...) {
			out = append(out, map[string]any{"function": r["function"], "percent": 100 * r["score"].(float64)})
		}
		return out
	}},
	"Correlation with the metric": {want: func(t *testing.T, dir string) []map[string]any {
		return pick(correlations(t, dir), "code_path=function", "avg_pcc=score")
	}, sparse: true},
	"Time series of a function": {want: func(t *testing.T, dir string) []map[string]any {
		return series(t, dir, "app.F1.call", "self", "total")
	}},
	"The runs of a benchmark in date order": {want: func(t *testing.T, dir string) []map[string]any {
		return pick(answersTo(t, dir, append([]string{"runs", "--profiles"}, ofOne...)...), "profile=id", "run")
	}},
	"Scores of a run against its history": {want: func(t *testing.T, dir string) []map[string]any {
		return pick(answersTo(t, dir, append([]string{"regressions", "--method", "thesis", "--rows", "0"}, ofOne...)...), "code_path=function",
			"score")
	}, sparse: true},
	"Time series of a call chain": {want: func(t *testing.T, dir string) []map[string]any {
		return pick(series(t, dir, "app.F0.call;app.F0.call;app.F0.call", "total"), "run", "samples=total")
	}},
}

// series returns what a pattern took in every run of the benchmark, 0 included.
func series(t *testing.T, dir, pattern string, columns ...string) []map[string]any {
	t.Helper()
	took := map[any]map[string]any{}
	for _, r := range answersTo(t, dir, append([]string{"find", pattern}, ofOne...)...) {
		took[r["run"]] = r
	}
	var out []map[string]any
	for _, r := range answersTo(t, dir, append([]string{"runs", "--profiles"}, ofOne...)...) {
		row := map[string]any{"run": r["run"]}
		for _, c := range columns {
			row[c] = 0.0
			if of, ok := took[r["run"]]; ok {
				row[c] = of[c]
			}
		}
		out = append(out, row)
	}
	return out
}

// correlations returns the functions that go with the metric and against it.
func correlations(t *testing.T, dir string) []map[string]any {
	t.Helper()
	text := must(t, dir, "bottlenecks", "--by", "correlation", "--least-occurrences", "2", "--x", "samples", "--y", "raw", "--type",
		"cpu-samples", "--store", "embedded.duckdb", "-o", "json")
	var doc struct{ Rows, Negative []map[string]any }
	if err := json.Unmarshal([]byte(text), &doc); err != nil || len(doc.Negative) == 0 {
		t.Fatalf("%v: %d functions go against the metric in %s", err, len(doc.Negative), text)
	}
	return append(doc.Rows, doc.Negative...)
}

// TestGuide runs every query of the user guide in both models and wants the rows
// that Dendro's own commands give.
func TestGuide(t *testing.T) {
	needServer(t)
	list := questions(t)
	if len(list) != len(guides) {
		t.Errorf("the guide has %d questions with queries, this test knows %d", len(list), len(guides))
	}
	manifest := history(t, 7, 2, 11)
	dir := filepath.Dir(manifest)
	must(t, dir, "import", "--manifest", manifest, "--store", "embedded.duckdb")
	keys := answersTo(t, dir, append([]string{"runs", "--profiles"}, ofOne...)...)
	all := answersTo(t, dir, "runs", "--profiles", "--type", "cpu-samples")
	for _, model := range models {
		where := place(t, model)
		must(t, dir, "import", "--manifest", manifest, "--store", where)
		for _, q := range list {
			t.Run(model+"/"+q.title, func(t *testing.T) {
				g, ok := guides[q.title]
				if !ok {
					t.Fatalf("this test does not know the question")
				}
				profiles := keys
				if strings.Contains(q.title, "Correlation") {
					profiles = all
				}
				args := append([]string{"cypher", "--store", where, "-o", "json", "-f", "-", "--param", "profile_keys=" + keyList(t, profiles),
					"--param", "profile=" + fmt.Sprintf("%q", keys[len(keys)-1]["id"])}, common...)
				c := command(dir, args...)
				c.Stdin = strings.NewReader(q.queries[model])
				out, errOut, status := program.Finish(t, c)
				if status != 0 {
					t.Fatalf("status %d: %s", status, errOut)
				}
				want := g.want(t, dir)
				if len(want) == 0 {
					t.Fatal("Dendro gives no rows")
				}
				if something := lines(want, want[0], true); len(something) < min(3, len(want)) {
					t.Fatalf("Dendro gives too little to compare: %v", want)
				}
				if d := gocmp.Diff(lines(want, want[0], g.sparse), lines(program.Rows(t, out), want[0], g.sparse)); d != "" {
					t.Errorf("(-dendro +cypher)\n%s", d)
				}
			})
		}
	}
}

// keyList returns the keys of profiles as JSON, in the order of the list.
func keyList(t *testing.T, profiles []map[string]any) string {
	t.Helper()
	var keys []any
	for _, p := range profiles {
		keys = append(keys, p["id"])
	}
	text, err := json.Marshal(keys)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// lines writes rows as sorted lines, with the columns that one row has and numbers
// to seven digits; of sparse ones without those whose numbers are all 0. The node
// that the model thesis has above the roots is no function of the program.
func lines(list []map[string]any, like map[string]any, sparse bool) []string {
	var out []string
	for _, r := range list {
		if r["code_path"] == "root" || r["function"] == "root" {
			continue
		}
		row := map[string]any{}
		numbers, zero := false, true
		for c := range like {
			row[c] = r[c]
			if f, ok := r[c].(float64); ok {
				row[c] = rounded(f)
				numbers, zero = true, zero && rounded(f) == 0
			}
		}
		if sparse && numbers && zero {
			continue
		}
		text, _ := json.Marshal(row)
		out = append(out, string(text))
	}
	slices.Sort(out)
	return out
}

// rounded rounds to seven digits behind the point, which hides the order of sums.
func rounded(f float64) float64 { return math.Round(f*1e7) / 1e7 }
