package e2e

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/test/program"
)

// questionsToAll are asked of the same content in every kind of store.
var questionsToAll = [][]string{
	{"runs", "--profiles", "-o", "json"},
	{"top", "--benchmark", "checkout", "--type", "cpu", "-o", "json"},
	{"top", "--benchmark", "checkout", "--type", "cpu", "--last", "2", "--sort", "diff", "-o", "json"},
	{"tree", "--benchmark", "search", "--type", "cpu", "--last", "1", "-o", "json"},
	{"tree", "--benchmark", "checkout", "--type", "cpu-samples", "--average", "median", "-o", "json"},
	{"tree", "--benchmark", "checkout", "--type", "cpu", "--last", "1", "--raw-names", "-o", "json"},
	{"find", "regexp.*", "--type", "cpu", "-o", "json"},
	{"find", "regexp.MustCompile;**;regexp/syntax.*", "--type", "cpu", "-o", "json"},
	{"diff", "--benchmark", "checkout", "--type", "cpu", "--against", "history", "-o", "json"},
	{"bottlenecks", "--type", "cpu", "--contexts", "2", "-o", "json"},
	{"bottlenecks", "--type", "cpu", "--by", "subtree", "--degree", "3", "-o", "json"},
	{"bottlenecks", "--type", "cpu", "--by", "correlation", "--x", "samples", "--y", "raw", "-o", "json"},
	{"regressions", "--type", "cpu", "--all", "-o", "json"},
	{"regressions", "--type", "cpu", "-o", "json"},
	{"regressions", "--type", "cpu", "--method", "thesis", "--rows", "0", "-o", "json"},
	{"regressions", "--type", "cpu", "--method", "correlation", "-o", "json"},
	{"regressions", "--type", "cpu", "--benchmark", "checkout", "--expand", "greedy", "-o", "json"},
	{"export", "--benchmark", "checkout", "--type", "cpu", "--last", "3", "--format", "folded"},
}

// sums hides the digits of floating-point numbers that depend on the order in
// which an engine adds.
var sums = regexp.MustCompile(`\d+\.\d{9,}(e[-+]\d+)?`)

func short(text string) string {
	return sums.ReplaceAllStringFunc(text, func(n string) string {
		if strings.Contains(n, "e") {
			return n
		}
		return n[:strings.IndexByte(n, '.')+9]
	})
}

// sameAnswers demands that two stores answer all questions alike.
func sameAnswers(t *testing.T, dir, want, got string) {
	t.Helper()
	for _, q := range questionsToAll {
		wantOut, wantErr, wantStatus := dendro(t, dir, append(slices.Clone(q), "--store", want)...)
		if wantStatus != 0 || len(wantOut) < 100 {
			t.Errorf("dendro %s: status %d, nothing to compare: %s%s", strings.Join(q, " "), wantStatus, wantOut, wantErr)
		}
		out, errOut, status := dendro(t, dir, append(slices.Clone(q), "--store", got)...)
		if d := gocmp.Diff(strings.Split(short(wantOut), "\n"), strings.Split(short(out), "\n")); d != "" || status != 0 || errOut != wantErr {
			t.Errorf("dendro %s: status %d, stderr %q, want %q\n(-%s +%s)\n%s", strings.Join(q, " "), status, errOut, wantErr, want, got, d)
		}
	}
}

