package reports

import (
	"bytes"
	"regexp"

	"github.com/dendroprof/dendro/format/internal/callgraph"
	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// gprof prints a flat profile, of functions, and a call graph: for each function a block
// with its callers above and its callees below, each with the time of those calls. Paths are
// estimated from the call graph as for callgrind.

var (
	gprofHead    = regexp.MustCompile(`(?m)^(Flat profile:|\s*index\s+% ?time\s+self\s+(children|descendents))`)
	gprofPrimary = regexp.MustCompile(`^\[(\d+)\]\s+[\d.]+\s+([\d.]+)\s+([\d.]+)\s+(?:\d+(?:\+\d+)?\s+)?(\S.*?)\s+\[(\d+)\]\s*$`)
	gprofCallee  = regexp.MustCompile(`^\s+([\d.]+)\s+([\d.]+)\s+\d+(?:[/+]\d+)?\s+(\S.*?)\s+\[(\d+)\]\s*$`)
	gprofFlat    = regexp.MustCompile(`^\s*[\d.]+\s+[\d.]+\s+([\d.]+)\s+(?:\d+\s+(?:[\d.]+\s+[\d.]+\s+)?)?(\S.*?)(?:\s+\[\d+\])?\s*$`)
	gprofCycle   = regexp.MustCompile(`\s*<cycle \d+>$`)
)

// sniffGprof looks for fixed text first: the expression takes milliseconds for a prefix of
// another format, more than importing a small file.
func sniffGprof(prefix []byte) bool {
	has := func(text string) bool { return bytes.Contains(prefix, []byte(text)) }
	return (has("Flat profile:") || has("% time") || has("%time")) && has("self") && has("name") && gprofHead.Match(prefix)
}

func readGprof(r *report) error {
	graph := callgraph.New(r.Profile.Symbols)
	flat := r.table(profile.NamedType(profile.CPU))
	inFlat, inGraph, blocks := false, false, 0
	scale := 1e9
	caller := callgraph.None
	for r.Next() {
		line := r.Text()
		text := bytes.TrimSpace(line)
		switch {
		case bytes.HasPrefix(text, []byte("index")) && bytes.Contains(text, []byte("self")):
			inGraph, inFlat = true, false
		case bytes.HasPrefix(text, []byte("%")) && bytes.HasSuffix(text, []byte(" name")),
			bytes.HasPrefix(text, []byte("time")) && bytes.HasSuffix(text, []byte(" name")):
			inFlat = bytes.Contains(text, []byte("seconds")) || scale != 1e9
		case blocks == 0 && bytes.HasPrefix(text, []byte("cumulative")) && bytes.Contains(text, []byte("cycles")):
			scale, flat.typ = 1e3, profile.ValueType{Name: "cycles", Unit: "count"} // in thousands
		case bytes.HasPrefix(text, []byte("-----")):
			caller = callgraph.None
		case len(text) == 0:
			inFlat = false
		case inGraph && text[0] == '[':
			m := gprofPrimary.FindSubmatch(line)
			if m == nil || bytes.Contains(m[4], []byte("as a whole>")) {
				continue
			}
			self, ok := decimal(m[2], scale)
			caller = r.gprofNode(graph, m[4])
			if blocks++; !ok || !graph.AddSelf(caller, 0, self) {
				return r.Malformed("not a time, or too much of it: %.60q", line)
			}
		case inGraph && caller != callgraph.None:
			if m := gprofCallee.FindSubmatch(line); m != nil {
				self, ok := decimal(m[1], scale)
				below, ok2 := decimal(m[2], scale)
				if !ok || !ok2 || !graph.AddCall(caller, r.gprofNode(graph, m[3]), self+below) {
					return r.Malformed("not a time, or too much of it: %.60q", line)
				}
			}
		case inFlat:
			if m := gprofFlat.FindSubmatch(line); m != nil {
				self, ok := decimal(m[1], scale)
				if !ok {
					return r.Malformed("not a time: %.60q", line)
				}
				frame := r.frame(m[2], nil, kindOf(m[2]))
				if err := r.add(flat, stacktext.Row{Stack: r.Stack([]profile.FrameID{frame}), Value: self}); err != nil {
					return err
				}
			}
		}
	}
	if blocks > 0 {
		r.tables = nil
		samples := profile.Samples{Type: flat.typ}
		graph.Samples(&samples, 0, 0, r.Limits.Depth)
		r.Profile.Tables = append(r.Profile.Tables, samples)
		callgraph.Warn(r.Profile, graph.Pairs())
	}
	return nil
}

// gprofNode returns the function of a name, which ends in its cycle if it is in one.
func (r *report) gprofNode(g *callgraph.Graph, name []byte) int32 {
	name = gprofCycle.ReplaceAll(name, nil)
	frame := r.frame(name, nil, kindOf(name))
	return g.Node(r.Profile.Symbols.Frames[frame], 0)
}
