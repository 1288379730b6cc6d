package command

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/dendroprof/dendro/internal/words"
)

// Format is the value of -o.
type Format string

// AddFlag adds -o to a command; the first format is the default.
func (o *Format) AddFlag(c *cobra.Command, formats ...string) {
	*o = Format(formats[0])
	c.Flags().VarP(Choice((*string)(o), formats...), "output", "o", "`format`: "+strings.Join(formats, ", "))
	InGroup(c, "Output", "output")
}

// Choice returns a flag that sets value to one of those allowed.
func Choice(value *string, allowed ...string) pflag.Value { return &choice{value, allowed} }

// choice is a flag with a fixed set of values.
type choice struct {
	value   *string
	allowed []string
}

func (c *choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}
func (c *choice) Type() string { return "name" }
func (c *choice) Set(v string) error {
	if !slices.Contains(c.allowed, v) {
		return fmt.Errorf("must be one of %s", strings.Join(c.allowed, ", "))
	}
	*c.value = v
	return nil
}

// WriteJSON prints one JSON document.
func (e *Env) WriteJSON(v any) error {
	enc := json.NewEncoder(e.Out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// EscapeLines cleans messages of several lines, which may be indented by tabs. A line that a workflow
// would take for a command, such as ::error::, belongs to the one before.
func EscapeLines(s string) string {
	var b strings.Builder
	for i, line := range strings.Split(s, "\n") {
		switch {
		case i > 0 && strings.HasPrefix(strings.TrimSpace(line), "::"):
			b.WriteString(`\n`)
		case i > 0:
			b.WriteByte('\n')
		}
		b.WriteString(strings.Join(words.CleanAll(strings.Split(line, "\t")), "\t"))
	}
	return b.String()
}

// Terminal reports whether w is one.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Talk is where notes and progress go: stderr, or nowhere with --quiet.
func (e *Env) Talk() io.Writer {
	if e.Quiet {
		return io.Discard
	}
	return e.Err
}

// colour reports whether text for people may be coloured.
func (e *Env) colour() bool {
	return !e.NoColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && Terminal(e.shown())
}

// shown returns where people see the output: the terminal behind a pager, else out.
func (e *Env) shown() io.Writer {
	if e.screen != nil {
		return e.screen
	}
	return e.Out
}

// Width returns the columns of the terminal; 0 if the output goes elsewhere.
func (e *Env) Width() int {
	f, ok := e.shown().(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}
