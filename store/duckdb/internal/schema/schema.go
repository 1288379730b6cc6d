// Package schema has the tables of a DuckDB file as the SQL that creates them, step by step.
//
// A new store runs all steps, and an older one those that it lacks: so both have the same
// tables. A step that was released is never edited, because stores have what it made: a test
// compares them with their hashes. To change the tables, add a file with what changes, its line
// in Steps, its hash, and a paragraph in FORMAT.md.
package schema

import (
	_ "embed" // the steps
	"strings"
)

//go:embed 1.sql
var first string

// Steps are the steps; the first n make a store of schema n. They are text, and made of no
// constant of this program, which may change.
var Steps = []string{first}

// After returns the SQL that makes a store of the newest schema of one of an older; 0 is
// an empty database.
func After(version int) string { return strings.Join(Steps[version:], ";\n") }
