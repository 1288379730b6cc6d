package calltree

import (
	"iter"
	"regexp"
	"slices"
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

// markers yields the markers that match a search on the threads (nil: all), in order.
// Markers of no thread are on all of them.
func (v *Viewer) markers(search string, threads []profile.ThreadID) iter.Seq[*profile.Marker] {
	return func(yield func(*profile.Marker) bool) {
		q := parseMarkerSearch(search)
		for i := range v.profile.Markers {
			m := &v.profile.Markers[i]
			if (threads == nil || m.Thread == 0 || slices.Contains(threads, m.Thread)) && q.finds(v.profile, m) && !yield(m) {
				return
			}
		}
	}
}

// Markers returns the markers of the threads of a view that are at least partly in its
// preview range and match its search, which has the syntax of filter:marker-search.
func (v *Viewer) Markers(view View) []profile.Marker {
	in := view.Preview
	if in.All() {
		in = view.Range
	}
	in = v.absolute(in)
	var list []profile.Marker
	for m := range v.markers(view.Search, view.Threads) {
		if in.All() || m.Start < in.End && (m.End > in.Start || m.Start >= in.Start) {
			list = append(list, *m)
		}
	}
	return list
}

// Category returns a category of the profile; the zero Category for 0.
func (v *Viewer) Category(id profile.CategoryID) profile.Category {
	return v.profile.Symbols.Categories[id]
}

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
