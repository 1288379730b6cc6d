package reports

import (
	"bytes"
	"regexp"
	"slices"

	"github.com/dendroprof/dendro/format/internal/perf"
	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// A report of perf has a table for each event: rows of a share, a process, a library and a
// symbol, with the calls that lead there drawn below each. With the column Children (the
// default since perf 3.16) the calls of a row are of its callees too, so paths are read
// from reports without it (--no-children).

var (
	perfHead   = regexp.MustCompile(`(?m)^# *(Overhead|Children +Self) `)
	perfEvent  = regexp.MustCompile(`^# Samples: .* of events? '(.*)'`)
	perfCount  = regexp.MustCompile(`^# Event count \(approx\.\): (\d+)`)
	perfBranch = regexp.MustCompile(`^([ |]*)(?:-+(\d+\.\d+)%-+|-{2,}) ?(.*)$`)
	perfShare  = regexp.MustCompile(`^ +(\d+\.\d+)%$`)
)

func sniffPerf(prefix []byte) bool {
	return bytes.HasPrefix(prefix, []byte("#")) && perfHead.Match(prefix)
}

// perfReport is the reading of the tables.
type perfReport struct {
	*report
	events  []*perf.Event
	name    string // of the event to come
	count   int64  // of its events
	heads   []byte // the line with the names of the columns
	columns []column

	row      perfRow
	branches []branch // of the row in work, callers of a column before those of larger ones
	open     []int    // branches that the line in work is below of
	share    []byte   // of the branch whose names follow
}

type column struct {
	name     string
	from, to int
}

// perfRow is a row of the table.
type perfRow struct {
	open     bool
	share    int64 // hundredths of a percent
	symbol   []byte
	frame    profile.FrameID
	thread   profile.ThreadID
	children bool // the calls are of its callees too
}

// branch is a chain of calls without branches.
type branch struct {
	column, parent int
	share          int64 // hundredths of a percent; -1: as its parent
	names          [][]byte
}

func readPerf(r *report) error {
	p := &perfReport{report: r}
	for r.Next() {
		if err := p.line(r.Text()); err != nil {
			return err
		}
	}
	if err := p.endRow(); err != nil {
		return err
	}
	if len(p.events) == 0 {
		return r.Malformed("a report of perf without a row")
	}
	perf.Fill(r.Profile, p.events)
	return nil
}

func (p *perfReport) line(line []byte) error {
	if bytes.HasPrefix(line, []byte("#")) {
		if err := p.endRow(); err != nil {
			return err
		}
		if m := perfEvent.FindSubmatch(line); m != nil {
			p.name, p.columns = string(m[1]), nil
		} else if m := perfCount.FindSubmatch(line); m != nil {
			p.count, _ = stacktext.Uint(m[1])
			p.events = append(p.events, perf.NewEvent(p.name, p.Limits))
			p.events[len(p.events)-1].HasPeriod = true
		} else if bytes.HasPrefix(line, []byte("# ..")) || bytes.HasPrefix(line, []byte("#  ..")) {
			p.setColumns(line)
		}
		p.heads = append(p.heads[:0], line...)
		return nil
	}
	if len(p.columns) == 0 || len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	if row := p.field(line, 0); bytes.HasSuffix(row, []byte("%")) && len(line) > p.columns[0].to && p.columns[0].to-len(row) < 10 &&
		line[p.columns[0].to-1] == '%' {
		return p.begin(line)
	}
	if p.row.open && !p.row.children {
		p.chain(line)
	}
	return nil
}

// setColumns reads the line of dots below the names of the columns.
func (p *perfReport) setColumns(dots []byte) {
	p.columns = p.columns[:0]
	for i := 1; i < len(dots); i++ {
		if dots[i] != '.' || dots[i-1] == '.' {
			continue
		}
		end := i
		for end < len(dots) && dots[end] == '.' {
			end++
		}
		name := ""
		if i < len(p.heads) {
			name = string(bytes.TrimSpace(p.heads[i:min(end, len(p.heads))]))
		}
		p.columns = append(p.columns, column{name, i, end})
	}
	if n := len(p.columns); n > 0 {
		p.columns[n-1].to = 1 << 30
	}
}

func (p *perfReport) field(line []byte, i int) []byte {
	c := p.columns[i]
	if c.from >= len(line) {
		return nil
	}
	return bytes.TrimSpace(line[c.from:min(c.to, len(line))])
}

// begin begins a row.
func (p *perfReport) begin(line []byte) error {
	if err := p.endRow(); err != nil {
		return err
	}
	var process, library []byte
	row := perfRow{open: true}
	symbol := []byte(nil)
	for i, c := range p.columns {
		field := p.field(line, i)
		switch c.name {
		case "Children":
			row.children = true
		case "Overhead", "Self":
			share, ok := decimal(field, 100)
			if !ok {
				return p.Malformed("not a share: %.40q", field)
			}
			row.share = share
		case "Command":
			process = field
		case "Shared Object":
			library = field
		case "Symbol":
			symbol = field
		}
	}
	kernel := bytes.HasPrefix(symbol, []byte("[k] "))
	if len(symbol) > 4 && symbol[0] == '[' && symbol[2] == ']' {
		symbol = symbol[4:]
	}
	row.symbol = bytes.Clone(symbol)
	kind, _ := perf.KindOf(string(symbol), string(library))
	if kernel {
		kind = profile.KindKernel
	}
	row.frame = p.frame(symbol, nil, kind) // calls have no library
	if len(process) > 0 {
		row.thread = p.Thread(process, nil, nil)
	}
	p.row = row
	if row.children {
		p.Notes.Add("the report has the column Children, whose calls are of the callees too: call paths are left out; print it with --no-children",
			"rows of a report with the column Children, whose calls are of the callees too, have no call paths: print it with --no-children", p.Number())
	}
	return nil
}

// chain reads a line of the calls drawn below a row.
func (p *perfReport) chain(line []byte) {
	if m := perfShare.FindSubmatch(line); m != nil { // -g flat
		p.share = bytes.Clone(m[1])
		p.open = p.open[:0]
		return
	}
	name := bytes.TrimLeft(line, " |")
	column := len(line) - len(name)
	share, begins := int64(-1), p.share != nil
	if p.share != nil {
		share, _ = decimal(p.share, 100)
		p.share = nil
	}
	if m := perfBranch.FindSubmatchIndex(line); m != nil {
		begins, name, column = true, line[m[6]:m[7]], m[6]
		if m[4] >= 0 {
			share, _ = decimal(line[m[4]:m[5]], 100)
		}
	}
	if name = bytes.TrimSpace(name); len(name) == 0 {
		return
	}
	for len(p.open) > 0 {
		if last := p.branches[p.open[len(p.open)-1]].column; last < column || !begins && last == column {
			break
		}
		p.open = p.open[:len(p.open)-1]
	}
	if begins || len(p.open) == 0 {
		parent := -1
		if len(p.open) > 0 {
			parent = p.open[len(p.open)-1]
		}
		p.open = append(p.open, len(p.branches))
		p.branches = append(p.branches, branch{column: column, parent: parent, share: share})
	}
	at := &p.branches[p.open[len(p.open)-1]]
	at.names = append(at.names, bytes.Clone(name))
}

// endRow adds the samples of the row in work: what a branch has beyond its own branches is
// of its chain.
func (p *perfReport) endRow() error {
	row := p.row
	branches := p.branches
	p.row, p.branches, p.open, p.share = perfRow{}, p.branches[:0], p.open[:0], nil
	if !row.open {
		return nil
	}
	if len(p.events) == 0 {
		return p.Malformed("a row without an event")
	}
	inside := make([]int64, len(branches)+1) // shares of the branches of each; of the row the last
	parent := func(b branch) int {
		if b.parent < 0 {
			return len(branches)
		}
		return b.parent
	}
	share := func(at int) int64 { // of a parent
		if at == len(branches) {
			return row.share
		}
		return branches[at].share
	}
	printed := make([]int64, len(branches)+1)
	for i := range branches {
		if b := &branches[i]; b.share < 0 {
			b.share = -share(parent(*b)) // not printed: all of it
		} else {
			printed[parent(*b)] += b.share
		}
	}
	relative := false // -g fractal: to the branch above
	for at, sum := range printed {
		relative = relative || sum > max(share(at), -share(at))+int64(len(branches))
	}
	for i := range branches {
		b := &branches[i]
		switch above := share(parent(*b)); {
		case b.share <= 0:
			b.share = above
		case relative:
			b.share = b.share * above / 10_000
		}
		inside[parent(*b)] += b.share
	}
	for i := range branches {
		if err := p.sample(row, branches, i, branches[i].share-inside[i]); err != nil {
			return err
		}
	}
	return p.sample(row, branches, -1, row.share-inside[len(branches)])
}

// sample adds a share of a row that is of a branch.
func (p *perfReport) sample(row perfRow, branches []branch, of int, share int64) error {
	if share <= 0 {
		return nil
	}
	var names [][]byte // innermost first
	for at := of; at >= 0; at = branches[at].parent {
		chain := slices.Clone(branches[at].names)
		slices.Reverse(chain)
		names = append(names, chain...)
	}
	slices.Reverse(names) // as printed
	if len(names) > 0 && !bytes.Equal(names[0], row.symbol) {
		slices.Reverse(names) // callers come first
	}
	frames := []profile.FrameID{row.frame}
	for _, name := range names {
		if len(frames) == 1 && bytes.Equal(name, row.symbol) {
			continue
		}
		if len(frames) >= p.Limits.Depth {
			return p.At(profile.TooDeep(p.Limits.Depth))
		}
		frames = append(frames, p.frame(name, nil, kindOf(name)))
	}
	value := int64(float64(p.count) * float64(share) / 10_000)
	if value > 0 && !p.events[len(p.events)-1].Add(stacktext.Row{Stack: p.Stack(frames), Value: value, Thread: row.thread}, 0) {
		return p.Malformed("the values add up to more than 63 bits")
	}
	return nil
}
