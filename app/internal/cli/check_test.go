package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeRuns writes profiles of n runs of benchmarks: random counts around a fixed
// profile, in which parse below load takes factor times as much.
func writeRuns(t *testing.T, dir string, n int, factor float64, seed uint64, benchmarks ...string) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	for run := range n {
		folder := filepath.Join(dir, fmt.Sprintf("r%02d", run+1))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, b := range benchmarks {
			var text strings.Builder
			for _, stack := range []struct {
				path string
				mean float64
			}{{"main;load;parse", 400 * factor}, {"main;load;read", 350}, {"main;query;plan", 240}, {"main;query;scan", 800},
				{"main;query;scan;filter", 430}, {"main;query;join", 500},
				{"main;query;join;hash", 340}, {"main;write;encode", 380}, {"main;write;flush", 180}, {"main;write;encode;copy", 220},
				{"main;log;format", 110}, {"main;log", 75}} {
				noise := rng.NormFloat64()
				fmt.Fprintf(&text, "%s %d\n", stack.path, max(1, int(stack.mean+noise*math.Sqrt(stack.mean))))
			}
			if err := os.WriteFile(filepath.Join(folder, b+".collapsed"), []byte(text.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// outside makes the test run outside of any workflow and repository.
func outside(t *testing.T) {
	t.Setenv("GITHUB_ACTIONS", "")
	t.Chdir(t.TempDir())
}

// check runs `dendro check` and returns what it prints.
func check(t *testing.T, want int, args ...string) (out, talk string) {
	t.Helper()
	var o, e bytes.Buffer
	if got := Main(append([]string{"check"}, args...), strings.NewReader(""), &o, &e); got != want {
		t.Errorf("check %q: status %d, want %d\n%s%s", args, got, want, o.String(), e.String())
	}
	return o.String(), e.String()
}

func TestCheckStatuses(t *testing.T) {
	outside(t)
	base := writeRuns(t, "base", 8, 1, 1, "a", "b")
	slow := writeRuns(t, "slow", 2, 2, 2, "a", "b")
	one := writeRuns(t, "one", 1, 2, 3, "a", "b")
	same := writeRuns(t, "same", 2, 1, 4, "a", "b")
	few := writeRuns(t, "few", 2, 1, 5, "a", "b")

	out, _ := check(t, 3, "--base", base, "--head", slow)
	for _, want := range []string{"failed: 1 regression in 2 benchmarks\n", "FAIL confirmed regression  b and 1 more  head/r01  parse\n",
		"full report: --full, or --write report.md\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if lines := strings.Count(out, "\n"); lines != 6 { // headline, selection, numbers of runs, heads, the change, where the rest is
		t.Errorf("%d lines for one change:\n%s", lines, out)
	}
	out, _ = check(t, 3, "--base", base, "--head", slow, "--full")
	for _, want := range []string{"failed: 1 regression in 2 benchmarks\n", "FAIL confirmed regression", "in         b and 1 more", "also in    a  +",
		"candidate parse", "parameters"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if again, _ := check(t, 3, "--base", base, "--head", slow, "-o", "text"); again != out {
		t.Errorf("-o text is not --full:\n%s", again)
	}
	out, _ = check(t, 0, "--base", base, "--head", same)
	if !strings.Contains(out, "passed: no change found in 2 benchmarks") {
		t.Error(out)
	}
	// One run of the head is a suspect: it fails if it is sure, otherwise it warns, and
	// the output says why.
	out, _ = check(t, 3, "--base", base, "--head", one)
	if !strings.Contains(out, "failed: 1 suspect") || !strings.Contains(out, "compared 1 run of the head with 8 of the base") {
		t.Error(out)
	}
	out, _ = check(t, 0, "--base", base, "--head", one, "--fail-on", "regression:50%")
	if !strings.Contains(out, "passed: 1 suspect") || !strings.Contains(out, "changes below 50% do not fail") {
		t.Error(out)
	}
	check(t, 3, "--base", base, "--head", one, "--fail-on", "regression,suspect")
	check(t, 0, "--base", base, "--head", slow, "--fail-on", "regression:50%")
	check(t, 3, "--base", base, "--head", slow, "--fail-on", "regression:0.05")
	// Too little history is said, and no failure.
	out, _ = check(t, 0, "--base", few, "--head", slow)
	if !strings.Contains(out, "no verdict: too few runs: 2 before the tested run, at least 3 are needed") {
		t.Error(out)
	}
	check(t, 1, "--base", base) // files need both sides, and there is no store
	check(t, 2, "--head", base)
	check(t, 2, "--base", base, "--head", slow, "--fail-on", "everything")
	check(t, 2, "--base", base, "--head", slow, "--write", "x.gif")
	if err := os.WriteFile(filepath.Join(few, "r01", "broken.pb.gz"), []byte("\x1f\x8b\x08broken"), 0o644); err != nil {
		t.Fatal(err)
	}
	check(t, 1, "--base", few, "--head", slow)
}

func TestCheckAcknowledged(t *testing.T) {
	outside(t)
	base := writeRuns(t, "base", 8, 1, 1, "a", "b")
	slow := writeRuns(t, "slow", 2, 2, 2, "a", "b")
	for entry, want := range map[string]int{
		`[{"function": "pars*", "reason": "the new grammar"}]`:       0,
		`[{"function": "pars*", "benchmark": "a"}]`:                  3, // b is not accepted
		`[{"function": "pars*", "until": "2020-01-01"}]`:             3, // expired
		`[{"function": "pars*", "upTo": 0.01}]`:                      3, // more than 1.5 times as large
		`[{"function": "pars*", "upTo": 0.2, "until":"2999-01-01"}]`: 0,
	} {
		if err := os.WriteFile("accepted.json", []byte(entry), 0o644); err != nil {
			t.Fatal(err)
		}
		out, _ := check(t, want, "--base", base, "--head", slow, "--acknowledged", "accepted.json")
		if want == 0 && !strings.Contains(out, "passed: 1 acknowledged") {
			t.Error(out)
		}
	}
}

// TestCheckBaseIsSlowToo: what the base's newest runs have is not the head's doing.
func TestCheckBaseIsSlowToo(t *testing.T) {
	outside(t)
	base := writeRuns(t, "base", 24, 1, 1, "a")
	late := writeRuns(t, "late", 2, 2, 7, "a")
	for i := range 2 {
		if err := os.Rename(filepath.Join(late, fmt.Sprintf("r%02d", i+1)), filepath.Join(base, fmt.Sprintf("s%02d", i+1))); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := check(t, 0, "--base", base, "--head", writeRuns(t, "head", 2, 2, 2, "a"))
	if !strings.Contains(out, "note: not the head's: ") {
		t.Error(out)
	}
	check(t, 3, "--base", base, "--head", writeRuns(t, "worse", 2, 4, 2, "a"))
}

func TestCheckFormats(t *testing.T) {
	outside(t)
	base := writeRuns(t, "base", 8, 1, 1, "a", "b")
	slow := writeRuns(t, "slow", 2, 2, 2, "a", "b")
	args := []string{"--base", base, "--head", slow, "--write", "r.txt", "--write", "r.md", "--write", "r.json", "--write", "r.sarif",
		"--write", "r.xml", "--comment", "comment.md"}
	if brief, _ := check(t, 3, args...); !strings.HasSuffix(brief, "full report: --full, or see r.txt, r.md, r.json, r.sarif, r.xml\n") {
		t.Error(brief)
	}
	args = append(args, "--full")
	first, _ := check(t, 3, args...)
	files := []string{"r.txt", "r.md", "r.json", "r.sarif", "r.xml", "comment.md"}
	before := map[string]string{}
	for _, name := range files {
		before[name] = read(t, name)
	}
	if before["r.txt"] != first {
		t.Error("r.txt is not what was printed")
	}
	if want := "<!-- dendro check -->\n" + before["r.md"]; before["comment.md"] != want {
		t.Error("the comment is not the marker and the report")
	}
	if again, _ := check(t, 3, args...); again != first {
		t.Error("the same input prints something else")
	}
	for _, name := range files {
		if read(t, name) != before[name] {
			t.Errorf("%s differs for the same input", name)
		}
	}
	for _, name := range []string{"r.json", "r.sarif"} {
		if !json.Valid([]byte(before[name])) {
			t.Errorf("%s is no JSON", name)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestCheckOnGitHub runs check as a step on a pull request, with a server in the
// place of GitHub.
func TestCheckOnGitHub(t *testing.T) {
	outside(t)
	base := writeRuns(t, "base", 8, 1, 1, "a", "b")
	slow := writeRuns(t, "slow", 2, 2, 2, "a", "b")
	same := writeRuns(t, "same", 2, 1, 4, "a", "b")
	var comments []string
	refuse := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			t.Error("no token")
		}
		var body struct{ Body string }
		switch {
		case refuse:
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"message": "no"}`)
			return
		case r.Method == http.MethodGet:
			list := []map[string]any{}
			for i, c := range comments {
				list = append(list, map[string]any{"id": i, "body": c})
			}
			_ = json.NewEncoder(w).Encode(list)
			return
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		if r.Method == http.MethodPost {
			comments = append(comments, body.Body)
		} else {
			comments[0] = body.Body
		}
		fmt.Fprint(w, `{"html_url": "there"}`)
	}))
	defer server.Close()
	event, _ := filepath.Abs("event.json")
	if err := os.WriteFile(event, []byte(`{"pull_request": {"number": 7, "head": {"sha": "abc"}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	summary, _ := filepath.Abs("summary.md")
	for k, v := range map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_TOKEN": "secret", "GITHUB_API_URL": server.URL,
		"GITHUB_REPOSITORY": "acme/shop",
		"GITHUB_EVENT_PATH": event, "GITHUB_STEP_SUMMARY": summary} {
		t.Setenv(k, v)
	}

	_, talk := check(t, 3, "--base", base, "--head", slow)
	if !strings.Contains(talk, "::error title=dendro%3A regression::confirmed regression of ") {
		t.Errorf("no annotation in %q", talk)
	}
	if len(comments) != 1 || !strings.Contains(comments[0], "failed: 1 regression in 2 benchmarks") {
		t.Fatalf("comments %q", comments)
	}
	if text := read(t, summary); !strings.Contains(text, "### Dendro: failed") {
		t.Errorf("summary %q", text)
	}
	// The next push repairs it: the same comment.
	_, talk = check(t, 0, "--base", base, "--head", same)
	if len(comments) != 1 || !strings.Contains(comments[0], "passed: no change found") || strings.Contains(talk, "::") {
		t.Errorf("comments %q, talk %q", comments, talk)
	}
	// A token that may only read changes nothing about the verdict.
	refuse = true
	_, talk = check(t, 3, "--base", base, "--head", slow)
	if !strings.Contains(talk, "note: comment on pull request 7: 403") || strings.Contains(talk, "secret") {
		t.Errorf("talk %q", talk)
	}
	refuse = false
	check(t, 3, "--base", base, "--head", slow, "--github", "off")
	if !strings.Contains(comments[0], "passed") {
		t.Error("--github off wrote a comment")
	}
}
