package calltree

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// markerSearch finds markers by comma-separated words. A word matches if it is part of
// the marker's name, category or a field, ignoring case. `key:word` matches only in one
// of these (`name`, `cat`, or the key of a field), or the whole text anywhere;
// `-key:word` excludes the markers it matches.
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

// finds reports whether the search matches the marker. An empty search matches all.
func (q *markerSearch) finds(p *profile.Profile, m *profile.Marker) bool {
	found := len(q.anywhere) == 0 // then only exclusions apply
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
