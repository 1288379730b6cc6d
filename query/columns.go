package query

import (
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/table"
)

// Function describes a function in a result in columns.
type Function struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int32  `json:"line,omitempty"` // where it begins
	Column   int32  `json:"column,omitempty"`
	Module   string `json:"module"`
	Language string `json:"language"`
	Kind     string `json:"kind"`
	Own      bool   `json:"own,omitempty"`      // code that the user can change, see package own
	Runtime  bool   `json:"runtime,omitempty"`  // code of a runtime or the kernel; what is neither is a library's
	BaseName string `json:"baseName,omitempty"` // of a function that a diff found renamed: its name on the base side
}

// FunctionOf describes a function.
func FunctionOf(f *profile.Function) Function {
	return Function{Function: f.Name, File: f.File, Line: f.StartLine, Column: f.Column, Module: f.Module, Language: f.Language,
		Kind: f.Kind.String()}
}

// AmountColumn is a column of Numbers in a unit.
func AmountColumn(name, unit string) table.Column {
	return table.Column{Name: name, Right: true, Text: func(v any) string {
		n, ok := v.(document.Number)
		if !ok {
			return ""
		}
		return n.Amount(unit)
	}}
}
