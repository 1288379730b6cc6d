package table

import (
	"bufio"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dendroprof/dendro/internal/words"
)

// List prints rows while they are made: columns of a fixed width, and a name behind them, which
// is shortened to fit the output. What stands between rows is written to it too.
type List struct {
	*bufio.Writer
	o      *Output
	widths []int
}

// NewList returns a list with columns of these widths. It ends with Flush.
func NewList(o *Output, widths ...int) *List {
	return &List{Writer: bufio.NewWriter(o.W), o: o, widths: widths}
}

// Row writes a row. The indent stands before the name, and after behind it.
func (l *List) Row(tint Tint, cells []string, indent, name, after string) {
	var b strings.Builder
	for c, text := range cells {
		fmt.Fprintf(&b, "%*s ", l.widths[c], text)
	}
	b.WriteString(" " + indent)
	most := MostName
	if l.o.Width > 0 {
		most = max(LeastName, l.o.Width-utf8.RuneCountInString(b.String()))
	}
	b.WriteString(words.Shorten(words.Clean(name), most) + after)
	fmt.Fprintln(l, l.o.Paint(tint, b.String()))
}
