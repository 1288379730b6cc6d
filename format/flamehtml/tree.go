package flamehtml

import (
	"bytes"
	"html"
	"regexp"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/profile"
)

// treeRow is a row of a tree page:
//
//	<li><div>[3] 22.24% 121 self: 1.10% 6</div><span class="t1"> name</span>
var treeRow = regexp.MustCompile(`^<li><div>\[(\d+)\] [\d.,]+% ([\d,]+) self: [\d.,]+% ([\d,]+)</div><span class="t(\w*)"> (.*)</span>$`)

var rowStart = []byte("<li><div>")

// readTree reads a tree page of async-profiler up to 3. Rows are depth first and
// say their level and their self value.
func (g *graph) readTree(b []byte) error {
	g.profiler = "async-profiler"
	g.tree = true
	g.typ = typeOf("", "")
	names := map[string]int32{}
	for at := 0; at < len(b); {
		end := len(b)
		if n := bytes.IndexByte(b[at:], '\n'); n >= 0 {
			end = at + n
		}
		if line := bytes.TrimRight(b[at:end], "\r"); bytes.HasPrefix(line, rowStart) {
			if err := g.treeBox(b, at, line, names); err != nil {
				return err
			}
		}
		at = end + 1
	}
	if len(g.boxes) == 0 {
		return malformed(b, len(b), "the page has no frames")
	}
	g.missing(b)
	return nil
}

func (g *graph) treeBox(b []byte, at int, line []byte, names map[string]int32) error {
	m := treeRow.FindSubmatch(line)
	if m == nil {
		return malformed(b, at, "not a row of a tree: %.60q", line)
	}
	level, total, self := number(m[1]), number(m[2]), number(m[3])
	last := int64(-1)
	if n := len(g.boxes); n > 0 {
		last = int64(g.boxes[n-1].level)
	}
	if level < 0 || level > last+1 || total < 0 || self < 0 {
		return malformed(b, at, "a level or number is impossible: %.60q", line)
	}
	if level >= int64(g.limits.Depth) {
		return &profile.ParseError{Offset: int64(at), Err: profile.TooDeep(g.limits.Depth)}
	}
	name := html.UnescapeString(string(m[5]))
	text := intern.Number(names, &g.texts, name, name)
	mode := profile.FrameUnknown
	if kind, err := strconv.Atoi(string(m[4])); err == nil && kind >= 0 && kind < len(modes) {
		mode = modes[kind]
	}
	g.boxes = append(g.boxes, box{level: int32(level), text: text, mode: mode, total: total, delta: self})
	return nil
}

// missing counts what the page says there is in all, less what its rows have.
func (g *graph) missing(b []byte) {
	text := string(section(b, string(markTree), "</div>"))
	all := number([]byte(strings.TrimSpace(text[strings.LastIndexByte(text, ':')+1:])))
	for i := range g.boxes {
		all -= g.boxes[i].delta
	}
	g.narrow = max(all, 0)
}

// number reads a number with commas between the thousands; -1 is none.
func number(text []byte) int64 {
	n, err := strconv.ParseInt(strings.ReplaceAll(string(text), ",", ""), 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}
