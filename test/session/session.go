// Package session runs the commands that a page of the documentation shows, and compares
// what they print with what the page shows.
//
// A page is Markdown. These fenced blocks have a meaning; others are only text:
//
//	```console            a session: lines "$ COMMAND", each followed by its output; a
//	                      command goes on after a backslash or within double quotes
//	```console TAG        the same, only where Options.Tags has TAG
//	```LANGUAGE file=NAME the content of a file, which the runner writes
//
// All sessions of a page are one shell in one folder, so that variables, files and
// background processes last from block to block. In an expected output a line "…"
// stands for any lines, and "…" within a line for any text. A command without any
// expected output is only run. A command that fails is an error unless the next
// command is `echo $?`. The steps of a GitHub workflow (a file below .github/workflows)
// are run like a session without outputs, where the file stands in the page.
package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/dendroprof/dendro/test/program"
)

// Options says how a page is run.
type Options struct {
	Dir     string            // that the commands run in, empty; by default a temporary one
	Tags    []string          // of session blocks that run beside those without a tag
	Env     []string          // further environment, as KEY=VALUE
	Path    []string          // folders before those of PATH
	Replace *strings.Replacer // applied to commands, workflow steps and outputs; may be nil
	Update  bool              // rewrite outputs that differ
}

// command is a command of a page and the output that the page shows.
type command struct {
	text       string
	line       int // of the page, from 1
	want       []string
	start, end int  // the lines of want, as indices
	silent     bool // its output is not compared: a step of a workflow
}

var fence = regexp.MustCompile("^```(\\S+) ?(.*)$")

