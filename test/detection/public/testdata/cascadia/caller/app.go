package app

import (
	"fmt"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

var rows = cascadia.MustCompile("table.orders tr:nth-child(2n) > td.price, div.note a[href^=http]")

func Page() *html.Node {
	var b strings.Builder
	b.WriteString("<table class='big orders'>")
	for i := range 150 {
		fmt.Fprintf(&b, "<tr><td>%d</td><td class='price x'>%d.50</td></tr>", i, i)
	}
	b.WriteString("</table><div class=note><a href='http://example.com'>x</a></div>")
	n, err := html.Parse(strings.NewReader(b.String()))
	if err != nil {
		panic(err)
	}
	return n
}

// Prices selects cells.
func Prices(page *html.Node) int { return len(rows.MatchAll(page)) }
