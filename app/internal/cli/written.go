package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/profile"
)

// written holds the flags of commands that write a profile: where to, in which
// format, and what is done to its names.
type written struct {
	format    string
	out       string
	normalize bool
}

func (w *written) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&w.format, "format", "", "output format `name`: "+formatNames()+" (default: by the extension of -o, otherwise folded)")
	f.StringVarP(&w.out, "output", "o", "", "`file`; .gz, .zst and .lz4 compress (default: stdout)")
	f.BoolVar(&w.normalize, "normalize", false, "normalise names that change from run to run")
	c.RegisterFlagCompletionFunc("format", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return strings.Split(formatNames(), ", "), cobra.ShellCompDirectiveNoFileComp
	})
}

// write writes table i of a profile, -1 for all that the format holds.
func (w *written) write(e *env, p *profile.Profile, i int) error {
	if w.normalize {
		p = p.Rename(normalize.New(nil).Function)
	}
	return writeProfile(e, p, i, w.out, w.format)
}

// writeProfile writes table i of a profile, -1 for all that the format holds, to a
// file or stdout.
func writeProfile(e *env, p *profile.Profile, i int, out, name string) error {
	f, compression, err := format.Target(out, name)
	if err != nil {
		return misuse(err)
	}
	if out == "" || out == "-" {
		return format.Write(e.out, p, i, f, compression)
	}
	return writeFile(out, func(w io.Writer) error { return format.Write(w, p, i, f, compression) })
}

func formatNames() string {
	names := ""
	for _, f := range format.All() {
		if f.Encode == nil {
			continue
		}
		if names != "" {
			names += ", "
		}
		names += f.Name
	}
	return names
}
