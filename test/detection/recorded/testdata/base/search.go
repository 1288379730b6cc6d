package billing

import (
	"sort"
	"strings"
)

// Hit is an item that was found.
type Hit struct {
	Item  *Item
	Score int
}

// Search returns the items whose names resemble a query, the best ones first.
func Search(items []Item, query string) []Hit {
	terms := queryTerms(query)
	var hits []Hit
	for i := range items {
		if score := scoreItem(&items[i], terms); score > 0 {
			hits = append(hits, Hit{&items[i], score})
		}
	}
	sort.Slice(hits, func(a, b int) bool { return better(&hits[a], &hits[b]) })
	return hits[:min(20, len(hits))]
}

func queryTerms(query string) []string { return strings.Fields(strings.ToLower(query)) }

func better(a, b *Hit) bool {
	if a.Score != b.Score {
		return a.Score > b.Score
	}
	return a.Item.SKU < b.Item.SKU
}

// scoreItem counts the pairs of letters that the words of a name share with the terms.
func scoreItem(it *Item, terms []string) int {
	score := 0
	for word := range strings.SplitSeq(it.Name, " ") {
		for _, t := range terms {
			score += shared(word, t)
			if prefix(word, t) {
				score += 3
			}
		}
	}
	return score
}

// shared counts the pairs of letters that are in both words.
func shared(a, b string) int {
	n := 0
	for i := 0; i+1 < len(a); i++ {
		for j := 0; j+1 < len(b); j++ {
			if lower(a[i]) == b[j] && lower(a[i+1]) == b[j+1] {
				n++
				break
			}
		}
	}
	return n
}

func prefix(word, t string) bool {
	if len(word) < len(t) {
		return false
	}
	for i := range len(t) {
		if lower(word[i]) != t[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
