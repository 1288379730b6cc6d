// Package callpath finds call paths in trees by their functions: `A;**;B` is B anywhere
// below A.
//
// A Pattern is parsed once and matched once against the table of a tree. It matches at a
// call node if the functions of a path that ends there fit its pieces. Spans marks the
// nodes of the matches and of their subtrees, and sums vectors of many profiles over them.
// The package knows no profiles, runs or stores; store.Find uses it.
package callpath

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/column"
)

// Limits of a pattern. Anyone who may read a store can send one.
const (
	maxPieces = 62      // states must fit one word
	maxText   = 4 << 10 // bytes, callees included
	// maxCost is the maximum size of all regular expressions, in instructions: matching a
	// name costs at most that many steps per character. `/^(get|set).*Handler$/` has 20.
	maxCost = 1000
)

// Pattern is a call path pattern: pieces separated by `;`, each matching one frame, and
// `**` matching any number of frames or none.
//
//	A;B        B called directly by A, anywhere in the stack
//	A;**;B     B anywhere below A
//	^;main     main as the outermost function
//	malloc;$   stacks that end in malloc
//
// A piece is an exact function name if the functions include it, otherwise alternatives
// separated by `|`, each an exact name or a glob (`*` any characters, `?` one
// character). `/re/` is a regular expression that may match any part of the name. `\;`
// and `\\` stand for `;` and `\` in names.
type Pattern struct {
	text       string
	pieces     []piece
	start, end bool // anchored at the outermost, at the innermost frame
	gap        uint64
	callees    []piece // that the function at the end of a match calls

	length, cost int         // of the text and the regular expressions so far
	stop         func() bool // nil: never
}

type piece struct {
	name    string // unescaped
	matches func(string) bool
	regular bool // a regular expression, not a glob
}

// Parse parses the text form of a pattern.
func Parse(text string) (*Pattern, error) {
	p := &Pattern{text: text}
	if err := p.lengthen(text); err != nil {
		return nil, err
	}
	parts, err := splitEscaped(text)
	if err != nil {
		return nil, fmt.Errorf("pattern %.200q: %w", text, err)
	}
	if len(parts) > 0 && parts[0] == "^" {
		p.start, parts = true, parts[1:]
	}
	if n := len(parts); n > 0 && parts[n-1] == "$" {
		p.end, parts = true, parts[:n-1]
	}
	for _, part := range parts {
		if part == "**" {
			p.gap |= 1 << len(p.pieces)
			continue
		}
		pc, err := p.piece(part)
		if err != nil {
			return nil, fmt.Errorf("pattern %.200q: %w", text, err)
		}
		p.pieces = append(p.pieces, pc)
	}
	switch {
	case len(p.pieces) == 0:
		return nil, fmt.Errorf("pattern %.200q names no function", text)
	case len(p.pieces) > maxPieces:
		return nil, fmt.Errorf("pattern %.200q has more than %d pieces", text, maxPieces)
	}
	return p, nil
}

// String returns the text form, without callees.
func (p *Pattern) String() string { return p.text }

// Calling restricts the pattern to call nodes that call a function of each piece directly,
// in the same profile.
func (p *Pattern) Calling(pieces ...string) error {
	if len(p.callees)+len(pieces) > maxPieces {
		return fmt.Errorf("more than %d callees", maxPieces)
	}
	for _, text := range pieces {
		if err := p.lengthen(text); err != nil {
			return err
		}
		pc, err := p.piece(text)
		if err != nil {
			return fmt.Errorf("callee %q: %w", text, err)
		}
		p.callees = append(p.callees, pc)
	}
	return nil
}

// Single reports whether the pattern is one function without anchors, gaps and callees, which a
// store can answer without trees.
func (p *Pattern) Single() bool {
	return len(p.pieces) == 1 && !p.start && !p.end && p.gap == 0 && len(p.callees) == 0
}

// StopWhen sets a function that is called again and again while names are matched. When it
// returns true, matching ends: what the pattern returns then is incomplete.
func (p *Pattern) StopWhen(stop func() bool) { p.stop = stop }

