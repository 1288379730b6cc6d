package folded

import (
	"bytes"

	"github.com/dendroprof/dendro/profile"
)

// plannedLines is the number of lines by which the strategy is chosen.
const plannedLines = 100

// plan looks at the first window of a file, decides how it will be read, and
// makes the tables.
//
// The file is differential if every line of the window with a stack ends in two
// numbers. A frame may well end in a number, `operator() 2`, but not the leaves
// of all lines. From then on every line must have two: a line with one is an
// error, not a reason to read the lines before differently.
func (r *run) plan(text []byte) {
	r.pair = true
	stacks := 0
	var sharedBytes, allBytes int
	var above []byte
	for line := range bytes.Lines(text) {
		complete := r.in.eof || line[len(line)-1] == '\n'
		line = bytes.TrimSuffix(line, []byte("\n"))
		body := trimStart(line)
		if len(body) == 0 || !complete || saysNothing(line) {
			continue
		}
		if stacks++; stacks <= plannedLines {
			sharedBytes += commonPrefix(body, above)
			allBytes += len(body)
			above = body
		}
		r.pair = r.pair && hasTwoNumbers(body)
		if !r.pair && stacks >= plannedLines {
			break
		}
	}
	if r.by == choose {
		r.by = byHash
		if 2*sharedBytes > allBytes || stacks < 2 {
			r.by = byPrefix
		}
	}
	r.pair = r.pair && stacks > 0
	r.makeTables()
}

func (r *run) makeTables() {
	types := []string{profile.CPUSamples}
	if r.pair {
		types = []string{profile.Base, profile.Head}
		r.p.Default = 1
	}
	r.p.Tables = make([]profile.Samples, len(types))
	for i, name := range types {
		r.p.Tables[i].Type = profile.ValueType{Name: name, Unit: "count"}
	}
}

func (r *run) tooLong(pos int) error {
	return r.place(profile.TooLarge("line of text longer", int64(r.limits.Line), "--max-line"), pos, false)
}

func (r *run) tooDeep() error {
	return profile.TooDeep(r.limits.Depth)
}

func malformed(err error) error { return profile.Malformed("%w", err) }
