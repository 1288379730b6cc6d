package docs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/dendroprof/dendro/test/program"
)

var (
	commandSpan = regexp.MustCompile("`dendro ([^`]+)`")
	commandLine = regexp.MustCompile(`(?m)(?:^|[ ;(']|\$ )dendro ([a-z]+(?: [^\n|;&)#']*)?)`)
	makeTarget  = regexp.MustCompile("(?m)(?:`|^|&& )make ([a-z][a-z0-9-]*)")
	longFlag    = regexp.MustCompile(`--[a-z][a-z0-9-]*`)
)

// TestFlags looks up the commands that the text of a page names, and those of blocks that no
// test runs, with their flags: all must be in the help of the command.
func TestFlags(t *testing.T) {
	help := map[string]string{}
	helpOf := func(command string) string {
		if _, known := help[command]; !known {
			args := slices.Concat([]string{"help"}, strings.Fields(command), []string{"--all"})
			if strings.HasPrefix(command, "-") { // of the program itself
				args = []string{"--help"}
			}
			out, _, status := program.Run(t, t.TempDir(), args...)
			if status != 0 {
				out = ""
			}
			help[command] = out
		}
		return help[command]
	}
	all := pages(t)
	for _, name := range append([]string{"ARCHITECTURE.md", "CHANGELOG.md"}, sessions...) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(text)
	}
	n := 0
	for name, page := range all {
		named := commandSpan.FindAllStringSubmatch(strings.ReplaceAll(fence.ReplaceAllString(page, ""), "\n", " "), -1)
		for _, b := range blocks(page) {
			if b.language != "console" && (b.fragment || slices.Contains(sessions, name)) {
				text := strings.ReplaceAll(b.text, "\\\n", " ")
				named = append(named, commandLine.FindAllStringSubmatch(text, -1)...)
			}
		}
		for _, m := range named {
			words := strings.Fields(m[1])
			command := words[0]
			if command == "X" {
				continue // any command
			}
			m[1], _, _ = strings.Cut(m[1], " -- ")
			if len(words) > 1 && (command == "task" || command == "store") {
				command += " " + words[1]
			}
			text := helpOf(command)
			if text == "" {
				t.Errorf("%s: `dendro %s`: there is no command %s", name, m[1], command)
			}
			for _, flag := range longFlag.FindAllString(m[1], -1) {
				n++
				if !regexp.MustCompile(flag + `(\s|=)`).MatchString(text) {
					t.Errorf("%s: `dendro %s`: %s has no flag %s", name, m[1], command, flag)
				}
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d flags", n)
	}
}

// TestEveryCommand compares the table of commands in README.md with `dendro --help`: neither
// may have a command that the other does not have.
func TestEveryCommand(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n## Commands\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(table, -1) {
		for _, name := range regexp.MustCompile("`([a-z]+)[^`]*`").FindAllStringSubmatch(row[1], -1) {
			listed = append(listed, name[1])
		}
	}
	help, _, _ := program.Run(t, t.TempDir(), "--help")
	var known []string
	for _, line := range regexp.MustCompile("(?m)^  ([a-z]+) +[A-Z][a-z]").FindAllStringSubmatch(help, -1) {
		if line[1] != "help" {
			known = append(known, line[1])
		}
	}
	slices.Sort(listed)
	slices.Sort(known)
	if !slices.Equal(slices.Compact(listed), known) {
		t.Errorf("the table in README.md has\n%q,\nthe help\n%q", listed, known)
	}
}

// TestMakeTargets looks up the targets that pages name.
func TestMakeTargets(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	all := pages(t)
	for _, name := range append([]string{"ARCHITECTURE.md", "CONTRIBUTING.md", "python/README.md"}, sessions...) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(text)
	}
	n := 0
	for name, page := range all {
		for _, m := range makeTarget.FindAllStringSubmatch(page, -1) {
			n++
			if !strings.Contains(string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s: there is no target %s", name, m[1])
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d targets", n)
	}
}

// TestFromPprof runs the counterparts of pprof's options in docs/start/howto.md.
func TestFromPprof(t *testing.T) {
	_, page, _ := strings.Cut(read(t, "docs/start/howto.md"), "## Every option of pprof")
	dir := t.TempDir()
	surroundings(t, dir)
	names := strings.NewReplacer("cpu.pb.gz", "after.pb.gz", "old.pb.gz", "before.pb.gz", "new.pb.gz", "after.pb.gz",
		"a.pb.gz", "after.pb.gz", "b.pb.gz", "before.pb.gz", "…", "before.pb.gz after.pb.gz", ":F", ":regexp.compile", " F", " regexp.compile")
	writeLabels(t, filepath.Join(dir, "labels.pb.gz"))
	ran := 0
	for line := range strings.Lines(page) {
		cells := strings.Split(line, " | ")
		if len(cells) != 2 || !strings.HasPrefix(line, "| `") && !strings.HasPrefix(line, "| several") {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			command := m[1]
			if strings.HasPrefix(command, "-") {
				command = "dendro tree cpu.pb.gz " + command
			}
			if strings.Contains(command, "--type alloc") {
				continue // of a heap profile
			}
			command = names.Replace(command)
			if strings.Contains(command, "-label") {
				command = strings.ReplaceAll(command, "after.pb.gz", "labels.pb.gz")
			}
			c := exec.Command("sh", "-euc", command)
			c.Dir = dir
			c.Env = append(os.Environ(), "PATH="+filepath.Dir(program.Path())+":"+os.Getenv("PATH"), "DENDRO_STORE=", "NO_COLOR=1",
				"XDG_CONFIG_HOME="+dir)
			program.Succeed(t, c)
			ran++
		}
	}
	if ran < 20 {
		t.Errorf("only %d commands", ran)
	}
}

// writeLabels writes a profile whose samples have the label handler, as those of `pprof.Do` have.
func writeLabels(t *testing.T, name string) {
	t.Helper()
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
	for i, handler := range []string{"/a", "/b"} {
		id := uint64(i + 1)
		fn := &profile.Function{ID: id, Name: "serve" + handler[1:]}
		loc := &profile.Location{ID: id, Line: []profile.Line{{Function: fn}}}
		p.Function, p.Location = append(p.Function, fn), append(p.Location, loc)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{loc}, Value: []int64{10},
			Label: map[string][]string{"handler": {handler}}})
	}
	file, err := os.Create(name)
	if err == nil {
		err = errors.Join(p.Write(file), file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}
