package docs

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// Sizes of a terminal's picture, in pixels.
const (
	cellWidth  = 8.0
	cellHeight = 19.0
	padding    = 18.0
	titleBar   = 34.0
	columns    = 104
)

// terminal draws a command and what it prints as an SVG of a terminal window. It has a
// background of its own, so that it is legible on a light and on a dark page. Points,
// bands and axes of text plots are drawn as shapes: fonts differ in the width of these
// characters.
func terminal(command string, lines []string) string {
	var b strings.Builder
	width, height := 2*padding+columns*cellWidth, titleBar+padding+float64(len(lines)+1)*cellHeight
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %[1]g %[2]g" role="img">
<title>%s</title>
<style>
text { font: 13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d7dce2 }
.head { fill: #fff; font-weight: 600 } .prompt { fill: #7ee2a8 }
.axis { stroke: #6b7683 } .band { fill: #35506b } .mid { stroke: #7fb0e0; stroke-width: 1.5 } .run { fill: #9cc9f5 } .new { fill: #ff8a70 }
</style>
<rect width="100%%" height="100%%" rx="9" fill="#14181d"/>
<circle cx="20" cy="18" r="5.5" fill="#ff6159"/><circle cx="38" cy="18" r="5.5" fill="#ffbd2e"/><circle cx="56" cy="18" r="5.5" fill="#28c941"/>
`, width, height, escape(command))
	line := func(row int, text, class string) {
		y := titleBar + float64(row)*cellHeight
		runes := []rune(text)
		if len(runes) > columns {
			runes = append(runes[:columns-1:columns-1], '…')
		}
		for start := 0; start < len(runes); {
			x := padding + float64(start)*cellWidth
			if shape := plotted(runes[start], x, y); shape != "" {
				b.WriteString(shape)
				start++
				continue
			}
			// Words up to the next gap: renderers differ in what they do with spaces.
			end := start
			for end < len(runes) && plotted(runes[end], 0, 0) == "" && !(runes[end] == ' ' && (end+1 == len(runes) || runes[end+1] == ' ')) {
				end++
			}
			if word := strings.TrimLeft(string(runes[start:end]), " "); word != "" {
				n := len([]rune(word))
				fmt.Fprintf(&b, "<text x=\"%g\" y=\"%g\" textLength=\"%g\"%s>%s</text>\n", padding+float64(end-n)*cellWidth, y+14,
					float64(n)*cellWidth, class, escape(word))
			}
			start = max(end, start+1)
		}
	}
	line(0, "$ "+command, ` class="prompt"`)
	for i, text := range lines {
		class := ""
		if text != "" && text[0] != ' ' {
			class = ` class="head"`
		}
		line(i+1, text, class)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// plotted returns the shape of a character of a plot whose cell begins at a place, or
// "" for other characters.
func plotted(r rune, x, y float64) string {
	cx, cy := x+cellWidth/2, y+cellHeight/2
	band := fmt.Sprintf("<rect class=\"band\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/>\n", x, y, cellWidth, cellHeight)
	switch r {
	case '░':
		return band
	case '─':
		return fmt.Sprintf("<path class=\"mid\" d=\"M%g %gh%g\"/>\n", x, cy, cellWidth)
	case '●':
		return fmt.Sprintf("<circle class=\"run\" cx=\"%g\" cy=\"%g\" r=\"3.2\"/>\n", cx, cy)
	case '◆':
		return fmt.Sprintf("<path class=\"new\" d=\"M%g %gl4.5 4.5l-4.5 4.5l-4.5 -4.5z\"/>\n", cx, cy-4.5)
	case '│':
		return fmt.Sprintf("<path class=\"axis\" d=\"M%g %gv%g\"/>\n", cx, y, cellHeight)
	}
	return ""
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder takes everything
	return b.String()
}
