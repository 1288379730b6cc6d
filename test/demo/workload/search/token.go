// Package search finds products of the demo shop: an inverted index, a small
// query language and ranking.
package search

import (
	"strings"
	"unicode"
)

// stopWords are not worth indexing.
var stopWords = map[string]bool{
	"a": true, "and": true, "at": true, "by": true, "for": true, "from": true,
	"in": true, "of": true, "on": true, "or": true, "the": true, "with": true,
}

// suffixes are cut off words, longest first, if enough of the word remains.
var suffixes = []string{"ations", "ation", "ings", "ably", "ing", "ers", "ies", "ed", "er", "es", "ly", "s"}

// tokens returns the words of a text as they are indexed.
func tokens(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), isSeparator)
	kept := words[:0]
	for _, w := range words {
		if !stopWords[w] {
			kept = append(kept, stem(w))
		}
	}
	return kept
}

func isSeparator(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// stem cuts the first suffix that fits off a word, and does so again.
func stem(word string) string {
	for _, s := range suffixes {
		if rest, ok := strings.CutSuffix(word, s); ok && len(rest) >= 4 {
			return stem(rest)
		}
	}
	return word
}