// embeddedDemo imports the demo's profiles into an embedded store and returns its
// folder and the manifest.
func embeddedDemo(t *testing.T) (dir, manifest string) {
	t.Helper()
	dir = t.TempDir()
	manifest, err := filepath.Abs("../../../app/internal/demo/profiles/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	must(t, dir, "import", "--manifest", manifest, "--store", "embedded.duckdb")
	return dir, manifest
}

// TestSameFindings imports the demo into both models and wants the answers of the
// embedded store; the planted regression is in them.
func TestSameFindings(t *testing.T) {
	needServer(t)
	long(t)
	dir, manifest := embeddedDemo(t)
	if text := must(t, dir, "regressions", "--type", "cpu", "--store", "embedded.duckdb"); !strings.Contains(text, "regexp.MustCompile") {
		t.Fatalf("the planted regression is not found:\n%s", text)
	}
	for _, model := range models {
		t.Run(model, func(t *testing.T) {
			where := place(t, model)
			must(t, dir, "import", "--manifest", manifest, "--store", where)
			sameAnswers(t, dir, "embedded.duckdb", where)
		})
	}
}

// TestCopy copies the demo into both models and back, and wants the content and
// the order of import kept.
func TestCopy(t *testing.T) {
	needServer(t)
	long(t)
	dir, _ := embeddedDemo(t)
	for _, model := range models {
		t.Run(model, func(t *testing.T) {
			where := place(t, model)
			must(t, dir, "copy", "--from", "embedded.duckdb", "--to", where)
			sameAnswers(t, dir, "embedded.duckdb", where)
			back := model + "-back.duckdb"
			must(t, dir, "copy", "--from", where, "--to", back)
			sameAnswers(t, dir, "embedded.duckdb", back)
			if out := must(t, dir, "copy", "--from", "embedded.duckdb", "--to", where); !strings.HasPrefix(out, "0 profiles copied") {
				t.Errorf("a second copy: %s", out)
			}
		})
	}
}

// TestGolden wants the scores of a history that is known by hand, from Dendro and
// from the query of the guide: a function with a single sample in one of ten
// runs and 7 now is 21.8197 standard deviations from its mean.
func TestGolden(t *testing.T) {
	needServer(t)
	dir := t.TempDir()
	var manifest []string
	for run := range 11 {
		stacks := "main;steady 100\n"
		switch run {
		case 4:
			stacks += "main;rare 1\nmain;twice 1\n"
		case 6:
			stacks += "main;twice 1\n"
		case 10:
			stacks += "main;rare 7\nmain;twice 8\n"
		}
		name := fmt.Sprintf("run-%02d.folded", run)
		writeFile(t, dir, name, stacks)
		manifest = append(manifest, fmt.Sprintf(`{"file": %q, "group": "g", "benchmark": "b", "run": "run-%02d", "date": "2026-01-%02d"}`, name, run, 1+run))
	}
	writeFile(t, dir, "manifest.json", "["+strings.Join(manifest, ",")+"]")
	var query question
	for _, q := range questions(t) {
		if q.title == "Scores of a run against its history" {
			query = q
		}
	}
	for _, model := range models {
		where := place(t, model)
		must(t, dir, "import", "--manifest", filepath.Join(dir, "manifest.json"), "--store", where)
		keys := keyList(t, program.Rows(t, must(t, dir, "runs", "--profiles", "--store", where, "-o", "json")))
		c := command(dir, "cypher", "--store", where, "-o", "json", "-f", "-", "--param", "profile_keys="+keys, "--param", "window_size=10")
		c.Stdin = strings.NewReader(query.queries[model])
		out, errOut, status := program.Finish(t, c)
		if status != 0 {
			t.Fatalf("%s: %s", model, errOut)
		}
		ofDendro := program.Rows(t, must(t, dir, "regressions", "--method", "thesis", "--rows", "0", "--store", where, "-o", "json"))
		for name, list := range map[string][]map[string]any{"cypher": pick(program.Rows(t, out), "function=code_path", "score"),
			"regressions": ofDendro} {
			for function, want := range map[string]float64{"rare": 21.8197, "twice": 18.4993} {
				i := slices.IndexFunc(list, func(r map[string]any) bool { return r["function"] == function })
				if i < 0 || list[i]["score"].(float64) < want-1e-4 || list[i]["score"].(float64) > want+1e-4 {
					t.Errorf("%s, %s: the score of %s is not %v: %v", model, name, function, want, list)
				}
			}
		}
	}
}
