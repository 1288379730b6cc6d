package firefox

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// Locations of frames in a raw profile, when they are no plain address:
//
//	function (in library) + 12, function (in library) (file:7), function (in library)
//	function (script:7:3)[5], script:7:3
//
// and anything else, which is a label that the browser put on the stack.
var (
	nativeLocation = regexp.MustCompile(`^(.*) \(in ([^)]*)\)(?: \+ [0-9]+| \(.*:.*\))?$`)
	scriptLocation = regexp.MustCompile(`^(?:(.*) \((.+?):([0-9]+)(?::([0-9]+))?\)|(.+?):([0-9]+)(?::([0-9]+))?)(?:\[[0-9]+\])?$`)
)

// rawSymbols interns the functions, frames and stacks of a thread of a raw profile.
func (k *linker) rawSymbols(f *file, t *symbolTables, texts *texts) (*linked, error) {
	table := &t.frames
	location, relevant := table.col("location"), table.col("relevantForJS")
	line, column, category, sub := table.col("line"), table.col("column"), table.col("category"), table.col("subcategory")
	frames := make([]profile.FrameID, len(location.ids))
	byText := map[rawLocation]profile.Frame{}
	for row := range frames {
		id, known := k.reference(location, row, texts.len())
		at := rawLocation{id, relevant.is(row)}
		fr, ok := byText[at]
		if !ok {
			if known {
				fr = k.rawFrame(f, texts.text(id), at.relevantForJS)
			} else {
				fr.Function = k.unknownFunction()
			}
			byText[at] = fr
		}
		fr.Line, fr.Column = line.number(row), column.number(row)
		fr.Category = k.category(category.id(row), sub.id(row))
		frames[row] = k.p.Symbols.Frame(fr)
	}
	return k.stacks(t, frames, texts)
}

// rawLocation is what a raw profile says of a function.
type rawLocation struct {
	text          int32
	relevantForJS bool
}

// rawFrame returns the frame of a location: its function, and where the location is
// an address, that and its library.
func (k *linker) rawFrame(f *file, location string, relevantForJS bool) profile.Frame {
	if strings.HasPrefix(location, "0x") {
		return k.addressFrame(f, location)
	}
	fn := profile.Function{Name: location, Kind: profile.KindLabel}
	if m := nativeLocation.FindStringSubmatch(location); m != nil {
		fn.Name, fn.Module = m[1], m[2]
		fn.Kind = kindOf(&fn, false, false)
	} else if m := scriptLocation.FindStringSubmatch(location); m != nil {
		fn = scriptFunction(m)
	} else if relevantForJS {
		fn.Kind = profile.KindJSLabel
	}
	return profile.Frame{Function: k.p.Symbols.Function(fn)}
}

// addressFrame returns the frame of an address that was not symbolicated: each is a
// function of its own.
func (k *linker) addressFrame(f *file, location string) profile.Frame {
	fn := profile.Function{Name: location}
	var fr profile.Frame
	address, err := strconv.ParseUint(location[2:], 16, 64)
	for _, l := range f.libs {
		if err == nil && l.start <= address && address < l.end {
			fn.Module, fn.Kind = l.name, profile.KindNative
			fr.Address, fr.Module = address-l.start, k.p.Symbols.Module(l.module)
			break
		}
	}
	fr.Function = k.p.Symbols.Function(fn)
	return fr
}

// scriptFunction returns the function of a match of scriptLocation.
func scriptFunction(m []string) profile.Function {
	name, uri, line, column := m[1], m[2], m[3], m[4]
	if uri == "" {
		uri, line, column = m[5], m[6], m[7]
	}
	// A script that another loaded is called "loader.js -> script.js".
	if i := strings.LastIndex(uri, " -> "); i >= 0 {
		uri = uri[i+len(" -> "):]
	}
	name = cmp.Or(name, "(root scope) "+uri) // the evaluation of the file itself
	fn := profile.Function{Name: name, File: uri, Module: uriResource(uri), Kind: profile.KindJS}
	if n, err := strconv.ParseInt(line, 10, 32); err == nil {
		fn.StartLine = int32(n)
	}
	if n, err := strconv.ParseInt(column, 10, 32); err == nil {
		fn.Column = int32(n)
	}
	return fn
}

// uriResource returns the resource of a script: its host with the scheme, or the
// whole of what has no host.
func uriResource(uri string) string {
	scheme, rest, ok := strings.Cut(uri, "://")
	if !ok || scheme != "http" && scheme != "https" && scheme != "moz-extension" {
		return uri
	}
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
}
