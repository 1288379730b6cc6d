package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
)

// helpOf returns the help of a command in lines of 80 columns.
func helpOf(name string, all bool) string {
	var out strings.Builder
	e := &command.Env{AllFlags: all}
	c, _, _ := newRoot(e).Find([]string{name})
	c.InitDefaultHelpFlag()
	e.AllFlags = all
	writeUsage(e, &out, c, 80)
	return out.String()
}

// flagLines returns the lines of flags in a help text.
func flagLines(text string) (lines []string) {
	in := false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasSuffix(line, "lags:\n"):
			in = true
		case strings.TrimSpace(line) == "":
			in = false
		case in:
			lines = append(lines, line)
		}
	}
	return lines
}

// TestUsualFlags expects that help lists few lines of flags, that the flags of package-wide
// table usual exist, and that help --all lists all of them.
func TestUsualFlags(t *testing.T) {
	root := newRoot(&command.Env{})
	for name := range usual {
		if c, _, err := root.Find([]string{name}); err != nil || c == root {
			t.Errorf("usual has %s, which is no command", name)
		}
	}
	for _, c := range root.Commands() {
		if !c.IsAvailableCommand() || c.Name() == "help" {
			continue
		}
		text := helpOf(c.Name(), false)
		if lines := flagLines(text); len(lines) > helpLines {
			t.Errorf("%s --help has %d lines of flags, more than %d:\n%s", c.Name(), len(lines), helpLines, strings.Join(lines, ""))
		}
		all := helpOf(c.Name(), true)
		for _, name := range usual[c.Name()] {
			f := c.Flags().Lookup(name)
			if f == nil {
				t.Errorf("usual lists --%s of %s, which does not exist", name, c.Name())
			} else if !f.Hidden && !strings.Contains(text, "--"+name+" ") {
				t.Errorf("%s --help does not list --%s", c.Name(), name)
			}
		}
		for _, name := range flagsOf(c) {
			if !strings.Contains(all, "--"+name) {
				t.Errorf("help %s --all does not list --%s", c.Name(), name)
			}
		}
		if more := "dendro help " + c.Name() + " --all"; (len(flagLines(text)) < len(flagLines(all))) != strings.Contains(text, more) {
			t.Errorf("%s --help: %q is named if there are more flags, and only then", c.Name(), more)
		}
	}
}

func flagsOf(c *cobra.Command) (names []string) {
	for line := range strings.Lines(c.Flags().FlagUsages()) {
		if _, after, ok := strings.Cut(line, "--"); ok {
			names = append(names, strings.Fields(after)[0])
		}
	}
	return names
}

func TestHelpOfUnknownCommand(t *testing.T) {
	var out, errOut strings.Builder
	if status := Main([]string{"help", "tre"}, nil, &out, &errOut); status != exitUsage || !strings.Contains(errOut.String(), `"tre"`) ||
		!strings.Contains(errOut.String(), "tree") {
		t.Errorf("status %d: %s", status, &errOut)
	}
}
