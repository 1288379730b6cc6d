// Package csv writes the files of which neo4j-admin makes a database: a Dir has one for the
// nodes of each label and one for the relationships of each type between two labels, and in
// the end the options and a script of the import.
//
// A File has columns with the types of neo4j-admin, and its rows. Nothing here knows what
// a store has: labels, types and columns are the caller's.
package csv

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
)

// listSeparator separates the elements of a list: no name should contain it.
const listSeparator = '\x1f'

// Column is a property and its type, as neo4j-admin names it; a column with an
// empty name is not stored.
type Column [2]string

// Columns are those of a file, in order.
type Columns []Column

func (list Columns) header() string {
	var b []byte
	for i, c := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendQuoted(b, c[0]+":"+c[1])
	}
	return string(b) + "\n"
}

// Dir is a directory of files. It is not safe for concurrent use.
type Dir struct {
	name  string
	files map[string]*File
}

// New returns the files of a directory, which has none yet.
func New(name string) *Dir { return &Dir{name, map[string]*File{}} }

// File is a file of nodes or relationships. Close of its Dir returns its first error.
type File struct {
	option string // of neo4j-admin
	name   string
	file   *os.File
	w      *bufio.Writer
	line   []byte
	widest int
	broken bool // a field has a line break
	err    error
}

// Nodes returns the file of the nodes with a label.
func (d *Dir) Nodes(label string, types Columns) *File {
	if f, ok := d.files[label]; ok {
		return f
	}
	return d.create("--nodes="+label, label, types)
}

// Links returns the file of the relationships of a type between nodes of two
// labels.
func (d *Dir) Links(kind, from, to string, types ...Column) *File {
	name := from + "-" + kind + "-" + to
	if f, ok := d.files[name]; ok {
		return f
	}
	return d.create("--relationships="+kind, name, slices.Concat(Columns{{"", "START_ID(" + from + ")"}, {"", "END_ID(" + to + ")"}}, types))
}

// Link writes a relationship without properties.
func (d *Dir) Link(kind, from, to string, start, end any) { d.Links(kind, from, to).Row(start, end) }

func (d *Dir) create(option, name string, types Columns) *File {
	f := &File{option: option, name: name + ".csv"}
	d.files[name] = f
	if f.file, f.err = os.OpenFile(filepath.Join(d.name, f.name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); f.err == nil {
		f.w = bufio.NewWriterSize(f.file, 256<<10)
		_, f.err = f.w.WriteString(types.header())
	}
	return f
}

// Props writes the properties of a node. One that has no column is an error.
func (f *File) Props(types Columns, n bolt.Props) {
	values := make([]any, len(types))
	left := len(n)
	for i, c := range types {
		if v, ok := n[c[0]]; ok {
			values[i] = v
			left--
		}
	}
	if left > 0 && f.err == nil {
		f.err = fmt.Errorf("%s has no column for %d of the properties %v", f.name, left, n)
	}
	f.Row(values...)
}

// Row writes a line. Nil is a missing property.
func (f *File) Row(values ...any) {
	if f.err != nil {
		return
	}
	f.line = f.line[:0]
	for i, v := range values {
		if i > 0 {
			f.line = append(f.line, ',')
		}
		start := len(f.line)
		f.line, f.err = appendCSV(f.line, v)
		f.widest = max(f.widest, len(f.line)-start)
		if f.err != nil {
			f.err = fmt.Errorf("%s: %w", f.name, f.err)
			return
		}
	}
	f.broken = f.broken || bytes.ContainsAny(f.line, "\r\n")
	f.line = append(f.line, '\n')
	_, f.err = f.w.Write(f.line)
}

// appendCSV writes a value. Texts are always quoted: an empty field is a missing
// property.
func appendCSV(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return b, nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case float64:
		return strconv.AppendFloat(b, v, 'g', -1, 64), nil
	case time.Time:
		return v.UTC().AppendFormat(b, time.RFC3339Nano), nil
	case string:
		return appendQuoted(b, v), nil
	case []string:
		for _, s := range v {
			if strings.ContainsRune(s, listSeparator) {
				return b, fmt.Errorf("%q has the character U+%04X, which separates the elements of lists: rename it", s, listSeparator)
			}
		}
		if len(v) == 0 {
			return b, nil
		}
		return appendQuoted(b, strings.Join(v, string(listSeparator))), nil
	case []int64:
		return appendList(b, v, func(b []byte, x int64) []byte { return strconv.AppendInt(b, x, 10) }), nil
	case []float64:
		return appendList(b, v, func(b []byte, x float64) []byte { return strconv.AppendFloat(b, x, 'g', -1, 64) }), nil
	case []bool:
		return appendList(b, v, strconv.AppendBool), nil
	case []byte: // Java's bytes have a sign
		return appendList(b, v, func(b []byte, x byte) []byte { return strconv.AppendInt(b, int64(int8(x)), 10) }), nil
	}
	return b, fmt.Errorf("a value of type %T", v)
}

func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(s, `"`, `""`)...)
	return append(b, '"')
}

func appendList[T any](b []byte, list []T, element func([]byte, T) []byte) []byte {
	for i, x := range list {
		if i > 0 {
			b = append(b, listSeparator)
		}
		b = element(b, x)
	}
	return b
}

func (f *File) close() error {
	if f.file == nil {
		return f.err
	}
	if f.err == nil {
		f.err = f.w.Flush()
	}
	return errors.Join(f.err, f.file.Close())
}

// Close closes all files without completing them: it writes no script.
func (d *Dir) Close() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		errs = append(errs, d.files[name].close())
	}
	return errors.Join(errs...)
}

// The files that define how to import the others.
const (
	options = "import.args"
	Script  = "import.sh" // which is there when the others are whole
)

// WriteCommand writes the options of the import, and a script that calls it.
func (d *Dir) WriteCommand() error {
	var nodes, links []string
	widest, broken := 0, false
	for _, f := range d.files {
		option := f.option + "=./" + f.name // releases from 2025 on look for a file's directory in its name
		if strings.HasPrefix(f.option, "--nodes") {
			nodes = append(nodes, option)
		} else {
			links = append(links, option)
		}
		widest, broken = max(widest, f.widest), broken || f.broken
	}
	slices.Sort(nodes)
	slices.Sort(links)
	// The tool holds a field in half of its buffer, and two megabytes are the least
	// that is worth while.
	buffer := 4
	for buffer<<20 < 3*widest {
		buffer *= 2
	}
	// With line breaks in fields the tool cannot divide a file among processors.
	list := slices.Concat([]string{fmt.Sprintf("--multiline-fields=%t", broken), fmt.Sprintf("--array-delimiter=U+%04X", listSeparator),
		fmt.Sprintf("--read-buffer-size=%dm", buffer)}, nodes, links)
	script := `#!/bin/sh
# Makes a database of these files. The server must be stopped; the database is
# called neo4j unless DATABASE says otherwise. A database that is there already is
# replaced only with --overwrite-destination. Then start the server and run
#     dendro store init --store neo4j://user@host:7687/database
set -e
cd "$(dirname "$0")"
exec "${NEO4J_ADMIN:-neo4j-admin}" database import full "${DATABASE:-neo4j}" "$@" @` + options + "\n"
	if err := os.WriteFile(filepath.Join(d.name, options), []byte(strings.Join(list, "\n")+"\n"), 0o666); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(d.name, Script), []byte(script), 0o777)
}
