package callgrind

import (
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// dialect is what one writer of the format means by its events and names, which the format
// has no place to say.
type dialect struct {
	kind   profile.Kind
	events map[string]meaning
	name   func(fn *profile.Function) // tidies the name of a function
}

// meaning is the value type of an event, and what its counts are multiplied by.
type meaning struct {
	name   string
	unit   string
	factor int64
}

var (
	// Xdebug 2 has events without units; Xdebug 3 names them (Time_(10ns)).
	xdebug = dialect{kind: profile.KindPHP, events: map[string]meaning{
		"Time": {profile.Wall, "nanoseconds", 1000}, "Memory": {"Memory", "bytes", 1}}}
	yappi = dialect{profile.KindPython, map[string]meaning{"Ticks": {profile.Wall, "nanoseconds", 1000}}, yappiName}
	// pyprof2calltree converts the files of cProfile.
	pyprof = dialect{profile.KindPython, map[string]meaning{"ns": {profile.Wall, "nanoseconds", 1}}, pyprofName}
	// ruby-prof names nobody as the creator, but has events of its own.
	rubyProf = dialect{profile.KindRuby, map[string]meaning{
		"wall_time": {profile.Wall, "nanoseconds", 1000}, "process_time": {profile.CPU, "nanoseconds", 1000},
		"gc_time":     {"gc", "nanoseconds", 1000},
		"allocations": {profile.AllocSamples, "count", 1}, "memory": {profile.Alloc, "bytes", 1}, "gc_runs": {"gc-runs", "count", 1},
	}, rubyName}
)

// dialectOf returns the dialect of a file by its creator and its first event.
func dialectOf(creator, event string) dialect {
	switch {
	case creator == "xdebug":
		return xdebug
	case creator == "yappi":
		return yappi
	case creator == "pyprof2calltree", creator == "" && event == "ns":
		return pyprof
	case creator == "ruby" || creator == "ruby-prof", creator == "" && rubyProf.events[event].unit != "":
		return rubyProf
	}
	return dialect{}
}

// yappiName takes file and line off `price /srv/shop/price.py:2`.
func yappiName(fn *profile.Function) {
	name, line, ok := cutLine(fn.Name)
	if name, found := strings.CutSuffix(name, " "+fn.File); ok && found && name != "" {
		fn.Name, fn.StartLine = name, line
	}
}

// pyprofName takes the line off `price:2`, the name of functions of which the file has two.
func pyprofName(fn *profile.Function) {
	if name, line, ok := cutLine(fn.Name); ok && name != "" {
		fn.Name, fn.StartLine = name, line
	}
	if fn.File == "~" { // built-in functions, as pstats has them
		fn.File = ""
	}
}

// rubyName writes `Shop/Cart::total` as Shop::Cart#total, and a method of a class or module
// itself, `Shop/Cart::total^`, as Shop::Cart.total, like other profilers of Ruby.
func rubyName(fn *profile.Function) {
	name, own := strings.CutSuffix(fn.Name, "^")
	name = strings.TrimSuffix(name, "*")
	class, method, ok := strings.Cut(name, "::")
	if !ok || class == "" || method == "" {
		return
	}
	sep := "#"
	if inner, found := strings.CutPrefix(class, "<Class/"); own || found {
		class, sep = strings.TrimSuffix(strings.TrimPrefix(inner, "/"), ">"), "."
	}
	fn.Name = strings.ReplaceAll(class, "/", "::") + sep + method
}

// cutLine splits a text at the line behind its last colon.
func cutLine(text string) (name string, line int32, ok bool) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return text, 0, false
	}
	n, err := strconv.ParseInt(text[i+1:], 10, 32)
	return text[:i], int32(n), err == nil && n >= 0
}
