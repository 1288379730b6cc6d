package command

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/profile"
)

// Written holds the flags of commands that write a profile: where to, in which
// format, and what is done to its names.
type Written struct {
	Format    string
	Out       string
	normalize bool
}

// AddFlags adds the flags to a command.
func (w *Written) AddFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&w.Format, "format", "", "output format `name`: "+FormatNames()+" (default: by the extension of -o, otherwise folded)")
	f.StringVarP(&w.Out, "output", "o", "", "`file`; .gz, .zst and .lz4 compress (default: stdout)")
	f.BoolVar(&w.normalize, "normalize", false, "normalise names that change from run to run")
	c.RegisterFlagCompletionFunc("format", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return strings.Split(FormatNames(), ", "), cobra.ShellCompDirectiveNoFileComp
	})
}

// Write writes table i of a profile, -1 for all that the format holds.
func (w *Written) Write(e *Env, p *profile.Profile, i int) error {
	if w.normalize {
		p = p.Rename(normalize.New(nil).Function)
	}
	return WriteProfile(e, p, i, w.Out, w.Format)
}

// WriteProfile writes table i of a profile, -1 for all that the format holds, to a
// file or stdout.
func WriteProfile(e *Env, p *profile.Profile, i int, out, name string) error {
	f, compression, err := format.Target(out, name)
	if err != nil {
		return Misuse(err)
	}
	if out == "" || out == "-" {
		return format.Write(e.Out, p, i, f, compression)
	}
	return WriteFile(out, func(w io.Writer) error { return format.Write(w, p, i, f, compression) })
}

// FormatNames lists the formats that profiles are written in.
func FormatNames() string {
	var names []string
	for _, f := range format.All() {
		if f.Encode != nil {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ")
}
