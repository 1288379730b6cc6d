package app

import (
	"fmt"
	"strings"

	"github.com/mattn/go-runewidth"
)

func Names() []string {
	var list []string
	for i := range 200 {
		list = append(list, fmt.Sprintf("row %d of the table, 日本 %d", i, i*i))
	}
	return list
}

// Column pads names to one width, as tables on terminals are printed.
func Column(names []string) string {
	width := 0
	for _, n := range names {
		width = max(width, runewidth.StringWidth(n))
	}
	var b strings.Builder
	for _, n := range names {
		b.WriteString(runewidth.FillRight(n, width))
		b.WriteByte('\n')
	}
	return b.String()
}
