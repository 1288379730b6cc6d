package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/internal/plainfile"
)

// Destination is the value of -o where a document may be wanted: a format, or
// the name of a file whose extension is one.
type Destination struct {
	Format  Format
	File    string // empty: stdout
	formats []string
}

// AddFlag adds -o to a command; the first format is the default.
func (d *Destination) AddFlag(c *cobra.Command, formats ...string) {
	d.Format, d.formats = Format(formats[0]), formats
	c.Flags().VarP(d, "output", "o", "`format`, or FILE.format: "+strings.Join(formats, ", "))
	InGroup(c, "Output", "output")
}

// String returns the format.
func (d *Destination) String() string { return string(d.Format) }

// Type names the flag's value for help.
func (d *Destination) Type() string { return "name" }

// Set parses a format or the name of a file.
func (d *Destination) Set(v string) error {
	if slices.Contains(d.formats, v) {
		d.Format, d.File = Format(v), ""
		return nil
	}
	format := ExtensionOf(v)
	if !slices.Contains(d.formats, format) {
		return fmt.Errorf("must be one of %s, or a file with such an extension", strings.Join(d.formats, ", "))
	}
	d.Format, d.File = Format(format), v
	return nil
}

// ExtensionOf returns the format that a file's name has: its extension, .txt is text and
// .xml is junit.
func ExtensionOf(name string) string {
	switch ext := strings.TrimPrefix(filepath.Ext(name), "."); ext {
	case "txt":
		return "text"
	case "xml":
		return "junit"
	default:
		return ext
	}
}

// Write calls f with an env that writes to the destination.
func (d *Destination) Write(e *Env, f func(e *Env) error) error {
	if d.File == "" && d.Format == "text" {
		return e.page(f)
	}
	return d.Stream(e, f)
}

// Stream is write without a pager, for output that arrives bit by bit.
func (d *Destination) Stream(e *Env, f func(e *Env) error) error {
	if d.File == "" {
		return f(e)
	}
	return WriteFile(d.File, func(w io.Writer) error {
		to := *e
		to.Out = w
		return f(&to)
	})
}

// WriteFile writes a file beside its name and renames it, so that a failure
// leaves no half file.
func WriteFile(name string, write func(w io.Writer) error) error {
	own := "" // the file beside
	err := plainfile.Replace(name, func(f *os.File) error {
		own = f.Name()
		if err := write(f); err != nil {
			return err
		}
		return f.Chmod(0o644)
	})
	var place *fs.PathError
	var link *os.LinkError
	if err != nil && own == "" || errors.As(err, &place) && place.Path == own || errors.As(err, &link) && link.Old == own {
		return unwritten(name, err)
	}
	return err
}

// unwritten is the error of a file that cannot be written, by the name that the user gave.
func unwritten(name string, err error) error {
	dir := filepath.Dir(name)
	if _, statErr := os.Stat(dir); errors.Is(statErr, fs.ErrNotExist) {
		return fmt.Errorf("cannot write %s: there is no directory %s", name, dir)
	}
	var place *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &place):
		err = place.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return fmt.Errorf("cannot write %s: %w", name, err)
}

// complete reports whether the format gets all rows unless less is asked for:
// documents, and what programs read.
func (o Format) complete() bool { return o != "text" && o != "md" }

// Json reports whether the format is a JSON document.
func (o Format) Json() bool { return o == "json" || o == "json-columns" }
