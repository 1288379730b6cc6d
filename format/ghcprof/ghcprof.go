// Package ghcprof reads the cost-centre profiles of GHC, Haskell's compiler: the text of
// +RTS -p, -P and -pa (FILE.prof) and the JSON of +RTS -pj. Both have a tree of cost
// centres with the ticks and the allocated bytes of each.
//
// The text of -p has percentages only, of which the values are computed; -P and JSON have
// the values. docs/format/scripting.md lists what it does not keep.
package ghcprof

import (
	"bytes"
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "ghcprof"

// NewDecoder returns a decoder.
func NewDecoder() profile.Decoder {
	return stacktext.Either('{', jsonscan.NewDecoder(Name, readJSON), stacktext.NewDecoder(Name, readText))
}

const title = "Time and Allocation Profiling Report"

// Sniff reports whether content that begins with prefix is of this format.
func Sniff(prefix []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimLeft(prefix, " \t\r\n"), []byte("\n"))
	if len(line) < 200 && bytes.Contains(line, []byte(title)) {
		return true
	}
	o := jsonscan.NewOutline(prefix)
	return o.Has("rts_arguments") && o.Has("cost_centres", "total_ticks")
}

// costs is the sample tables in work: ticks and allocated bytes.
type costs struct {
	p            *profile.Profile
	ticks, bytes *stacktext.Table
	tick         time.Duration
}

func newCosts(p *profile.Profile, l profile.Limits) costs {
	p.Profiler = "GHC"
	return costs{p: p, ticks: stacktext.NewTable(l), bytes: stacktext.NewTable(l)}
}

// add adds the own costs of a cost centre; false if they add up to too much.
func (c *costs) add(stack profile.StackID, ticks, bytes int64) bool {
	return (ticks <= 0 || c.ticks.Add(stacktext.Row{Stack: stack, Value: ticks})) &&
		(bytes <= 0 || c.bytes.Add(stacktext.Row{Stack: stack, Value: bytes}))
}

// fill makes the sample tables.
func (c *costs) fill() {
	t := profile.NamedType(profile.CPUSamples)
	if c.tick > 0 {
		t.Period, t.PeriodUnit, t.PeriodName = int64(c.tick), "nanoseconds", profile.CPU
		c.p.Interval = c.tick
	}
	c.p.Tables = []profile.Samples{c.ticks.Samples(t, false, 0), c.bytes.Samples(profile.NamedType(profile.Alloc), false, 0)}
}

const tooMuch = "the costs add up to more than 63 bits"

// frame returns the frame of a cost centre, which is in a module and a place of a source:
// Shop.hs:4:1-64, Shop.hs:(10,1)-(13,32), <built-in>.
func (c *costs) frame(name, module, place string) profile.FrameID {
	fn := profile.Function{Name: name, Module: module}
	if module != "" && module != name {
		fn.Name = module + "." + name
	}
	fn.Name = cmp.Or(fn.Name, profile.NoName)
	if file, position, ok := strings.Cut(place, ":"); ok && !strings.HasPrefix(place, "<") {
		fn.File = file
		position = strings.TrimPrefix(position, "(")
		if n, err := strconv.ParseInt(position[:stacktext.Digits([]byte(position))], 10, 32); err == nil {
			fn.StartLine = int32(n)
		}
	}
	return c.p.Symbols.Frame(profile.Frame{Function: c.p.Symbols.Function(fn)})
}

// text is the reading of a text.
type text struct {
	costs
	in           *stacktext.Lines
	module, src  int // columns of the table, in characters; src 0: it has none
	values       bool
	ticks, bytes int64 // in total
	path         []profile.StackID
}

