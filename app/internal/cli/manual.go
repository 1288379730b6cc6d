package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
)

// newManual writes the manual pages, for packages; it is not listed in help.
func newManual(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "manual DIRECTORY",
		Short:   "Write a manual page (roff) per command",
		Example: `  dendro manual man`,
		Hidden:  true,
		Args:    command.Takes(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			e.AllFlags = true
			return manuals(c.Root(), args[0])
		},
	}
}

// manuals writes the page of a command and of those below it.
func manuals(c *cobra.Command, dir string) error {
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	err := command.WriteFile(filepath.Join(dir, name+".1"), func(w io.Writer) error { return manual(w, c, name) })
	for _, sub := range c.Commands() {
		if err == nil && sub.IsAvailableCommand() {
			err = manuals(sub, dir)
		}
	}
	return err
}

// manual writes the page of a command: the text of its help, whose lines stay as they are.
func manual(w io.Writer, c *cobra.Command, name string) error {
	var usage strings.Builder
	c.SetOut(&usage)
	c.InitDefaultHelpFlag()
	if err := c.Usage(); err != nil {
		return err
	}
	long := cmp.Or(c.Long, c.Short)
	v, _ := command.Version()
	_, err := fmt.Fprintf(w, ".TH %s 1 \"\" \"dendro %s\" \"Dendro\"\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n.nf\n%s\n.fi\n.SH USAGE\n.nf\n%s\n.fi\n",
		strings.ToUpper(name), roff(v), roff(name), roff(c.Short), roff(long),
		roff(strings.TrimPrefix(strings.TrimSpace(usage.String()), "Usage:\n")))
	return err
}

// roff escapes text for a manual page.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
