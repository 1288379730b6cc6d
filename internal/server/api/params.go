package api

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dendroprof/dendro/internal/ingest"
	"github.com/dendroprof/dendro/store"
)

// params reads the parameters of a request, each once, and remembers the first
// that means nothing. A parameter that nobody has read is one that the address
// does not have: finish says so, since a selection that is silently ignored gives
// wrong answers.
type params struct {
	values url.Values
	read   map[string]bool
	err    error
}

func paramsOf(r *http.Request) *params {
	// Call paths are full of semicolons, and no client means to separate by them.
	values, err := url.ParseQuery(strings.ReplaceAll(r.URL.RawQuery, ";", "%3B"))
	p := &params{values: values, read: map[string]bool{}}
	if err != nil {
		p.fail("the query of the address: %w", err)
	}
	return p
}

func (p *params) fail(format string, args ...any) {
	if p.err == nil {
		p.err = mistakef(format, args...)
	}
}

// finish returns the first mistake.
func (p *params) finish() error {
	for _, name := range slices.Sorted(maps.Keys(p.values)) {
		if !p.read[name] {
			return unknown(name, slices.Sorted(maps.Keys(p.read)))
		}
	}
	return p.err
}

// texts returns all values of a parameter that may be given again.
func (p *params) texts(name string) []string {
	p.read[name] = true
	return p.values[name]
}

// text returns the value of a parameter, or what it is without one.
func (p *params) text(name, without string) string {
	switch v := p.texts(name); {
	case len(v) == 0:
		return without
	case len(v) > 1:
		p.fail("%s is given %d times", name, len(v))
		return without
	default:
		return v[0]
	}
}

// choice returns one of several words; the first without the parameter.
func (p *params) choice(name string, words ...string) string {
	v := p.text(name, words[0])
	if !slices.Contains(words, v) {
		p.fail("%s is %.60q; it is one of: %s", name, v, strings.Join(words, ", "))
	}
	return v
}

// whole returns a whole number of at least least.
func (p *params) whole(name string, without, least int) int {
	text := p.text(name, "")
	if text == "" {
		return without
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		p.fail("%s is %.60q; it is a whole number from %d on", name, text, least)
	}
	return n
}

// number returns a number that is not negative.
func (p *params) number(name string, without float64) float64 {
	text := p.text(name, "")
	if text == "" {
		return without
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0 && x < 1e300) {
		p.fail("%s is %.60q; it is a number from 0 on", name, text)
	}
	return x
}

// flag returns whether something is wanted: ?name, ?name=true.
func (p *params) flag(name string) bool {
	switch v := p.text(name, "false"); v {
	case "", "true", "1":
		return true
	case "false", "0":
		return false
	default:
		p.fail("%s is %.60q; it is true or false", name, v)
		return false
	}
}

// pairs returns values of the form key=value.
func (p *params) pairs(name string) map[string]string {
	var m map[string]string
	for _, text := range p.texts(name) {
		k, v, ok := strings.Cut(text, "=")
		if !ok || k == "" {
			p.fail("%s is %.60q; it is key=value", name, text)
			continue
		}
		if m == nil {
			m = map[string]string{}
		}
		m[k] = v
	}
	return m
}

// date returns an instant: RFC 3339, a date, or an age before now (30d, 12h).
func (p *params) date(name string) time.Time {
	text := p.text(name, "")
	if text == "" {
		return time.Time{}
	}
	t, err := ingest.ParseInstant(text, time.Now())
	if err != nil {
		p.fail("%s: %w", name, err)
	}
	return t
}

// selection returns what the selection parameters select; they have the names of
// the commands' flags.
func (p *params) selection() store.Query {
	q := store.Query{
		Groups: p.texts("group"), Benchmarks: p.texts("benchmark"), Params: p.pairs("param"),
		Branches: p.texts("branch"), Commits: p.texts("commit"), Machines: p.texts("machine"), Attributes: p.pairs("attr"),
		Runs: p.texts("run"), Types: p.texts("type"),
		Since: p.date("since"), Until: p.date("until"), Last: p.whole("last", 0, 0),
	}
	for _, text := range p.texts("profile") {
		q.Profiles = append(q.Profiles, p.id(text))
	}
	return q
}

// id returns a profile's id.
func (p *params) id(text string) store.ProfileID {
	id, err := store.ParseID(text)
	if err != nil {
		p.fail("%w", err)
	}
	return id
}

// pathID returns the id in the address.
func pathID(r *http.Request) (store.ProfileID, error) {
	id, err := store.ParseID(r.PathValue("id"))
	if err != nil {
		return "", mistake(err)
	}
	return id, nil
}