// Run runs the commands of a page. TestMain must call program.Main.
func Run(t *testing.T, page string, o Options) {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	dir := o.Dir
	if dir == "" {
		dir = t.TempDir()
	}
	commands, err := parse(lines, dir, o.Tags)
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	if len(commands) == 0 {
		t.Fatalf("%s: no command", page)
	}
	replace := func(s string) string { return s }
	if o.Replace != nil {
		replace = o.Replace.Replace
	}
	outputs, statuses, err := shell(t, dir, o, commands, replace)
	if err != nil {
		t.Errorf("%s: %v", page, err)
	}
	changed := false
	for i := len(outputs) - 1; i >= 0; i-- { // backwards: lines keep their numbers
		c, got := commands[i], outputs[i]
		checked := i+1 < len(commands) && commands[i+1].text == "echo $?"
		if statuses[i] != 0 && !checked {
			t.Errorf("%s:%d: %s: status %d\n%s", page, c.line, c.text, statuses[i], strings.Join(got, "\n"))
			continue
		}
		want := strings.Split(replace(strings.Join(c.want, "\n")), "\n")
		switch {
		case c.silent || len(c.want) == 0 || matches(want, got):
		case o.Update:
			lines, changed = slices.Replace(lines, c.start, c.end, got...), true
		default:
			t.Errorf("%s:%d: %s prints\n%s\n\nand the page shows\n%s", page, c.line, c.text, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if len(outputs) < len(commands) {
		t.Errorf("%s:%d: %s: the shell ended before its end", page, commands[len(outputs)].line, commands[len(outputs)].text)
	}
	if changed && !t.Failed() {
		if err := os.WriteFile(page, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// parse returns the commands of a page and writes its files. A workflow's file is
// written too, and its steps are commands.
func parse(lines []string, dir string, tags []string) ([]command, error) {
	var list []command
	for i := 0; i < len(lines); i++ {
		m := fence.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		end := i + 1
		for end < len(lines) && lines[end] != "```" {
			end++
		}
		name, isFile := strings.CutPrefix(m[2], "file=")
		switch {
		case isFile:
			text := strings.Join(lines[i+1:end], "\n") + "\n"
			if err := writeFile(filepath.Join(dir, name), text); err != nil {
				return nil, err
			}
			if strings.HasPrefix(name, ".github/workflows/") {
				steps, err := workflow(text)
				if err != nil {
					return nil, fmt.Errorf("line %d: %w", i+1, err)
				}
				for _, step := range steps {
					list = append(list, command{text: step, line: i + 1, silent: true})
				}
			}
		case m[1] == "console" && (m[2] == "" || slices.Contains(tags, m[2])):
			session, err := parseSession(lines, i+1, end)
			if err != nil {
				return nil, err
			}
			list = append(list, session...)
		}
		i = end
	}
	return list, nil
}

// parseSession returns the commands of the lines from start to end.
func parseSession(lines []string, start, end int) ([]command, error) {
	var list []command
	for i := start; i < end; {
		text, ok := strings.CutPrefix(lines[i], "$ ")
		if !ok {
			return nil, fmt.Errorf("line %d: a session begins with \"$ COMMAND\", not %q", i+1, lines[i])
		}
		c := command{line: i + 1}
		for i++; unfinished(text) && i < end; i++ {
			text += "\n" + lines[i]
		}
		c.text, c.start = text, i
		for i < end && !strings.HasPrefix(lines[i], "$ ") {
			i++
		}
		c.end = i
		for c.end > c.start && lines[c.end-1] == "" {
			c.end--
		}
		c.want = lines[c.start:c.end]
		list = append(list, c)
	}
	return list, nil
}

// unfinished reports whether a command goes on in the next line: it ends with a
// backslash or within double quotes.
func unfinished(text string) bool {
	return strings.HasSuffix(text, "\\") || strings.Count(strings.ReplaceAll(text, `\"`, ""), `"`)%2 == 1
}

// workflow returns the run steps of all jobs of a GitHub workflow.
func workflow(text string) ([]string, error) {
	var doc struct {
		Jobs map[string]struct{ Steps []struct{ Run string } }
	}
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	if len(doc.Jobs) != 1 {
		return nil, fmt.Errorf("%d jobs: their order is not known", len(doc.Jobs))
	}
	var steps []string
	for _, job := range doc.Jobs {
		for _, s := range job.Steps {
			if s.Run != "" {
				steps = append(steps, "( set -e\n"+strings.TrimSuffix(s.Run, "\n")+"\n)")
			}
		}
	}
	return steps, nil
}

func writeFile(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

// patience is how long all commands of a page may take.
const patience = 8 * time.Minute

// separator ends the output of a command; its status and a newline follow.
const separator = "\x1e"

// shell runs commands in one shell and returns the lines that each printed and its
// status, for as many as were run.
func shell(t *testing.T, dir string, o Options, commands []command, replace func(string) string) (outputs [][]string, statuses []int,
	err error) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var script strings.Builder
	for _, c := range commands {
		// The status stays in $?, for `echo $?`.
		fmt.Fprintf(&script, "%s\n{ status=$?; printf '\\036%%s\\n' $status; (exit $status); }\n", replace(c.text))
	}
	file := filepath.Join(t.TempDir(), "page.sh")
	if err := writeFile(file, script.String()); err != nil {
		return nil, nil, err
	}
	// Output goes to a file: background processes would keep a pipe open.
	out, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		return nil, nil, err
	}
	defer out.Close()
	path := slices.Concat([]string{filepath.Dir(program.Path())}, o.Path, []string{os.Getenv("PATH")})
	bash := exec.CommandContext(ctx, "bash", file)
	bash.Dir, bash.Stdout, bash.Stderr = dir, out, out
	bash.Env = append(os.Environ(), "PATH="+strings.Join(path, ":"), "XDG_CONFIG_HOME="+filepath.Join(dir, ".config"),
		"DENDRO_STORE=", "NO_COLOR=1", "TZ=UTC", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	bash.Env = append(bash.Env, o.Env...)
	bash.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // with its background processes
	bash.Cancel = func() error { return syscall.Kill(-bash.Process.Pid, syscall.SIGKILL) }
	err = bash.Run()
	if bash.Process != nil {
		if killErr := syscall.Kill(-bash.Process.Pid, syscall.SIGKILL); killErr != nil && !errors.Is(killErr, syscall.ESRCH) {
			err = errors.Join(err, killErr)
		}
	}
	var ended *exec.ExitError
	if errors.As(err, &ended) && ctx.Err() == nil {
		err = nil // the status of the last command, which is among the statuses
	}
	data, readErr := os.ReadFile(out.Name())
	for len(data) > 0 {
		text, rest, found := bytes.Cut(data, []byte(separator))
		if !found {
			break
		}
		status, rest, _ := bytes.Cut(rest, []byte("\n"))
		n, convErr := strconv.Atoi(string(status))
		if convErr != nil {
			return outputs, statuses, convErr
		}
		outputs, statuses, data = append(outputs, trimmed(string(text))), append(statuses, n), rest
	}
	return outputs, statuses, errors.Join(err, readErr)
}

// trimmed returns the lines of a text without trailing spaces and empty last lines.
func trimmed(text string) []string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// matches reports whether lines are as the page shows them.
func matches(want, got []string) bool {
	for len(want) > 0 {
		if want[0] == "…" {
			for skip := range len(got) + 1 {
				if matches(want[1:], got[skip:]) {
					return true
				}
			}
			return false
		}
		if len(got) == 0 || !matchesLine(want[0], got[0]) {
			return false
		}
		want, got = want[1:], got[1:]
	}
	return len(got) == 0
}

// matchesLine reports whether the pieces between "…" are in a line, in their order.
func matchesLine(want, got string) bool {
	pieces := strings.Split(strings.TrimRight(want, " "), "…")
	if len(pieces) == 1 {
		return want == got
	}
	last := len(pieces) - 1
	if !strings.HasPrefix(got, pieces[0]) {
		return false
	}
	got = got[len(pieces[0]):]
	for _, p := range pieces[1:last] {
		_, after, found := strings.Cut(got, p)
		if !found {
			return false
		}
		got = after
	}
	return strings.HasSuffix(got, pieces[last])
}