func readText(in *stacktext.Reading) error {
	p, l := in.Profile, in.Limits
	t := text{costs: newCosts(p, l), in: in.Lines}
	for in.Next() {
		line := strings.TrimRight(stacktext.Clean(in.Text()), " \t")
		var err error
		switch words := strings.Fields(line); {
		case len(words) == 0:
		case strings.HasPrefix(line, "COST CENTRE"):
			err = t.head(line)
		case t.module > 0:
			err = t.row(line, l.Depth)
		case words[0] == "total":
			t.total(words)
		case strings.HasPrefix(line, "\t   ") && len(p.Comments) == 0:
			p.Comments = append(p.Comments, strings.TrimSpace(line))
		}
		if err != nil {
			return err
		}
	}
	if t.module == 0 {
		return t.in.Malformed("no tree of cost centres")
	}
	t.fill()
	if !t.values {
		p.Warnf("values are computed from percentages with one decimal; for exact ones record with +RTS -P")
	}
	return nil
}

// total reads the totals: `total time = 0.02 secs (19 ticks @ 1000 us, 1 processor)` and
// `total alloc = 23,187,104 bytes (…)`.
func (t *text) total(words []string) {
	for i, w := range words[:len(words)-1] {
		n, err := strconv.ParseInt(strings.ReplaceAll(strings.TrimPrefix(w, "("), ",", ""), 10, 64)
		if err != nil || n < 0 {
			continue
		}
		switch unit := strings.TrimSuffix(words[i+1], ","); unit {
		case "ticks":
			t.ticks = n
		case "bytes":
			t.bytes = n
		case "us", "ms":
			if scale := map[string]time.Duration{"us": time.Microsecond, "ms": time.Millisecond}[unit]; n < math.MaxInt32 {
				t.tick = time.Duration(n) * scale
			}
		}
	}
}

// head reads the head of a table. The first one is a list, which the tree repeats.
func (t *text) head(line string) error {
	if !strings.Contains(line, " entries") {
		return nil
	}
	t.values = strings.HasSuffix(line, "bytes")
	t.module, t.src = strings.Index(line, "MODULE"), max(0, strings.Index(line, "SRC"))
	if t.module <= 0 {
		return t.in.Malformed("the tree has no column MODULE")
	}
	return nil
}

// row reads a row of the tree. Depth is a blank a level.
func (t *text) row(line string, maxDepth int) error {
	cells := []rune(line)
	if len(cells) < max(t.module, t.src) {
		return t.in.Malformed("no row of the tree: %.60q", line)
	}
	name := string(cells[:t.module])
	module, rest := "", string(cells[t.module:])
	if t.src > t.module {
		module, rest = strings.TrimSpace(string(cells[t.module:t.src])), string(cells[t.src:])
	}
	words := strings.Fields(rest)
	numbers := 6
	if t.values {
		numbers = 8
	}
	if len(words) < numbers {
		return t.in.Malformed("%d numbers in a row of the tree, want %d", len(words), numbers)
	}
	place := strings.Join(words[:len(words)-numbers], " ")
	words = words[len(words)-numbers:]
	if t.src == 0 {
		module, place = place, ""
	}
	if _, ok := stacktext.Uint([]byte(words[0])); !ok {
		return t.in.Malformed("%.30q is no number of a cost centre", words[0])
	}
	var own [2]int64
	for i, total := range []int64{t.ticks, t.bytes} {
		switch v, err := strconv.ParseFloat(words[2+i], 64); {
		case err != nil || !(v >= 0 && v <= 1000):
			return t.in.Malformed("a percentage %.30q", words[2+i])
		case t.values:
			var ok bool
			if own[i], ok = stacktext.Uint([]byte(words[6+i])); !ok {
				return t.in.Malformed("a number %.30q", words[6+i])
			}
		default:
			own[i] = int64(min(math.Round(v/100*float64(total)), 1<<62))
		}
	}
	depth := len(name) - len(strings.TrimLeft(name, " "))
	switch {
	case depth > len(t.path):
		return t.in.Malformed("a row %d levels deep below one of %d", depth, len(t.path))
	case depth >= maxDepth:
		return t.in.At(profile.TooDeep(maxDepth))
	}
	parent := profile.NoStack
	if depth > 0 {
		parent = t.path[depth-1]
	}
	stack := t.p.Symbols.Stack(parent, t.frame(strings.TrimSpace(name), module, place))
	t.path = append(t.path[:depth], stack)
	if !t.add(stack, own[0], own[1]) {
		return t.in.Malformed(tooMuch)
	}
	return nil
}
