package search

import (
	"errors"
	"fmt"
	"strings"
)

// scores maps documents to how well they match.
type scores map[int]float64

// node is a part of a parsed query.
type node interface {
	// eval returns the matching documents.
	eval(ix *Index) scores
}

type (
	termNode   struct{ term string }
	prefixNode struct{ prefix string }
	fuzzyNode  struct{ term string }
	andNode    struct{ left, right node }
	orNode     struct{ left, right node }
	notNode    struct{ keep, drop node }
)

var errEmpty = errors.New("empty query")

// parser reads queries such as: steel (pan* or knife~) not refurbished.
type parser struct {
	words []string
}

// parse returns the tree of a query.
func parse(query string) (node, error) {
	spaced := strings.NewReplacer("(", " ( ", ")", " ) ").Replace(strings.ToLower(query))
	p := &parser{words: strings.Fields(spaced)}
	n, err := p.parseOr()
	if err != nil {
		return nil, fmt.Errorf("query %q: %w", query, err)
	}
	if len(p.words) > 0 {
		return nil, fmt.Errorf("query %q: unexpected %q", query, p.words[0])
	}
	return n, nil
}

// accept takes the next word if it is w.
func (p *parser) accept(w string) bool {
	if len(p.words) == 0 || p.words[0] != w {
		return false
	}
	p.words = p.words[1:]
	return true
}

func (p *parser) parseOr() (node, error) {
	left, err := p.parseAnd()
	for err == nil && p.accept("or") {
		var right node
		if right, err = p.parseAnd(); err == nil {
			left = orNode{left, right}
		}
	}
	return left, err
}

func (p *parser) parseAnd() (node, error) {
	left, err := p.parseTerm()
	for err == nil && len(p.words) > 0 && p.words[0] != "or" && p.words[0] != ")" {
		var right node
		if p.accept("not") {
			if right, err = p.parseTerm(); err == nil {
				left = notNode{keep: left, drop: right}
			}
			continue
		}
		if right, err = p.parseTerm(); err == nil {
			left = andNode{left, right}
		}
	}
	return left, err
}

func (p *parser) parseTerm() (node, error) {
	if len(p.words) == 0 {
		return nil, errEmpty
	}
	if p.accept("(") {
		n, err := p.parseOr()
		if err == nil && !p.accept(")") {
			err = errors.New("missing )")
		}
		return n, err
	}
	w := p.words[0]
	p.words = p.words[1:]
	if prefix, ok := strings.CutSuffix(w, "*"); ok {
		return prefixNode{prefix}, nil
	}
	if term, ok := strings.CutSuffix(w, "~"); ok {
		return fuzzyNode{stem(term)}, nil
	}
	return termNode{stem(w)}, nil
}

func (n termNode) eval(ix *Index) scores {
	found := make(scores)
	ix.score(n.term, found)
	return found
}

func (n prefixNode) eval(ix *Index) scores { return ix.scoreAll(ix.expand(n.prefix)) }

func (n fuzzyNode) eval(ix *Index) scores { return ix.scoreAll(ix.similar(n.term)) }

func (n andNode) eval(ix *Index) scores {
	left, right := n.left.eval(ix), n.right.eval(ix)
	both := make(scores)
	for doc, s := range left {
		if t, ok := right[doc]; ok {
			both[doc] = s + t
		}
	}
	return both
}

func (n orNode) eval(ix *Index) scores {
	found := n.left.eval(ix)
	for doc, s := range n.right.eval(ix) {
		found[doc] += s
	}
	return found
}

func (n notNode) eval(ix *Index) scores {
	found := n.keep.eval(ix)
	for doc := range n.drop.eval(ix) {
		delete(found, doc)
	}
	return found
}
