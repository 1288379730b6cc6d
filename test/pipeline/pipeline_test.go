package pipeline

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/dendroprof/dendro/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m.Run)) }

// action is action.yml as far as it is played.
type action struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Steps []struct {
			Name, If, Uses, Run string
			Env, With           map[string]string
		}
	}
}

// world is a repository with a pipeline.
type world struct {
	t             *testing.T
	action        action
	origin, cache string
	builds        int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, origin: t.TempDir(), cache: filepath.Join(t.TempDir(), "history.duckdb")}
	if err := yaml.Unmarshal(text, &w.action); err != nil {
		t.Fatal(err)
	}
	w.git(w.origin, "init", "-q", "-b", "main")
	return w
}

func (w *world) git(dir string, args ...string) string {
	w.t.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=dev", "-c", "user.email=dev@example.com"}, args...)...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit commits files on a branch, which begins at main.
func (w *world) commit(branch, message string, files map[string]string) {
	w.t.Helper()
	if branch != "main" {
		w.git(w.origin, "checkout", "-q", "-B", branch, "main")
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(w.origin, name), []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	w.git(w.origin, "add", "-A")
	w.git(w.origin, "commit", "-q", "-m", message)
	if branch != "main" {
		w.git(w.origin, "checkout", "-q", "main")
	}
}

// saves is when the history is saved: not for code that was not merged, whatever event has
// run it (pull_request_target, workflow_run, issue_comment, …).
const saves = `${{ contains(fromJSON('["push", "schedule", "workflow_dispatch"]'), github.event_name) && !startsWith(inputs.store, 'http') }}`

var expression = regexp.MustCompile(`\$\{\{\s*(.*?)\s*\}\}`)

// build plays the action for a push to main, or for a pull request of another branch, and
// returns what it printed and the status of the step that failed, or 0.
func (w *world) build(branch string) (text string, status int) {
	w.t.Helper()
	w.builds++
	temp, dir := w.t.TempDir(), filepath.Join(w.t.TempDir(), "checkout")
	w.git(w.origin, "clone", "-q", w.origin, dir)
	w.git(dir, "checkout", "-q", "--detach", "origin/"+branch)
	w.git(dir, "branch", "-q", "-D", "main") // a workflow has no branches of its own
	root, err := filepath.Abs("../..")
	if err != nil {
		w.t.Fatal(err)
	}
	pull := branch != "main"
	values := map[string]string{"runner.temp": temp, "runner.os": "Linux", "runner.arch": "X64", "github.token": "",
		"github.action_ref": "main", "github.action_path": root, "github.run_id": fmt.Sprint(w.builds), "github.run_attempt": "1",
		"github.event.repository.default_branch": "main", "inputs.command": "go test -benchtime 1500ms ./..."}
	event := map[bool]string{false: "push", true: "pull_request"}[pull]
	conditions := map[string]bool{"": true, "${{ !startsWith(inputs.store, 'http') }}": true,
		"${{ startsWith(github.event_name, 'pull_request') }}": pull,
		saves: !pull}
	var expand func(text string) string
	expand = func(text string) string {
		return expression.ReplaceAllStringFunc(text, func(m string) string {
			name := expression.FindStringSubmatch(m)[1]
			if v, ok := values[name]; ok {
				return v
			}
			if in, ok := w.action.Inputs[strings.TrimPrefix(name, "inputs.")]; ok {
				return expand(in.Default)
			}
			w.t.Fatalf("the action uses %q, which the test does not know", name)
			return ""
		})
	}
	env := append(os.Environ(), "PATH="+filepath.Dir(program.Path())+":"+os.Getenv("PATH"), "GITHUB_ACTIONS=true",
		"GITHUB_RUN_ID="+values["github.run_id"], "GITHUB_RUN_ATTEMPT=1",
		"GITHUB_SHA="+w.git(dir, "rev-parse", "HEAD"), "GITHUB_EVENT_NAME="+event, "GITHUB_STEP_SUMMARY="+filepath.Join(temp, "summary.md"),
		"GITHUB_WORKSPACE="+dir, "GITHUB_TOKEN=", "GITHUB_EVENT_PATH=",
		"GITHUB_SERVER_URL=https://github.example", "GITHUB_REPOSITORY=shop/shop")
	if pull {
		env = append(env, "GITHUB_HEAD_REF="+branch, "GITHUB_BASE_REF=main", "GITHUB_REF_NAME=7/merge")
	} else {
		env = append(env, "GITHUB_HEAD_REF=", "GITHUB_REF_NAME=main")
	}
	var out bytes.Buffer
	for _, s := range w.action.Runs.Steps {
		on, known := conditions[s.If]
		if !known {
			w.t.Fatalf("%s: the test does not know the condition %q", s.Name, s.If)
		}
		if !on {
			continue
		}
		if s.Uses != "" {
			w.cached(s.Uses, expand(s.With["path"]))
			continue
		}
		c := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
		c.Dir, c.Env = dir, env
		for name, value := range s.Env {
			c.Env = append(c.Env, name+"="+expand(value))
		}
		c.Stdout, c.Stderr = &out, &out
		if err := c.Run(); err != nil {
			fmt.Fprintf(&out, "step %s: %v\n", s.Name, err)
			return out.String(), c.ProcessState.ExitCode()
		}
	}
	return out.String(), 0
}

// cached plays the actions of GitHub's cache.
func (w *world) cached(uses, path string) {
	w.t.Helper()
	from, to := w.cache, path
	switch {
	case strings.HasPrefix(uses, "actions/cache/save@"):
		from, to = to, from
	case !strings.HasPrefix(uses, "actions/cache/restore@"):
		w.t.Fatalf("the test does not know the action %s", uses)
	case !exists(from):
		return // nothing was saved yet
	}
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

const (
	module = "module example.com/shop\n\ngo 1.26\n"
	bench  = `package shop

import "testing"

func BenchmarkCheckout(b *testing.B) {
	for b.Loop() {
		Checkout(300)
	}
}
`
	shop = `package shop

import (
	"slices"
	"strconv"
	"strings"
)

// Checkout prices a cart, taxes it, plans its parcels and writes its receipt.
func Checkout(n int) int {
	return price(n) + tax(n) + parcels(n) + len(receipt(n)) + address(n)
}

//go:noinline
func price(n int) int {
	list := make([]int, 0, n)
	for i := range n {
		list = append(list, i*7919%1000)
	}
	slices.Sort(list)
	return list[n/2]
}

//go:noinline
func tax(n int) (sum int) {
	for i := range n * 20 {
		sum += i * i % 19
	}
	return sum
}

//go:noinline
func parcels(n int) int {
	room := map[int]int{}
	for i := range n {
		room[i%40] += i
	}
	return len(room)
}

//go:noinline
func receipt(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strconv.Itoa(i * 7919))
		b.WriteByte(',')
	}
	return b.String()
}

//go:noinline
func address(n int) int {
	return len(strings.Fields(strings.Repeat("Main Street ", n)))
}
`
)

// TestPipeline plays the life of a repository: a pull request before there is any history,
// builds of main, a pull request that makes a function slower, and one that does the same in other words.
//
// It measures, so it runs alone (make smoke-timed).
func TestPipeline(t *testing.T) {
	if os.Getenv("DENDRO_TEST_REAL") == "" {
		t.Skip("measures: DENDRO_TEST_REAL=1 runs it, as make smoke-timed does")
	}
	w := newWorld(t)
	w.commit("main", "start", map[string]string{"go.mod": module, "shop_test.go": bench, "shop.go": shop})
	w.commit("early", "a comment", map[string]string{"shop.go": shop + "\n// Shops are open.\n"})
	if text, status := w.build("early"); status != 0 || !strings.Contains(text, "has no run of main yet") ||
		!strings.Contains(text, "too few runs") {
		t.Fatalf("the first pull request: status %d\n%s", status, text)
	}
	for i := range 3 {
		if text, status := w.build("main"); status != 0 {
			t.Fatalf("build %d of main: status %d\n%s", i, status, text)
		}
		w.commit("main", "next", map[string]string{"NOTES": strings.Repeat("x", i+1)})
	}
	slower := strings.Replace(shop, "	return list[n/2]\n}", "	return list[n/2] + verify(list)\n}\n\n//go:noinline\nfunc verify(list []int) (sum int) {\n	for range 25 {\n		for _, v := range list {\n			sum += v * v % 17\n		}\n	}\n	return sum\n}", 1)
	w.commit("slower", "check prices", map[string]string{"shop.go": slower})
	text, status := w.build("slower")
	if status == 0 { // a busy machine may hide it; a second build measures again
		t.Logf("the first build did not see the change:\n%s", text)
		text, status = w.build("slower")
	}
	if status != 3 || !strings.Contains(text, "failed: 1 regression") || !strings.Contains(text, "verify") {
		t.Errorf("a pull request that makes pricing slower: status %d\n%s", status, text)
	}
	w.commit("refactored", "refactor", map[string]string{"shop.go": strings.NewReplacer("list", "prices", "room", "parcel", "var b ",
		"var text ", "b.", "text.").Replace(shop)})
	if text, status := w.build("refactored"); status != 0 {
		t.Errorf("a pull request that changes nothing: status %d\n%s", status, text)
	}
}

// TestInputsAreNoShell: an input may have a branch's name in it, which anybody chooses.
func TestInputsAreNoShell(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	fake := "#!/bin/sh\nfor word; do printf '[%s]\\n' \"$word\"; done\n"
	if err := os.WriteFile(filepath.Join(dir, "dendro"), []byte(fake), 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(step string, variables ...string) (string, error) {
		for _, s := range w.action.Runs.Steps {
			if s.Name == step {
				c := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
				c.Dir, c.Env = dir, append(os.Environ(), append(variables, "PATH="+dir+":"+os.Getenv("PATH"), "COUNT=2", "MACHINE=m", "BASE=main",
					"DIR=out")...)
				out, err := c.CombinedOutput()
				return string(out), err
			}
		}
		t.Fatalf("the action has no step %q", step)
		return "", nil
	}
	const attack = "$(touch ran) `touch ran`; touch ran && touch ran | touch ran > ran $HOME * "
	const literal = "[$(touch]\n[ran)]\n[`touch]\n[ran`;]\n[touch]\n[ran]\n[&&]\n[touch]\n[ran]\n[|]\n[touch]\n[ran]\n[>]\n[ran]\n[$HOME]\n[*]\n"
	for _, c := range []struct{ step, variable, text, want string }{
		{"Record", "COMMAND", "go test -bench 'A B|C' \"./x y/...\"", "[--]\n[go]\n[test]\n[-bench]\n[A B|C]\n[./x y/...]\n"},
		{"Record", "COMMAND", "go test\n  -benchtime 2s\n  ./...\n", "[--]\n[go]\n[test]\n[-benchtime]\n[2s]\n[./...]\n"},
		{"Record", "COMMAND", attack, "[--]\n" + literal},
		{"Check", "FLAGS", "", "[out/dendro.sarif]\n"},
		{"Check", "FLAGS", "--benchmark '' --fail-on regression:1%", "[out/dendro.sarif]\n[--benchmark]\n[]\n[--fail-on]\n[regression:1%]\n"},
		{"Check", "FLAGS", attack, "[out/dendro.sarif]\n" + literal},
	} {
		out, err := run(c.step, c.variable+"="+c.text)
		if err != nil || !strings.HasSuffix(out, c.want) {
			t.Errorf("%s %q: %v\n%s\nwant\n%s", c.step, c.text, err, out, c.want)
		}
	}
	if exists(filepath.Join(dir, "ran")) {
		t.Error("an input ran as a command")
	}
	if out, err := run("Check", "FLAGS=--fail-on 'regression"); err == nil {
		t.Errorf("a quote without an end: %s", out)
	}
}