// lengthen adds a text to the length of the pattern.
func (p *Pattern) lengthen(text string) error {
	if p.length += len(text); p.length > maxText {
		return fmt.Errorf("pattern %.40q… has more than %d bytes", text, maxText)
	}
	return nil
}

func (p *Pattern) piece(part string) (piece, error) {
	if part == "" {
		return piece{}, errors.New("an empty piece")
	}
	if n := len(part); n > 2 && part[0] == '/' && part[n-1] == '/' {
		re, err := p.regular(part[1 : n-1])
		if err != nil {
			return piece{}, err
		}
		return piece{name: part, matches: re.MatchString, regular: true}, nil
	}
	name := strings.NewReplacer(`\;`, `;`, `\\`, `\`).Replace(part)
	return piece{name: name, matches: Glob(name)}, nil
}

// regular compiles a regular expression, unless it is too large: counted repetitions such
// as `(a{1000})` grow far beyond their text.
func (p *Pattern) regular(text string) (*regexp.Regexp, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if p.cost += cost(tree); p.cost > maxCost {
		return nil, fmt.Errorf("the regular expression is too complex: it has more than %d steps; use fewer alternatives and repetitions", maxCost)
	}
	return regexp.Compile(text)
}

// cost returns the number of instructions of a regular expression, about.
func cost(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += cost(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, 1<<30)
}

// splitEscaped splits at each `;` that is neither escaped nor inside `/…/`, and keeps
// escapes.
func splitEscaped(text string) ([]string, error) {
	var parts []string
	from := 0
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			if i++; i == len(text) {
				return nil, errors.New(`a single \ at the end`)
			}
		case text[i] == '/' && i == from:
			if end := closingSlash(text, i+1); end >= 0 {
				i = end
			}
		case text[i] == ';':
			parts = append(parts, text[from:i])
			from = i + 1
		}
	}
	return append(parts, text[from:]), nil
}

// closingSlash returns the end of a regular expression that begins before from: a `/`
// that is the last character of its piece; -1 if there is none.
func closingSlash(text string, from int) int {
	for i := from; i < len(text); i++ {
		if text[i] == '/' && (i+1 == len(text) || text[i+1] == ';') {
			return i
		}
	}
	return -1
}

// Functions returns for each piece the names that it matches.
func (p *Pattern) Functions(names []string) [][]bool {
	return column.Of(p.pieces, func(x piece) []bool { return p.match(x, names) })
}

// Name returns what a piece matches, as the pattern has it.
func (p *Pattern) Name(piece int) string { return p.pieces[piece].name }

// stopEvery is the number of names between two calls of stop.
const stopEvery = 64

func (p *Pattern) match(pc piece, names []string) []bool {
	m := make([]bool, len(names))
	if i := slices.Index(names, pc.name); i >= 0 {
		for ; i < len(names); i++ {
			m[i] = names[i] == pc.name
		}
		return m
	}
	if alternatives := strings.Split(pc.name, "|"); len(alternatives) > 1 && !pc.regular {
		for _, name := range alternatives {
			for i, ok := range p.match(piece{name: name, matches: Glob(name)}, names) {
				m[i] = m[i] || ok
			}
		}
		return m
	}
	for i, n := range names {
		if i%stopEvery == 0 && p.stop != nil && p.stop() {
			return m
		}
		m[i] = pc.matches(n)
	}
	return m
}

// Match marks the nodes at which a match of the pattern ends: the frames up to and
// including the node match it.
func (p *Pattern) Match(t *calltree.Table) []bool {
	mask := p.masks(t, p.pieces)
	// State i of a node: the pieces before i matched frames up to it, so piece i is
	// next. A state with a gap before its piece stays.
	last := uint64(1) << len(p.pieces)
	fresh := uint64(1)
	if p.start && p.gap&1 == 0 {
		fresh = 0
	}
	states := make([]uint64, t.Len())
	ends := make([]bool, t.Len())
	for n, up := range t.Parent {
		from := uint64(1)
		if up != calltree.NoNode {
			from = states[up] | fresh
		}
		to := (from & mask[t.Func[n]]) << 1
		states[n] = to | from&p.gap
		ends[n] = to&last != 0
		// With a gap at the end, a match also ends at every frame below it.
		if p.gap&last != 0 && from&last != 0 {
			ends[n] = true
		}
	}
	return ends
}

// masks returns, of every function of the table, the pieces that match it: bit i is
// piece i.
func (p *Pattern) masks(t *calltree.Table, pieces []piece) []uint64 {
	names := make([]string, len(t.Functions))
	for i := range names {
		names[i] = t.Functions[i].Name
	}
	mask := make([]uint64, len(names))
	for i, pc := range pieces {
		for fn, ok := range p.match(pc, names) {
			if ok {
				mask[fn] |= 1 << i
			}
		}
	}
	return mask
}

// Spans is the set of matches of a pattern in a calltree.Table, for sums over many vectors.
type Spans struct {
	ends   []bool // nodes at which a match ends
	below  []bool // nodes in the subtree of a match; nil if anchored at the end
	anchor bool
	shape  *shape // nil: any
}

// Spans returns the matches of the pattern.
func (p *Pattern) Spans(t *calltree.Table) Spans {
	s := Spans{ends: p.Match(t), anchor: p.end}
	if len(p.callees) > 0 {
		s.shape = &shape{t, p.masks(t, p.callees), 1<<len(p.callees) - 1}
	}
	s.setBelow(t)
	return s
}

// setBelow marks the nodes below the matches.
func (s *Spans) setBelow(t *calltree.Table) {
	if s.anchor {
		return
	}
	s.below = make([]bool, t.Len())
	open := int32(0)
	for n := range s.below {
		if s.ends[n] && t.End[n] > open {
			open = t.End[n]
		}
		s.below[n] = int32(n) < open
	}
}

// Sum returns self and total of the pattern in a vector over the table. Total counts every
// sample whose stack has a match, once; self counts those whose stack ends in a match. If
// the pattern is anchored at its end, both are equal.
func (s Spans) Sum(v calltree.Vector) (self, total int64) {
	if s.shape != nil {
		s = s.shape.in(s, v)
	}
	for i, n := range v.Nodes {
		if s.ends[n] {
			self += v.Self[i]
		}
		if s.below != nil && s.below[n] {
			total += v.Self[i]
		}
	}
	if s.anchor {
		total = self
	}
	return self, total
}

// shape is the callees that a match must have.
type shape struct {
	table *calltree.Table
	mask  []uint64 // of each function
	all   uint64
}

// in returns the matches that have the callees with samples of the vector.
func (c *shape) in(s Spans, v calltree.Vector) Spans {
	t := c.table
	called := make([]uint64, t.Len())
	seen := make([]bool, t.Len())
	for i, n := range v.Nodes {
		for ; n != calltree.NoNode && !seen[n] && v.Self[i] != 0; n = t.Parent[n] {
			seen[n] = true
			if up := t.Parent[n]; up != calltree.NoNode {
				called[up] |= c.mask[t.Func[n]]
			}
		}
	}
	out := Spans{ends: make([]bool, t.Len()), anchor: s.anchor}
	for n := range out.ends {
		out.ends[n] = s.ends[n] && called[n] == c.all
	}
	out.setBelow(t)
	return out
}

// Under returns the part of the tree below the matches: the samples whose stacks match,
// as trees that begin at the last frame of the match.
func (p *Pattern) Under(t *calltree.Tree) *calltree.Tree {
	s := p.Spans(t.Table)
	var f calltree.Forest
	var self []int64
	path := make([]int32, t.Len())
	fn := make([]int32, len(t.Functions))
	for i := range fn {
		fn[i] = f.Function(t.Functions[i])
	}
	for n, up := range t.Parent {
		path[n] = calltree.NoNode
		if s.below == nil && !s.ends[n] || s.below != nil && !s.below[n] {
			continue
		}
		parent := calltree.NoNode
		if up != calltree.NoNode && s.below != nil {
			parent = path[up]
		}
		path[n] = f.Path(parent, fn[t.Func[n]])
		if int(path[n]) == len(self) {
			self = append(self, 0)
		}
		self[path[n]] += t.Self[n]
	}
	return f.Tree(t.Type, self)
}
