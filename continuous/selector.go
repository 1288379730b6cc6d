package continuous

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dendroprof/dendro/internal/cost"
)

// maxSelector limits the bytes of selectors, and so the size of their patterns.
const maxSelector = 64 << 10

// ParseSelector parses selectors in the syntax of Prometheus, without the name of a metric:
//
//	{service_name="checkout", version=~"1\\.(4|5)", "otel.scope.name"!=""}
//
// It returns the conditions of all texts together; an empty text and `{}` have none. Names
// that are not identifiers are quoted; dots need no quotes. Values are quoted as in Go, or
// in single quotes. Errors name the selector and the column.
func ParseSelector(texts ...string) ([]Matcher, error) {
	var list []Matcher
	size := 0
	for _, text := range texts {
		if size += len(text); size > maxSelector {
			return nil, fmt.Errorf("selector %s: %d bytes: the maximum is %d", shortened(text), size, maxSelector)
		}
		p := selectorParser{text: text}
		matchers, err := p.parse()
		if err != nil {
			return nil, fmt.Errorf("selector %s: column %d: %w", shortened(text), utf8.RuneCountInString(text[:min(p.at, len(text))])+1, err)
		}
		list = append(list, matchers...)
	}
	return list, nil
}

// shortened returns a text for an error, quoted and of limited length.
func shortened(text string) string {
	const most = 200
	if len(text) > most {
		return strconv.Quote(text[:most]) + "…"
	}
	return strconv.Quote(text)
}

// selectorParser reads one selector.
type selectorParser struct {
	text string
	at   int // also the place of an error
}

func (p *selectorParser) parse() ([]Matcher, error) {
	for p.at < len(p.text) { // so that no part of it is invalid
		r, n := utf8.DecodeRuneInString(p.text[p.at:])
		if r == utf8.RuneError && n == 1 {
			return nil, fmt.Errorf("invalid UTF-8")
		}
		p.at += n
	}
	p.at = 0
	var list []Matcher
	if p.space(); p.at == len(p.text) {
		return nil, nil
	}
	if !p.take("{") {
		return nil, p.expected("{")
	}
	for first := true; ; first = false {
		p.space()
		if p.take("}") {
			break
		}
		if !first {
			if !p.take(",") {
				return nil, p.expected(", or }")
			}
			if p.space(); p.take("}") {
				break
			}
		}
		m, err := p.matcher()
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	if p.space(); p.at < len(p.text) {
		return nil, p.expected("nothing after }")
	}
	return list, nil
}

// matcher reads name, operation and value.
func (p *selectorParser) matcher() (m Matcher, err error) {
	if n := bareName(p.text[p.at:]); n > 0 {
		m.Name = p.text[p.at : p.at+n]
		p.at += n
	} else if m.Name, err = p.quoted("the name of a label"); err != nil {
		return m, err
	}
	p.space()
	for _, op := range []MatchOp{Matches, NotMatches, NotEqual, Equal} {
		if p.take(string(op)) {
			m.Op = op
			break
		}
	}
	if m.Op == "" {
		return m, p.expected("=, !=, =~ or !~")
	}
	p.space()
	start := p.at
	if m.Value, err = p.quoted("a value in quotes"); err != nil {
		return m, err
	}
	if m.Op == Matches || m.Op == NotMatches {
		size, err := cost.PatternSize(m.Value)
		if err == nil && size > maxProgram {
			err = fmt.Errorf("the pattern has %d instructions: the maximum is %d; shorten it", size, maxProgram)
		}
		if err != nil {
			p.at = start
			return m, err
		}
	}
	return m, nil
}

// quoted reads a text in quotes.
func (p *selectorParser) quoted(what string) (string, error) {
	rest := p.text[p.at:]
	if rest == "" || !strings.ContainsRune("\"'`", rune(rest[0])) {
		return "", p.expected(what)
	}
	quote := rest[0]
	if quote == '`' {
		end := strings.IndexByte(rest[1:], '`')
		if end < 0 {
			return "", fmt.Errorf("the quote is not closed")
		}
		p.at += end + 2
		return rest[1 : end+1], nil
	}
	var b strings.Builder
	for rest = rest[1:]; rest != "" && rest[0] != quote; {
		r, multibyte, next, err := strconv.UnquoteChar(rest, quote)
		if err != nil || rest[0] == '\n' {
			p.at = len(p.text) - len(rest)
			return "", fmt.Errorf("invalid character or escape in quotes")
		}
		if r < utf8.RuneSelf || !multibyte {
			b.WriteByte(byte(r))
		} else {
			b.WriteRune(r)
		}
		rest = next
	}
	if rest == "" {
		return "", fmt.Errorf("the quote is not closed")
	}
	if !utf8.ValidString(b.String()) {
		return "", fmt.Errorf("invalid UTF-8 in quotes")
	}
	p.at = len(p.text) - len(rest) + 1
	return b.String(), nil
}

func (p *selectorParser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *selectorParser) take(word string) bool {
	ok := strings.HasPrefix(p.text[p.at:], word)
	if ok {
		p.at += len(word)
	}
	return ok
}

func (p *selectorParser) expected(what string) error {
	if p.at == len(p.text) {
		return fmt.Errorf("expected %s, found the end", what)
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.at:])
	return fmt.Errorf("expected %s, found %q", what, r)
}

// bareName returns the length of the name that a text begins with and that needs no quotes.
func bareName(text string) int {
	for i := range len(text) {
		c := text[i]
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '.' && (c < '0' || c > '9')) {
			return i
		}
	}
	return len(text)
}
