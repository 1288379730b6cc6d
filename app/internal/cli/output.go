package cli

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

// outputFormat is the value of -o.
type outputFormat string

func (o *outputFormat) addFlag(c *cobra.Command, formats ...string) {
	*o = outputFormat(formats[0])
	c.Flags().VarP(choose((*string)(o), formats...), "output", "o", "`format`: "+strings.Join(formats, ", "))
	inGroup(c, "Output", "output")
}

// choose returns a flag that sets value to one of those allowed.
func choose(value *string, allowed ...string) pflag.Value { return &choice{value, allowed} }

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

// writeJSON prints one JSON document.
func (e *env) writeJSON(v any) error {
	enc := json.NewEncoder(e.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// escapeLines cleans messages of several lines.
func escapeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = words.Clean(lines[i])
	}
	return strings.Join(lines, "\n")
}

// terminal reports whether w is one.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// talk is where notes and progress go: stderr, or nowhere with --quiet.
func (e *env) talk() io.Writer {
	if e.quiet {
		return io.Discard
	}
	return e.err
}

// colour reports whether text for people may be coloured.
func (e *env) colour() bool {
	return !e.noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && terminal(e.shown())
}

// shown returns where people see the output: the terminal behind a pager, else out.
func (e *env) shown() io.Writer {
	if e.screen != nil {
		return e.screen
	}
	return e.out
}

// width returns the columns of the terminal; 0 if the output goes elsewhere.
func (e *env) width() int {
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
