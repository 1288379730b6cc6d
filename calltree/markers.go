package calltree

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// markerSearch finds markers. Words are separated by commas, and a marker is found
// when any of them is a part of its name, of its category or of a field, in upper
// or lower case. `key:word` looks at one of these only (`name`, `cat`, or the key
// of a field) or for the whole text anywhere; a marker that `-key:word` finds is
// left out.
type markerSearch struct {
	anywhere []string
	only     []keyWord
	without  []keyWord
}

type keyWord struct{ key, word string }

var keyWordText = regexp.MustCompile(`^(-?)(\w+):(.+)$`)

func parseMarkerSearch(text string) markerSearch {
	var q markerSearch
	for _, w := range searchWords(text) {
		m := keyWordText.FindStringSubmatch(w)
		switch {
		case m == nil:
			q.anywhere = append(q.anywhere, w)
		case m[1] == "-":
			q.without = append(q.without, keyWord{m[2], m[3]})
		default:
			q.only = append(q.only, keyWord{m[2], m[3]})
			q.anywhere = append(q.anywhere, w)
		}
	}
	return q
}

// finds reports whether the search finds the marker. An empty search finds all.
func (q *markerSearch) finds(p *profile.Profile, m *profile.Marker) bool {
	found := len(q.anywhere) == 0 // then there is nothing but what is left out
	without := false
	look := func(key, text string) {
		text = strings.ToLower(text)
		for _, w := range q.anywhere {
			found = found || strings.Contains(text, w)
		}
		for _, kw := range q.only {
			found = found || kw.key == key && strings.Contains(text, kw.word)
		}
		for _, kw := range q.without {
			without = without || kw.key == key && strings.Contains(text, kw.word)
		}
	}
	if m.Category != 0 {
		look("cat", p.Symbols.Categories[m.Category].Name)
	}
	look("name", m.Name)
	for _, f := range m.Fields {
		text := f.Text
		if text == "" {
			text = strconv.FormatInt(f.Num, 10)
		}
		look(strings.ToLower(f.Key), text)
	}
	return found && !without
}
