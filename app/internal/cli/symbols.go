package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/symbolize"
)

// symbolFiles is the flag --symbols: where the files of native code are. Files that were
// opened are kept for all profiles of a command.
type symbolFiles struct {
	dirs       []string
	symbolizer *symbolize.Symbolizer
}

func (s *symbolFiles) addFlag(c *cobra.Command) {
	c.Flags().StringArrayVar(&s.dirs, "symbols", nil, "`directory` of executables and debug files that name native code (by build id or path; / is this system); repeatable")
	inGroup(c, "Reading", "symbols")
}

// String returns the directories, as a key.
func (s *symbolFiles) String() string { return strings.Join(s.dirs, "\x00") }

// finish returns what names the functions of a profile, or without directories says that
// it could.
func (s *symbolFiles) finish() func(*profile.Profile) {
	if len(s.dirs) == 0 {
		return symbolize.Suggest
	}
	if s.symbolizer == nil {
		s.symbolizer = symbolize.New(s.dirs)
	}
	return s.symbolizer.Apply
}

// reader returns a reader whose profiles have these symbols.
func (s *symbolFiles) reader(l profile.Limits) *format.Reader {
	r := format.NewReader(l)
	r.Finish = s.finish()
	return r
}
