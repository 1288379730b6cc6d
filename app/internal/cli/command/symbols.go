package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/symbolize"
)

// SymbolFiles is the flag --symbols: where the files of native code are. Files that were
// opened are kept for all profiles of a command.
type SymbolFiles struct {
	dirs       []string
	symbolizer *symbolize.Symbolizer
}

// AddFlag adds --symbols to a command.
func (s *SymbolFiles) AddFlag(c *cobra.Command) {
	c.Flags().StringArrayVar(&s.dirs, "symbols", nil, "`directory` of executables and debug files that name native code (by build id or path; / is this system); repeatable")
	InGroup(c, "Reading", "symbols")
}

// String returns the directories, as a key.
func (s *SymbolFiles) String() string { return strings.Join(s.dirs, "\x00") }

// Finish returns what names the functions of a profile, or without directories says that
// it could.
func (s *SymbolFiles) Finish() func(*profile.Profile) {
	if len(s.dirs) == 0 {
		return symbolize.Suggest
	}
	if s.symbolizer == nil {
		s.symbolizer = symbolize.New(s.dirs)
	}
	return s.symbolizer.Apply
}

// Reader returns a reader whose profiles have these symbols.
func (s *SymbolFiles) Reader(l profile.Limits) *format.Reader {
	r := format.NewReader(l)
	r.Finish = s.Finish()
	return r
}
