package command

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/symbolize"
)

// ReaderFlags are the flags of commands that read files: the limits, and --symbols, where the
// files of native code are. Of these the opened ones are kept for all profiles of a command.
type ReaderFlags struct {
	Limits     profile.Limits
	dirs       []string
	symbolizer *symbolize.Symbolizer
}

// AddFlags adds the flags to a command.
func (s *ReaderFlags) AddFlags(c *cobra.Command) {
	AddLimits(c, &s.Limits)
	c.Flags().StringArrayVar(&s.dirs, "symbols", nil, "`directory` of executables and debug files that name native code (by build id or path; / is this system); repeatable")
	InGroup(c, "Reading", "symbols")
}

// Finish returns what names the functions of a profile, or without directories says that
// it could.
func (s *ReaderFlags) Finish() func(*profile.Profile) {
	if len(s.dirs) == 0 {
		return symbolize.Suggest
	}
	if s.symbolizer == nil {
		s.symbolizer = symbolize.New(s.dirs)
	}
	return s.symbolizer.Apply
}

// Reader returns a reader with these limits, whose profiles have these symbols.
func (s *ReaderFlags) Reader() *format.Reader {
	r := format.NewReader(s.Limits)
	r.Finish = s.Finish()
	return r
}
